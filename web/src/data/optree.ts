// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The tree of ops: rows whose parents come first; row 0 is the whole trace. docs/analyses/ops.md
// defines the figures, the section's rows are those of the analysis.
import type { Section } from './section';

/** Name, calls, forward and backward ns, forward and backward bytes, backward ops. */
export type ModuleRow = [string, number, number, number, number, number, number, number, number];

export interface OpsJson {
  ops: [string, number, number, number, number, number, number, number][];
  ops_in_all: number;
  memory: boolean; // false: the trace has no memory events, and rows have null
  modules: ModuleRow[];
  modules_in_all: number;
  folded: number;
  names: string[];
}

export interface OpTree {
  n: number;
  names: string[]; // '' = small ones together
  name: Int32Array;
  parent: Int32Array;
  depth: Int32Array;
  count: Float64Array;
  wall: Float64Array;
  self: Float64Array;
  alloc: Float64Array;
  free: Float64Array;
  peak: Float64Array;
  folded: number;
}

export function readOpTree(s: Section<OpsJson>): OpTree {
  const parent = s.ints('parent');
  const known = (k: string) => (s.json.memory ? s.column(k) : s.column('count').fill(NaN)); // otherwise shown as –
  const depth = new Int32Array(parent.length);
  for (let i = 1; i < parent.length; i++) depth[i] = depth[parent[i]] + 1;
  return { n: parent.length, names: s.json.names, name: s.ints('name'), parent, depth, count: s.column('count'), wall: s.column('wall'), self: s.column('self'), alloc: known('alloc'), free: known('free'), peak: known('peak'), folded: s.json.folded };
}

/** Returns the children of each row, largest first by a figure. */
export function childrenOf(t: Pick<OpTree, 'n' | 'parent'>, figure: (i: number) => number): number[][] {
  const kids: number[][] = Array.from({ length: t.n }, () => []);
  for (let i = 1; i < t.n; i++) kids[t.parent[i]].push(i);
  for (const k of kids) k.sort((a, b) => figure(b) - figure(a) || a - b);
  return kids;
}

/** Returns the path of heaviest children: `kids` are in that order. */
export function hotPath(t: Pick<OpTree, 'name'>, kids: number[][]): Set<number> {
  const out = new Set<number>();
  for (let i = 0; ; ) {
    const next = kids[i].find((c) => t.name[c]);
    if (next === undefined) return out;
    out.add(next);
    i = next;
  }
}

/** Returns the rows of `to` with the same paths as those rows of `from`, for a trace that grows. */
export function sameRows(from: OpTree, rows: Set<number>, to: OpTree): Set<number> {
  const key = (parent: number, name: string) => `${parent} ${name}`;
  const place = new Map<string, number>();
  for (let i = 1; i < to.n; i++) place.set(key(to.parent[i], to.names[to.name[i]]), i);
  const now = new Int32Array(from.n);
  for (let i = 1; i < from.n; i++) {
    const p = now[from.parent[i]];
    now[i] = p < 0 ? -1 : (place.get(key(p, from.names[from.name[i]])) ?? -1);
  }
  return new Set([...rows].map((i) => now[i]).filter((i) => i >= 0));
}

/** Returns the rows to show from the top down: the children of open rows. */
export function visible(t: Pick<OpTree, 'n'>, kids: number[][], open: (i: number) => boolean, only?: Set<number>): number[] {
  const out: number[] = [];
  if (!t.n) return out;
  const todo = [...kids[0]].reverse();
  while (todo.length) {
    const i = todo.pop()!;
    if (only && !only.has(i)) continue;
    out.push(i);
    if (open(i)) for (let k = kids[i].length; k-- > 0; ) todo.push(kids[i][k]);
  }
  return out;
}

/** Returns rows whose name contains the text, and their ancestors. */
export function matching(t: OpTree, text: string): { hits: number; shown: Set<number>; around: Set<number> } {
  const low = text.toLowerCase();
  const hit = t.names.map((n) => n.toLowerCase().includes(low));
  const shown = new Set<number>();
  const around = new Set<number>([0]);
  let hits = 0;
  for (let i = 1; i < t.n; i++) {
    if (!hit[t.name[i]]) continue;
    hits++;
    shown.add(i);
    for (let p = t.parent[i]; p && !around.has(p); p = t.parent[p]) {
      around.add(p);
      shown.add(p);
    }
  }
  return { hits, shown, around };
}
