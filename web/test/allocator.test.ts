// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { address, type Allocator, readAllocator, stateAt } from '../src/data/allocator';
import { ASKED, type Memory, peakOf, type Position, positionAt } from '../src/data/memory';
import { columns, known } from '../src/views/memory/allocator_over_time';
import { layout, step } from '../src/views/memory/map';
import { random, someMemory } from './some';

interface Event {
  kind: 'make' | 'end' | 'let go' | 'take' | 'give';
  who: number;
  t: number;
}

/** A random allocator: segments of up to 40 cells, blocks put where they fit, some held after their end. */
function someAllocator(n: number): { m: Memory; a: Allocator; events: Event[] } {
  const events: Event[] = [];
  const segs: { addr: number; size: number; kind: number; stream: number; live: boolean }[] = [];
  const blocks: { addr: number; size: number; flags: number; state: 'live' | 'held' | 'gone' }[] = [];
  let t = 0;
  let next = 0;
  const note = (kind: Event['kind'], who: number) => events.push({ kind, who, t });
  const busy = (lo: number, hi: number) => blocks.some((b) => b.state !== 'gone' && b.addr < hi && b.addr + b.size > lo);
  const take = () => {
    if (random(3)) next += random(20);
    const size = 1 + random(40);
    segs.push({ addr: next, size, kind: random(3) ? 2 : 3, stream: random(2), live: true });
    next += size;
    note('take', segs.length - 1);
  };
  const make = () => {
    const g = segs.filter((s) => s.live)[random(Math.max(1, segs.filter((s) => s.live).length))];
    if (!g) return;
    const size = 1 + random(g.size);
    const addr = random(12) ? g.addr + random(g.size - size + 1) : 100000 + random(100); // sometimes in no segment
    if (busy(addr, addr + size)) return;
    blocks.push({ addr, size, flags: random(5) ? 0 : ASKED, state: 'live' });
    note('make', blocks.length - 1);
  };
  const end = () => {
    const i = blocks.findIndex((b) => b.state === 'live' && random(4) === 0);
    if (i < 0) return;
    blocks[i].state = blocks[i].flags & ASKED ? 'held' : 'gone';
    note('end', i);
  };
  const letGo = () => {
    const i = blocks.findIndex((b) => b.state === 'held');
    if (i < 0 || random(3)) return;
    blocks[i].state = 'gone';
    note('let go', i);
  };
  const give = () => {
    const i = segs.findIndex((s) => s.live && !busy(s.addr, s.addr + s.size));
    if (i < 0 || random(4)) return;
    segs[i].live = false;
    note('give', i);
  };
  take();
  for (let i = 0; i < n; i++) {
    t += random(3);
    [make, make, make, end, end, letGo, give, take][random(8)]();
  }
  const lives = events.filter((e) => e.kind === 'make' || e.kind === 'end');
  const m = someMemory(2);
  const count = blocks.length;
  const f = (v: number[]) => Float64Array.from(v);
  Object.assign(m, {
    n: count, events: lives.length, t: f(lives.map((e) => e.t)), who: Int32Array.from(lives, (e) => (e.kind === 'make' ? e.who : ~e.who)),
    size: f(blocks.map((b) => b.size)), slack: f(blocks.map(() => 0)), flags: Uint8Array.from(blocks, (b) => b.flags), pool: new Int32Array(count),
    role: new Uint8Array(count),
  });
  const before = (e: Event) => events.slice(0, events.indexOf(e)).filter((x) => x.kind === 'make' || x.kind === 'end').length;
  const segE = events.filter((e) => e.kind === 'take' || e.kind === 'give');
  const holdE = events.filter((e) => e.kind === 'let go');
  const a: Allocator = {
    json: { bases: [null, '0x7f0000000000'], kinds: ['unknown', 'small', 'large', 'expandable'], over: [] },
    addr: f(blocks.map((b) => b.addr)),
    segT: f(segE.map((e) => e.t)), segPosition: f(segE.map(before)), segWho: Int32Array.from(segE, (e) => (e.kind === 'take' ? e.who : ~e.who)),
    segAddr: f(segs.map((s) => s.addr)), segSize: f(segs.map((s) => s.size)), segPool: new Int32Array(segs.length),
    segKind: Uint8Array.from(segs, (s) => s.kind), segStream: f(segs.map((s) => s.stream)),
    holdT: f(holdE.map((e) => e.t)), holdPosition: f(holdE.map(before)), holdRow: Int32Array.from(holdE, (e) => e.who),
    over: new Map(),
  };
  return { m, a, events };
}

/** Computes the same from cells painted one by one. */
function painted(m: Memory, a: Allocator, events: Event[]) {
  const use = new Map<number, 'live' | 'held'>();
  const segs = new Set<number>();
  for (const e of events) {
    if (e.kind === 'make') use.set(e.who, 'live');
    else if (e.kind === 'end') m.flags[e.who] & ASKED ? use.set(e.who, 'held') : use.delete(e.who);
    else if (e.kind === 'let go') use.delete(e.who);
    else if (e.kind === 'take') segs.add(e.who);
    else segs.delete(e.who);
  }
  const owner = new Map<number, number>(); // cell -> allocation
  for (const row of use.keys()) for (let c = 0; c < m.size[row]; c++) owner.set(a.addr[row] + c, row);
  const sum = (f: (cell: number, seg: number) => boolean) => {
    let n = 0;
    for (const s of segs) for (let c = 0; c < a.segSize[s]; c++) n += f(a.segAddr[s] + c, s) ? 1 : 0;
    return n;
  };
  const grows = (s: number) => a.segKind[s] === 3;
  const partly = (s: number) => Array.from({ length: a.segSize[s] }, (_, c) => a.segAddr[s] + c).some((c) => owner.has(c));
  const inside = new Set([...segs].flatMap((s) => Array.from({ length: a.segSize[s] }, (_, c) => a.segAddr[s] + c)));
  const rows = [...use.keys()];
  const bytes = (list: number[]) => list.reduce((x, r) => x + m.size[r], 0);
  return {
    reserved: sum(() => true),
    active: bytes(rows),
    allocated: bytes(rows.filter((r) => use.get(r) === 'live')),
    free: sum((c) => !owner.has(c)),
    cached: sum((c, s) => !owner.has(c) && !grows(s) && !partly(s)),
    split: sum((c, s) => !owner.has(c) && !grows(s) && partly(s)),
    expandable: sum((c, s) => !owner.has(c) && grows(s)),
    loose: bytes(rows.filter((r) => !inside.has(a.addr[r]))),
  };
}

describe('the allocator', () => {
  it('at any moment is what painting it cell by cell gives', () => {
    for (let round = 0; round < 150; round++) {
      const { m, a, events } = someAllocator(80);
      const t = random(events[events.length - 1].t + 2);
      const cuts: [Position, Event[]][] = [[positionAt(m, t), events.filter((e) => e.t <= t)]];
      const peak = peakOf(m, 1);
      const at = events.filter((e) => e.kind === 'make' || e.kind === 'end')[peak.events - 1];
      if (at) cuts.push([peak, events.slice(0, events.indexOf(at) + 1)]);
      for (const [cut, seen] of cuts) {
        const s = stateAt(m, a, cut, 1);
        expect(s.total, `round ${round}`).toMatchObject(painted(m, a, seen));
        for (const g of s.segs) {
          let next = g.addr;
          for (let b = g.first; b < g.first + g.n; b++) {
            expect(s.addr[b]).toBe(next);
            next += s.size[b];
            if (b > g.first) expect(s.alloc[b] < 0 && s.alloc[b - 1] < 0).toBe(false); // free neighbours are one
          }
          expect(next).toBe(g.addr + g.size);
        }
        const free = s.size.filter((_, b) => s.alloc[b] < 0);
        expect(s.total.largest).toBe(Math.max(0, ...free));
        expect(s.total.freeBlocks).toBe(free.length);
      }
    }
  });
  it('a layout shows every byte of every segment once', () => {
    for (let round = 0; round < 60; round++) {
      const { m, a } = someAllocator(60);
      const { segs } = stateAt(m, a, { events: m.events, t: 1e9, exact: false }, 1);
      const width = 60 + random(900);
      const { pieces, height } = layout(segs, width, 'scale');
      segs.forEach((g, i) => {
        const of = pieces.filter((p) => p.seg === i);
        expect(of[0].from).toBe(0);
        expect(of[of.length - 1].to).toBe(g.size);
        of.slice(1).forEach((p, k) => expect(p.from).toBe(of[k].to));
      });
      for (const p of pieces) expect(p.x >= 0 && p.x + p.w <= width && p.y + 20 <= height).toBe(true);
      for (const y of new Set(pieces.map((p) => p.y))) {
        const row = pieces.filter((p) => p.y === y).sort((p, q) => p.x - q.x);
        row.slice(1).forEach((p, k) => expect(p.x).toBeGreaterThanOrEqual(row[k].x + row[k].w));
      }
    }
  });
  it('arrow keys reach every block, and no other', () => {
    for (let round = 0; round < 40; round++) {
      const { m, a } = someAllocator(60);
      const s = stateAt(m, a, positionAt(m, m.t[random(m.events)]), 1);
      if (!s.segs.length) continue;
      const order = s.segs.map((_, i) => i).sort((x, y) => s.segs[y].size - s.segs[x].size);
      const way = [step(s, order, -1, 'ArrowRight')];
      for (let i = 1; i < s.addr.length; i++) way.push(step(s, order, way[i - 1], 'ArrowRight'));
      expect([...way].sort((x, y) => x - y)).toEqual(s.addr.map((_, i) => i));
      expect(step(s, order, way[way.length - 1], 'ArrowRight')).toBe(way[way.length - 1]);
      for (let i = way.length - 1; i > 0; i--) expect(step(s, order, way[i], 'ArrowLeft')).toBe(way[i - 1]);
      expect(step(s, order, way[0], 'ArrowDown')).toBe(s.segs[order[Math.min(1, order.length - 1)]].first);
    }
  });
  it('a column over time shows its fullest point, else the last before it', () => {
    for (let round = 0; round < 100; round++) {
      const n = 1 + random(40);
      const col = (f: () => number) => Float64Array.from({ length: n }, f);
      let at = random(10);
      const o = { t: col(() => (at += random(5))), reserved: col(() => 0), active: col(() => 0), allocated: col(() => 0), requested: col(() => 0), cached: col(() => random(9)), split: col(() => random(9)), expandable: col(() => 0), largest: col(() => 0) };
      const free = (i: number) => o.cached[i] + o.split[i];
      const [t0, t1, width] = [random(50), 60 + random(100), 1 + random(60)];
      const got = columns(o, t0, t1, width);
      for (let x = 0; x < width; x++) {
        const [a, b] = [x, x + 1].map((k) => t0 + (k / width) * (t1 - t0));
        const shown = [...o.t.keys()].filter((i) => o.t[i] <= b && (o.t[i] > a || i === o.t.findLastIndex((t) => t <= a)));
        expect(got[x] < 0 ? 0 : free(got[x])).toBe(Math.max(0, ...shown.map(free)));
      }
    }
  });
  it('after a contradiction what is free is not known', () => {
    const over = [{ device: 1, points: 4, events: 9, loose: 0, odd: 2, worst_odd: true }, { device: 2, points: 2, events: 9, loose: 0, odd: null, worst_odd: false }];
    const rows = over.reduce((n, o) => n + o.points + 1, 0);
    const section = { json: { bases: [null], kinds: [], over }, column: (name: string) => Float64Array.from({ length: name.startsWith('frag_') ? rows : 0 }, (_, i) => (name === 'frag_reserved' ? 10 * i : i)), ints: () => new Int32Array(0), bytes: () => new Uint8Array(0) };
    const a = readAllocator(section as never);
    const [one, two] = [a.over.get(1)!, a.over.get(2)!];
    expect([0, 1, 2, 3].map((i) => known(one.points, i))).toEqual([true, true, false, false]);
    expect([known(one.worst, 0), known(two.worst, 0), known(two.points, 1)]).toEqual([false, true, true]);
    expect([one.points.reserved[3], one.points.active[3], one.points.split[1], two.points.cached[1]]).toEqual([40, 4, 2, 7]);
    expect([...columns(one.points, 0, 5, 1)]).toEqual([3]); // 40 - 4 reserved and not in use: the most
  });
  it('addresses keep all their digits', () => {
    const { a } = someAllocator(1);
    expect(address({ ...a, json: { ...a.json, bases: [null, '0xfedcba9876543210'] } }, 1, 15)).toBe('0xfedcba987654321f');
  });
});
