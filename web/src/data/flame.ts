// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Flame trees: rows whose parents come first, with exact selves. Sums by function and the sandwich
// (callers and callees of one function) are made here from the rows; docs/analyses/flame.md defines them.
import { load, type Section } from './section';

export type TreeName = 'cpu' | 'gpu' | 'memory' | 'allocated' | 'left';
export type Order = 'heavy' | 'time';

interface TreeJson {
  bytes: boolean;
  total: number;
  folded: number;
  cut: number;
  peak_ns: number;
  names: string[];
  order_folded: number;
  order_cut: number;
}
export type FlameJson = Partial<Record<TreeName, TreeJson>> & { first?: TreeName };

/** The same node in two runs: totals, selves and counts of each. */
export interface Sides {
  total: [Float64Array, Float64Array];
  self: [Float64Array, Float64Array];
  count: [Float64Array, Float64Array];
}

export interface Tree {
  n: number;
  names: string[];
  name: Int32Array;
  parent: Int32Array;
  self: Float64Array;
  total: Float64Array;
  count: Float64Array;
  depth: Int32Array;
  x: Float64Array; // left edge, in units of total
  kids: Int32Array[]; // children from left to right
  bytes: boolean;
  folded: number;
  cut: number;
  deepest: number;
  sides?: Sides;
  python?: boolean; // native frames are left out
}

const nobody = new Int32Array(0);

/** Adds up totals towards the root: parents are smaller rows. */
function sumUp(parent: Int32Array, self: Float64Array): Float64Array {
  const total = self.slice();
  for (let i = parent.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

type Rows = Pick<Tree, 'names' | 'name' | 'parent' | 'self' | 'count'>;

/** Computes depths and positions. `heavy`: the largest child first; `time`: in the order of rows. */
export function layOut(rows: Rows, order: Order, bytes = false, folded = 0, cut = 0): Tree {
  const { parent, self } = rows;
  const n = parent.length;
  const total = sumUp(parent, self);
  const depth = new Int32Array(n);
  const x = new Float64Array(n);
  const lists: number[][] = [];
  let deepest = 0;
  for (let i = 1; i < n; i++) {
    depth[i] = depth[parent[i]] + 1;
    deepest = Math.max(deepest, depth[i]);
    (lists[parent[i]] ??= []).push(i);
  }
  const kids: Int32Array[] = Array(n);
  for (let i = 0; i < n; i++) {
    let at = x[i];
    const list = lists[i];
    if (list && order === 'heavy') list.sort((a, b) => total[b] - total[a] || a - b);
    kids[i] = list ? Int32Array.from(list) : nobody;
    for (const c of kids[i]) {
      x[c] = at;
      at += total[c];
    }
  }
  return { ...rows, n, total, depth, x, kids, bytes, folded, cut, deepest };
}

export function readTree(s: Section<FlameJson>, key: TreeName, order: Order): Tree {
  const j = s.json[key]!;
  const timed = order === 'time';
  const c = timed ? `${key}_order` : key;
  const rows = { names: j.names, name: s.ints(`${c}_name`), parent: s.ints(`${c}_parent`), self: s.column(`${c}_self`), count: s.column(`${c}_count`) };
  if (!rows.parent.length) return layOut({ names: [''], name: new Int32Array(1), parent: new Int32Array(1), self: new Float64Array(1), count: new Float64Array(1) }, order, j.bytes);
  return layOut(rows, order, j.bytes, timed ? j.order_folded : j.folded, timed ? j.order_cut : j.cut);
}

export const nameOf = (t: Tree, node: number): string => t.names[t.name[node]] || '(unnamed)';

/** Returns the node of a path of names, or its nearest existing ancestor (small nodes are folded). */
export function nodeAt(t: Tree, names: readonly string[]): number {
  let at = 0;
  for (const n of names) {
    const next = t.kids[at].find((k) => t.names[t.name[k]] === n);
    if (next === undefined) break;
    at = next;
  }
  return at;
}

/** Returns the nodes from below the root down to this one. */
export function pathOf(t: Tree, node: number): number[] {
  const out: number[] = [];
  for (let i = node; i > 0; i = t.parent[i]) out.push(i);
  return out.reverse();
}

/** Returns per node whether a node with one of the names is around it (1 = yes). */
function within(t: Tree, hit: Uint8Array): Uint8Array {
  const inside = new Uint8Array(t.n);
  for (let i = 1; i < t.n; i++) inside[i] = inside[t.parent[i]] | hit[t.name[t.parent[i]]];
  return inside;
}

/** Returns the weight of everything at or below a matching name, each part once. */
export function matched(t: Tree, hit: Uint8Array): number {
  const inside = within(t, hit);
  let sum = 0;
  for (let i = 1; i < t.n; i++) if (hit[t.name[i]] && !inside[i]) sum += t.total[i];
  return sum;
}

export interface Func {
  name: number;
  total: number; // a function inside itself counts once
  self: number;
  count: number;
}

/** Sums by name, in one walk: open[name] counts how often it is around the current node. */
export function functions(t: Tree): Func[] {
  const of = new Map<number, Func>();
  const open = new Int32Array(t.names.length);
  const walk: number[] = [0]; // ~i = leave i
  while (walk.length) {
    const i = walk.pop()!;
    if (i < 0) {
      open[t.name[~i]]--;
      continue;
    }
    if (i > 0) {
      let f = of.get(t.name[i]);
      if (!f) of.set(t.name[i], (f = { name: t.name[i], total: 0, self: 0, count: 0 }));
      if (!open[t.name[i]]++) f.total += t.total[i];
      f.self += t.self[i];
      f.count += t.count[i];
      walk.push(~i);
    }
    for (const c of t.kids[i]) walk.push(c);
  }
  return [...of.values()];
}

/** A tree that is being built: rows found by (parent, name). */
class Grower {
  readonly name: number[] = [];
  readonly parent: number[] = [];
  readonly self: number[] = [];
  readonly count: number[] = [];
  private readonly at = new Map<number, number>();
  constructor(private readonly names: string[], root: number) {
    this.row(0, root);
  }
  private row(parent: number, name: number): number {
    this.name.push(name);
    this.parent.push(parent);
    this.self.push(0);
    this.count.push(0);
    return this.name.length - 1;
  }
  child(parent: number, name: number): number {
    const key = parent * this.names.length + name;
    let i = this.at.get(key);
    if (i === undefined) this.at.set(key, (i = this.row(parent, name)));
    return i;
  }
  add(row: number, self: number, count: number): void {
    this.self[row] += self;
    this.count[row] += count;
  }
  done(bytes: boolean): Tree {
    return layOut({ names: this.names, name: Int32Array.from(this.name), parent: Int32Array.from(this.parent), self: Float64Array.from(this.self), count: Float64Array.from(this.count) }, 'heavy', bytes);
  }
}

export interface Sandwich {
  callers: Tree; // row 0 is the function; below it its callers, outwards
  callees: Tree; // row 0 is the function; below it its callees
}

/** Callers and callees of a function, from its outermost occurrences: nested ones are callees. */
/** Returns whether a frame is Python code, by the file in its name. */
export const isPython = (name: string): boolean => /\.py\b/.test(name);

/** Returns whether a tree of call stacks mixes Python and native frames. */
export const isMixed = (t: Tree): boolean => t.bytes && t.names.some(isPython) && t.names.some((n) => n.includes('(') && !isPython(n));

/** Returns the same weights by Python frames only: native code counts for the Python frame that called it. */
export function pythonOnly(t: Tree): Tree {
  const none = t.names.length;
  const g = new Grower([...t.names, '[no Python frame]'], t.name[0]);
  const to = new Int32Array(t.n);
  const kept = t.names.map((n) => isPython(n) || n[0] === '[');
  for (let i = 0; i < t.n; i++) {
    const up = to[t.parent[i]];
    to[i] = i && kept[t.name[i]] ? g.child(up, t.name[i]) : up;
    if (t.self[i] || t.count[i]) g.add(to[i] || g.child(0, none), t.self[i], t.count[i]);
  }
  return { ...g.done(t.bytes), folded: t.folded, python: true };
}

export function sandwich(t: Tree, name: number): Sandwich {
  const hit = new Uint8Array(t.names.length);
  hit[name] = 1;
  const inside = within(t, hit);
  const callers = new Grower(t.names, name);
  const callees = new Grower(t.names, name);
  const to = new Int32Array(t.n).fill(-1); // node -> row of callees
  for (let i = 1; i < t.n; i++) {
    if (hit[t.name[i]] && !inside[i]) {
      to[i] = 0;
      let row = 0;
      for (let p = t.parent[i]; p > 0; p = t.parent[p]) row = callers.child(row, t.name[p]);
      callers.add(row, t.total[i], t.count[i]);
    } else if (to[t.parent[i]] >= 0) {
      to[i] = callees.child(to[t.parent[i]], t.name[i]);
    }
    if (to[i] >= 0) callees.add(to[i], t.self[i], t.count[i]);
  }
  return { callers: callers.done(t.bytes), callees: callees.done(t.bytes) };
}

// ---- two runs ----

export type Width = 'both' | 'a' | 'b';

export interface DiffFlameJson {
  trees: Partial<Record<TreeName, { bytes: boolean; folded: number; names: string[] }>>;
}

/** Returns row widths: of one run, or the larger of the two at every row. */
export function readDiffTree(s: Section<DiffFlameJson>, key: TreeName, width: Width): Tree {
  const j = s.json.trees[key]!;
  const parent = s.ints(`${key}_parent`);
  const self: Sides['self'] = [s.column(`${key}_self_a`), s.column(`${key}_self_b`)];
  const count: Sides['count'] = [s.column(`${key}_count_a`), s.column(`${key}_count_b`)];
  const shown = width === 'a' ? self[0] : width === 'b' ? self[1] : self[0].map((v, i) => Math.max(v, self[1][i]));
  const t = layOut({ names: j.names, name: s.ints(`${key}_name`), parent, self: shown, count: count[width === 'a' ? 0 : 1] }, 'heavy', j.bytes, j.folded);
  return { ...t, sides: { self, count, total: [sumUp(parent, self[0]), sumUp(parent, self[1])] } };
}

export type Change = 'same' | 'grown' | 'shrunk' | 'new' | 'gone';

export function changeOf(s: Sides, i: number): Change {
  const [a, b] = [s.total[0][i], s.total[1][i]];
  if (a === b) return 'same';
  return a === 0 ? 'new' : b === 0 ? 'gone' : b > a ? 'grown' : 'shrunk';
}

export const loadFlame = (): Promise<Section<FlameJson>> => load<FlameJson>('flame');
