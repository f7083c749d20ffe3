// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Device work by type and by name: shares, the spread of durations, and all of it as tables.
import { useState } from 'preact/hooks';
import { byKey, count, ns, percent } from '../../data/format';
import { getHta, getJob, type Hta } from '../../data/page';
import { keep } from '../../state';
import { Kept, Loading, Panel, useData } from '../../ui/parts';
import { most } from '../../data/sums';
import { typeColors } from '../../draw/colors';
import { brief } from '../flame/draw';
import { Follow } from '../ops/ops';
import { type Rec, Records } from '../common/tables';

const scope = keep('ranks');
const MOST = 14;

const num = (r: Rec, key: string): number => Number(r[key]) || 0;

/** Bars on one scale, each with its figures. */
function Shares({ rows, name, label, onPick }: { rows: Rec[]; name: (r: Rec) => string; label: string; onPick?: (r: Rec) => void }) {
  const high = most(rows, (r) => num(r, 'sum_ns'));
  return (
    <ul class="shares" aria-label={label}>
      {rows.map((r, i) => (
        <li key={i}>
          <button class="plain" title={name(r)} disabled={!onPick} onClick={() => onPick?.(r)}>{brief(name(r))}</button>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(100 * num(r, 'sum_ns')) / high} height="10" fill={typeColors[String(r.type)] ?? typeColors.other} />
          </svg>
          <span>{ns(num(r, 'sum_ns'))}</span>
          <span>{percent(num(r, 'pct'))}</span>
          <span class="soft">{count(num(r, 'count'))} ×</span>
        </li>
      ))}
    </ul>
  );
}

/** Shortest to longest on a scale of powers of ten, with mean, median, 90th and 99th percentile. */
function Spread({ rows }: { rows: Rec[] }) {
  const lo = Math.max(1, Math.min(...rows.map((r) => num(r, 'min_ns'))));
  const hi = Math.max(lo * 1.01, ...rows.map((r) => num(r, 'max_ns')));
  const x = (v: number) => (100 * Math.log(Math.max(v, lo) / lo)) / Math.log(hi / lo);
  const ticks: number[] = [];
  for (let t = 10 ** Math.ceil(Math.log10(lo)); t <= hi; t *= 10) ticks.push(t);
  return (
    <div class="spread" role="img" aria-label="Durations of the kernels with most time">
      {rows.map((r, i) => {
        const known = r.p50_ns !== null && r.p50_ns !== undefined;
        const text = `${r.name}\n${'min median mean p90 p99 max std'.replace(/\w+/g, (k) => `${k} ${byKey('_ns', r[`${k === 'median' ? 'p50' : k}_ns`])},`)}`;
        const color = typeColors[String(r.type)] ?? typeColors.other;
        return (
          <div key={i} title={text}>
            <span>{brief(String(r.name))}</span>
            <svg viewBox="0 0 100 20" preserveAspectRatio="none">
              <line x1={x(num(r, 'min_ns'))} x2={Math.max(x(num(r, 'max_ns')), x(num(r, 'min_ns')) + 0.4)} y1="10" y2="10" stroke={color} stroke-width="2" vector-effect="non-scaling-stroke" />
              {known && <rect x={x(num(r, 'p50_ns'))} width={Math.max(0.6, x(num(r, 'p90_ns')) - x(num(r, 'p50_ns')))} y="4" height="12" fill={color} />}
              <line x1={x(num(r, 'mean_ns'))} x2={x(num(r, 'mean_ns'))} y1="2" y2="18" stroke="var(--text)" stroke-width="2" vector-effect="non-scaling-stroke" />
            </svg>
          </div>
        );
      })}
      <div class="axis">
        <span />
        <i>{ticks.map((t) => <b key={t} style={{ left: `${x(t)}%` }}>{ns(t).replace(/\.0+ /, ' ')}</b>)}</i>
      </div>
    </div>
  );
}

const STATS = 'count,sum_ns:Total,pct:%,min_ns,mean_ns,std_ns,p50_ns,p90_ns,p95_ns,p99_ns,max_ns';
const PLAIN = STATS.replace(/p\d\d_ns,/g, '');

function Body({ h }: { h: NonNullable<Hta> }) {
  const [name, setName] = useState('');
  const kernels = h.kernels as Rec[];
  const types = h.kernel_types as Rec[];
  const brief = briefNames(kernels);
  const top = kernels.slice(0, MOST);
  const rest = kernels.slice(MOST).reduce<Rec>((a, r) => ({ ...a, sum_ns: num(a, 'sum_ns') + num(r, 'sum_ns'), pct: num(a, 'pct') + num(r, 'pct'), count: num(a, 'count') + num(r, 'count') }), { name: `all others, ${kernels.length - MOST} names`, type: 'other' });
  const pick = (r: Rec) => setName(String(r.name));
  return (
    <>
      <div class="two">
        <Panel title="Time by name">
          <Shares label="Time by name" rows={kernels.length > MOST ? [...top, rest] : top} name={(r) => brief.get(String(r.name)) ?? String(r.name)} onPick={pick} />
        </Panel>
        <Panel title="Time by type">
          <Shares label="Time by type" rows={types} name={(r) => String(r.type)} />
          <Records label="kernel types" rows={types} sort="sum_ns" height={170} keys={`type,names,${PLAIN},union_ns`} />
        </Panel>
      </div>
      <Panel title="Durations" extra={<span class="soft">line: shortest to longest · bar: median to p90 · mark: mean</span>}>
        <Spread rows={top} />
      </Panel>
      <Panel title="Kernels, copies and fills" extra={name ? <Follow name={name} /> : <span class="soft hint">Click a row to open it in the timeline or the flame graph</span>}>
        <Records label="kernels" rows={kernels} sort="sum_ns" height={560} onPick={pick} picked={(r) => r.name === name} keys={`name,type,${STATS}`} text={(key, v) => (key === 'name' ? brief.get(String(v)) : undefined)} />
      </Panel>
      <Panel title="Device time by op">
        <Records label="device time by op" rows={h.ops as Rec[]} sort="sum_ns" height={420} keys={`op,${PLAIN}`} />
      </Panel>
    </>
  );
}

/** Short names; equal short forms are numbered. Tooltips show full names. */
function briefNames(rows: Rec[]): Map<string, string> {
  const all = new Map<string, number>();
  const out = new Map<string, string>();
  for (const r of rows) {
    const name = String(r.name);
    if (out.has(name)) continue;
    const short = String(r.short_name ?? name);
    const n = (all.get(short) ?? 0) + 1;
    all.set(short, n);
    out.set(name, n > 1 ? `${short} (${n})` : short);
  }
  return out;
}

export function Kernels() {
  const one = useData(getHta);
  const all = useData(getJob);
  if (one === undefined || all === undefined) return <Loading />;
  const h = all && scope.value !== 'one' ? all : one;
  if (!h) return <p class="loading">This trace has no device work.</p>;
  return (
    <div class="stack">
      {all && one && (
        <div class="bar">
          <Kept label="Ranks" of={scope} options={[['all', `All ${all.ranks.length} ranks`], ['one', 'This rank']]} />
        </div>
      )}
      <Body h={h} />
    </div>
  );
}
