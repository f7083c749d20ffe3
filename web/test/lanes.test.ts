// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('location', { hash: '' });
const { defaults, flipClosed, flipHidden, layout, moveTrack, readArrangement, rowAt, writeArrangement } = await import('../src/views/timeline/lanes');
import type { Spans } from '../src/data/spans';

const plain = { order: [0, 1, 2], hidden: new Set<number>(), closed: new Set<number>() };
const spans = { tracks: [3, 1, 2].map((n) => ({ rows: Array.from({ length: n }, () => ({ first: 0, end: 0 })) })) } as unknown as Spans;

describe('lanes', () => {
  it('an arrangement survives its text, nonsense is left out', () => {
    let a = readArrangement('', plain);
    expect(a.order).toEqual([0, 1, 2]);
    expect(writeArrangement(a, plain)).toBe('');
    a = flipHidden(flipClosed(moveTrack(a, 2, 0), 1), 0);
    expect(writeArrangement(a, plain)).toBe('o2.0.1_h0_c1');
    expect(readArrangement('o2.0.1_h0_c1', plain)).toEqual(a);
    expect(readArrangement('o7.x.1.1_h9_c-1', plain)).toEqual({ order: [1, 0, 2], hidden: new Set(), closed: new Set() });
  });
  const track = (name: string, kind: string, rows: number, count: number) => ({ name, kind, count, rows: Array.from({ length: rows }, () => ({ first: 0, end: 0 })) });
  it('device lanes come first if threads fill a screen, nearly empty tracks are folded', () => {
    const tracks = [track('main', 'thread', 30, 1000), track('main · overlap 1', 'thread', 8, 50), track('main · overlap 2', 'thread', 8, 51), track('stream 7', 'stream', 1, 9), track('stream 7 · overlap 1', 'stream', 1, 9)];
    const d = defaults({ tracks });
    expect(d).toEqual({ order: [3, 4, 0, 1, 2], hidden: new Set(), closed: new Set([1]) });
    expect(writeArrangement(d, d)).toBe('');
    const open = flipClosed(d, 1);
    expect(writeArrangement(open, d)).toBe('c1');
    expect(readArrangement('c1', d)).toEqual(open);
    expect(defaults({ tracks: [track('main', 'thread', 20, 9), track('stream 7', 'stream', 1, 9)] }).order).toEqual([0, 1]);
    expect(defaults({ tracks }, true)).toEqual({ order: [0, 1, 2, 3, 4], hidden: new Set(), closed: new Set() });
  });
  it('moving goes to where the other is', () => {
    const a = readArrangement('', plain);
    expect(moveTrack(a, 0, 2).order).toEqual([1, 2, 0]);
    expect(moveTrack(a, 2, 1).order).toEqual([0, 2, 1]);
  });
  it('places do not overlap, hidden ones take none, closed ones show one row', () => {
    const { lanes, height } = layout(spans, readArrangement('o2.0.1_h1_c0', plain));
    expect(lanes.map((l) => l.track)).toEqual([2, 0]);
    expect(lanes[1].y).toBe(lanes[0].height);
    expect(height).toBe(lanes[0].height + lanes[1].height);
    expect(rowAt(lanes, lanes[0].y + 20)).toEqual({ lane: lanes[0], row: 1 });
    expect(rowAt(lanes, lanes[1].y + 20)).toEqual({ lane: lanes[1], row: 0 });
    expect(rowAt(lanes, height)).toBeUndefined();
  });
});
