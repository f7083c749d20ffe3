// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Runs by program: their number, the figures of the newest run, and the trend. A group expands to its runs.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { bytes, count, ns, plural, when } from '../../data/format';
import { askJson } from '../../data/live';
import { Figure, type Group, limit, type Point, type Run, type Runs, Trends } from './runs';

const W = 120;
const H = 22;
const SHOWN = 500; // runs of an open group

/** A figure over the newest runs; those that got worse are marked, and the newest. */
function Trend({ of, value, bad, what }: { of: readonly Point[]; value: (p: Point) => number | null; bad: (p: Point) => boolean; what: string }) {
  const known = of.filter((p) => value(p) !== null);
  if (known.length < 2) return <span class="soft">–</span>;
  const all = known.map((p) => value(p)!);
  const low = Math.min(...all);
  const high = Math.max(...all);
  const x = (i: number) => 4 + (i * (W - 8)) / (known.length - 1);
  const y = (v: number) => H - 4 - (high > low ? (v - low) / (high - low) : 0.5) * (H - 8);
  const worse = known.filter(bad).length;
  return (
    <svg class="spark trendline" width={W} height={H} viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`${what} over ${known.length} runs, ${worse} worse than the run before`}>
      <polyline points={known.flatMap((p, i) => (p.partial ? [] : [`${x(i).toFixed(1)},${y(all[i]).toFixed(1)}`])).join(' ')} />
      {known.map((p, i) => (bad(p) || p.partial || i === known.length - 1) && <circle cx={x(i)} cy={y(all[i])} r={bad(p) ? 3 : 2} class={bad(p) ? 'worse' : p.partial ? 'partial' : ''} />)}
    </svg>
  );
}

/** Returns the runs of a group: those in memory if they are complete, else as the server lists
 * them. */
function useRuns(g: Group, all: Runs): Run[] {
  const here = all.runs.filter((r) => r.program === g.program);
  const [far, set] = useState<Run[]>([]);
  const whole = here.length >= g.count;
  useEffect(() => {
    if (!whole) void askJson<Runs>(`/api/runs?limit=${SHOWN}&program=${encodeURIComponent(g.program ?? '')}`).then((v) => set(v.runs), () => {});
  }, [all, g.program]);
  return whole ? here : far;
}

function Open({ g, all, table }: { g: Group; all: Runs; table: (runs: Run[], label: string) => ComponentChildren }) {
  const runs = useRuns(g, all);
  return (
    <tr class="opened">
      <td class="left" colSpan={7}>
        {g.program !== null && <Trends runs={runs} all={all} />}
        {table(runs, `runs of ${g.program ?? 'unknown programs'}`)}
        {runs.length < g.count && runs.length > 0 && <p class="soft">The newest {count(runs.length)} of {count(g.count)}.</p>}
      </td>
    </tr>
  );
}

/** table: draws runs as the list does. */
export function Groups({ all, table }: { all: Runs; table: (runs: Run[], label: string) => ComponentChildren }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const flip = (key: string) => setOpen(new Set(open.has(key) ? [...open].filter((k) => k !== key) : [...open, key]));
  const bad = (v: number | null, what: string) => (v ?? 0) > limit(all.fail_if, what);
  return (
    <div class="scroll">
      <table aria-label="programs" class="groups">
        <thead>
          <tr>{['Program', 'Runs', 'Latest', 'Peak', 'Peak over runs', 'Step', 'Step over runs'].map((t, i) => <th class={i ? '' : 'left'}>{t}</th>)}</tr>
        </thead>
        <tbody>
          {all.groups.map((g) => {
            const key = g.program ?? '';
            const is = open.has(key);
            return (
              <>
                <tr key={key} class={is ? 'hot' : ''} onClick={() => flip(key)}>
                  <td class="left"><button class="twist" aria-expanded={is} aria-label={`${is ? 'Close' : 'Open'} ${g.program ?? 'unknown programs'}`} onClick={(e) => { e.stopPropagation(); flip(key); }}>{is ? '▾' : '▸'}</button><span>{g.program ?? 'program not known'}</span></td>
                  <td>{count(g.count)}{g.live > 0 && <> <span class="live running">{g.live} live</span></>}{g.regressions > 0 && <span class="worse"> {g.regressions} worse</span>}</td>
                  <td><a href={`/r/${g.latest}`} title="Open the newest run" onClick={(e) => e.stopPropagation()}>{when(g.latest_ns)}</a></td>
                  <td>{g.peak_bytes === null ? '–' : <Figure text={bytes(g.peak_bytes)} change={g.peak_change_pct} bad={bad(g.peak_change_pct, 'peak')} partial={g.partial} />}</td>
                  <td><Trend of={g.trend} value={(p) => p.peak_bytes} bad={(p) => p.peak_regression} what="peak" /></td>
                  <td>{g.step_ns === null ? '–' : <Figure text={ns(g.step_ns)} change={g.step_change_pct} bad={bad(g.step_change_pct, 'step')} />}</td>
                  <td><Trend of={g.trend} value={(p) => p.step_ns} bad={(p) => p.step_regression} what="step time" /></td>
                </tr>
                {is && <Open g={g} all={all} table={table} />}
              </>
            );
          })}
        </tbody>
      </table>
      <p class="soft hint">{plural(all.groups.length, 'program')}. A red mark is a run that is worse than the one before: {all.fail_if.join(', ')}.{all.groups.some((g) => g.trend.some((p) => p.partial)) && ' A ring is a partial run, which is not compared.'}</p>
    </div>
  );
}
