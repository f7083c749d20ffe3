// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The allocator over time: reserved but unused bytes, and their fragmentation.
import { useMemo } from 'preact/hooks';
import { type Allocator, fragmentation, type Over } from '../../data/allocator';
import { bytes, count, exact, ns } from '../../data/format';
import { after } from '../../data/spans';
import { most, same } from '../../data/sums';
import { ink } from '../../draw/colors';
import { line, upright } from '../../draw/marks';
import { css } from '../../draw/pixels';
import { moment, range } from '../../state';
import { Canvas, type Surface } from '../../ui/canvas';
import { Fold, Legend } from '../../ui/parts';
import { type Col, col, Table } from '../../ui/table';
import { px } from '../../ui/scale';
import { pointed, type Spot, Tip } from '../../ui/tip';
import { dragTime, inside, wheelTime } from '../../ui/travel';
import { left, stacked } from './chart';
import type { Scene } from './scene';

const layers = [
  ['active', 'in use', 0x0072b2],
  ['split', 'inactive split: free, but in segments partly in use', 0xe69f00],
  ['cached', 'whole free segments', 0xa9b4bf],
  ['expandable', 'free in expandable segments', 0x56b4e9],
] as const;
const figures = [['reserved', 'Reserved'], ['active', 'In use'], ['split', 'Inactive split'], ['cached', 'Whole segments'], ['expandable', 'Expandable'], ['largest', 'Largest free']] as const;
const INDEX = 0xd55e00;
const UNKNOWN = 0x8a8f98;
const WHY = 'earlier events of the recording contradict each other';
const dash = (write: (v: number) => string) => (v: number) => (v < 0 ? '–' : write(v));
const hover = pointed<Spot & { point: number }>();

export const known = (o: Over, i: number): boolean => i < 0 || !Number.isNaN(o.largest[i]);
const freeOf = (o: Over, i: number): number => (known(o, i) ? o.split[i] + o.cached[i] + o.expandable[i] : Math.max(0, o.reserved[i] - o.active[i]));
const indexOf = (o: Over, i: number): number => fragmentation(freeOf(o, i), o.largest[i]);

/** Returns the point of every pixel column: the one with most free bytes within it, else the last before. */
export function columns(o: Over, t0: number, t1: number, width: number): Int32Array {
  const out = new Int32Array(width);
  const n = o.t.length;
  for (let x = 0; x < width; x++) {
    const a = after(o.t, 0, n, t0 + (x / width) * (t1 - t0)) - 1;
    const b = after(o.t, Math.max(0, a), n, t0 + ((x + 1) / width) * (t1 - t0)) - 1;
    let best = a;
    for (let i = a + 1; i <= b; i++) if (best < 0 || freeOf(o, i) > freeOf(o, best)) best = i;
    out[x] = best;
  }
  return out;
}

function draw(s: Surface, o: Over, peak: number, shown: { at?: Int32Array }): void {
  const c = ink();
  const [t0, t1] = range.value;
  const width = s.width - left();
  const high = most(o.reserved, same) * 1.06;
  const top = 6;
  const cols = (shown.at = columns(o, t0, t1, width));
  const y = stacked(s, high, top, (x, put) => {
    const at = cols[x];
    if (at < 0) return;
    put(o.active[at], layers[0][2]);
    if (known(o, at)) layers.slice(1).forEach(([key, , color]) => put(o[key][at], color));
    else put(Math.max(0, o.reserved[at] - o.active[at]), UNKNOWN);
  });
  const from = left();
  const curve = (value: (i: number) => number, color: string, dash: number[]) => line(s.ctx, color, (to) => cols.forEach((i, x) => known(o, i) && to(from + x + 0.5, value(i))), 1.5, dash);
  curve((i) => y(i < 0 ? 0 : o.largest[i]), c.text, [4, 3]);
  curve((i) => s.height - 2 - (i < 0 ? 0 : indexOf(o, i)) * (s.height - top - 4), css(INDEX), []);
  const at = moment.value ?? peak;
  if (at >= t0 && at <= t1) upright(s.ctx, c.accent, left() + ((at - t0) / (t1 - t0)) * width, 0, s.height, 2);
}

function Under({ o }: { o: Over }) {
  const h = hover.value;
  if (!h || h.point < 0) return null;
  const i = h.point;
  return (
    <Tip at={h}>
      <b>fragmentation index {known(o, i) ? indexOf(o, i).toFixed(3) : 'unknown'}</b>
      {figures.map(([key, title]) => (o[key][i] > 0 ? <span key={key}>{title.toLowerCase()} {bytes(o[key][i])}</span> : null))}
      {!known(o, i) && <span>what is free, and how, is unknown: {WHY}</span>}
      <span class="soft">from {exact(o.t[i])} on</span>
    </Tip>
  );
}

export function OverTime({ sc, a }: { sc: Scene; a: Allocator }) {
  const of = a.over.get(sc.dev);
  const wheel = useMemo(() => wheelTime(left()), [left()]);
  const shown = useMemo((): { at?: Int32Array } => ({}), []);
  if (!of) return null;
  const o = of.points;
  const w = of.worst;
  const cols: Col<number>[] = [
    col('Time', (i) => o.t[i], exact),
    ...figures.map(([key, title]) => col(title, (i: number) => (Number.isNaN(o[key][i]) ? -1 : o[key][i]), dash(bytes))),
    col('Index', (i) => (known(o, i) ? indexOf(o, i) : -1), dash((v) => v.toFixed(3))),
  ];
  return (
    <>
      <div class="chart over">
        <Canvas
          height={px(130)}
          label={`Reserved bytes of ${sc.name} over time: in use, inactive split, free`}
          onWheelTime={wheel}
          onPointerDown={dragTime(left(), (x) => {
            const el = document.querySelector('.chart.over canvas') as HTMLCanvasElement;
            const [t0, t1] = range.value;
            moment.value = Math.round(t0 + (Math.max(0, x - left()) / (el.clientWidth - left())) * (t1 - t0));
          })}
          onPointerMove={(e: PointerEvent) => {
            const x = Math.floor(inside(e)[0]) - left();
            hover.value = { x: e.clientX, y: e.clientY, point: shown.at?.[x] ?? -1 };
          }}
          onPointerLeave={() => (hover.value = null)}
          draw={(s) => draw(s, o, sc.peak.t, shown)}
        />
        <Under o={o} />
      </div>
      <div class="bar">
        <Legend
          items={[
            ...layers.filter(([key]) => key !== 'expandable' || o.expandable.some((v) => v > 0)).map(([, text, color]) => ({ color: css(color), text })),
            ...(known(o, o.t.length - 1) ? [] : [{ color: css(UNKNOWN), text: `reserved, free part unknown: ${WHY}` }]),
            { color: css(INDEX), text: 'line: fragmentation index, 0 to 1' },
            { color: 'var(--text)', text: 'dashed: largest free block' },
          ]}
        />
        <span class="grow" />
        <span class="soft">{of.events > o.t.length ? `One point per ${count(Math.ceil(of.events / o.t.length))} memory events` : ''}</span>
        <button onClick={() => (moment.value = w.t[0])}>Most unused: {bytes(w.reserved[0] - w.active[0])} at {ns(w.t[0])}</button>
      </div>
      <Fold title="These figures as a table">
        {() => <Table label="the allocator over time" rows={Array.from(o.t, (_, i) => i)} sort="Time" ascending height={360} onPick={(i) => (moment.value = o.t[i])} cols={cols} />}
      </Fold>
    </>
  );
}
