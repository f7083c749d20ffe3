// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Requests spans of a recording that is too large to be sent from a server: one span, sums over an area, matches of a
// search. The figures are those that data/notes.ts computes from loaded spans.
import { askJson } from './live';
import type { Sum } from './notes';

export interface SpanJson {
  n: number; // its number, as the whole timeline counts
  name: string;
  cat: string;
  t0_ns: number;
  t1_ns: number;
  track: number;
  row: number;
}
export interface DetailsJson {
  span: SpanJson;
  lane: string;
  flags: number;
  self_ns: number;
  allocated_bytes: number | null;
  freed_bytes: number | null;
  links_in_all: number;
  links: { kind: string; starts: boolean; span: SpanJson }[];
  parents: SpanJson[]; // from the innermost on
  cause: (SpanJson & { parents: SpanJson[] }) | null;
  args: Record<string, unknown>;
  source: string | null; // its arguments as the file has them
  stack: string[];
}
export interface FoundJson {
  total: number;
  before: number;
  spans: SpanJson[];
}
export interface SumsJson {
  spans: number;
  self_ns: number;
  names: number;
  sums: { name: string; cat: string; count: number; total_ns: number; self_ns: number; longest_ns: number; longest: SpanJson }[];
}

const KEPT = 300;
// Arguments that a small recording's model keeps (TIDE_WANT_SHAPES); for a large one they are in the file.
const shown = ['Input Dims', 'Input type', 'Concrete Inputs', 'grid', 'block', 'shared memory', 'registers per thread', 'est. achieved occupancy %'];

/** Returns the arguments as pairs. */
export function argsOf(d: DetailsJson): [string, string][] {
  const text = (v: unknown) => (typeof v === 'string' ? v : JSON.stringify(v));
  const out = Object.entries(d.args).map(([k, v]): [string, string] => [k, text(v)]);
  try {
    const more = JSON.parse(d.source ?? '{}') as Record<string, unknown>;
    for (const k of shown) if (k in more && !(k in d.args)) out.push([k, text(more[k])]);
  } catch {} // the file has other data there
  return out;
}

/** Returns numbers as "0.3-7.12". */
function ranges(list: readonly number[]): string {
  const out: string[] = [];
  const v = [...list].sort((a, b) => a - b);
  for (let i = 0; i < v.length; ) {
    let k = i;
    while (k + 1 < v.length && v[k + 1] <= v[k] + 1) k++;
    out.push(k > i ? `${v[i]}-${v[k]}` : `${v[i]}`);
    i = k + 1;
  }
  return out.join('.');
}

export class FarSpans {
  private readonly kept = new Map<number, Promise<DetailsJson>>();
  private readonly at: string;
  constructor(id: string) {
    this.at = `/api/recordings/${id}`;
  }

  details(n: number): Promise<DetailsJson> {
    let p = this.kept.get(n);
    if (!p) {
      if (this.kept.size >= KEPT) this.kept.clear();
      this.kept.set(n, (p = askJson<DetailsJson>(`${this.at}/span?n=${n}`)));
      p.catch(() => this.kept.delete(n));
    }
    return p;
  }

  /** Returns the span of that name around [t0, t1], the shortest if there are several. */
  named(name: string, t0: number, t1: number): Promise<DetailsJson> {
    return askJson<DetailsJson>(`${this.at}/span?name=${encodeURIComponent(name)}&from=${Math.round(t0)}&to=${Math.round(t1)}`);
  }

  /** Returns one match: the first from time `after` on, or the one after `skip` others. */
  search(q: string, by: { after: number } | { skip: number }): Promise<FoundJson> {
    const where = 'skip' in by ? `&skip=${by.skip}` : by.after > 0 ? `&after=${Math.ceil(by.after)}` : '';
    return askJson<FoundJson>(`${this.at}/search?q=${encodeURIComponent(q)}&limit=1${where}`);
  }

  async sums(t0: number, t1: number, tracks: readonly number[], most: number): Promise<{ rows: Sum[]; names: number }> {
    const from = Math.max(0, Math.floor(t0));
    const j = await askJson<SumsJson>(`${this.at}/sums?from=${from}&to=${Math.max(from + 1, Math.ceil(t1))}&tracks=${ranges(tracks)}&limit=${most}`);
    const rows = j.sums.map((s) => ({ name: s.name || '(unnamed)', cat: s.cat, n: s.count, total: s.total_ns, self: s.self_ns, longest: s.longest_ns, at: s.longest.n }));
    return { rows, names: j.names };
  }
}
