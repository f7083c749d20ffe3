// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('location', { hash: '' });
const { flipClosed, flipHidden, layout, moveTrack, readArrangement, rowAt, writeArrangement } = await import('../src/views/timeline/lanes');
import type { Spans } from '../src/data/spans';

const spans = { tracks: [3, 1, 2].map((n) => ({ rows: Array.from({ length: n }, () => ({ first: 0, end: 0 })) })) } as unknown as Spans;

describe('lanes', () => {
  it('an arrangement survives its text, nonsense is left out', () => {
    let a = readArrangement('', 3);
    expect(a.order).toEqual([0, 1, 2]);
    expect(writeArrangement(a)).toBe('');
    a = flipHidden(flipClosed(moveTrack(a, 2, 0), 1), 0);
    expect(writeArrangement(a)).toBe('o2.0.1_h0_c1');
    expect(readArrangement('o2.0.1_h0_c1', 3)).toEqual(a);
    expect(readArrangement('o7.x.1.1_h9_c-1', 3)).toEqual({ order: [1, 0, 2], hidden: new Set(), closed: new Set() });
  });
  it('moving goes to where the other is', () => {
    const a = readArrangement('', 3);
    expect(moveTrack(a, 0, 2).order).toEqual([1, 2, 0]);
    expect(moveTrack(a, 2, 1).order).toEqual([0, 2, 1]);
  });
  it('places do not overlap, hidden ones take none, closed ones show one row', () => {
    const { lanes, height } = layout(spans, readArrangement('o2.0.1_h1_c0', 3));
    expect(lanes.map((l) => l.track)).toEqual([2, 0]);
    expect(lanes[1].y).toBe(lanes[0].height);
    expect(height).toBe(lanes[0].height + lanes[1].height);
    expect(rowAt(lanes, lanes[0].y + 20)).toEqual({ lane: lanes[0], row: 1 });
    expect(rowAt(lanes, lanes[1].y + 20)).toEqual({ lane: lanes[1], row: 0 });
    expect(rowAt(lanes, height)).toBeUndefined();
  });
});
