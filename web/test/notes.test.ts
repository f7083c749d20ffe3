// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Parents, self times, memory and sums of the timeline, against the slow and obvious way.
import { describe, expect, it } from 'vitest';
import { argsOf, chainOf, linksOf, makeNotes, parents, sums } from '../src/data/notes';
import type { Spans } from '../src/data/spans';

let seed = 11;
const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;

interface Plain {
  t0: number;
  t1: number;
  parent: number; // -1 = none
  depth: number;
  track: number;
  name: number;
}

/** Nested spans on a few tracks, numbered as a section numbers them; some parents on another track. */
function someSpans(): { spans: Spans; plain: Plain[] } {
  const plain: Plain[] = [];
  const fill = (track: number, t0: number, t1: number, depth: number) => {
    for (let t = t0 + random(3); t < t1 && depth < 5; ) {
      const end = Math.min(t1, t + random(30));
      plain.push({ t0: t, t1: end, parent: -1, depth, track, name: random(6) });
      if (end > t) fill(track, t, end, depth + 1);
      t = end + (random(3) ? random(8) : 0);
      if (end === t && t0 === t1) break;
      if (end <= t0 && random(2)) t++;
    }
  };
  for (let track = 0; track < 3; track++) fill(track, 0, 200, 0);
  // A span of no length never holds another, and two at one place differ by their row.
  plain.sort((a, b) => a.track - b.track || a.depth - b.depth || a.t0 - b.t0 || a.t1 - b.t1);
  const rows = new Map<string, number>();
  for (const p of plain) rows.set(`${p.track}.${p.depth}`, (rows.get(`${p.track}.${p.depth}`) ?? 0) + 1);
  const n = plain.length;
  let at = 0;
  const tracks = [0, 1, 2].map((track) => {
    const list = [];
    for (let d = 0; rows.has(`${track}.${d}`); d++) list.push({ first: at, end: (at += rows.get(`${track}.${d}`)!) });
    return { name: `t${track}`, kind: 'thread', rows: list, count: 0 };
  });
  const spans = {
    n,
    t0: Float64Array.from(plain, (p) => p.t0),
    t1: Float64Array.from(plain, (p) => p.t1),
    name: Int32Array.from(plain, (p) => p.name),
    cat: new Uint8Array(n),
    cause: new Int32Array(n),
    up: new Int32Array(n),
    flags: new Uint8Array(n),
    allocated: Float64Array.from(plain, () => random(100)),
    freed: Float64Array.from(plain, () => random(100)),
    args: new Int32Array(n),
    flows: { from: Int32Array.of(), to: Int32Array.of(), kind: Uint8Array.of() },
    flowKinds: [],
    argTexts: [''],
    argsLeftOut: 0,
    names: ['a', 'b', 'c', 'd', 'e', 'f'],
    cats: ['op'],
    tracks,
    used: ['op'],
    cut: 0,
  } as Spans;
  // The enclosing span: the last of the row above that starts no later.
  plain.forEach((p, i) => {
    plain.forEach((q, k) => {
      if (q.track === p.track && q.depth === p.depth - 1 && q.t0 <= p.t0 && k < i) p.parent = k;
    });
    const row = random(12);
    const other = random(n);
    if (row === 0) {
      spans.up[i] = 1;
      p.parent = -1;
    } else if (row === 1 && plain[other].depth < p.depth) {
      spans.up[i] = other + 2;
      p.parent = other;
    }
  });
  return { spans, plain };
}

const around = (plain: Plain[], i: number): number[] => {
  const out: number[] = [];
  for (let at = plain[i].parent; at >= 0; at = plain[at].parent) out.push(at);
  return out;
};

describe('spans and what is around them', () => {
  it('parents, self and memory are those of the definition', () => {
    for (let round = 0; round < 60; round++) {
      const { spans, plain } = someSpans();
      const notes = makeNotes(spans);
      expect([...parents(spans)]).toEqual(plain.map((p) => p.parent));
      plain.forEach((p, i) => {
        let self = 0;
        for (let t = p.t0; t < p.t1; t++) self += plain.some((q) => q.parent === i && q.t0 <= t && t < q.t1) ? 0 : 1;
        let got = 0;
        let gave = 0;
        plain.forEach((q, k) => {
          if (k === i || around(plain, k).includes(i)) {
            got += spans.allocated[k];
            gave += spans.freed[k];
          }
        });
        expect([notes.self[i], notes.allocated[i], notes.freed[i]]).toEqual([self, got, gave]);
        expect(chainOf(spans, i)).toEqual(around(plain, i).reverse());
      });
    }
  });

  it('sums of any area are exact, and self adds up to what is covered', () => {
    for (let round = 0; round < 120; round++) {
      const { spans, plain } = someSpans();
      const t0 = random(150);
      const t1 = t0 + 1 + random(100);
      const tracks = [[0, 1, 2], [1], [0, 2], [2]][random(4)];
      const part = (p: Plain) => Math.max(0, Math.min(p.t1, t1) - Math.max(p.t0, t0));
      const inside = (p: Plain) => tracks.includes(p.track);
      const seen = (p: Plain) => inside(p) && p.t1 > t0 && p.t0 < t1;
      const got = new Map(sums(spans, t0, t1, tracks).map((r) => [r.name, r]));
      let covered = 0;
      let below = 0;
      plain.forEach((p) => {
        if (inside(p) && (p.parent < 0 || !inside(plain[p.parent]))) covered += part(p);
      });
      for (const [k, name] of spans.names.entries()) {
        const mine = plain.filter((p) => p.name === k && seen(p));
        const r = got.get(name);
        expect(r?.n ?? 0).toBe(mine.length);
        if (!r) continue;
        expect(r.total).toBe(mine.reduce((a, p) => a + part(p), 0));
        let self = r.total;
        plain.forEach((q) => {
          if (q.parent >= 0 && seen(q) && plain[q.parent].name === k && inside(plain[q.parent])) self -= part(q);
        });
        expect(r.self).toBe(Math.max(self, 0)); // spans inside one may overlap each other
        below += Math.min(self, 0);
        expect(r.longest).toBe(Math.max(...mine.map(part)));
      }
      expect([...got.values()].reduce((a, r) => a + r.self, 0) + below).toBe(covered);
    }
  });

  it('links go both ways, arguments come as pairs', () => {
    const { spans } = someSpans();
    const s = { ...spans, cause: new Int32Array(spans.n), args: new Int32Array(spans.n), argTexts: ['', 'Input Dims\t[[2, 3]]\nkind\ta\tb'] } as Spans;
    s.cause[3] = s.cause[5] = 2;
    s.args[4] = 1;
    Object.assign(s, { flows: { from: Int32Array.of(2, 0), to: Int32Array.of(8, 4), kind: Uint8Array.of(1, 0) }, flowKinds: ['unknown', 'fwdbwd'] });
    expect(linksOf(s, 1)).toEqual({ links: [{ from: 1, to: 3, what: 'launch' }, { from: 1, to: 5, what: 'launch' }, { from: 1, to: 7, what: 'fwdbwd' }], all: 3 });
    expect(linksOf(s, 5).links).toEqual([{ from: 1, to: 5, what: 'launch' }]);
    expect(linksOf(s, 1, 1)).toEqual({ links: [{ from: 1, to: 3, what: 'launch' }], all: 3 });
    expect(argsOf(s, 4)).toEqual([['Input Dims', '[[2, 3]]'], ['kind', 'a\tb']]);
    expect(argsOf(s, 3)).toEqual([]);
  });
});
