// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The recordings that a server has, as it tells of them.
import { useEffect, useState } from '../hooks';
import { bytes, plural } from '../data/format';
import { askJson, listen, type Recording } from '../data/live';
import { col, Table } from '../ui/table';

/** How it is doing, in words. */
export function status(r: Recording): string {
  if (r.state === 'failed') return `cannot be read: ${r.error}`;
  if (r.state === 'loading') return r.progress === null ? 'being read' : `being read: ${Math.round(r.progress * 100)} %`;
  const writer = r.writer && { running: 'live: still being written', closed: 'was live, ended', killed: 'its program was killed' }[r.writer];
  return writer ?? (r.state === 'ready' ? 'in memory' : '');
}

const when = (r: Recording): string => new Date(r.modified_ns / 1e6).toLocaleString();

export function Recordings() {
  const [list, set] = useState<Recording[]>();
  const [away, setAway] = useState('');
  useEffect(() => {
    let last = 0;
    const read = () =>
      askJson<{ recordings: Recording[] }>('/api/recordings').then(
        (v) => {
          set(v.recordings);
          setAway('');
          clearTimeout(last);
          if (v.recordings.some((r) => r.state === 'loading')) last = window.setTimeout(read, 300);
        },
        (e: Error) => setAway(e.message),
      );
    void read();
    listen(() => void read());
  }, []);
  if (!list) return <p class="loading">{away || 'Asking…'}</p>;
  if (!list.length) return <p class="loading">There is no recording in what this server was told to serve. New ones appear here as they come.</p>;
  return (
    <section class="panel">
      <header>
        <h2>{plural(list.length, 'recording')}</h2>
        {away && <span class="error">{away}</span>}
      </header>
      <Table
        label="recordings"
        rows={list}
        sort="Changed"
        height={600}
        onPick={(r) => location.assign(`/r/${r.id}`)}
        cols={[
          col<Recording>('Name', (r) => r.name, undefined, { wide: true }),
          col<Recording>('State', status),
          col<Recording>('Size', (r) => r.size_bytes, bytes),
          col<Recording>('In memory', (r) => r.memory_bytes, (v) => (v ? bytes(v) : '–')),
          { key: 'Changed', title: 'Changed', value: (r) => r.modified_ns, text: when },
          col<Recording>('Folder', (r) => r.path.slice(0, -r.name.length - 1)),
        ]}
      />
    </section>
  );
}
