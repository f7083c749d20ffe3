// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Spans of the timeline. Spans of a row never overlap: those of a pixel are found by binary search.
import { type Calls, readCalls } from './calls';
import { lazy, load, type Section } from './section';

export interface SpansJson {
  tracks: { name: string; kind: string; lane: number; track: number; rows: number[] }[];
  names: string[];
  cats: string[];
  cut: number;
  flow_kinds: string[];
  args: string[]; // "key<tab>value" a line
  args_left_out: number;
  stacks: boolean;
}

export interface Row {
  first: number;
  end: number;
}

export interface Track {
  name: string;
  kind: string;
  rows: Row[];
  count: number;
}

export interface Spans {
  n: number;
  t0: Float64Array;
  t1: Float64Array;
  name: Int32Array;
  cat: Uint8Array;
  readonly cause: Int32Array; // number of the span that started it + 1, 0 = none
  readonly up: Int32Array; // the span around it: 0 = as in the row above, 1 = none, else its number + 2
  readonly flags: Uint8Array; // 1 never ended, 2 its begin was lost, 4 ended by its parent
  readonly allocated: Float64Array; // bytes, in the span itself, without nested spans
  readonly freed: Float64Array;
  readonly args: Int32Array; // row of argTexts
  readonly calls?: Calls & { stack: Int32Array }; // present if any span has a stack
  readonly flows: { from: Int32Array; to: Int32Array; kind: Uint8Array }; // numbers + 1
  flowKinds: string[];
  argTexts: string[];
  argsLeftOut: number;
  names: string[];
  cats: string[];
  tracks: Track[];
  used: string[]; // categories that occur
  cut: number;
}

/** Reads the data shared by spans and pieces: times, names, rows. */
export function readRows(s: Section<Pick<SpansJson, 'names' | 'cats' | 'cut'>>, list: SpansJson['tracks'], last = 0) {
  const t0 = s.column('gap');
  const t1 = s.column('dur');
  for (let i = 0; i < t0.length; i++) {
    t0[i] += last;
    last = t1[i] += t0[i];
  }
  const cat = s.bytes('cat');
  const seen = new Uint8Array(256);
  for (let i = 0; i < cat.length; i++) seen[cat[i]] = 1;
  let at = 0;
  const tracks = list.map((t) => {
    const begin = at;
    const rows = t.rows.map((n) => ({ first: at, end: (at += n) }));
    const name = t.track ? `${t.name} · overlap ${t.track}` : t.name;
    return { name, kind: t.kind, rows, count: at - begin };
  });
  const { names, cats, cut } = s.json;
  return { n: t0.length, t0, t1, name: s.ints('name'), cat, names, cats, tracks, used: cats.filter((_, c) => seen[c]), cut };
}

function readSpans(s: Section<SpansJson>): Spans {
  const { flow_kinds: flowKinds, args: argTexts, args_left_out: argsLeftOut } = s.json;
  // Columns that only the details need are unpacked on first use.
  return lazy({ ...readRows(s, s.json.tracks), flags: s.bytes('flags'), flowKinds, argTexts, argsLeftOut } as Spans, {
    cause: () => s.ints('cause'),
    up: () => s.ints('up'),
    args: () => s.ints('args'),
    allocated: () => s.column('allocated'),
    freed: () => s.column('freed'),
    calls: () => (s.json.stacks ? Object.assign(readCalls<Calls>(s), { stack: s.ints('stack') }) : undefined),
    flows: () => ({ from: s.ints('flow_from'), to: s.ints('flow_to'), kind: s.bytes('flow_kind') }),
  });
}

/** Returns the first index in [lo, hi) whose value is greater than t; hi if there is none. Values ascend. */
export function after(v: Float64Array, lo: number, hi: number, t: number): number {
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (v[mid] > t) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

/** The same, starting near a guess: checks 1, 2, 4 ... ahead first. */
function afterNear(v: Float64Array, lo: number, hi: number, t: number): number {
  let step = 1;
  let from = lo;
  while (from + step < hi && v[from + step] <= t) {
    from += step;
    step *= 2;
  }
  return after(v, from, Math.min(hi, from + step + 1), t);
}

/** Returns the first span of [lo, hi) that ends after t, or begins there, so that zero-length spans are found too. */
export function firstIn(s: Pick<Spans, 't0' | 't1'>, lo: number, hi: number, t: number): number {
  let i = afterNear(s.t1, lo, hi, t);
  while (i > lo && s.t0[i - 1] >= t) i--;
  return i;
}

const TICK = 3; // pixels of a span of no length

/** Calls `draw` for the visible spans of a row in [t0, t1) on `width` pixels: at most about one span per pixel, each at least one
 * pixel wide, for any number of spans. */
export function visitRow(
  s: Pick<Spans, 't0' | 't1'>,
  row: Row,
  t0: number,
  t1: number,
  width: number,
  draw: (x0: number, x1: number, span: number) => void,
): void {
  const scale = width / (t1 - t0);
  let i = firstIn(s, row.first, row.end, t0);
  while (i < row.end && (s.t0[i] < t1 || s.t1[i] === t1)) {
    const x0 = Math.max(0, Math.min(width - 1, Math.floor((s.t0[i] - t0) * scale)));
    const x1 = Math.max(x0 + 1, Math.min(width, Math.floor((s.t1[i] - t0) * scale)));
    const seen = t0 + x1 / scale;
    if (s.t0[i] < s.t1[i]) draw(x0, x1, i++);
    else {
      const at = Math.max(0, Math.min(x0, width - TICK));
      draw(at, at + TICK, i);
      i = afterNear(s.t1, i, row.end, s.t0[i]); // other zero-length spans at the same time
    }
    if (i < row.end && s.t1[i] <= seen) i = firstIn(s, i, row.end, seen);
  }
}

/** Returns the span of a row at time t, within `slack`; -1 for none. */
export function spanAt(s: Spans, row: Row, t: number, slack: number): number {
  const i = after(s.t1, row.first, row.end, t - slack);
  return i < row.end && s.t0[i] <= t + slack ? i : -1;
}

/** Returns the track and row of a span. */
export function placeOf(s: Spans, span: number): { track: number; row: number } {
  for (let t = 0; t < s.tracks.length; t++)
    for (let r = 0; r < s.tracks[t].rows.length; r++) {
      const row = s.tracks[t].rows[r];
      if (span >= row.first && span < row.end) return { track: t, row: r };
    }
  return { track: -1, row: -1 };
}

/** Returns the spans whose name contains the text, in order of time. */
export function searchSpans(s: Spans, text: string): Int32Array {
  const low = text.toLowerCase();
  const hit = s.names.map((n) => n.toLowerCase().includes(low));
  const found: number[] = [];
  for (let i = 0; i < s.n; i++) if (hit[s.name[i]]) found.push(i);
  return Int32Array.from(found).sort((a, b) => s.t0[a] - s.t0[b]);
}

/** Returns the span of that name around [t0, t1], the shortest if there are several; -1 for none. */
export function spanNamed(s: Spans, name: string, t0: number, t1: number): number {
  const n = s.names.indexOf(name);
  let best = -1;
  for (let i = 0; i < s.n; i++)
    if (s.name[i] === n && s.t0[i] <= t0 && s.t1[i] >= t1 && (best < 0 || s.t1[i] - s.t0[i] < s.t1[best] - s.t0[best])) best = i;
  return best;
}

export const loadSpans = async (): Promise<Spans> => readSpans(await load<SpansJson>('spans'));
