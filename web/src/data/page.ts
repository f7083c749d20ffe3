// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Everything the page holds, read once and kept. Sections that a view does not need yet stay packed.
import { axis, host } from './format';
import { signal } from '@preact/signals';
import { type DiffFlameJson, type FlameJson, loadFlame } from './flame';
import { type Allocator, loadAllocator } from './allocator';
import { loadMemory, type Memory } from './memory';
import { type OpsJson, type OpTree, readOpTree } from './optree';
import { has, hasShared, load, type Section, setTrace, traceNumber } from './section';
import { type PiecesJson, readPieces } from './pieces';
import { loadSpans, type Spans } from './spans';

export interface Device {
  device: string;
  name: string | null;
  capacity: number;
  peak: number;
  peak_t: number;
  peak_count: number;
  live: number;
  count: number;
  allocs: number;
  reserved_peak: number | null;
  reserved_source: string | null;
  // The device has no allocations, only samples of its own counter, and its own peak, reached within a time interval.
  sampled: { peak: number; peak_t: number; own_peak: number | null; own_since: number; own_told: number; last: number; samples: number } | null;
}

export interface Mark {
  kind: string;
  t: number;
  value: number;
  extra: number;
  device: number;
  name: string | null;
}

/** A request that failed (src/render/report/allocator/oom.h). */
export interface Oom {
  device: number;
  capacity: number; // all the allocator could hold; 0 = unknown
  by: string | null;
  lines: [name: string, bytes: number | null, more: string][];
  banks: number; // 0 = none
  holders: [key: string, bytes: number, count: number, enough: boolean | null][];
}
export interface MainJson {
  file: string;
  only: string | null; // the one view that the page is for
  format: string;
  t_end: number;
  ledger: boolean; // device memory by holder is known
  axis: string; // "time", or "ops": the source has no clock, a time is 1000 × the number of an operation
  wall0_ns: number | null;
  spans: number;
  allocs: number;
  events: number;
  processes: { pid: number; rank: number; world: number; command: string | null; host: string | null }[];
  losses: string;
  /** Commands for a terminal. */
  next: { command: string; answers: string }[];
  device: number;
  devices: Device[];
  heap: { peak_bytes: number; peak_error_bytes: number; left_error_bytes: number } | null; // sampled: figures of the host are estimates with these standard errors
  cpu_ns: number;
  gpu_ns: number;
  overlap_ns: number;
  total_ns: number;
  findings: { severity: string; id: string; what: string; text: string; view: string; t: number | null; device?: number; ooms?: { t: number; text: string; oom: Oom }[]; growing?: [string, number, number, number, number][] }[]; // growing: (by, bytes a step, after the first step, after the last, allocations)
  untried: boolean; // too much to replay: settings of the allocator are not among the findings
  steps: number; // as `tidemark leaks` counts them
  unended_step: boolean; // one more began, and its end is not recorded
  marks: Mark[];
  phases: number; // marks that end one
  peak_groups?: Record<'role' | 'module' | 'op' | 'stack' | 'tensor', [string, number, number][]>; // (label, bytes, count) at the peak
}

export interface Main extends MainJson {
  curve: Float64Array; // highest live bytes, per interval
  each: Float64Array; // highest live bytes of every device, 128 intervals each
  cpu: Float64Array; // active millionths, per interval
  gpu: Float64Array;
  now?: boolean; // the recording is still being written
}

export type OpRow = [string, number, number, number, number, number, number, number];

export interface Scope {
  scope: string;
  device: string;
  pool: string;
  pools: number;
  limit: number; // bytes there are, 0 = unknown
  of: number[]; // pools
}
export interface Phase {
  name: string | null;
  t0: number;
  t1: number;
  events: number; // of the memory section
  levels: number[][];
}
export interface Tables {
  scopes: Scope[];
  phases: Phase[];
}

export type Hta = { ranks: Record<string, unknown>[]; [key: string]: unknown } | null;

export interface Ops extends OpsJson {
  tree: OpTree;
}

/** The critical path: the document of `tidemark critical-path --json` and the path in columns. */
export interface CriticalJson {
  found: boolean;
  why: string | null;
  annotation: string;
  window_ns: number;
  path_ns: number;
  nodes: number;
  path_nodes: number;
  bound_by: Record<string, unknown>[];
  top: Record<string, unknown>[];
  path_left_out: number;
  path_left_out_ns: number;
  types: string[];
  bounds: string[];
  names: string[];
}
export interface Critical {
  json: CriticalJson;
  t0: Float64Array;
  dur: Float64Array;
  type: Uint8Array;
  bound: Uint8Array;
  name: Int32Array;
}

/** The document of `tidemark diff --json`. */
export interface DiffJson {
  a: { trace: string; device: string | null };
  b: { trace: string; device: string | null };
  metrics: Record<string, { unit: 'ns' | 'bytes' | 'count'; what: string; a: number | null; b: number | null; delta: number | null; pct: number | null }>;
  speedup: number | null;
  [table: string]: unknown;
}

/** A member of a report's document. */
export interface Member {
  key: string;
  heading: string | null;
  kind: string;
  meaning: string;
  members?: Member[];
}
/** A report that is about no single trace: its document, and the description of its members. */
export interface ReportJson {
  name: string;
  summary: string;
  members: Member[];
  document: Record<string, unknown>;
}
/** The document of `tidemark objects --json`. */
export interface ObjectsJson {
  snapshots: { at: string; [member: string]: unknown }[];
}

/** The document of `tidemark device --json`: figures of a device at its highest moment, and over time. */
export interface At {
  processes?: At[];
  [figure: string]: unknown;
}
export interface LedgerDevice extends At {
  libraries?: Record<string, unknown>[];
  over_time: At[];
}

export interface Ledger {
  devices: LedgerDevice[];
}

/** The document of `tidemark roofline --json`. */
export interface Roofline {
  covered_pct: number | null;
  device: { name: string | null; bandwidth_gb_s: number | null };
  categories: Record<string, unknown>[];
  ops: Record<string, unknown>[];
  steps: Record<string, unknown>[];
  uncovered: Record<string, unknown>[];
}

/** A page of several traces: ranks of one job, or two runs to compare. */
export interface PageJson {
  kind: 'ranks' | 'diff';
  traces: { title: string; file: string; detail: boolean }[];
  notes: string[];
}

export interface Getter<T> {
  (): Promise<T>;
  now?: () => T | undefined; // its last result, so that a view can be drawn at once
}
const forgetters: (() => void)[] = [];
/** Counts the changes of the recording. */
export const version = signal(0);
/** Call when the recording has changed: everything is read again. */
export const forget = (): void => {
  forgetters.forEach((f) => f());
  version.value++;
};

/** Creates the data of a trace, once for each trace of the page. */
export const once = <T>(make: () => Promise<T>): Getter<T> => {
  const kept = new Map<number, Promise<T>>();
  const given = new Map<number, T>();
  const get = () => {
    const k = traceNumber();
    let p = kept.get(k);
    if (!p) {
      kept.set(k, (p = make()));
      p.then((v) => kept.get(k) === p && given.set(k, v), () => {});
    }
    return p;
  };
  forgetters.push(() => {
    kept.clear();
    given.clear();
  });
  return Object.assign(get, { now: () => given.get(traceNumber()) });
};
/** Returns the first section of the k-th trace, from whichever source has it. */
export function mainOf(k: number): Promise<Main> {
  const was = traceNumber();
  setTrace(k);
  const p = getMain();
  setTrace(was);
  return p;
}
const single = <T>(make: () => Promise<T>) => {
  let kept: Promise<T> | undefined;
  return () => (kept ??= make());
};

async function readMain(): Promise<Main> {
  const s = await load<MainJson>('main');
  axis.ops = s.json.axis === 'ops';
  return { ...s.json, curve: s.column('live'), each: s.column('each'), cpu: s.column('cpu'), gpu: s.column('gpu') };
}

export const getMain = once(readMain);
/** The whole timeline in few pieces, for the first picture of a large one; null = it is not large. */
export const getCoarse = once(async () => (has('coarse') ? readPieces(await load<PiecesJson>('coarse')) : null));
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
export const getSpans: Getter<Spans> = once(async () => {
  if (await getCoarse()) await painted().then(painted);
  return loadSpans();
});
export const getMemory: Getter<Memory> = once(loadMemory);
export const getAllocator: () => Promise<Allocator | null> = once(loadAllocator);
export const getFlame: () => Promise<Section<FlameJson>> = once(loadFlame);
/** Returns the JSON of a section; null = there is none. */
const documentOf = async <T>(name: string, shared?: boolean): Promise<T> => ((shared ? hasShared : has)(name) ? (await load<T>(name, shared)).json : (null as T));
export const getTables = once(() => documentOf<Tables>('tables'));
export const getOps = once(async (): Promise<Ops> => {
  const s = await load<OpsJson>('ops');
  return { ...s.json, tree: readOpTree(s) };
});
export const getHta = once(() => documentOf<Hta>('hta'));
export const getRoofline = once(() => documentOf<Roofline | null>('roofline'));
export const readCritical = (s: Section<CriticalJson>): Critical => ({ json: s.json, t0: s.column('t0'), dur: s.column('dur'), type: s.bytes('type'), bound: s.bytes('bound'), name: s.ints('name') });
export const getCritical = once(async () => (has('critical') ? readCritical(await load<CriticalJson>('critical')) : null));

// Data of the whole page.
/** The first sections of all traces, for pictures of several. */
export const getMains = single(async (): Promise<Main[]> => {
  const list = (await getPage())?.traces ?? [];
  const out: Main[] = [];
  for (let k = 0; k < list.length; k++) if (list[k].detail) out.push(await mainOf(k));
  return out;
});
export const getPage = single(() => documentOf<PageJson | null>('page', true));
/** Returns the ledger of all processes of a device together, then that of each. */
export const getLedger = once(async () => [await documentOf<Ledger | null>('ledgers', true), await documentOf<Ledger>('ledger')]);
export const getObjects = once(() => documentOf<ObjectsJson>('objects'));
export const getDocument = once(() => documentOf<ReportJson>('document'));
export const getJob = single(() => documentOf<Hta>('job', true));
export const getDiff = single(() => documentOf<DiffJson>('diff', true));
export const getDiffFlame = single(() => load<DiffFlameJson>('diffflame', true));

/** Returns the errors of a device's estimates, if its memory is that of a sampled heap. */
export const errorsOf = (main: MainJson, d: Device | undefined) => (main.heap && d && host(d) && d.peak === main.heap.peak_bytes ? main.heap : null);
/** Names a row of a device's memory: an allocation, or a sample, which is many blocks. */
export const rowName = (main: MainJson, d: Device | undefined): string => (errorsOf(main, d) ? 'sample' : 'allocation');

/** Failed requests that are explained in full. */
export const oomsOf = (main: MainJson) => main.findings.flatMap((f) => f.ooms ?? []);
/** Returns the bytes of a device: as recorded, else the bytes that its allocator could hold when a request failed; 0 =
 * unknown. */
export const sizeOf = (main: MainJson, d: number): number => main.devices[d].capacity || oomsOf(main).find((o) => o.oom.device === d)?.oom.capacity || 0;
