// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Colours: a set that people who see colours differently can tell apart, shaded a little by name so
// that neighbours differ.
import { rgb, shade } from './pixels';

const cats: Record<string, number> = {
  op: 0x4c8fd6,
  user_annotation: 0x8a7fc9,
  python_function: 0x7fb08a,
  runtime: 0xd8a13a,
  driver: 0xc98a2b,
  kernel: 0x1f9e89,
  memcpy: 0xd1603d,
  memset: 0xb5485c,
  mtia: 0x1f9e89,
  gpu_user_annotation: 0x9a8fd0,
  sync: 0x9aa4ad,
  overhead: 0xa8a29a,
};
const plain = 0x8b98a5;

const groups = [
  0x3b7dc4, 0xe09f3e, 0x2a9d8f, 0xc8553d, 0x8a6fb5, 0x6bbf59, 0xd48ab8, 0x8c6d46, 0x5fb7d4, 0xb8b03a, 0x5a6b7b, 0xa9b4bf,
];

/** Colour of the i-th group; what is not known or not told apart is grey. */
export const groupColor = (label: string, i: number): number => (label === 'unknown' || label === 'other' ? 0xa9b4bf : groups[i % groups.length]);

export const catColor = (cat: string): number => cats[cat] ?? plain;

function hash(s: string): number {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

/** Colours of (category, name) as 0xRRGGBB, made when first asked for. */
export function palette(catNames: string[], names: string[]): (cat: number, name: number) => number {
  const kept = new Map<number, number>();
  return (cat, name) => {
    const key = name * 32 + cat;
    let c = kept.get(key);
    if (c === undefined) {
      c = shade(catColor(catNames[cat] ?? ''), (hash(names[name] ?? '') - 0.5) * 0.36);
      kept.set(key, c);
    }
    return c;
  };
}

export const nameColor = (name: string, base: number): number => shade(base, (hash(name) - 0.5) * 0.5);

export interface Ink {
  back: number;
  band: number;
  line: string;
  text: string;
  soft: string;
  accent: string;
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
    dark: hex('--panel') < 0x808080,
  };
}
