// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The list of a server's recordings. The user opens one, or selects two to compare.
import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes, common, ns, plural, when } from '../../data/format';
import { askJson, listen, type Recording } from '../../data/live';
import { col, Table } from '../../ui/table';
import { keepText, keptText } from '../../state';
import { Groups } from './groups';
import { Figure, limit, Notes, type Run, type Runs, Spark, Trends } from './runs';

/** Returns the state of a recording as text. */
export function status(r: Recording): string {
  if (r.state === 'failed') return `cannot be read: ${r.error}`;
  if (r.state === 'loading' && !r.generation) return r.progress === null ? 'being read' : `being read: ${Math.round(r.progress * 100)} %`;
  const writer = r.writer && { running: 'live: being written', closed: 'was live, ended', killed: 'its program was killed' }[r.writer];
  return writer ?? (r.generation ? 'in memory' : '');
}

/** Returns the note beside a name; nothing for a recording without problems. */
const told = (r: Run): string => (status(r) !== 'in memory' && status(r)) || (r.unreadable ? 'cannot be read' : r.partial ? 'a part is missing' : '');

/** Returns the start of a recording; if unknown, the time of its file. */
const began = (r: Run): number => r.start_ns ?? r.modified_ns;
const folder = (r: Recording): string => r.path.slice(0, -r.name.length - 1);

/** The column of folders, relative to the one that contains all of them; none if there is only one. */
function places(rows: readonly Run[]) {
  const all = [...new Set(rows.map(folder))];
  if (all.length < 2) return [];
  const base = common(all).length + 1;
  return [col<Run>('Folder', (r) => folder(r).slice(base) || '.')];
}

const narrow = matchMedia('(max-width: 760px)');

function useNarrow(): boolean {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const on = () => set(narrow.matches);
    narrow.addEventListener('change', on);
    on(); // it may have changed since
    return () => narrow.removeEventListener('change', on);
  }, []);
  return is;
}

const PAGE = 500; // recordings listed at once

/** The list, newest first, updated while the page is open. */
function useList(most: number): { all: Runs | undefined; away: string; again: () => void } {
  const [all, set] = useState<Runs>();
  const want = useRef(most);
  const again = useRef(() => {});
  const [away, setAway] = useState('');
  useEffect(() => {
    let last = 0;
    const read = () =>
      askJson<Runs>(`/api/runs?limit=${want.current}`).then(
        (v) => {
          set(v);
          setAway('');
          clearTimeout(last);
          const moving = v.runs.some((r) => r.state === 'loading') ? 300 : v.pending || v.runs.some((r) => r.writer === 'running') ? 2000 : 0;
          if (moving) last = window.setTimeout(read, moving);
        },
        (e: Error) => setAway(e.message),
      );
    void read();
    listen(() => void read());
    again.current = () => void read();
  }, []);
  useEffect(() => {
    if (want.current === most) return;
    want.current = most;
    again.current();
  }, [most]);
  return { all, away, again: () => again.current() };
}

/** True if grouped by program: the last choice; by default if there are many runs of several programs. */
const MANY = 50;
function useGrouped(all: Runs | undefined): [boolean, () => void] {
  const [chosen, set] = useState(() => keptText('groups'));
  const is = chosen ? chosen === 'yes' : !!all && all.count > MANY && all.groups.length > 1;
  const flip = () => {
    keepText('groups', is ? 'no' : 'yes');
    set(is ? 'no' : 'yes');
  };
  return [is, flip];
}

const known = (v: number | null): number => v ?? -1;
const or = (f: (v: number) => string) => (v: number): string => (v < 0 ? '–' : f(v));
const percent = or((v) => `${v.toFixed(1)} %`);

/** Returns a name with its middle left out if it is long: runs of one program mostly differ at the end. */
function middle(name: string, most: number): string {
  const head = Math.floor((most - 1) / 2);
  return name.length <= most ? name : `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`;
}

/** Returns the change since the previous run. A decrease of a live run is unknown: it may still reach the previous figure. */
const changed = (r: Run, pct: number | null): number | null => (r.writer === 'running' && (pct ?? 0) < 0 ? null : pct);

/** Peak and step time, with their change since the previous run if there is space. */
const main = (all: Runs, small: boolean) => [
  col<Run>('Peak', (r) => known(r.peak_bytes), or(bytes), {
    show: (r) => <Figure text={or(bytes)(known(r.peak_bytes))} change={changed(r, r.peak_change_pct)} bad={(r.peak_change_pct ?? 0) > limit(all.fail_if, 'peak')} brief={small} partial={r.partial && r.peak_bytes !== null} />,
  }),
  col<Run>('Step', (r) => known(r.step_ns), or(ns), {
    show: (r) => <Figure text={or(ns)(known(r.step_ns))} change={changed(r, r.step_change_pct)} bad={(r.step_change_pct ?? 0) > limit(all.fail_if, 'step')} brief={small} />,
  }),
];

/** Returns a function to the words of a run's arguments in which these runs differ, each with the option before it. */
function differing(rows: readonly Run[]): (r: Run) => string {
  const all = rows.filter((r) => r.arguments).map((r) => r.arguments!.split(' '));
  const same = (i: number) => all.every((w) => w[i] === all[0][i]);
  return (r) => (r.arguments ?? '').split(' ').filter((word, i) => !same(i) || (word[0] === '-' && !same(i + 1))).join(' ') || '–';
}

/** Columns for wide screens, in order of importance: the last ones may need scrolling. */
const figures = (all: Runs, edit: (r: Run) => void, rows: readonly Run[]) => [
  { key: 'When', title: 'When', value: began, text: (r: Run) => when(began(r)) },
  ...(new Set(rows.map((r) => r.program)).size > 1 ? [col<Run>('Program', (r) => r.program ?? '–')] : []),
  ...(new Set(rows.map((r) => `${r.program} ${r.arguments}`)).size > new Set(rows.map((r) => r.program)).size ? [col<Run>('Arguments', (r) => r.arguments ?? '', undefined, { text: differing(rows) })] : []),
  col<Run>('Kind', (r) => r.format ?? '–'),
  col<Run>('Device', (r) => r.device ?? '–'),
  col<Run>('Memory', (r) => known(r.peak_bytes), undefined, { show: (r) => <Spark of={r.spark} />, text: () => '' }),
  ...main(all, false),
  col<Run>('GPU busy', (r) => known(r.gpu_busy_pct), percent),
  col<Run>('Losses', (r) => known(r.losses), or((v) => (v ? String(v) : '0'))),
  col<Run>('Tags', (r) => [...r.tags, r.note ?? ''].join(' '), undefined, {
    show: (r) => (
      <button class="tags" title={r.note ?? 'Tags and a note'} tabIndex={-1} onClick={(e) => { e.stopPropagation(); edit(r); }}>
        {r.tags.length ? r.tags.map((t) => <span class="tag">{t}</span>) : '+'}{r.note && ' ✎'}
      </button>
    ),
  }),
  col<Run>('Size', (r) => r.size_bytes, bytes),
  ...places(rows),
];

export function Recordings() {
  const [most, setMost] = useState(PAGE);
  const { all, away, again } = useList(most);
  const small = useNarrow();
  const [two, setTwo] = useState<string[] | null>(null); // ids that were chosen to be compared; null = rows open
  const chosen = useRef(new Map<string, Run>());
  const [program, setProgram] = useState('');
  const [edited, setEdited] = useState<Run | null>(null);
  const [byProgram, flip] = useGrouped(all);
  const grouped = byProgram && !small;
  if (!all) return <p class="loading">{away || 'Asking…'}</p>;
  const others = all.other_files > 0 && <span class="soft" title="JSON documents without trace events, such as a model's config.json">{plural(all.other_files, 'other JSON file')} not listed</span>;
  if (!all.runs.length) return <p class="loading">This server has no recordings yet. New ones appear here. {others}</p>;
  const programs = [...new Set(all.runs.map((r) => r.program).filter((p): p is string => !!p))].sort();
  const list = program && !grouped ? all.runs.filter((r) => r.program === program) : all.runs;
  const worse = grouped ? all.groups.reduce((n, g) => n + g.regressions, 0) : list.filter((r) => r.regression).length;
  // The older one is A ("before"); Swap exchanges them.
  const tick = (r: Run) => {
    chosen.current.set(r.id, r);
    const now = (two ?? []).includes(r.id) ? (two ?? []).filter((k) => k !== r.id) : [...(two ?? []), r.id].slice(-2);
    setTwo(now.sort((a, b) => began(chosen.current.get(a)!) - began(chosen.current.get(b)!)));
  };
  const pick = (r: Run) => (two ? tick(r) : location.assign(`/r/${r.id}`));
  const key = (r: Run, k: string): boolean => {
    if (k === ' ') tick(r);
    else if (k === 't' && !small) setEdited(r);
    else return false;
    return true;
  };
  const name = (k: number) => chosen.current.get(two?.[k] ?? '')?.name;
  const columns = (rows: readonly Run[]) => [
    // A link, so that it can be opened in another tab and its address copied.
    col<Run>('Name', (r) => r.name, undefined, {
      wide: true,
      show: (r) => (
        <>
          <input type="checkbox" aria-label={`compare ${r.name}`} tabIndex={-1} checked={!!two?.includes(r.id)} onClick={(e) => { e.stopPropagation(); tick(r); }} />{' '}
          {two ? middle(r.name, long(r)) : <a href={`/r/${r.id}`} tabIndex={-1} onClick={(e) => e.stopPropagation()}>{middle(r.name, long(r))}</a>}
          {small && (r.state === 'failed' || r.unreadable) && <span class="worse" title="cannot be read"> !</span>}
          {small && r.writer === 'running' && <span class="live running">live</span>}
          {!small && r.exports.map((x) => <> <a class="soft" href={`/r/${x.id}`} title={`Open ${x.name}, which the same session wrote`} tabIndex={-1} onClick={(e) => e.stopPropagation()}>{x.name.slice(x.name.lastIndexOf('.'))}</a></>)}
          {!small && told(r) && <span class={r.state === 'failed' || r.unreadable ? 'worse' : 'soft'}> {told(r)}</span>}
        </>
      ),
    }),
    ...(small ? main(all, true) : figures(all, setEdited, rows)),
  ];
  const long = (r: Run) => (small ? 16 : r.exports.length ? 22 : 30); // characters of a name: links to exports follow it
  const live = list.filter((r) => r.writer === 'running').length;
  const table = (rows: Run[], label: string, height: number) => <Table label={label} rows={rows} sort={small ? undefined : 'When'} height={height} onPick={pick} picked={(r) => !!two?.includes(r.id)} cols={columns(rows)} onKey={key} />;
  return (
    <section class="panel recordings">
      <header>
        <h2>{plural(list.length < all.runs.length ? list.length : all.count, 'recording')}{live > 0 && <>, <span class="live running">{live} live</span></>}{worse > 0 && <>, <span class="worse">{worse} worse than the run before</span></>}</h2>
        {all.pending > 0 && <span class="soft" role="status">{plural(all.pending, 'recording')} still to be looked at</span>}
        {others}
        {away && <span class="error">{away}</span>}
        <span class="actions">
          {!small && programs.length > 0 && <button aria-pressed={grouped} onClick={flip}>Group by program</button>}
          {!small && !grouped && programs.length > 0 && (
            <select aria-label="Program" value={program} onChange={(e) => setProgram((e.target as HTMLSelectElement).value)}>
              <option value="">All programs</option>
              {programs.map((p) => <option value={p}>{p}</option>)}
            </select>
          )}
          {all.runs.length > 1 && (
            <>
              {two && <button disabled={two.length < 2} title="Exchange before and after" onClick={() => setTwo([two[1], two[0]])}>Swap</button>}
              {two && <button disabled={two.length < 2} onClick={() => location.assign(`/diff/${two[0]}/${two[1]}`)}>Compare</button>}
              <button aria-pressed={!!two} onClick={() => setTwo(two ? null : [])}>{two ? 'Cancel' : 'Compare two…'}</button>
            </>
          )}
        </span>
      </header>
      {two && (
        <p class="soft" role="status">
          {two.length < 2 ? `Select ${two.length ? 'another recording' : 'two recordings'}.` : ''}
          {two.length > 0 && <> <b class="mark-a">A</b> {name(0)}{two.length > 1 && ' before'}</>}
          {two.length > 1 && <> · <b class="mark-b">B</b> {name(1)} after</>}
        </p>
      )}
      {edited && <Notes key={edited.id} run={edited} done={() => { setEdited(null); again(); }} />}
      {grouped && <Groups all={all} table={(rows, label) => table(rows, label, 320)} />}
      {!grouped && program && <Trends runs={list} all={all} />}
      {!grouped && table(list, 'recordings', 600)}
      {!grouped && all.count > all.runs.length && (
        <p class="soft">
          The newest {all.runs.length} of {all.count} are listed. <button onClick={() => setMost(most + PAGE)}>Show more</button>
        </p>
      )}
    </section>
  );
}
