// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The allocator's segments and blocks at a moment, and its totals over time. The definitions are those
// of docs/analyses/allocator.md; src/analyze/allocator/allocator_state.c is the same in C.
import { ASKED, type Memory, type Position } from './memory';
import { has, load, type Section, snake } from './section';

export interface AllocatorJson {
  bases: (string | null)[]; // per device: address of offset 0; null = unknown
  kinds: string[];
  over: { device: number; points: number; events: number; loose: number; odd: number | null; worst_odd: boolean }[]; // odd: from
                                                                                                                     // that point
                                                                                                                     // on free
                                                                                                                     // blocks are
                                                                                                                     // unknown
}

/** Totals after some memory events, one column each. Free bytes are NaN after the recording contradicted itself. */
export interface Over {
  t: Float64Array;
  reserved: Float64Array;
  active: Float64Array;
  allocated: Float64Array;
  requested: Float64Array;
  cached: Float64Array;
  split: Float64Array;
  expandable: Float64Array;
  largest: Float64Array;
}

export interface Allocator {
  json: AllocatorJson;
  addr: Float64Array; // per allocation: offset from its device's base
  segT: Float64Array; // per event of a segment
  segPosition: Float64Array; // number of earlier memory events
  segWho: Int32Array; // reserved segment, or ~released segment
  segAddr: Float64Array; // per segment
  segSize: Float64Array;
  segPool: Int32Array;
  segKind: Uint8Array;
  segStream: Float64Array;
  holdT: Float64Array; // per block that a stream kept: when it was released
  holdPosition: Float64Array;
  holdRow: Int32Array;
  over: Map<number, { points: Over; worst: Over; events: number; loose: number }>;
}

const free = ['cached', 'split', 'expandable', 'largest'] as const;
const names = ['t', 'reserved', 'active', 'allocated', 'requested', 'cached', 'split', 'expandable', 'largest'] as const;

function readOver(s: Section<AllocatorJson>): Allocator['over'] {
  const cols = names.map((n) => s.column(`frag_${n}`));
  const slice = (a: number, b: number) => Object.fromEntries(names.map((n, i) => [n, cols[i].subarray(a, b)])) as unknown as Over;
  const out: Allocator['over'] = new Map();
  let at = 0;
  for (const o of s.json.over) {
    const worst = slice(at, at + 1);
    const points = slice(at + 1, at + 1 + o.points);
    for (const key of free) {
      points[key].fill(NaN, o.odd ?? o.points);
      worst[key].fill(NaN, o.worst_odd ? 0 : 1);
    }
    out.set(o.device, { worst, points, events: o.events, loose: o.loose });
    at += 1 + o.points;
  }
  return out;
}

export function readAllocator(s: Section<AllocatorJson>): Allocator {
  const segWho = s.ints('seg_back');
  let made = 0;
  for (let i = 0; i < segWho.length; i++) segWho[i] = segWho[i] ? ~(made - segWho[i]) : made++;
  const columns = Object.fromEntries(['addr', 'segT', 'segPosition', 'segAddr', 'segSize', 'segStream', 'holdT', 'holdPosition'].map((name) => [name, s.column(snake(name))]));
  return { ...columns, json: s.json, segWho, segPool: s.ints('seg_pool'), segKind: s.bytes('seg_kind'), holdRow: s.ints('hold_row'), over: readOver(s) } as Allocator;
}

/** Returns null if the trace has no segments. */
export const loadAllocator = async (): Promise<Allocator | null> => (has('allocator') ? readAllocator(await load<AllocatorJson>('allocator')) : null);

export interface Seg {
  addr: number;
  size: number;
  used: number;
  nUsed: number;
  row: number; // its first segment
  parts: number;
  first: number; // its blocks
  n: number;
}

export interface Totals {
  reserved: number;
  active: number;
  allocated: number;
  requested: number;
  free: number;
  cached: number;
  split: number;
  expandable: number;
  largest: number;
  loose: number;
  freeBlocks: number;
}

export interface State {
  segs: Seg[]; // by address
  addr: number[]; // per block
  size: number[];
  alloc: number[]; // -1 = free
  pending: boolean[];
  total: Totals;
}

/** Returns 1 - largest / free: 0 = all free bytes in one block (or none is free), near 1 = many small blocks. */
export const fragmentation = (free: number, largest: number): number => (free ? 1 - largest / free : 0);

export const EXPANDABLE = 'expandable';

/** Returns whether an event with this time and this number of earlier memory events is before the position. */
const past = (position: Position, t: number, events: number): boolean => (position.exact ? events < position.events : t <= position.t);

function liveSegments(m: Memory, a: Allocator, position: Position, device: number): Seg[] {
  const live = new Uint8Array(a.segAddr.length);
  for (let i = 0; i < a.segWho.length && past(position, a.segT[i], a.segPosition[i]); i++) {
    const who = a.segWho[i];
    live[who < 0 ? ~who : who] = who < 0 ? 0 : 1;
  }
  const segs: Seg[] = [];
  for (let i = 0; i < live.length; i++)
    if (live[i] && m.json.pools[a.segPool[i]].device === device)
      segs.push({ addr: a.segAddr[i], size: a.segSize[i], used: 0, nUsed: 0, row: i, parts: 1, first: 0, n: 0 });
  segs.sort((x, y) => x.addr - y.addr || x.row - y.row);
  const grows = (i: number) => a.json.kinds[a.segKind[i]] === EXPANDABLE;
  const out: Seg[] = [];
  for (const s of segs) {
    const p = out[out.length - 1];
    if (p && p.addr + p.size === s.addr && grows(p.row) && grows(s.row) && a.segPool[p.row] === a.segPool[s.row] && a.segStream[p.row] === a.segStream[s.row]) {
      p.size += s.size;
      p.parts++;
    } else out.push(s);
  }
  return out;
}

/** Returns the state of blocks: 1 in use, 2 freed but held by a stream, 0 free. */
function inUse(m: Memory, a: Allocator, position: Position): Uint8Array {
  const { who, flags } = m;
  const use = new Uint8Array(m.n);
  for (let i = 0; i < position.events; i++) {
    const row = who[i];
    if (row >= 0) use[row] = 1;
    else use[~row] = flags[~row] & ASKED ? 2 : 0;
  }
  for (let i = 0; i < a.holdRow.length && past(position, a.holdT[i], a.holdPosition[i]); i++) use[a.holdRow[i]] = 0;
  return use;
}

export function stateAt(m: Memory, a: Allocator, position: Position, device: number): State {
  const use = inUse(m, a, position);
  const rows: number[] = [];
  for (let i = 0; i < m.n; i++) if (use[i] && m.json.pools[m.pool[i]].device === device) rows.push(i);
  rows.sort((x, y) => a.addr[x] - a.addr[y] || x - y);
  const segs = liveSegments(m, a, position, device);
  const total: Totals = { reserved: 0, active: 0, allocated: 0, requested: 0, free: 0, cached: 0, split: 0, expandable: 0, largest: 0, loose: 0, freeBlocks: 0 };
  const s: State = { segs, addr: [], size: [], alloc: [], pending: [], total };
  const add = (g: Seg, addr: number, size: number, alloc: number) => {
    if (!size) return;
    s.addr.push(addr);
    s.size.push(size);
    s.alloc.push(alloc);
    s.pending.push(alloc >= 0 && use[alloc] === 2);
    g.n++;
    if (alloc >= 0) {
      g.used += size;
      g.nUsed++;
    } else {
      total.freeBlocks++;
      total.largest = Math.max(total.largest, size);
    }
  };
  let i = 0;
  for (const g of segs) {
    const end = g.addr + g.size;
    let at = g.addr;
    g.first = s.addr.length;
    for (; i < rows.length && a.addr[rows[i]] < end; i++) {
      const addr = a.addr[rows[i]];
      const size = m.size[rows[i]];
      if (addr < at || size > end - addr) {
        total.loose += size;
        continue;
      }
      add(g, at, addr - at, -1);
      add(g, addr, size, rows[i]);
      at = addr + size;
    }
    add(g, at, end - at, -1);
    const free = g.size - g.used;
    total.reserved += g.size;
    total.free += free;
    total[a.json.kinds[a.segKind[g.row]] === EXPANDABLE ? 'expandable' : g.nUsed ? 'split' : 'cached'] += free;
  }
  for (; i < rows.length; i++) total.loose += m.size[rows[i]];
  for (const r of rows) {
    total.active += m.size[r];
    total.requested += m.size[r] - m.slack[r];
    total.allocated += use[r] === 2 ? 0 : m.size[r];
  }
  return s;
}

/** Returns an offset as an address. */
export function address(a: Allocator, device: number, offset: number): string {
  const base = a.json.bases[device];
  return base === null ? '?' : `0x${(BigInt(base) + BigInt(offset)).toString(16)}`;
}
