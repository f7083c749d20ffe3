// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Allocations and memory events (moves). Event i makes an allocation (who[i] >= 0) or frees one (~who[i]).
import { type Calls, faceText, readCalls } from './calls';
import { isPython } from './flame';
import { lazy, load, type Section, snake } from './section';
import { after } from './spans';

export interface MemoryJson {
  pools: { name: string; device: number; capacity: number; banks: number }[];
  roles: string[];
  tensors: string[];
  names: string[];
  modules: boolean;
  // For a recording that is too large to be sent (src/analyze/memory/downsample_allocs.h): the number of intervals whose highest moment
// is exact, and the number of omitted allocations, which live only between those moments.
  stretches?: number;
  left_out?: number;
  phase_moves?: number[]; // memory events of the first phases
}

export interface Memory extends Calls {
  n: number; // allocations
  moves: number;
  t: Float64Array; // per memory event
  who: Int32Array; // per memory event
  born: Float64Array;
  died: Float64Array; // Infinity = never
  size: Float64Array;
  slack: Float64Array;
  pool: Int32Array;
  role: Uint8Array;
  flags: Uint8Array; // 1 = existed before the recording
  op: Int32Array;
  stack: Int32Array;
  tensor: Int32Array;
  face: Int32Array; // frame that names its stack + 1
  module: Int32Array; // name
  segT: Float64Array;
  segBytes: Float64Array;
  segPool: Int32Array;
  json: MemoryJson;
  opName: Int32Array;
  opParent: Int32Array;
}

/** When every allocation began and ended. */
function lives(m: Memory): { born: Float64Array; died: Float64Array } {
  const { who, t } = m;
  const born = new Float64Array(m.n);
  const died = new Float64Array(m.n).fill(Infinity);
  for (let i = 0; i < m.moves; i++) {
    if (who[i] < 0) died[~who[i]] = t[i];
    else born[who[i]] = t[i];
  }
  return { born, died };
}

/** Reads the columns of the first picture at once, the others on first use. */
export function readMemory(s: Section<MemoryJson>): Memory {
  const t = s.column('t');
  const who = s.ints('back');
  const size = s.column('size');
  for (let i = 0, made = 0; i < who.length; i++) who[i] = who[i] ? ~(made - who[i]) : made++;
  const m = readCalls(s, { n: size.length, moves: who.length, t, who, size, pool: s.ints('pool'), role: s.bytes('role'), flags: s.bytes('flags'), json: s.json } as Memory);
  for (const name of ['slack', 'segT', 'segBytes'] as const) lazy(m, { [name]: () => s.column(snake(name)) });
  for (const name of ['op', 'stack', 'tensor', 'face', 'segPool', 'opName', 'opParent'] as const) lazy(m, { [name]: () => s.ints(snake(name)) });
  let both: ReturnType<typeof lives> | undefined;
  const life = () => (both ??= lives(m));
  return lazy(m, {
    module: () => (s.json.modules ? s.ints('module') : new Int32Array(m.n)),
    born: () => life().born,
    died: () => life().died,
  });
}

export const ASKED = 16; // flag: the program freed it while a stream held it

/** A moment: after `moves` memory events or, if not exact, after all events up to and at time t. */
export interface Cut {
  moves: number;
  t: number;
  exact: boolean;
}

export const cutAt = (m: Memory, t: number): Cut => ({ moves: after(m.t, 0, m.moves, t), t, exact: false });

/** Returns which pools are on the device; 0 = any device. */
export const onDevice = (m: Memory, device: number): Uint8Array => Uint8Array.from(m.json.pools, (p) => (!device || p.device === device ? 1 : 0));

/** Returns the first highest moment of memory events [from, to) in some pools, including the level before them: number of events and bytes;
 * and the level after. */
export function highest(m: Memory, on: Uint8Array, from: number, to: number, level: number): { moves: number; bytes: number; after: number } {
  const { who, size, pool } = m;
  const best = { moves: from, bytes: level, after: level };
  for (let i = from; i < to; i++) {
    const row = who[i] < 0 ? ~who[i] : who[i];
    if (!on[pool[row]]) continue;
    best.after += who[i] < 0 ? -size[row] : size[row];
    if (best.after > best.bytes) {
      best.bytes = best.after;
      best.moves = i + 1;
    }
  }
  return best;
}

/** Returns the moment at which a device's live bytes are first highest. */
export function peakOf(m: Memory, device: number): Cut & { bytes: number } {
  const { moves, bytes } = highest(m, onDevice(m, device), 0, m.moves, 0);
  return { moves, bytes, t: moves ? m.t[moves - 1] : 0, exact: true };
}

/** Rows alive at a moment on a device. */
export function aliveAt(m: Memory, cut: Cut, device: number): Int32Array {
  const { who, pool } = m;
  const on = onDevice(m, device);
  const alive = new Uint8Array(m.n);
  for (let i = 0; i < cut.moves; i++) {
    if (who[i] < 0) alive[~who[i]] = 0;
    else alive[who[i]] = on[pool[who[i]]];
  }
  let n = 0;
  for (let i = 0; i < m.n; i++) n += alive[i];
  const rows = new Int32Array(n);
  for (let i = 0, k = 0; i < m.n; i++) if (alive[i]) rows[k++] = i;
  return rows;
}

/** The innermost module that made it, forward or backward; '' = none. */
export const moduleText = (m: Memory, name: number): string => m.json.names[name].replace('nn.Module: ', '');

export function opPath(m: Memory, op: number): string {
  const parts: string[] = [];
  for (let at = op; at; at = m.opParent[at - 1]) parts.push(m.json.names[m.opName[at - 1]] || '(unnamed)');
  return parts.reverse().join(' / ');
}

/** Returns a test for allocations made under a path of frames (of ops if no allocation has a stack), outermost name first. If all names are
 * Python frames, native frames between them are ignored. */
export function madeUnder(m: Memory, names: readonly string[]): (row: number) => boolean {
  const byStack = m.stackFrame.length > 0;
  const parent = byStack ? m.stackParent : m.opParent;
  const text = (i: number) => (byStack ? faceText(m, m.stackFrame[i]) : m.json.names[m.opName[i]]);
  const python = byStack && names.every(isPython);
  const depth = new Int32Array(parent.length + 1);
  const fits = new Uint8Array(parent.length + 1).fill(1, 0, 1);
  for (let i = 1; i <= parent.length; i++) {
    const up = parent[i - 1];
    const skip = python && !isPython(text(i - 1));
    depth[i] = depth[up] + (skip ? 0 : 1);
    fits[i] = fits[up] && (skip || depth[i] > names.length || text(i - 1) === names[depth[i] - 1]) ? 1 : 0;
  }
  const of = byStack ? m.stack : m.op;
  return (row) => depth[of[row]] >= names.length && fits[of[row]] === 1;
}

export const loadMemory = async (): Promise<Memory> => readMemory(await load<MemoryJson>('memory'));
