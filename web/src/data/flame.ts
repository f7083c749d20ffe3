// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Flame trees: rows whose parents come first, with exact selves.
import { load, type Section } from './section';

export type TreeName = 'cpu' | 'gpu' | 'memory';

interface TreeJson {
  bytes: boolean;
  total: number;
  folded: number;
  peak_ns: number;
  names: string[];
}
export type FlameJson = Record<TreeName, TreeJson>;

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
  bytes: boolean;
  folded: number;
  deepest: number;
}

export function readTree(s: Section<FlameJson>, key: TreeName): Tree {
  const parent = s.ints(`${key}_parent`);
  const self = s.column(`${key}_self`);
  const n = parent.length;
  const total = self.slice();
  for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
  const depth = new Int32Array(n);
  const x = new Float64Array(n);
  const children: number[][] = Array.from({ length: n }, () => []);
  let deepest = 0;
  for (let i = 1; i < n; i++) {
    depth[i] = depth[parent[i]] + 1;
    deepest = Math.max(deepest, depth[i]);
    children[parent[i]].push(i);
  }
  for (let i = 0; i < n; i++) {
    let at = x[i];
    for (const c of children[i].sort((a, b) => total[b] - total[a])) {
      x[c] = at;
      at += total[c];
    }
  }
  const j = s.json[key];
  return {
    n,
    names: j.names,
    name: s.ints(`${key}_name`),
    parent,
    self,
    total,
    count: s.column(`${key}_count`),
    depth,
    x,
    bytes: j.bytes,
    folded: j.folded,
    deepest,
  };
}

export const loadFlame = (): Promise<Section<FlameJson>> => load<FlameJson>('flame');
