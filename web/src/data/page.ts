// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Everything the page holds, read once and kept. Sections that a view does not need yet stay packed.
import { type FlameJson, loadFlame } from './flame';
import { type Allocator, loadAllocator } from './allocator';
import { loadMemory, type Memory } from './memory';
import { load, type Section } from './section';
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
}

export interface Mark {
  kind: string;
  t: number;
  value: number;
  extra: number;
  device: number;
  name: string | null;
}

export interface MainJson {
  file: string;
  only: string | null; // the one view that the page is for
  format: string;
  t_end: number;
  wall0_ns: number | null;
  spans: number;
  allocs: number;
  moves: number;
  processes: { pid: number; rank: number; command: string | null; host: string | null }[];
  losses: string;
  device: number;
  devices: Device[];
  cpu_ns: number;
  gpu_ns: number;
  overlap_ns: number;
  total_ns: number;
  findings: { severity: string; what: string; text: string; view: string }[];
  marks: Mark[];
  why?: Record<'role' | 'op' | 'stack' | 'tensor', [string, number, number][]>; // (label, bytes, count) at the peak
}

export interface Main extends MainJson {
  curve: Float64Array; // highest live bytes, per stretch
  each: Float64Array; // highest live bytes of every device, 128 stretches each
  cpu: Float64Array; // active millionths, per stretch
  gpu: Float64Array;
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
  moves: number; // of the memory section
  levels: number[][];
}
export interface Tables {
  ops: OpRow[];
  ops_in_all: number;
  scopes: Scope[];
  phases: Phase[];
}

export type Hta = { ranks: Record<string, unknown>[]; [key: string]: unknown } | null;

const once = <T>(make: () => Promise<T>) => {
  let kept: Promise<T> | undefined;
  return () => (kept ??= make());
};

async function readMain(): Promise<Main> {
  const s = await load<MainJson>('main');
  return { ...s.json, curve: s.column('live'), each: s.column('each'), cpu: s.column('cpu'), gpu: s.column('gpu') };
}

export const getMain = once(readMain);
export const getSpans: () => Promise<Spans> = once(loadSpans);
export const getMemory: () => Promise<Memory> = once(loadMemory);
export const getAllocator: () => Promise<Allocator | null> = once(loadAllocator);
export const getFlame: () => Promise<Section<FlameJson>> = once(loadFlame);
export const getTables = once(async () => (await load<Tables>('tables')).json);
export const getHta = once(async () => (await load<Hta>('hta')).json);
