// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live bytes over time in at most a dozen groups, at any zoom, with every peak kept.
//
// Memory events are grouped into blocks. Each block keeps the sums before it and the sums at its highest moment; a wide view uses
// only blocks, a narrow one replays its memory events.
import { after } from './spans';
import { bytes } from './format';
import { faceText } from './calls';
import type { Role } from './kinds';
import { inPlace, liveSetAt, type Memory, moduleText, opPath, peakOf } from './memory';

const BLOCK = 64;
const REPLAY = 150000; // limit of memory events replayed for one picture
export const MOST = 12;
const OTHER_DEVICE = 255;

export type By = 'role' | 'module' | 'op' | 'stack' | 'tensor' | 'pool' | 'device' | 'size';

export interface Groups {
  labels: string[];
  of: Uint8Array; // per allocation; 255 = not on this device
}

/** Layers from the bottom up: long-lived roles are below short-lived ones. */
const layers: readonly string[] = ['parameter', 'buffer', 'optimizer', 'kv_cache', 'gradient', 'input', 'activation', 'workspace', 'temporary', 'unknown'] satisfies Role[];

/** The property shared by the allocations of a group: a number and its name. */
export interface Key {
  of: (row: number) => number;
  label: (key: number) => string;
}

export function keyOf(m: Memory, by: By, devices: readonly string[] = []): Key {
  const column = (v: ArrayLike<number>, label: Key['label']): Key => ({ of: (row) => v[row], label });
  // Returns the origin of an allocation, or "before the recording" if it existed before and its origin is unknown.
  const maker = (v: ArrayLike<number>, text: (k: number) => string, none: string): Key => ({
    of: (row) => (v[row] || !(m.flags[row] & 1) ? v[row] : -1),
    label: (k) => (k < 0 ? '(before the recording)' : text(k) || none),
  });
  const dev = (pool: number) => m.json.pools[pool].device;
  const many = new Set(m.json.pools.slice(1).map((p) => p.device)).size > 1;
  const bySize = (row: number) => (m.size[row] > 0 ? Math.floor(Math.log2(m.size[row])) : -1);
  const of: Record<By, () => Key> = {
    role: () => column(m.role, (k) => m.json.roles[k]),
    module: () => maker(m.module, (k) => moduleText(m, k), '(outside any module)'),
    op: () => maker(m.op, (k) => opPath(m, k), '(outside any op)'),
    stack: () => maker(m.face, (k) => faceText(m, k), '(no stack)'),
    tensor: () => column(m.tensor, (k) => m.json.tensors[k] || '(no tensor)'),
    pool: () => column(m.pool, (k) => (many ? `${devices[dev(k)] ?? dev(k)} ` : '') + m.json.pools[k].name),
    device: () => ({ of: (row) => dev(m.pool[row]), label: (k) => devices[k] ?? String(k) }),
    size: () => ({ of: bySize, label: (k) => (k < 0 ? '0 B' : `${bytes(2 ** k)} – ${bytes(2 ** (k + 1))}`) }),
  };
  return of[by]();
}

/** Returns the keys with the most bytes and their names, from the bottom up; beyond MOST, the rest is "other". */
export function largest(sums: Map<number, number>, key: Key, by: By): { top: number[]; labels: string[] } {
  const all = [...sums].sort((a, b) => b[1] - a[1]).map(([k]) => k);
  const top = all.length > MOST ? all.slice(0, MOST - 1) : all;
  const layer = (k: number) => layers.indexOf(key.label(k));
  if (by === 'role') top.sort((a, b) => layer(a) - layer(b));
  const labels = top.map(key.label);
  if (all.length > MOST) labels.push('other');
  return { top, labels };
}

/** Returns the groups that hold most at the peak; the rest is "other". Places are those of `inPlace`. */
export function groupBy(m: Memory, where: number, by: By, devices: readonly string[] = [], alive = liveSetAt(m, peakOf(m, where), where)): Groups {
  const key = keyOf(m, by, devices);
  const on = inPlace(m, where);
  const sums = new Map<number, number>();
  const seen = new Uint8Array(1 << 16); // most keys are small: check those first
  const add = (k: number, size: number) => {
    if (k >= 0 && k < seen.length) seen[k] = 1;
    sums.set(k, (sums.get(k) ?? 0) + size);
  };
  for (const row of alive) add(key.of(row), m.size[row]);
  for (let i = 0; i < m.n && sums.size <= MOST; i++) {
    if (!on[m.pool[i]]) continue;
    const k = key.of(i);
    if (!seen[k]) add(k, 0);
  }
  const { top, labels } = largest(sums, key, by);
  const place = new Map(top.map((k, i) => [k, i]));
  const { n, pool } = m;
  const of = new Uint8Array(n);
  const rest = labels.length - 1;
  // A few keys are looked up repeatedly: a table of the small ones serves most lookups.
  const table = new Uint8Array(1 << 16).fill(rest);
  for (const [k, i] of place) if (k >= 0 && k < table.length) table[k] = i;
  for (let i = 0; i < n; i++) {
    const k = key.of(i);
    of[i] = on[pool[i]] ? (k >= 0 && k < table.length ? table[k] : (place.get(k) ?? rest)) : OTHER_DEVICE;
  }
  return { labels, of };
}

export interface Group {
  key: number;
  label: string;
  bytes: number;
  asked: number;
  count: number;
  largest: number;
}

/** Assigns rows to groups, each row to one. */
export function grouped(m: Memory, rows: Iterable<number>, by: By, devices: readonly string[]): Group[] {
  const key = keyOf(m, by, devices);
  const of = new Map<number, Group>();
  for (const r of rows) {
    const k = key.of(r);
    let g = of.get(k);
    if (!g) of.set(k, (g = { key: k, label: key.label(k), bytes: 0, asked: 0, count: 0, largest: 0 }));
    g.bytes += m.size[r];
    g.asked += m.size[r] - m.slack[r];
    g.count++;
    g.largest = Math.max(g.largest, m.size[r]);
  }
  return [...of.values()];
}

/** Returns all allocations of a device as one group. */
export function oneGroup(m: Memory, device: number): Groups {
  const on = inPlace(m, device);
  return { labels: ['live'], of: Uint8Array.from(m.pool, (p) => (on[p] ? 0 : OTHER_DEVICE)) };
}

export interface Mip {
  k: number;
  before: Float64Array; // [block * k + group]: sums before the block
  top: Float64Array; // the same at its highest moment
  topT: Float64Array;
  topSum: Float64Array;
  peak: number;
  peakT: number;
}

export function buildMip(m: Memory, g: Groups): Mip {
  const { who, size, t } = m;
  const k = g.labels.length;
  const blocks = Math.ceil(m.events / BLOCK);
  const mip: Mip = {
    k,
    before: new Float64Array(blocks * k),
    top: new Float64Array(blocks * k),
    topT: new Float64Array(blocks),
    topSum: new Float64Array(blocks),
    peak: 0,
    peakT: 0,
  };
  const now = new Float64Array(k);
  let sum = 0;
  for (let b = 0; b < blocks; b++) {
    mip.before.set(now, b * k);
    let best = -1;
    let last = 0; // memory event of the highest moment
    const end = Math.min(m.events, (b + 1) * BLOCK);
    for (let i = b * BLOCK; i < end; i++) {
      const row = who[i] < 0 ? ~who[i] : who[i];
      const group = g.of[row];
      if (group !== OTHER_DEVICE) {
        const d = who[i] < 0 ? -size[row] : size[row];
        now[group] += d;
        sum += d;
      }
      if (sum > best) {
        best = sum;
        last = i;
      }
    }
    mip.top.set(mip.before.subarray(b * k, (b + 1) * k), b * k);
    for (let i = b * BLOCK; i <= last; i++) {
      const row = who[i] < 0 ? ~who[i] : who[i];
      if (g.of[row] !== OTHER_DEVICE) mip.top[b * k + g.of[row]] += who[i] < 0 ? -size[row] : size[row];
    }
    mip.topT[b] = t[last];
    mip.topSum[b] = best;
    if (best > mip.peak) {
      mip.peak = best;
      mip.peakT = mip.topT[b];
    }
  }
  return mip;
}

export interface Picture {
  k: number;
  values: Float64Array; // [x * k + group]: at the highest moment of pixel column x
  sum: Float64Array;
}

/** Returns the highest moment of each of `width` pixel columns of [t0, t1). */
export function picture(m: Memory, g: Groups, mip: Mip, t0: number, t1: number, width: number, replay = REPLAY): Picture {
  const { who, size, t } = m;
  const k = mip.k;
  const out: Picture = { k, values: new Float64Array(width * k), sum: new Float64Array(width).fill(-1) };
  let first = after(t, 0, m.events, t0);
  while (first > 0 && t[first - 1] === t0) first--; // the highest of several memory events at t0 counts too
  const end = after(t, first, m.events, t1);
  const scale = width / (t1 - t0);
  const now = levelAt(m, g, mip, first);
  const offer = (x: number, sum: number, from: Float64Array, at: number) => {
    if (sum <= out.sum[x]) return;
    out.sum[x] = sum;
    for (let j = 0; j < k; j++) out.values[x * k + j] = from[at + j];
  };
  let sum = now.reduce((a, b) => a + b, 0);
  let x = 0;
  const carry = (to: number) => {
    for (; x < to && x < width; x++) offer(x, sum, now, 0);
  };
  if (end - first <= replay) {
    for (let i = first; i < end; i++) {
      const at = Math.min(width - 1, Math.floor((t[i] - t0) * scale));
      carry(at + 1);
      x = at;
      const row = who[i] < 0 ? ~who[i] : who[i];
      const group = g.of[row];
      if (group === OTHER_DEVICE) continue;
      const d = who[i] < 0 ? -size[row] : size[row];
      now[group] += d;
      sum += d;
      offer(at, sum, now, 0);
    }
  } else {
    for (let b = Math.floor(first / BLOCK); b * BLOCK < end; b++) {
      const at = Math.min(width - 1, Math.max(0, Math.floor((mip.topT[b] - t0) * scale)));
      carry(at);
      x = Math.max(x, at);
      if (mip.topT[b] >= t0 && mip.topT[b] <= t1) offer(at, mip.topSum[b], mip.top, b * k);
      if ((b + 1) * k < mip.before.length) for (let j = 0; j < k; j++) now[j] = mip.before[(b + 1) * k + j];
      sum = now.reduce((p, q) => p + q, 0);
    }
  }
  carry(width);
  return out;
}

/** Memory events of a place in their order, as an axis: position i is the moment after event `row[i]`, at time `t[i]`. */
export interface EventAxis {
  row: Int32Array;
  t: Float64Array;
}

export function eventAxis(m: Memory, where: number): EventAxis {
  const on = inPlace(m, where);
  const row = Int32Array.from({ length: m.events }, (_, i) => i).filter((i) => on[m.pool[m.who[i] < 0 ? ~m.who[i] : m.who[i]]]);
  return { row, t: Float64Array.from(row, (i) => m.t[i]) };
}

/** Returns the highest moment of each of `width` pixel columns of the positions [from, to). */
export function pictureOfEvents(m: Memory, g: Groups, mip: Mip, axis: EventAxis, from: number, to: number, width: number): Picture {
  const k = mip.k;
  const out: Picture = { k, values: new Float64Array(width * k), sum: new Float64Array(width).fill(-1) };
  const now = levelAt(m, g, mip, axis.row[from] ?? m.events);
  let sum = now.reduce((a, b) => a + b, 0);
  let x = 0;
  const offer = (at: number) => {
    if (sum <= out.sum[at]) return;
    out.sum[at] = sum;
    out.values.set(now, at * k);
  };
  for (let i = from; i < to; i++) {
    const at = Math.min(width - 1, Math.floor(((i - from) * width) / (to - from)));
    for (; x < at; x++) offer(x);
    const e = m.who[axis.row[i]];
    const row = e < 0 ? ~e : e;
    const d = e < 0 ? -m.size[row] : m.size[row];
    now[g.of[row]] += d;
    sum += d;
    offer(at);
  }
  for (; x < width; x++) offer(x);
  return out;
}

/** Returns the sums after memory events [0, position). */
export function levelAt(m: Memory, g: Groups, mip: Mip, position: number): Float64Array {
  const { who, size } = m;
  const b = Math.min(Math.floor(position / BLOCK), Math.max(0, Math.ceil(m.events / BLOCK) - 1));
  const now = mip.before.slice(b * mip.k, (b + 1) * mip.k);
  for (let i = b * BLOCK; i < position; i++) {
    const row = who[i] < 0 ? ~who[i] : who[i];
    if (g.of[row] !== OTHER_DEVICE) now[g.of[row]] += who[i] < 0 ? -size[row] : size[row];
  }
  return now;
}

/** Reserved bytes of a place as steps: (time, level from then on). */
export function reserved(m: Memory, place: number): { t: Float64Array; v: Float64Array } {
  const t: number[] = [];
  const v: number[] = [];
  let sum = 0;
  for (let i = 0; i < m.segT.length; i++) {
    if (place && (place < 0 || m.json.pools[m.segPool[i]].device !== place)) continue;
    sum += m.segBytes[i];
    t.push(m.segT[i]);
    v.push(sum);
  }
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}
