// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live bytes over time in at most a dozen groups, at any zoom, with every peak kept.
//
// Moves are taken in blocks. Of each block we keep the sums before it and the sums at its highest
// moment; a wide view looks at blocks alone, a narrow one replays the moves it shows.
import { after } from './spans';
import { aliveAfter, faceText, type Memory, opPath, peakOf } from './memory';

const BLOCK = 64;
const REPLAY = 150000; // moves that may be replayed for one picture
export const MOST = 12;
const OTHER_DEVICE = 255;

export type By = 'role' | 'op' | 'pool' | 'tensor' | 'stack';

export interface Groups {
  labels: string[];
  of: Uint8Array; // per allocation; 255 = not on this device
}

function keyOf(m: Memory, by: By): Int32Array | Uint8Array {
  return { role: m.role, op: m.op, pool: m.pool, tensor: m.tensor, stack: m.face }[by];
}

function label(m: Memory, by: By, key: number): string {
  if (by === 'role') return m.json.roles[key];
  if (by === 'pool') return m.json.pools[key].name;
  if (by === 'op') return opPath(m, key) || '(outside any op)';
  if (by === 'tensor') return m.json.tensors[key] || '(no tensor known)';
  return faceText(m, key) || '(no stack)';
}

/** The groups that hold most at the peak, largest first; the rest is "other". */
export function groupBy(m: Memory, device: number, by: By): Groups {
  const key = keyOf(m, by);
  const bytes = new Map<number, number>();
  for (const row of aliveAfter(m, peakOf(m, device).move, device))
    bytes.set(key[row], (bytes.get(key[row]) ?? 0) + m.size[row]);
  const order = [...bytes].sort((a, b) => b[1] - a[1]).map(([k]) => k);
  const seen = new Set(order);
  for (let i = 0; i < m.n && order.length < MOST; i++)
    if (!seen.has(key[i]) && m.json.pools[m.pool[i]].device === device) {
      seen.add(key[i]);
      order.push(key[i]);
    }
  const many = order.length >= MOST;
  const top = many ? order.slice(0, MOST - 1) : order;
  const place = new Map(top.map((k, i) => [k, i]));
  const labels = top.map((k) => label(m, by, k));
  if (many) labels.push('other');
  const of = new Uint8Array(m.n);
  for (let i = 0; i < m.n; i++)
    of[i] = m.json.pools[m.pool[i]].device === device ? (place.get(key[i]) ?? labels.length - 1) : OTHER_DEVICE;
  return { labels, of };
}

/** All of a device in one group. */
export function oneGroup(m: Memory, device: number): Groups {
  return { labels: ['live'], of: Uint8Array.from(m.pool, (p) => (m.json.pools[p].device === device ? 0 : OTHER_DEVICE)) };
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
  const k = g.labels.length;
  const blocks = Math.ceil(m.moves / BLOCK);
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
    const end = Math.min(m.moves, (b + 1) * BLOCK);
    for (let i = b * BLOCK; i < end; i++) {
      const row = m.who[i] < 0 ? ~m.who[i] : m.who[i];
      const group = g.of[row];
      if (group !== OTHER_DEVICE) {
        const d = m.who[i] < 0 ? -m.size[row] : m.size[row];
        now[group] += d;
        sum += d;
      }
      if (sum > best) {
        best = sum;
        mip.top.set(now, b * k);
        mip.topT[b] = m.t[i];
      }
    }
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

/** What each of `width` pixel columns of [t0, t1) shows: its highest moment. */
export function picture(m: Memory, g: Groups, mip: Mip, t0: number, t1: number, width: number, replay = REPLAY): Picture {
  const k = mip.k;
  const out: Picture = { k, values: new Float64Array(width * k), sum: new Float64Array(width).fill(-1) };
  const first = after(m.t, 0, m.moves, t0);
  const end = after(m.t, first, m.moves, t1);
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
      const at = Math.min(width - 1, Math.floor((m.t[i] - t0) * scale));
      carry(at + 1);
      x = at;
      const row = m.who[i] < 0 ? ~m.who[i] : m.who[i];
      const group = g.of[row];
      if (group === OTHER_DEVICE) continue;
      const d = m.who[i] < 0 ? -m.size[row] : m.size[row];
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

/** Sums once moves [0, cut) have happened. */
export function levelAt(m: Memory, g: Groups, mip: Mip, cut: number): Float64Array {
  const b = Math.min(Math.floor(cut / BLOCK), Math.max(0, Math.ceil(m.moves / BLOCK) - 1));
  const now = mip.before.slice(b * mip.k, (b + 1) * mip.k);
  for (let i = b * BLOCK; i < cut; i++) {
    const row = m.who[i] < 0 ? ~m.who[i] : m.who[i];
    if (g.of[row] !== OTHER_DEVICE) now[g.of[row]] += m.who[i] < 0 ? -m.size[row] : m.size[row];
  }
  return now;
}

/** Reserved bytes of a device as steps: (time, level from then on). */
export function reserved(m: Memory, device: number): { t: Float64Array; v: Float64Array } {
  const t: number[] = [];
  const v: number[] = [];
  let sum = 0;
  for (let i = 0; i < m.segT.length; i++) {
    if (m.json.pools[m.segPool[i]].device !== device) continue;
    sum += m.segBytes[i];
    t.push(m.segT[i]);
    v.push(sum);
  }
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}
