// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { changeOf, functions, isMixed, isPython, layOut, matched, nameOf, nodeAt, pathOf, pythonOnly, sandwich, type Tree } from '../src/data/flame';
import { childrenOf, hotPath, matching, type OpTree, sameRows, visible } from '../src/data/optree';
import { boxAt, boxes, brief } from '../src/views/flame/draw';
import { step } from '../src/views/flame/flame';

let seed = 11;
const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;

/** A random tree in which names repeat, also inside themselves. */
function someTree(n: number): Tree {
  const names = ['root', 'a', 'b', 'c', 'd'];
  const parent = Int32Array.from({ length: n }, (_, i) => (i ? random(i) : 0));
  const name = Int32Array.from({ length: n }, (_, i) => (i ? 1 + random(4) : 0));
  const self = Float64Array.from({ length: n }, () => random(3) * random(20));
  const count = Float64Array.from({ length: n }, () => random(5));
  return layOut({ names, name, parent, self, count }, random(2) ? 'heavy' : 'time');
}

/** Every node as a stack of names with its own weight, like a profiler's samples. */
const stacks = (t: Tree) => Array.from({ length: t.n }, (_, i) => ({ names: pathOf(t, i).map((p) => t.name[p]), self: t.self[i], count: t.count[i] }));

/** Totals by path of a tree: "1/2/1" -> total. */
function byPath(t: Tree): Record<string, number> {
  const out: Record<string, number> = {};
  for (let i = 0; i < t.n; i++) {
    const key = pathOf(t, i).map((p) => t.name[p]).join('/');
    expect(out[key]).toBeUndefined();
    out[key] = t.total[i];
  }
  return out;
}

const add = (to: Record<string, number>, key: string, v: number) => (to[key] = (to[key] ?? 0) + v);
const drop0 = (r: Record<string, number>) => Object.fromEntries(Object.entries(r).filter(([, v]) => v));

describe('flame trees', () => {
  it('totals are selves added up, children lie next to each other in their parent', () => {
    for (let round = 0; round < 100; round++) {
      const t = someTree(1 + random(80));
      expect(t.total[0]).toBe(t.self.reduce((a, b) => a + b, 0));
      for (let i = 0; i < t.n; i++) {
        let at = t.x[i];
        for (const c of t.kids[i]) {
          expect(t.parent[c]).toBe(i);
          expect(t.x[c]).toBe(at);
          at += t.total[c];
        }
        expect(at + t.self[i]).toBe(t.x[i] + t.total[i]);
      }
    }
  });
  it('Python frames alone hold what native code below them holds; a path is found again', () => {
    const code = ['memory', 'f (a.py:1)', 'g (b.py:2)', 'at::empty()', 'PyEval (??)'];
    for (let round = 0; round < 100; round++) {
      const raw = someTree(1 + random(80));
      const t: Tree = { ...raw, names: code, bytes: true };
      const want: Record<string, number> = {};
      for (const s of stacks(t)) add(want, s.names.filter((n) => isPython(code[n])).join('/') || '5', s.self);
      const p = pythonOnly(t);
      expect(p.total[0]).toBe(t.total[0]);
      const got: Record<string, number> = {};
      for (let i = 1; i < p.n; i++) add(got, pathOf(p, i).map((k) => p.name[k]).join('/'), p.self[i]);
      expect(drop0(got)).toEqual(drop0(want));
      for (let i = 0; i < p.n; i++) expect(nodeAt(p, pathOf(p, i).map((k) => nameOf(p, k)))).toBe(i);
      expect(isMixed(p)).toBe(p.names.some((n) => n.includes('(') && !isPython(n)) && p.bytes);
    }
  });
  it('sums by function count each stack once, however often the function is in it', () => {
    for (let round = 0; round < 100; round++) {
      const t = someTree(1 + random(80));
      const want: Record<string, { total: number; self: number; count: number }> = {};
      for (const s of stacks(t)) {
        for (const n of new Set(s.names)) (want[n] ??= { total: 0, self: 0, count: 0 }).total += s.self;
        const last = s.names.at(-1);
        if (last === undefined) continue;
        want[last].self += s.self;
        want[last].count += s.count;
      }
      const got = Object.fromEntries(functions(t).map((f) => [f.name, { total: f.total, self: f.self, count: f.count }]));
      expect(got).toEqual(want);
    }
  });
  it('a sandwich has the stacks that hold the function, cut at its outermost place', () => {
    for (let round = 0; round < 150; round++) {
      const t = someTree(2 + random(80));
      const f = 1 + random(4);
      const callers: Record<string, number> = { '': 0 };
      const callees: Record<string, number> = { '': 0 };
      for (const s of stacks(t)) {
        const at = s.names.indexOf(f);
        if (at < 0) continue;
        const out = s.names.slice(0, at).reverse();
        const inner = s.names.slice(at + 1);
        for (let k = 0; k <= out.length; k++) add(callers, out.slice(0, k).join('/'), s.self);
        for (let k = 0; k <= inner.length; k++) add(callees, inner.slice(0, k).join('/'), s.self);
      }
      const two = sandwich(t, f);
      expect(drop0(byPath(two.callers))).toEqual(drop0(callers));
      expect(drop0(byPath(two.callees))).toEqual(drop0(callees));
      expect(two.callers.total[0]).toBe(functions(t).find((x) => x.name === f)?.total ?? 0);
    }
  });
  it('what matches a search is counted once', () => {
    for (let round = 0; round < 100; round++) {
      const t = someTree(1 + random(80));
      const hit = Uint8Array.from(t.names, (_, i) => (i ? random(2) : 0));
      let want = 0;
      for (const s of stacks(t)) if (s.names.some((n) => hit[n])) want += s.self;
      expect(matched(t, hit)).toBe(want);
    }
  });
  it('boxes: zoomed in, ancestors fill the width, others keep their proportion, none is lost that can be seen', () => {
    for (let round = 0; round < 60; round++) {
      const t = someTree(1 + random(60));
      const at = random(t.n);
      if (!t.total[at]) continue;
      const list = boxes(t, at, 500);
      const seen = new Map(list.map((b) => [b.node, b]));
      expect(seen.size).toBe(list.length);
      for (let i = 0; i < t.n; i++) {
        const inside = pathOf(t, i).includes(at) || at === 0;
        const around = i !== at && (i === 0 || pathOf(t, at).includes(i));
        const b = seen.get(i);
        if (around) expect([b?.x0, b?.x1]).toEqual([0, 500]);
        else if (inside && (t.total[i] / t.total[at]) * 500 >= 0.5) expect(b!.x1 - b!.x0).toBeCloseTo((t.total[i] / t.total[at]) * 500, 6);
        else if (!inside) expect(b).toBeUndefined();
        if (b && b.x1 - b.x0 > 2) expect(boxAt(list, (b.x0 + b.x1) / 2, t.depth[i])?.node).toBe(i);
      }
    }
  });
  it('arrow keys go to parents, children and neighbours', () => {
    const t = layOut({ names: ['r', 'a', 'b', 'c'], name: Int32Array.of(0, 1, 2, 3), parent: Int32Array.of(0, 0, 0, 2), self: Float64Array.of(0, 9, 5, 1), count: new Float64Array(4) }, 'heavy');
    expect(step(t, 0, 'ArrowDown', false)).toBe(1);
    expect(step(t, 1, 'ArrowRight', false)).toBe(2);
    expect(step(t, 2, 'ArrowRight', false)).toBe(2);
    expect(step(t, 2, 'ArrowDown', false)).toBe(3);
    expect(step(t, 2, 'ArrowUp', true)).toBe(3);
    expect(step(t, 3, 'ArrowDown', true)).toBe(2);
    expect(step(t, 0, 'ArrowLeft', false)).toBe(0);
    expect(nameOf(t, 3)).toBe('c');
  });
  it('says what became of a row', () => {
    const s = { total: [Float64Array.of(1, 0, 3, 4, 5), Float64Array.of(1, 2, 0, 5, 4)] as [Float64Array, Float64Array], self: [new Float64Array(5), new Float64Array(5)] as [Float64Array, Float64Array], count: [new Float64Array(5), new Float64Array(5)] as [Float64Array, Float64Array] };
    expect([0, 1, 2, 3, 4].map((i) => changeOf(s, i))).toEqual(['same', 'new', 'gone', 'grown', 'shrunk']);
  });
  it('short forms of long names', () => {
    for (const [long, short] of [
      ['aten::mm', 'aten::mm'],
      ['main (/home/me/train.py:3)', 'main (train.py:3)'],
      ['void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, float)', 'vectorized_elementwise_kernel ‹CUDAFunctor_add›'],
      ['void (anonymous namespace)::cunn_SoftMaxForward<4, float>(float*, int)', 'cunn_SoftMaxForward'],
      ['ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)', 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'],
      ['void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128>(Params)', 'Kernel ‹cutlass_80_tensorop_s1688gemm_128x128›'],
      ['<module>', '<module>'],
      ['<script>alert(1)</script>', '<script>alert(1)</script>'],
      ['my <b>own</b> range', 'my <b>own</b> range'],
      ['train.py: <listcomp>', 'train.py: <listcomp>'],
      ['thread 678 (python3)', 'thread 678 (python3)'],
    ])
      expect(brief(long)).toBe(short);
  });
});

describe('the tree of ops', () => {
  const tree = (n: number): OpTree => {
    const v = () => Float64Array.from({ length: n }, () => random(50));
    const parent = Int32Array.from({ length: n }, (_, i) => (i ? random(i) : 0));
    const depth = new Int32Array(n);
    for (let i = 1; i < n; i++) depth[i] = depth[parent[i]] + 1;
    return { n, names: ['', 'x', 'y', 'z'], name: Int32Array.from({ length: n }, (_, i) => (i ? random(4) : 0)), parent, depth, count: v(), wall: v(), self: v(), alloc: v(), free: v(), peak: v(), folded: 0 };
  };
  it('the hot path is the heaviest child of the heaviest child, never a heap of small ones', () => {
    for (let round = 0; round < 60; round++) {
      const t = tree(1 + random(60));
      const kids = childrenOf(t, (i) => t.wall[i]);
      let at = 0;
      for (const i of hotPath(t, kids)) {
        expect(t.parent[i]).toBe(at);
        for (let c = 1; c < t.n; c++) if (t.parent[c] === at && t.name[c]) expect(t.wall[c]).toBeLessThanOrEqual(t.wall[i]);
        at = i;
      }
      expect(kids[at].every((c) => !t.name[c])).toBe(true);
    }
  });
  it('rows are found again in the tree of a longer trace by the names around them', () => {
    const path = (t: OpTree, i: number): string => (i ? `${path(t, t.parent[i])}/${t.name[i]}` : '');
    const single = (t: OpTree): OpTree => {
      const seen = new Set<string>();
      for (let i = 1; i < t.n; i++) {
        while (seen.has(path(t, i))) t.name[i]++;
        seen.add(path(t, i));
      }
      return { ...t, names: Array.from({ length: 80 }, (_, k) => `op ${k}`) };
    };
    for (let round = 0; round < 60; round++) {
      const [a, b] = [single(tree(1 + random(40))), single(tree(1 + random(70)))];
      const rows = new Set(Array.from({ length: a.n }, (_, i) => i).filter(() => random(3) > 0));
      const wanted = new Set([...rows].map((i) => path(a, i)));
      const want = Array.from({ length: b.n }, (_, i) => i).filter((i) => wanted.has(path(b, i)));
      expect([...sameRows(a, rows, b)].sort((x, y) => x - y)).toEqual(want);
    }
  });
  it('open rows show their children, a search shows hits and what is around them', () => {
    for (let round = 0; round < 60; round++) {
      const t = tree(1 + random(60));
      const kids = childrenOf(t, (i) => t.wall[i]);
      expect(visible(t, kids, () => true).length).toBe(t.n - 1);
      expect(visible(t, kids, () => false)).toEqual(kids[0]);
      const m = matching(t, 'y');
      const rows = new Set(visible(t, kids, (i) => m.around.has(i), m.shown));
      for (let i = 1; i < t.n; i++) {
        let below = false;
        for (let c = 1; c < t.n; c++) if (t.name[c] === 2) for (let p = c; p; p = t.parent[p]) below ||= p === i;
        expect(rows.has(i)).toBe(below);
      }
    }
  });
});
