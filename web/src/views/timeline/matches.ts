// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The places of matches of a search: each is drawn at least a few pixels wide, marked on the axis, and counted in the name of its lane.
// Without that, matches shorter than a pixel would be below their neighbours.
import type { Row, Spans } from '../../data/spans';

const LEAST = 2; // pixels of a match

/** Returns the first index of `v` from which on numbers are at least `n`. */
function from(v: Int32Array, n: number): number {
  let lo = 0;
  for (let hi = v.length; lo < hi; ) {
    const mid = (lo + hi) >>> 1;
    if (v[mid] < n) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** Returns the number of matches in a track. `hits` are numbers of spans, ascending. */
export function countIn(hits: Int32Array, rows: readonly Row[]): number {
  return rows.reduce((n, r) => n + from(hits, r.end) - from(hits, r.first), 0);
}

type Times = Pick<Spans, 't0' | 't1'>;

/** Calls `draw` for the matches of a row in [t0, t1), at most one per pixel. */
export function visitHits(s: Times, hits: Int32Array, row: Row, t0: number, t1: number, width: number, draw: (x0: number, x1: number, span: number) => void): void {
  const scale = width / (t1 - t0);
  let free = -1;
  for (let k = from(hits, row.first); k < hits.length && hits[k] < row.end; k++) {
    const i = hits[k];
    if (s.t1[i] < t0) continue;
    if (s.t0[i] > t1) return;
    const x0 = Math.max(0, Math.min(width - LEAST, Math.floor((s.t0[i] - t0) * scale)));
    const x1 = Math.min(width, Math.max(x0 + LEAST, Math.floor((s.t1[i] - t0) * scale)));
    if (x1 <= free) continue;
    draw(x0, x1, i);
    free = x1;
  }
}

/** Returns 1 for each of `width` columns of [t0, t1) in which a match begins or lasts. */
export function columns(s: Times, hits: Int32Array, t0: number, t1: number, width: number): Uint8Array {
  const on = new Uint8Array(width);
  const scale = width / (t1 - t0);
  for (const i of hits) {
    if (s.t1[i] < t0 || s.t0[i] > t1) continue;
    const x0 = Math.max(0, Math.min(width - 1, Math.floor((s.t0[i] - t0) * scale)));
    on.fill(1, x0, Math.max(x0 + 1, Math.min(width, Math.floor((s.t1[i] - t0) * scale))));
  }
  return on;
}
