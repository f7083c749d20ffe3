// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Colours of groups, spans and lanes. The lists are in C (src/render/picture/colors.c); names of spans shade theirs slightly so that
// neighbours differ.
import { boundColors as boundRgb, categoryColors, groupColors, idleCauseColors, type Role, roleColors, workColors } from '../data/kinds';
import { css, rgb, shade } from './pixels';

const plain = 0x8b98a5;

/** The 7 colours, and darker variants for charts with more groups. */
export const groups = groupColors;

/** Returns the colour of the i-th group; unknown and other are grey. */
export const groupColor = (label: string, i: number): number => (label === 'unknown' || label === 'other' ? roleColors.unknown : groups[i % groups.length]);
export const roleColor = (role: string): number => roleColors[role as Role] ?? roleColors.unknown;

const texts = (of: Record<string, number>): Record<string, string> => Object.fromEntries(Object.entries(of).map(([k, v]) => [k, css(v)]));
/** Kinds of device work, and of two or three at once. */
export const typeColors = texts(workColors);
/** Colours of the bounds of critical-path edges. */
export const boundColors = texts(boundRgb);
/** Colours of the causes of host wait. */
export const causeColors = texts(idleCauseColors);

export const catColor = (cat: string): number => categoryColors[cat] ?? plain;

function hash(s: string): number {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

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

/** Returns colours of (category, name) as 0xRRGGBB, computed on first use. */
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
export const MEMORY = groups[1];
export const GROWN = groups[3];

/** Returns the colour of the stripe before a lane's name, by kind of lane. */
export const kindColor = (kind: string): number => (kind === 'thread' ? categoryColors.op : kind === 'stream' ? categoryColors.kernel : plain);

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
