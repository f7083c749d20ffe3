// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { tickLabel, unit } from '../src/draw/axis';

describe('ticks', () => {
  const rows: [number, number, number, string, string][] = [
    [2e9, 5e8, 3e9, '2.0 s', '2000 ms'],
    [3e7, 1e7, 1e8, '30 ms', '30 ms'],
    [4500, 500, 9000, '4.5 µs', '0.0045 ms'],
    [7, 1, 20, '7 ns', '0.000007 ms'],
  ];
  for (const [t, step, most, want, gantt] of rows)
    it(`${want}, and on a Gantt chart ${gantt}`, () => {
      expect(tickLabel(t, step, most)).toBe(want);
      unit.ms = true;
      expect(tickLabel(t, step, most)).toBe(gantt);
      unit.ms = false;
    });
});
