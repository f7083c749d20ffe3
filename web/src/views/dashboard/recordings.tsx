// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The recordings that a server has, as it tells of them. One of them is opened, or two are chosen to be compared.
import { useEffect, useRef, useState } from '../../hooks';
import { bytes, plural } from '../../data/format';
import { askJson, listen, type Recording } from '../../data/live';
import { col, Table } from '../../ui/table';

/** How it is doing, in words. */
export function status(r: Recording): string {
  if (r.state === 'failed') return `cannot be read: ${r.error}`;
  if (r.state === 'loading' && !r.generation) return r.progress === null ? 'being read' : `being read: ${Math.round(r.progress * 100)} %`;
  const writer = r.writer && { running: 'live: being written', closed: 'was live, ended', killed: 'its program was killed' }[r.writer];
  return writer ?? (r.generation ? 'in memory' : '');
}

/** The same in one word, where there is little room. */
const word = (r: Recording): string => status(r).split(/[:,]/)[0].replace('its program was ', '');

const when = (r: Recording): string => new Date(r.modified_ns / 1e6).toLocaleString();
const folder = (r: Recording): string => r.path.slice(0, -r.name.length - 1);

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

/** The list, newest first, as long as the page lives. */
function useList(most: number): { list: Recording[] | undefined; total: number; away: string } {
  const [list, set] = useState<Recording[]>();
  const [total, setTotal] = useState(0);
  const want = useRef(most);
  const again = useRef(() => {});
  const [away, setAway] = useState('');
  useEffect(() => {
    let last = 0;
    const read = () =>
      askJson<{ total: number; recordings: Recording[] }>(`/api/recordings?limit=${want.current}`).then(
        (v) => {
          set(v.recordings);
          setTotal(v.total);
          setAway('');
          clearTimeout(last);
          const moving = v.recordings.some((r) => r.state === 'loading') ? 300 : v.recordings.some((r) => r.writer === 'running') ? 2000 : 0;
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
  return { list, total, away };
}

export function Recordings() {
  const [most, setMost] = useState(PAGE);
  const { list, total, away } = useList(most);
  const small = useNarrow();
  const [two, setTwo] = useState<string[] | null>(null); // ids that were chosen to be compared; null = rows open
  if (!list) return <p class="loading">{away || 'Asking…'}</p>;
  if (!list.length) return <p class="loading">There is no recording in what this server was told to serve. New ones appear here as they come.</p>;
  const pick = (r: Recording) => {
    if (!two) return location.assign(`/r/${r.id}`);
    setTwo(two.includes(r.id) ? two.filter((k) => k !== r.id) : [...two, r.id].slice(-2));
  };
  const name = (k: number) => list.find((r) => r.id === two?.[k])?.name;
  const folders = new Set(list.map(folder)).size > 1;
  const cols = [
    // A link, so that it can be opened beside the list and its address copied.
    col<Recording>('Name', (r) => r.name, undefined, { wide: true, show: two ? undefined : (r) => <a href={`/r/${r.id}`} tabIndex={-1} onClick={(e) => e.stopPropagation()}>{r.name}</a> }),
    col<Recording>('State', small ? word : status),
    col<Recording>('Size', (r) => r.size_bytes, bytes),
    ...(small
      ? []
      : [
          col<Recording>('In memory', (r) => r.memory_bytes, (v) => (v ? bytes(v) : '–')),
          { key: 'Changed', title: 'Changed', value: (r: Recording) => r.modified_ns, text: when },
          ...(folders ? [col<Recording>('Folder', folder)] : []),
        ]),
  ];
  const live = list.filter((r) => r.writer === 'running').length;
  return (
    <section class="panel recordings">
      <header>
        <h2>{plural(total, 'recording')}{live > 0 && <>, <span class="live running">{live} live</span></>}</h2>
        {away && <span class="error">{away}</span>}
        {list.length > 1 && (
          <span class="actions">
            {two && <button disabled={two.length < 2} onClick={() => location.assign(`/diff/${two[0]}/${two[1]}`)}>Compare</button>}
            <button aria-pressed={!!two} onClick={() => setTwo(two ? null : [])}>{two ? 'Cancel' : 'Compare two…'}</button>
          </span>
        )}
      </header>
      {two && (
        <p class="soft" role="status">
          {two.length < 2 ? `Choose ${two.length ? 'the one after' : 'the one before, then the one after'}.` : ''}
          {two.length > 0 && <> <b class="mark-a">A</b> {name(0)}</>}
          {two.length > 1 && <> <b class="mark-b">B</b> {name(1)}</>}
        </p>
      )}
      <Table label="recordings" rows={list} sort={small ? undefined : 'Changed'} height={600} onPick={pick} picked={(r) => !!two?.includes(r.id)} cols={cols} />
      {total > list.length && (
        <p class="soft">
          The newest {list.length} of {total} are listed. <button onClick={() => setMost(most + PAGE)}>Show more</button>
        </p>
      )}
    </section>
  );
}
