// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Allocations and memory events. Event i makes an allocation (who[i] >= 0) or frees one (~who[i]).
import { type Calls, faceText, readCalls } from './calls';
import { isPython } from './flame';
import { lazy, load, type Section, snake } from './section';
import { after } from './spans';

export interface MemoryJson {
  pools: { name: string; device: number; capacity: number; banks: number; on_chip: boolean }[]; // on_chip: L1, in no figure of its device
  roles: string[];
  tensors: string[];
  names: string[];
  modules: boolean;
  // For a recording that is too large to be sent (src/analyze/memory/downsample_allocs.h): the number of intervals whose highest moment
// is exact, and the number of omitted allocations, which live only between those moments.
  intervals?: number;
  left_out?: number;
  phase_events?: number[]; // memory events of the first phases
}

export interface Memory extends Calls {
  n: number; // allocations
  events: number;
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

/** Computes when every allocation began and ended. */
function lives(m: Memory): { born: Float64Array; died: Float64Array } {
  const { who, t } = m;
  const born = new Float64Array(m.n);
  const died = new Float64Array(m.n).fill(Infinity);
  for (let i = 0; i < m.events; i++) {
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
  const m = readCalls(s, { n: size.length, events: who.length, t, who, size, pool: s.ints('pool'), role: s.bytes('role'), flags: s.bytes('flags'), json: s.json } as Memory);
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

/** A moment: after `events` memory events or, if not exact, after all events up to and at time t. */
export interface Position {
  events: number;
  t: number;
  exact: boolean;
}

export const positionAt = (m: Memory, t: number): Position => ({ events: after(m.t, 0, m.events, t), t, exact: false });

/** Returns which pools count in the figures of a place: a device (> 0), everything (0), or one pool on a chip (- its number). */
export const inPlace = (m: Memory, place: number): Uint8Array =>
  Uint8Array.from(m.json.pools, (p, i) => (!place || (place < 0 ? i === -place : p.device === place && !p.on_chip) ? 1 : 0));

/** Returns the first highest moment of memory events [from, to) in some pools, including the level before them: number of events and bytes;
 * and the level after. */
export function highest(m: Memory, on: Uint8Array, from: number, to: number, level: number): { events: number; bytes: number; after: number } {
  const { who, size, pool } = m;
  const best = { events: from, bytes: level, after: level };
  for (let i = from; i < to; i++) {
    const row = who[i] < 0 ? ~who[i] : who[i];
    if (!on[pool[row]]) continue;
    best.after += who[i] < 0 ? -size[row] : size[row];
    if (best.after > best.bytes) {
      best.bytes = best.after;
      best.events = i + 1;
    }
  }
  return best;
}

/** Returns the moment at which a place's live bytes are first highest. */
export function peakOf(m: Memory, place: number): Position & { bytes: number } {
  const { events, bytes } = highest(m, inPlace(m, place), 0, m.events, 0);
  return { events, bytes, t: events ? m.t[events - 1] : 0, exact: true };
}

/** Rows alive at a moment in a place. */
export function liveSetAt(m: Memory, position: Position, place: number): Int32Array {
  const { who, pool } = m;
  const on = inPlace(m, place);
  const alive = new Uint8Array(m.n);
  for (let i = 0; i < position.events; i++) {
    if (who[i] < 0) alive[~who[i]] = 0;
    else alive[who[i]] = on[pool[who[i]]];
  }
  let n = 0;
  for (let i = 0; i < m.n; i++) n += alive[i];
  const rows = new Int32Array(n);
  for (let i = 0, k = 0; i < m.n; i++) if (alive[i]) rows[k++] = i;
  return rows;
}

/** Returns the innermost module that made it, forward or backward; '' = none. */
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
