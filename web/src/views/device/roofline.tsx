// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Ops against the limits of the device: rate over intensity on logarithmic scales, and the tables of `tidemark roofline`.
import { useState } from 'preact/hooks';
import { byKey, ns, percent } from '../../data/format';
import { getRoofline, type Roofline } from '../../data/page';
import { groups } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { Legend, Loading, Panel, useData } from '../../ui/parts';
import { type Rec, Records } from '../common/tables';
import { brief } from '../flame/draw';
import { Follow } from '../ops/ops';

const WIDTH = 1000;
const HEIGHT = 420;
const [LEFT, RIGHT, TOP, BOTTOM] = [60, 20, 14, 40];
const num = (r: Rec, key: string): number => (typeof r[key] === 'number' ? (r[key] as number) : NaN);

/** A scale of whole powers of ten around the values. */
function scale(values: number[], from: number, to: number) {
  const lo = Math.floor(Math.log10(Math.min(...values)));
  const hi = Math.max(lo + 1, Math.ceil(Math.log10(Math.max(...values))));
  const at = (v: number) => from + ((Math.log10(v) - lo) / (hi - lo)) * (to - from);
  const ticks = Array.from({ length: hi - lo + 1 }, (_, i) => 10 ** (lo + i));
  return { at, ticks, low: 10 ** lo, high: 10 ** hi };
}
const tick = (v: number) => (v >= 1e-3 && v < 1e4 ? String(v) : v.toExponential(0));

/** The peaks that ops of the trace meet, highest first. */
function roofs(d: Roofline, points: Rec[]): number[] {
  return [...new Set(points.map((r) => num(r, 'peak_tflops')).filter((v) => v > 0))].sort((a, b) => b - a);
}

function Chart({ d, points, picked, pick, color }: { d: Roofline; points: Rec[]; picked?: Rec; pick: (r: Rec) => void; color: (r: Rec) => string }) {
  const band = Number(d.device.bandwidth_gb_s) / 1e3 || 0;
  const peaks = roofs(d, points);
  const x = scale(points.map((r) => num(r, 'intensity')).concat(band && peaks.length ? peaks.map((p) => p / band) : []), LEFT, WIDTH - RIGHT);
  const y = scale(points.map((r) => num(r, 'tflops')).concat(peaks), HEIGHT - BOTTOM, TOP);
  const high = Math.max(...points.map((r) => num(r, 'sum_ns')));
  const clip = (v: number) => Math.min(y.high, Math.max(y.low, v));
  const edge = (v: number) => Math.min(x.high, Math.max(x.low, v));
  return (
    <svg class="roofline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Rate of ops over operations per byte">
      {x.ticks.map((t) => <g key={`x${t}`}><line x1={x.at(t)} x2={x.at(t)} y1={TOP} y2={HEIGHT - BOTTOM} class="rule" /><text x={x.at(t)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">{tick(t)}</text></g>)}
      {y.ticks.map((t) => <g key={`y${t}`}><line x1={LEFT} x2={WIDTH - RIGHT} y1={y.at(t)} y2={y.at(t)} class="rule" /><text x={LEFT - 6} y={y.at(t) + 4} text-anchor="end">{tick(t)}</text></g>)}
      <text x={WIDTH / 2} y={HEIGHT - 6} text-anchor="middle">operations per byte</text>
      <text x={LEFT + 6} y={TOP + 4} dominant-baseline="hanging">TFLOP/s</text>
      {peaks.map((p) => {
        const from = edge(band ? p / band : x.low);
        return <g key={p}><line x1={x.at(from)} x2={WIDTH - RIGHT} y1={y.at(p)} y2={y.at(p)} class="roof" /><text x={WIDTH - RIGHT} y={y.at(p) - 4} text-anchor="end">{p}</text></g>;
      })}
      {band > 0 && peaks.length > 0 && (
        <line x1={x.at(edge(clip(y.low) / band))} y1={y.at(clip(edge(y.low / band) * band))} x2={x.at(edge(peaks[0] / band))} y2={y.at(clip(edge(peaks[0] / band) * band))} class="roof" />
      )}
      {points.map((r, i) => (
        <circle
          key={i}
          cx={x.at(num(r, 'intensity'))}
          cy={y.at(num(r, 'tflops'))}
          r={3 + 11 * Math.sqrt(num(r, 'sum_ns') / high)}
          fill={color(r)}
          class={r === picked ? 'on' : ''}
          tabIndex={0}
          onClick={() => pick(r)}
          onKeyDown={(e: KeyboardEvent) => e.key === 'Enter' && pick(r)}
        >
          <title>{`${r.op} ${r.shapes ?? ''}\n${ns(num(r, 'sum_ns'))}, ${num(r, 'tflops').toFixed(2)} TFLOP/s, ${num(r, 'tb_s').toFixed(3)} TB/s, ${byKey('_pct', r.roof_pct)} of the roof`}</title>
        </circle>
      ))}
    </svg>
  );
}

const OPS = 'op,shapes,category,sum_ns:Total,pct:%,count,tflops:TFLOP/s,tb_s:TB/s,intensity:FLOP/B,roof_pct:Roof,bound,over_ns:Over,recompute';

function Body({ d }: { d: Roofline }) {
  const [picked, setPicked] = useState<Rec | undefined>(undefined);
  const ops = d.ops as Rec[];
  const points = ops.filter((r) => num(r, 'intensity') > 0 && num(r, 'tflops') > 0);
  const kinds = (d.categories as Rec[]).map((c) => String(c.category)).filter((c) => c !== 'all');
  const color = (r: Rec) => css(groups[Math.max(0, kinds.indexOf(String(r.category))) % groups.length]);
  const whole = (d.steps as Rec[])[0];
  const rates = (r: Rec, key: string) => (/^(tflops|tb_s|intensity)$/.test(key) && typeof r[key] === 'number' ? (r[key] as number).toFixed(2) : undefined);
  return (
    <>
      <Panel title="Roofline" extra={<span class="soft">{`${d.device.name ?? 'unknown device'} · ${percent(d.covered_pct ?? 0)} of the time covered${typeof whole?.mfu_pct === 'number' ? ` · MFU ${percent(whole.mfu_pct as number)}` : ''}`}</span>}>
        {points.length ? <Chart d={d} points={points} picked={picked} pick={setPicked} color={color} /> : <p class="soft">No op has operations and bytes.</p>}
        <Legend items={kinds.filter((k) => points.some((r) => r.category === k)).map((k) => ({ text: k, color: color({ category: k }) }))} />
        {picked && <p class="cut" title={String(picked.shapes ?? '')}>{`${brief(String(picked.op))} ${picked.shapes ?? ''}`}</p>}
        {picked && <Follow name={String(picked.op)} />}
      </Panel>
      <Panel title="By kind of work">
        <Records label="kinds of work" rows={d.categories as Rec[]} sort="sum_ns" height={260} listed keys="category,sum_ns:Total,pct:%,count,tflops:TFLOP/s,tb_s:TB/s,roof_pct:Roof,recompute_ns:Recompute" text={(key, v) => rates({ [key]: v }, key)} />
      </Panel>
      <Panel title="Ops by their arguments" extra={<span class="soft hint">Click a row to mark its point</span>}>
        <Records label="ops" rows={ops} sort="sum_ns" height={520} onPick={setPicked} picked={(r) => r === picked} keys={OPS} text={(key, v) => rates({ [key]: v }, key)} />
      </Panel>
      {(d.uncovered as Rec[]).length > 0 && (
        <Panel title="Not covered">
          <Records label="not covered" rows={d.uncovered as Rec[]} sort="sum_ns" height={260} keys="name,why,sum_ns:Total,pct:%,rows" />
        </Panel>
      )}
    </>
  );
}

export function RooflineView() {
  const d = useData(getRoofline);
  if (d === undefined) return <Loading />;
  if (!d) return <p class="loading">This trace has no shapes of ops: torch.profiler records them with record_shapes=True.</p>;
  return (
    <div class="stack">
      <Body d={d} />
    </div>
  );
}
