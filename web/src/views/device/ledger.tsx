// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Holders of a device's memory over time: the documents of `tidemark device --json`, by kind for one process, by process for several.
import { bytes, ns } from '../../data/format';
import { type At, getLedger, type LedgerDevice, type Main } from '../../data/page';
import { after } from '../../data/spans';
import { most, sum } from '../../data/sums';
import { drawAxis } from '../../draw/axis';
import { groups, ink } from '../../draw/colors';
import { line } from '../../draw/marks';
import { css } from '../../draw/pixels';
import { moment, range } from '../../state';
import { Canvas, type Surface } from '../../ui/canvas';
import { Fold, Legend, Loading, Panel, useData } from '../../ui/parts';
import { px } from '../../ui/scale';
import { dragTime, wheelTime } from '../../ui/travel';
import { Records } from '../common/tables';
import { left, stacked } from '../memory/chart';

type Part = [name: string, of: (a: At) => number | null];
const part = ([key, name]: string[]): Part => [name, (a) => a[key] as number | null];
const ofProcess = [['torch_live_bytes', 'PyTorch, live'], ['torch_cached_bytes', 'PyTorch, cached'], ['other_bytes', 'other allocations'], ['pooled_bytes', 'pools, not in use'], ['context_bytes', 'context and code'], ['profiler_bytes', "CUPTI's buffers"]].map(part);
const ofDevice = [['others_bytes', 'other processes'], ['reserved_bytes', 'driver and firmware'], ['unexplained_bytes', 'unexplained']].map(part);
const partsOf = (d: LedgerDevice): Part[] => [...(d.processes?.map((p, i): Part => [`process ${p.pid} (${p.file})`, (a) => sum(ofProcess, ([, of]) => of(a.processes![i]) ?? 0)]) ?? ofProcess), ...ofDevice];
const color = (i: number): number => groups[i % groups.length];

function Chart({ d, t, parts }: { d: LedgerDevice; t: Float64Array; parts: Part[] }) {
  const rows = d.over_time;
  const high = 1.06 * most(rows, (a) => (a.nvml_used_bytes as number | null) ?? sum(parts, ([, of]) => of(a) ?? 0));
  const index = (x: number, width: number) => after(t, 0, t.length, range.value[0] + (x / width) * (range.value[1] - range.value[0])) - 1;
  const draw = (s: Surface) => {
    const c = ink();
    const width = s.width - left();
    const y = stacked(s, high, px(26), (x, put) => {
      const at = rows[index(x, width)];
      if (at) parts.forEach(([, of], i) => put(Math.max(0, of(at) ?? 0), color(i)));
    });
    drawAxis(s.ctx, left(), width, px(20), range.value[0], range.value[1], c);
    line(s.ctx, c.text, (to) => {
      for (let x = 0; x < width; x++) {
        const used = rows[index(x, width)]?.nvml_used_bytes as number;
        if (used) to(left() + x, y(used));
      }
    }, 1.5);
  };
  return (
    <div class="chart ledger">
      <Canvas
        height={px(260)}
        label={`Memory of cuda:${d.index} by who holds it`}
        draw={draw}
        onWheelTime={wheelTime(left())}
        onPointerDown={dragTime(left(), () => {})}
        onPointerMove={(e: PointerEvent) => {
          const i = index(e.offsetX - left(), (e.currentTarget as HTMLElement).clientWidth - left());
          if (i >= 0) moment.value = t[i];
        }}
      />
    </div>
  );
}

function Device({ d, wall0 }: { d: LedgerDevice; wall0: number }) {
  const parts = partsOf(d);
  const time = (a: At) => (d.processes ? (a.wall_ns as number) - wall0 : (a.t_ns as number));
  const t = Float64Array.from(d.over_time, time);
  const near = after(t, 0, t.length, moment.value ?? time(d)) - 1;
  const at = d.over_time[Math.max(0, near)];
  const text = (v: number | null | undefined) => (v == null ? 'unknown' : bytes(v));
  return (
    <Panel title={`cuda:${d.index} ${d.name ?? ''}`} extra={<span class="soft">{text(at.nvml_used_bytes as number)} in use (NVML, the line) at {ns(time(at))}</span>}>
      <Chart d={d} t={t} parts={parts} />
      <Legend items={parts.map(([name, of], i) => ({ color: css(color(i)), text: name, value: text(of(at)) }))} />
      {d.libraries?.[0] && <Records label="libraries" rows={d.libraries} keys="caller:Other allocations by library,bytes,count" sort="bytes" />}
      <Fold title="These figures as a table">{() => <Records label="ledger" rows={d.over_time.map((a, i) => ({ ...a, t_ns: t[i] }))} keys={`t_ns:Time,${Object.keys(at).filter((k) => k.endsWith('bytes'))}`} sort="t_ns" />}</Fold>
    </Panel>
  );
}

export function Ledger({ main }: { main: Main }) {
  const all = useData(getLedger);
  return all ? <div class="stack">{all.flatMap((l) => l?.devices.map((d) => <Device d={d} wall0={main.wall0_ns ?? 0} />))}</div> : <Loading />;
}
