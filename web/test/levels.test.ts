// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { buildMip, groupBy, levelAt, picture } from '../src/data/levels';
import { aliveAfter, aliveAt, type Memory, peakOf } from '../src/data/memory';
import { after, visitRow } from '../src/data/spans';

let seed = 7;
const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;

/** A row of spans: random gaps (also none) and lengths (also none). */
function someRow(n: number) {
  const t0 = new Float64Array(n);
  const t1 = new Float64Array(n);
  for (let i = 0, t = 0; i < n; i++) {
    t0[i] = t += random(3) ? random(50) : 0;
    t1[i] = t += random(4) ? random(random(10) ? 20 : 2000) : 0;
  }
  return { t0, t1 };
}

describe('what a row shows', () => {
  it('every pixel that a span touches by more than half is painted, no span is painted twice, cost is bounded', () => {
    for (let round = 0; round < 300; round++) {
      const n = 1 + random(400);
      const s = someRow(n);
      const end = s.t1[n - 1] + 1;
      const a = random(end);
      const b = a + 1 + random(end - a);
      const width = 1 + random(200);
      const painted = new Uint8Array(width);
      const seen: number[] = [];
      visitRow(s, { first: 0, end: n }, a, b, width, (x0, x1, i) => {
        expect(x0 >= 0 && x1 > x0 && x1 <= width + 1).toBe(true);
        expect(s.t1[i] > a && s.t0[i] < b).toBe(true);
        painted.fill(1, x0, x1);
        seen.push(i);
      });
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.length).toBeLessThanOrEqual(2 * width + 2);
      const scale = width / (b - a);
      for (let x = 0; x < width; x++) {
        const mid = a + (x + 0.5) / scale;
        const covered = [...s.t0].some((t, i) => t <= mid - 0.5 / scale && s.t1[i] >= mid + 0.5 / scale);
        if (covered) expect(painted[x], `pixel ${x} of ${width}`).toBe(1);
      }
    }
  });
  it('search finds the first greater value', () => {
    const v = Float64Array.from([1, 1, 2, 5]);
    for (const [t, want] of [[0, 0], [1, 2], [2, 3], [4, 3], [5, 4]]) expect(after(v, 0, 4, t)).toBe(want);
  });
});

/** Random allocations on two devices. */
function someMemory(moves: number): Memory {
  const t: number[] = [];
  const who: number[] = [];
  const live: number[] = [];
  const born: number[] = [];
  const died: number[] = [];
  let now = 0;
  for (let i = 0; i < moves; i++) {
    now += random(3) ? random(20) : 0;
    t.push(now);
    if (live.length && random(100) < 48) {
      const row = live.splice(random(live.length), 1)[0];
      died[row] = now;
      who.push(~row);
    } else {
      live.push(born.length);
      who.push(born.length);
      born.push(now);
      died.push(Infinity);
    }
  }
  const n = born.length;
  const col = (f: () => number) => Int32Array.from({ length: n }, f);
  const none = new Int32Array(0);
  return {
    n, moves, t: Float64Array.from(t), who: Int32Array.from(who), born: Float64Array.from(born), died: Float64Array.from(died),
    size: Float64Array.from({ length: n }, () => 1 + random(1000)), slack: new Float64Array(n), pool: col(() => random(2)), role: Uint8Array.from(col(() => random(4))), flags: new Uint8Array(n),
    op: col(() => 0), stack: col(() => 0), face: col(() => 0), tensor: col(() => random(40)), segT: new Float64Array(0), segBytes: new Float64Array(0), segPool: none,
    json: { pools: [{ name: 'a', device: 1 }, { name: 'b', device: 2 }], roles: ['r0', 'r1', 'r2', 'r3'], tensors: Array.from({ length: 40 }, (_, i) => `t${i}`), names: [] },
    opName: none, opParent: none, stackFrame: none, stackParent: none, frameFunction: none, frameFile: none, frameLine: none,
  };
}

/** Live bytes after each move, the slow and obvious way. */
const truth = (m: Memory, device: number) =>
  Array.from({ length: m.moves }, (_, i) => [...aliveAfter(m, i, device)].reduce((a, r) => a + m.size[r], 0));

describe('memory', () => {
  it('sums, peaks and pictures agree with the plain definition', () => {
    for (let round = 0; round < 12; round++) {
      const m = someMemory(100 + random(500));
      const live = truth(m, 1);
      for (const by of ['role', 'tensor'] as const) {
        const g = groupBy(m, 1, by);
        const mip = buildMip(m, g);
        expect(g.labels.length).toBeLessThanOrEqual(12);
        expect(mip.peak).toBe(Math.max(0, ...live));
        expect(peakOf(m, 1).bytes).toBe(mip.peak);
        for (const cut of [0, 1, 63, 64, 65, m.moves])
          expect(levelAt(m, g, mip, Math.min(cut, m.moves)).reduce((a, b) => a + b, 0)).toBe(cut ? live[Math.min(cut, m.moves) - 1] : 0);
        const end = m.t[m.moves - 1] + 1;
        const width = 50;
        const p = picture(m, g, mip, 0, end, width);
        expect(Math.max(...p.sum)).toBe(mip.peak);
        expect(Math.max(...picture(m, g, mip, 0, end, width, 0).sum)).toBe(mip.peak); // by blocks
        for (let x = 0; x < width; x++) {
          let sum = 0;
          for (let k = 0; k < p.k; k++) sum += p.values[x * p.k + k];
          expect(sum).toBe(p.sum[x]);
          const inside = live.filter((_, i) => Math.floor((m.t[i] / end) * width) === x);
          const before = live[after(m.t, 0, m.moves, (x * end) / width) - 1] ?? 0;
          if (inside.length) expect(p.sum[x]).toBeGreaterThanOrEqual(Math.max(...inside));
          else expect(p.sum[x]).toBe(before);
        }
      }
      const t = random(m.t[m.moves - 1] + 1);
      const last = after(m.t, 0, m.moves, t) - 1;
      expect([...aliveAt(m, t, 2)]).toEqual(last < 0 ? [] : [...aliveAfter(m, last, 2)]);
    }
  });
});
