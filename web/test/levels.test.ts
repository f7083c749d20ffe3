// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { buildMip, eventAxis, groupBy, grouped, keyOf, levelAt, picture, pictureOfEvents } from '../src/data/levels';
import { phasePeaks } from '../src/data/memory_phases';
import { stackFrames } from '../src/data/calls';
import { highest, inPlace, liveSetAt, madeUnder, type Memory, peakOf, positionAt } from '../src/data/memory';
import { random, someMemory } from './some';
import { after, visitRow } from '../src/data/spans';

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
        const none = s.t0[i] === s.t1[i];
        expect(x0 >= 0 && x1 > x0 && (none || x1 <= width)).toBe(true);
        expect(none ? s.t0[i] >= a && s.t0[i] <= b : s.t1[i] > a && s.t0[i] < b).toBe(true);
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
  it('a span of no length is a tick wherever it is, also at the ends and where another ends', () => {
    for (const at of [0, 10, 15, 20]) {
      const s = at < 10 ? { t0: Float64Array.of(at, 0), t1: Float64Array.of(at, 10) } : { t0: Float64Array.of(0, at), t1: Float64Array.of(10, at) };
      const seen: [number, number, number][] = [];
      visitRow(s, { first: 0, end: 2 }, 0, 20, 100, (...x) => seen.push(x));
      const x = Math.min(97, at * 5);
      expect(seen, `at ${at}`).toContainEqual([x, x + 3, at < 10 ? 0 : 1]);
    }
  });
  it('search finds the first greater value', () => {
    const v = Float64Array.from([1, 1, 2, 5]);
    for (const [t, want] of [[0, 0], [1, 2], [2, 3], [4, 3], [5, 4]]) expect(after(v, 0, 4, t)).toBe(want);
  });
});

/** Rows alive after events [0, cut), the slow and obvious way; device 0 = all, -1 = pool 1 alone. */
function alive(m: Memory, cut: number, device: number): number[] {
  const events = [...m.who.subarray(0, cut)];
  const rows = events.filter((w) => w >= 0 && !events.includes(~w)).sort((a, b) => a - b);
  return rows.filter((r) => (device < 0 ? m.pool[r] === -device : !device || m.json.pools[m.pool[r]].device === device));
}
const truth = (m: Memory, device: number) => Array.from({ length: m.events }, (_, i) => alive(m, i + 1, device).reduce((a, r) => a + m.size[r], 0));

describe('memory', () => {
  it('sums, peaks and pictures agree with the plain definition', () => {
    for (let round = 0; round < 10; round++) {
      const m = someMemory(100 + random(300));
      for (const device of [1, 0, -1]) {
        const live = truth(m, device);
        for (const by of ['role', 'tensor', 'device', 'size'] as const) {
          const g = groupBy(m, device, by);
          const mip = buildMip(m, g);
          expect(g.labels.length).toBeLessThanOrEqual(12);
          expect(mip.peak).toBe(Math.max(0, ...live));
          const peak = peakOf(m, device);
          expect(peak).toMatchObject({ bytes: mip.peak, events: live.indexOf(mip.peak) + 1, t: m.t[live.indexOf(mip.peak)] });
          for (const cut of [0, 1, 63, 64, 65, m.events]) {
            const level = levelAt(m, g, mip, Math.min(cut, m.events));
            const rows = alive(m, cut, device);
            level.forEach((v, k) => expect(v).toBe(rows.filter((r) => g.of[r] === k).reduce((a, r) => a + m.size[r], 0)));
          }
          const end = m.t[m.events - 1] + 1;
          const width = 50;
          const p = picture(m, g, mip, 0, end, width);
          expect(Math.max(...p.sum)).toBe(mip.peak);
          expect(Math.max(...picture(m, g, mip, 0, end, width, 0).sum)).toBe(mip.peak); // by blocks
          for (let x = 0; x < width; x++) {
            let sum = 0;
            for (let k = 0; k < p.k; k++) sum += p.values[x * p.k + k];
            expect(sum).toBe(p.sum[x]);
            const inside = live.filter((_, i) => Math.floor(m.t[i] * (width / end)) === x);
            const before = live[after(m.t, 0, m.events, (x * end) / width) - 1] ?? 0;
            if (inside.length) expect(p.sum[x]).toBeGreaterThanOrEqual(Math.max(...inside));
            else expect(p.sum[x]).toBe(before);
          }
        }
      }
      const t = random(m.t[m.events - 1] + 1);
      expect([...liveSetAt(m, positionAt(m, t), 2)]).toEqual(alive(m, after(m.t, 0, m.events, t), 2));
    }
  });
  it('over events, a column shows the highest level after one of its events, or the level before the first', () => {
    for (let round = 0; round < 200; round++) {
      const m = someMemory(1 + random(300));
      const place = random(2);
      const g = groupBy(m, place, 'role');
      const axis = eventAxis(m, place);
      const n = axis.row.length;
      if (!n) continue;
      const from = random(n);
      const to = from + 1 + random(n - from);
      const width = 1 + random(80);
      const p = pictureOfEvents(m, g, buildMip(m, g), axis, from, to, width);
      // The plain definition: the level after each event, by adding up all before it.
      const on = inPlace(m, place);
      const levels: number[] = [];
      let level = 0;
      for (let i = 0; i < m.events; i++) {
        const row = m.who[i] < 0 ? ~m.who[i] : m.who[i];
        if (!on[m.pool[row]]) continue;
        level += m.who[i] < 0 ? -m.size[row] : m.size[row];
        levels.push(level);
      }
      const columnOf = (i: number) => Math.min(width - 1, Math.floor(((i - from) * width) / (to - from)));
      let before = from ? levels[from - 1] : 0;
      for (let x = 0; x < width; x++) {
        const own = levels.slice(from, to).filter((_, k) => columnOf(from + k) === x);
        expect(p.sum[x], `column ${x} of ${width}`).toBe(own.length ? Math.max(...own) : before);
        expect(p.values.subarray(x * p.k, (x + 1) * p.k).reduce((a, b) => a + b, 0)).toBe(p.sum[x]);
        before = own.at(-1) ?? before;
      }
    }
  });
  it('what was made under a path is what has it in front', () => {
    const names = ['', 'a', 'b', 'native', 'x.py', 'y.py'];
    for (let round = 0; round < 60; round++) {
      const m = someMemory(60);
      const n = 1 + random(20);
      m.json.names = names;
      m.frameFunction = Int32Array.from([1, 2, 3]);
      m.frameFile = Int32Array.from([4, 5, 0]);
      m.frameLine = new Int32Array(3);
      m.stackFrame = Int32Array.from({ length: n }, () => 1 + random(3));
      m.stackParent = Int32Array.from({ length: n }, (_, i) => random(i + 1));
      m.stack = Int32Array.from({ length: m.n }, () => random(n + 1));
      const path = stackFrames(m, 1 + random(n)).reverse();
      const want = (row: number, keep: (f: string) => boolean, p: string[]) => p.every((f, i) => stackFrames(m, m.stack[row]).reverse().filter(keep)[i] === f);
      const all = madeUnder(m, path);
      const python = path.filter((f) => f.includes('.py'));
      const some = madeUnder(m, python);
      for (let r = 0; r < m.n; r++) {
        const only = path.every((f) => f.includes('.py'));
        expect(all(r)).toBe(want(r, (f) => !only || f.includes('.py'), path));
        expect(some(r)).toBe(want(r, (f) => f.includes('.py'), python));
      }
    }
  });
  it('groups divide the set', () => {
    const m = someMemory(300);
    const rows = alive(m, 200, 0);
    for (const by of ['role', 'op', 'stack', 'tensor', 'pool', 'device', 'size'] as const) {
      const groups = grouped(m, rows, by, []);
      expect(groups.reduce((a, g) => a + g.bytes, 0)).toBe(rows.reduce((a, r) => a + m.size[r], 0));
      expect(groups.reduce((a, g) => a + g.count, 0)).toBe(rows.length);
      expect(new Set(groups.map((g) => g.label)).size).toBe(groups.length);
    }
  });
  it('the highest moment of an interval of events includes its first level', () => {
    for (let round = 0; round < 30; round++) {
      const m = someMemory(120);
      const on = Uint8Array.from(m.json.pools, (_, i) => (i === 1 ? 1 : 0));
      const levels = [0, ...Array.from({ length: m.events }, (_, i) => alive(m, i + 1, 0).filter((r) => m.pool[r] === 1).reduce((a, r) => a + m.size[r], 0))];
      const from = random(m.events);
      const to = from + random(m.events - from + 1);
      const part = levels.slice(from, to + 1);
      const got = highest(m, on, from, to, levels[from]);
      expect(got).toEqual({ bytes: Math.max(...part), events: from + part.indexOf(Math.max(...part)), after: levels[to] });
    }
  });
});

describe('phases', () => {
  it('a phase shows its first highest moment and everything alive then, once', () => {
    for (let round = 0; round < 40; round++) {
      const m = someMemory(20 + random(150));
      const events: number[] = [];
      for (let left = m.events; left > 0; left -= events[events.length - 1]) events.push(Math.min(left, random(40)));
      if (!random(2)) events.push(0); // a phase in which nothing happens
      const pools = [[0], [1], [0, 1]][random(3)];
      const by = (['role', 'tensor', 'pool', 'size'] as const)[random(4)];
      const key = keyOf(m, by);
      const { labels, peaks } = phasePeaks(m, events, pools, by);
      expect(peaks.length).toBe(events.length);
      expect(labels.length).toBeLessThanOrEqual(12);
      let from = 0;
      peaks.forEach((p, n) => {
        const sets = Array.from({ length: events[n] + 1 }, (_, i) => alive(m, from + i, 0).filter((r) => pools.includes(m.pool[r])));
        const sums = sets.map((rows) => rows.reduce((a, r) => a + m.size[r], 0));
        const best = sums.indexOf(Math.max(...sums));
        expect(p).toMatchObject({ top: sums[best], events: from + best });
        expect(p.parts.reduce((a, b) => a + b, 0)).toBe(p.top);
        const named = new Set(labels);
        labels.forEach((l, i) => {
          const rows = sets[best].filter((r) => (l === 'other' ? !named.has(key.label(key.of(r))) : key.label(key.of(r)) === l));
          expect(p.parts[i], l).toBe(rows.reduce((a, r) => a + m.size[r], 0));
        });
        from += events[n];
      });
    }
  });
});
