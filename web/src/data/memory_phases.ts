// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live allocations at the highest moment of every phase, in groups.
import { type By, keyOf, largest } from './levels';
import { highest, type Memory } from './memory';

export interface PhasePeak {
  top: number; // highest use within the phase, including memory from before
  events: number; // that moment: the first of equals
  t: number;
  parts: number[]; // bytes of each group
}

export interface PhasePeaks {
  labels: string[];
  peaks: PhasePeak[];
}

/** events: the number of memory events of each phase; pools: the pools to count. The parts of a phase add up to its top. */
export function phasePeaks(m: Memory, events: readonly number[], pools: readonly number[], by: By, devices: readonly string[] = []): PhasePeaks {
  const on = new Uint8Array(m.json.pools.length);
  for (const p of pools) on[p] = 1;
  const key = keyOf(m, by, devices);
  const peaks: PhasePeak[] = [];
  let from = 0;
  let level = 0;
  for (const n of events) {
    const h = highest(m, on, from, from + n, level);
    peaks.push({ top: h.bytes, events: h.events, t: h.events ? m.t[h.events - 1] : 0, parts: [] });
    level = h.after;
    from += n;
  }
  // Sums all groups at those moments in one sweep, because they are in order.
  const now = new Map<number, number>();
  const most = new Map<number, number>();
  const then: Map<number, number>[] = [];
  let i = 0;
  for (const p of peaks) {
    for (; i < p.events; i++) {
      const row = m.who[i] < 0 ? ~m.who[i] : m.who[i];
      if (!on[m.pool[row]]) continue;
      const k = key.of(row);
      const v = (now.get(k) ?? 0) + (m.who[i] < 0 ? -m.size[row] : m.size[row]);
      if (v) now.set(k, v);
      else now.delete(k);
    }
    then.push(new Map(now));
    for (const [k, v] of now) most.set(k, Math.max(v, most.get(k) ?? 0));
  }
  const { top, labels } = largest(most, key, by);
  peaks.forEach((p, n) => {
    p.parts = top.map((k) => then[n].get(k) ?? 0);
    if (labels.length > top.length) p.parts.push(p.top - p.parts.reduce((a, b) => a + b, 0));
  });
  return { labels, peaks };
}
