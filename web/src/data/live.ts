// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Talks to the server: its list of recordings, its notifications, and sections of one recording.
import { parse } from './section';
import type { Source } from './source';

export interface Recording {
  id: string;
  name: string;
  path: string;
  size_bytes: number;
  modified_ns: number;
  state: 'idle' | 'loading' | 'ready' | 'failed';
  exported: 'hta' | 'compile' | 'memory' | 'session' | null; // a report of tidemark.profiling; null = a recording, or not yet looked at
  writer: 'running' | 'closed' | 'killed' | null;
  progress: number | null;
  generation: number;
  early_generation: number; // of its beginning, while the whole is first read
  memory_bytes: number;
  error: string | null;
}

/** on: accept the beginning of a large recording until all of it has been read. */
export const early = { on: false };

/** Returns a response; throws an error with the server's text if it failed. */
export async function ask(target: string): Promise<Response> {
  const first = early.on && !target.endsWith('/perfetto');
  const r = await fetch(first ? `${target}${target.includes('?') ? '&' : '?'}early=1` : target);
  if (r.ok) return r;
  const text = await r.text();
  let why = text;
  try {
    why = (JSON.parse(text) as { error: string }).error;
  } catch {}
  throw new Error(why || r.statusText);
}

export const askJson = async <T>(target: string): Promise<T> => parse<T>(await (await ask(target)).text());
export const bytesOf = async (target: string): Promise<Uint8Array<ArrayBuffer>> => new Uint8Array(await (await ask(target)).arrayBuffer());

const NAMES: ReadonlySet<string> = new Set(['main', 'tables', 'ops', 'hta', 'critical', 'roofline', 'spans', 'coarse', 'memory', 'flame', 'allocator', 'ledger']);
const SHARED: ReadonlySet<string> = new Set(['page', 'diff', 'diffflame']);

/** Sections of one recording, or of two that are compared; empty[k] are the sections that the k-th lacks, query(name, k) is the
 * requested part of a section. */
export function serverSource(ids: readonly string[], empty: readonly ReadonlySet<string>[], query: (name: string, k: number) => string): Source {
  const own = (name: string): [string, number] => (name.endsWith('.1') ? [name.slice(0, -2), 1] : [name, 0]);
  return {
    has: (name) => {
      const [n, k] = own(name);
      return SHARED.has(name) ? ids.length > 1 : NAMES.has(n) && k < ids.length && !empty[k].has(n);
    },
    read: (name) => {
      const [n, k] = own(name);
      return bytesOf(SHARED.has(name) ? `/pair/${ids[0]}/${ids[1]}/${name}` : `/data/${ids[k]}/${n}${query(n, k)}`);
    },
  };
}

/** Calls `on` with a recording that was read (again), or with null when the list changed, as long as the page lives. When the connection is
 * made (again), it reports earlier changes of `ids`. */
export function listen(on: (r: Recording | null) => void, ids: readonly string[] = []): void {
  const events = new EventSource('/api/events');
  events.onopen = () => ids.forEach((id) => void askJson<Recording>(`/api/recordings/${id}`).then(on, () => {}));
  events.addEventListener('recording', (e) => on(JSON.parse((e as MessageEvent<string>).data) as Recording));
  events.addEventListener('recordings', () => on(null));
  events.addEventListener('lost', () => on(null));
}
