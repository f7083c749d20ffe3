// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Colours: the set of Okabe and Ito, which colour-blind people can distinguish (web/test/colors.test.ts
// checks that), shaded slightly by name so that neighbours differ.
import type { IdleCause } from '../data/kinds';
import { css, rgb, shade } from './pixels';

const BLUE = 0x0072b2;
const SKY = 0x56b4e9;
const PURPLE = 0xcc79a7;
const ORANGE = 0xe69f00;
const GREEN = 0x009e73;
const VERMILION = 0xd55e00;
const YELLOW = 0xf0e442;
const NIGHT = 0x00466e;
const GREY = 0xa9b4bf;
const STONE = 0x606a74;
const BROWN = 0x5a2d00;

const cats: Record<string, number> = {
  op: BLUE,
  user_annotation: PURPLE,
  python_function: SKY,
  runtime: ORANGE,
  driver: 0xc07f00,
  kernel: GREEN,
  memcpy: VERMILION,
  memset: YELLOW,
  mtia: GREEN,
  gpu_user_annotation: 0xdba3c3,
  sync: 0x9aa4ad,
  overhead: 0xb3aca2,
};
const plain = 0x8b98a5;

/** The 7 colours, and darker variants for charts with more groups. */
export const groups = [BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, NIGHT, 0x8a5f00, 0x00573f, 0x7f3800, GREY];

/** Returns the colour of the i-th group; unknown and other are grey. */
export const groupColor = (label: string, i: number): number => (label === 'unknown' || label === 'other' ? GREY : groups[i % groups.length]);

const texts = (of: Record<string, number>): Record<string, string> => Object.fromEntries(Object.entries(of).map(([k, v]) => [k, css(v)]));
/** Kinds of device work, and of two or three at once. */
export const typeColors = texts({
  compute: GREEN,
  communication: PURPLE,
  memory: VERMILION,
  other: STONE,
  'compute + communication': BLUE,
  'communication + memory': ORANGE,
  'compute + memory': YELLOW,
  'compute + communication + memory': NIGHT,
});
/** Colours of the bounds of critical-path edges. */
export const boundColors = texts({ cpu_bound: BLUE, data_loading: ORANGE, gpu_compute_bound: GREEN, gpu_communication_bound: PURPLE, gpu_memory_bound: STONE, gpu_kernel_kernel_overhead: VERMILION, gpu_kernel_launch_overhead: SKY, gpu_queued_behind_earlier_work: YELLOW, gpu_work_from_before_window: NIGHT });
/** Colours of the causes of host wait (tide__cause_text). */
const causes: Record<IdleCause, number> = { sync: BROWN, allocation: ORANGE, data_loading: GREEN, compile: VERMILION, runtime: PURPLE, op: SKY, python: YELLOW, annotation: NIGHT, unrecorded: STONE, launch: BLUE };
export const causeColors = texts(causes);

export const catColor = (cat: string): number => cats[cat] ?? plain;

function hash(s: string): number {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

/** Colours of (category, name) as 0xRRGGBB, computed on first use. */
/** Colours of a Gantt chart by type of module, as in the tracker's charts. */
export const modules: Record<string, number> = { Linear: 0x4caf50, RMSNorm: 0x2196f3, SiLU: 0xff9800, Embedding: 0x9c27b0, other: 0x757575 };
const moduleOf = (name: string): string => Object.keys(modules).find((k) => name.includes(k)) ?? 'other';

/** A recorded module has a path, not a type: one colour per name of its last part (`blocks.3.up`: up), ignoring numbers. */
function ganttColor(name: string): number {
  const type = moduleOf(name);
  if (type !== 'other' || !name.startsWith('nn.Module: ')) return modules[type];
  const part = name.slice(11).split('.').filter((p) => !/^\d+$/.test(p)).pop() ?? name;
  return groups[Math.floor(hash(part) * (groups.length - 1))];
}

export function palette(catNames: string[], names: string[], gantt = false): (cat: number, name: number) => number {
  const kept = new Map<number, number>();
  if (gantt) return (_, name) => ganttColor(names[name] ?? '');
  return (cat, name) => {
    const key = name * 32 + cat;
    let c = kept.get(key);
    if (c === undefined) {
      c = shade(catColor(catNames[cat] ?? ''), (hash(names[name] ?? '') - 0.5) * 0.28);
      kept.set(key, c);
    }
    return c;
  };
}

export const nameColor = (name: string, base: number): number => shade(base, (hash(name) - 0.5) * 0.5);

/** The colour of live memory in all charts. */
export const MEMORY = ORANGE;
export const GROWN = VERMILION;

/** Returns the colour of the stripe before a lane's name, by kind of lane. */
export const kindColor = (kind: string): number => (kind === 'thread' ? cats.op : kind === 'stream' ? cats.kernel : plain);

export interface Ink {
  back: number;
  band: number;
  line: string;
  text: string;
  soft: string;
  accent: string;
  link: string;
  dark: boolean;
}

/** Colours of the page's style sheet for the canvas. */
export function ink(): Ink {
  const s = getComputedStyle(document.documentElement);
  const get = (name: string) => s.getPropertyValue(name).trim();
  const hex = (name: string) => parseInt(get(name).slice(1), 16);
  return {
    back: rgb(hex('--panel')),
    band: rgb(hex('--band')),
    line: get('--line'),
    text: get('--text'),
    soft: get('--soft'),
    accent: get('--accent'),
    link: get('--link'),
    dark: hex('--panel') < 0x808080,
  };
}
