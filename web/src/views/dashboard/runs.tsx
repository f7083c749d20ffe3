// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A run in the list: figures, a line of memory, tags and a note; and the trend of its program over all runs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes, day, ns } from '../../data/format';
import { type Recording } from '../../data/live';
import { parse } from '../../data/section';

/** A run of /api/runs; null = unknown. */
export interface Run extends Recording {
  indexed: boolean;
  unreadable: boolean; // the index could not read it
  format: string | null;
  program: string | null;
  arguments: string | null; // of the program
  device: string | null;
  start_ns: number | null;
  duration_ns: number | null;
  peak_bytes: number | null;
  capacity_bytes: number | null;
  step_ns: number | null;
  rank: number | null;
  gpu_busy_pct: number | null;
  losses: number | null;
  partial: boolean; // a part of the run is missing: its figures are lower bounds and are not compared
  spark: string | null;
  before: string | null;
  peak_change_pct: number | null;
  step_change_pct: number | null;
  regression: boolean;
  tags: string[];
  note: string | null;
  exports: { id: string; name: string }[]; // of the session that recorded it
}

/** The runs of one program; null = of unknown programs. Figures are those of the newest run. */
export interface Group {
  program: string | null;
  count: number;
  live: number;
  regressions: number;
  latest: string;
  latest_ns: number;
  peak_bytes: number | null;
  step_ns: number | null;
  partial: boolean;
  peak_change_pct: number | null;
  step_change_pct: number | null;
  trend: Point[]; // oldest first
}
export interface Point {
  id: string;
  peak_bytes: number | null;
  step_ns: number | null;
  peak_regression: boolean;
  step_regression: boolean;
  partial: boolean;
}

export const PARTIAL = 'a part of this run is missing, so it may have been higher; it is not compared with other runs';

export interface Runs {
  count: number;
  pending: number;
  other_files: number;
  notes_file: string | null;
  fail_if: string[];
  groups: Group[];
  runs: Run[];
}

const LEVELS = '0123456789abcdefghijklmnopqrstuv';
const W = 96;
const H = 20;

/** Memory over time: one point per character. */
export function Spark({ of }: { of: string | null }) {
  if (!of) return <span class="soft">–</span>;
  const x = (i: number) => ((i * W) / Math.max(of.length - 1, 1)).toFixed(1);
  const line = [...of].map((c, i) => `${x(i)},${(H - 1 - (LEVELS.indexOf(c) / 31) * (H - 2)).toFixed(1)}`).join(' ');
  return (
    <svg class="spark" width={W} height={H} viewBox={`0 0 ${W} ${H}`} role="img" aria-label="memory over time">
      <polygon points={`0,${H} ${line} ${W},${H}`} />
      <polyline points={line} />
    </svg>
  );
}

export const signed = (pct: number): string => `${pct > 0 ? '+' : ''}${pct.toFixed(1)} %`;

/** A figure and its change since the previous run, with a mark of its direction; brief: only a regression, as a mark. */
export function Figure({ text, change, bad, brief, partial }: { text: string; change: number | null; bad: boolean; brief?: boolean; partial?: boolean }) {
  return (
    <>
      {partial ? <span class="soft" title={PARTIAL}>≥ {text}</span> : text}
      {change !== null && Math.abs(change) >= 0.1 && (!brief || bad) && <small class={bad ? 'worse' : 'soft'} title={signed(change)}> {change > 0 ? '▲' : '▼'}{!brief && ` ${signed(change)}`}</small>}
    </>
  );
}

/** Returns the server's limit for a figure: peak>+5% -> 5. */
export function limit(fail_if: string[], what: string): number {
  const found = fail_if.find((f) => f.startsWith(what));
  return found ? parseFloat(found.slice(found.indexOf('+'))) : Infinity;
}

const DOTS = 60; // above this many runs the trend is a line alone, with marks at regressions

const startDay = (r: Run): string => day(r.start_ns ?? r.modified_ns);

/** One figure over the runs of a program, oldest first; those that got worse are marked. The axis covers at least 10 % of the
 * figure, so that noise looks small and a limit of a few percent is visible. */
function Trend({ title, runs, value, text, change, most }: { title: string; runs: Run[]; value: (r: Run) => number | null; text: (v: number) => string; change: (r: Run) => number | null; most: number }) {
  const known = runs.filter((r) => value(r) !== null);
  const whole = known.filter((r) => !r.partial);
  if (known.length < 2) return null;
  const [w, h, left, top, low] = [640, 132, 76, 10, 104];
  const all = known.map((r) => value(r)!);
  const high = Math.max(...all);
  const spare = Math.max(0, 0.1 * high - (high - Math.min(...all))) / 2;
  const [from, to] = [Math.max(0, Math.min(...all) - spare), high + spare || 1];
  const x = (i: number) => left + 8 + (i * (w - left - 16)) / (known.length - 1);
  const y = (v: number) => low - ((v - from) / (to - from)) * (low - top);
  return (
    <figure class="trend">
      <figcaption>
        {title} over {known.length} runs{whole.length > 0 && <>, now <b>{text(value(whole[whole.length - 1])!)}</b></>}
        {whole.length < known.length && <span class="soft" title={PARTIAL}>, {known.length - whole.length} partial ○</span>}
      </figcaption>
      <svg viewBox={`0 0 ${w} ${h}`} role="img" aria-label={`${title} over runs`}>
        {[to, (from + to) / 2, from].map((v) => (
          <>
            <line x1={left} x2={w} y1={y(v)} y2={y(v)} />
            <text x={left - 6} y={y(v) + 4} text-anchor="end">{text(v)}</text>
          </>
        ))}
        <text x={left} y={h - 8}>{startDay(known[0])}</text>
        <text x={w} y={h - 8} text-anchor="end">{startDay(known[known.length - 1])}</text>
        <polyline points={known.flatMap((r, i) => (r.partial ? [] : [`${x(i).toFixed(1)},${y(all[i]).toFixed(1)}`])).join(' ')} />
        {known.map((r, i) => {
          const c = change(r);
          const worse = c !== null && c > most;
          if (!worse && !r.partial && known.length > DOTS) return null;
          return (
            <a href={`/r/${r.id}`}>
              <circle cx={x(i)} cy={y(all[i])} r={worse ? 5 : 3} class={worse ? 'worse' : r.partial ? 'partial' : ''}>
                <title>{`${r.name}: ${text(all[i])}${r.partial ? `; ${PARTIAL}` : c === null ? '' : `, ${signed(c)} against the run before`}`}</title>
              </circle>
            </a>
          );
        })}
      </svg>
    </figure>
  );
}

/** Runs of one program, newest first. The lines are those of the newest run's device, kind and rank: others cannot be compared with it. */
export function Trends({ runs, all }: { runs: Run[]; all: Runs }) {
  const [newest] = runs;
  if (!newest) return null;
  const oldest = runs.filter((r) => r.arguments === newest.arguments && r.device === newest.device && r.format === newest.format && r.rank === newest.rank).reverse();
  const others = runs.length - oldest.length;
  return (
    <div class="trends">
      {others > 0 && <p class="soft hint">{[newest.arguments, newest.device, newest.format, newest.rank !== null && `rank ${newest.rank}`].filter(Boolean).join(', ')}: {oldest.length} of {runs.length} runs, as the newest one.</p>}
      <Trend title="Peak" runs={oldest} value={(r) => r.peak_bytes} text={bytes} change={(r) => r.peak_change_pct} most={limit(all.fail_if, 'peak')} />
      <Trend title="Step time" runs={oldest} value={(r) => r.step_ns} text={ns} change={(r) => r.step_change_pct} most={limit(all.fail_if, 'step')} />
    </div>
  );
}

/** Tags and note of a run, to be changed. */
export function Notes({ run, done }: { run: Run; done: () => void }) {
  const [tags, setTags] = useState(run.tags.join(', '));
  const [note, setNote] = useState(run.note ?? '');
  const [said, setSaid] = useState('');
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const write = async (e: Event) => {
    e.preventDefault();
    const list = tags.split(',').map((t) => t.trim()).filter(Boolean).join(',');
    const answer = await fetch(`/api/runs/${run.id}/note?tags=${encodeURIComponent(list)}&note=${encodeURIComponent(note)}`, { method: 'POST' });
    const told = parse<{ kept?: boolean; message?: string; error?: string }>(await answer.text());
    if (answer.ok && told.kept) return done();
    setSaid(told.message ?? told.error ?? 'the change could not be saved');
  };
  return (
    <form class="notes" onSubmit={(e) => void write(e)} onKeyDown={(e) => e.key === 'Escape' && done()}>
      <b>{run.name}</b>
      <label>Tags <input ref={first} value={tags} maxLength={255} placeholder="baseline, fp8" onInput={(e) => setTags((e.target as HTMLInputElement).value)} /></label>
      <label>Note <input class="wide" value={note} maxLength={500} onInput={(e) => setNote((e.target as HTMLInputElement).value)} /></label>
      <button type="submit">Keep</button>
      <button type="button" onClick={done}>Close</button>
      <span class="error" role="status">{said}</span>
    </form>
  );
}
