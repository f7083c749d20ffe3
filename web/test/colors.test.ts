// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Colours are distinguishable for people with each kind of colour blindness, and text on them is readable.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { boundColors, catColor, causeColors, groups, palette, typeColors } from '../src/draw/colors';
import { changeColors } from '../src/views/flame/draw';
import { inkOn, luminance } from '../src/draw/pixels';

const contrast = (a: number, b: number): number => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const parse = (text: string): number => (text.length === 4 ? parseInt([...text.slice(1)].map((c) => c + c).join(''), 16) : parseInt(text.slice(1), 16));

// Machado, Oliveira and Fernandes 2009, full strength, on linear RGB.
const eyes: Record<string, number[]> = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritan: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
const linear = (c: number) => (c <= 10.31 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);

/** CIE L*a*b* of a colour as seen with a kind of colour blindness. */
function seen(v: number, m: number[]): number[] {
  const c = [v >> 16, (v >> 8) & 255, v & 255].map(linear);
  const [r, g, b] = [0, 1, 2].map((i) => Math.min(1, Math.max(0, m[i * 3] * c[0] + m[i * 3 + 1] * c[1] + m[i * 3 + 2] * c[2])));
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883].map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const apart = (a: number, b: number, m: number[]): number => Math.hypot(...seen(a, m).map((v, i) => v - seen(b, m)[i]));

describe('colours', () => {
  it('the seven that matter differ for every kind of eye', () => {
    const seven = ['op', 'python_function', 'user_annotation', 'runtime', 'kernel', 'memcpy', 'memset'].map(catColor);
    for (const set of [seven, groups.slice(0, 7)])
      for (const [who, m] of Object.entries(eyes))
        set.forEach((a, i) => set.slice(0, i).forEach((b) => expect(apart(a, b, m), `${a.toString(16)} ${b.toString(16)} ${who}`).toBeGreaterThan(15)));
  });
  it('parts of any bar and states of two runs differ for every kind of eye', () => {
    const sets: Record<string, number[]> = { types: Object.values(typeColors).map(parse), bounds: Object.values(boundColors).map(parse), causes: Object.values(causeColors).map(parse), changes: Object.values(changeColors) };
    for (const [name, set] of Object.entries(sets))
      for (const [who, m] of Object.entries(eyes))
        set.forEach((a, i) => set.slice(0, i).forEach((b) => expect(apart(a, b, m), `${name}: ${a.toString(16)} ${b.toString(16)} ${who}`).toBeGreaterThan(11)));
  });
  it('each cause of waiting has a colour of its own', () => {
    const source = readFileSync(new URL('../../src/analyze/device/idle_cause.c', import.meta.url), 'utf8');
    const names = /tide__cause_text\[TIDE_CAUSES\] = \{([^}]*)\}/.exec(source)![1].match(/\w+/g);
    expect(Object.keys(causeColors)).toEqual(names);
    expect(new Set(Object.values(causeColors)).size).toBe(names!.length);
  });
  it('neighbours of a stacked chart differ', () => {
    for (const m of Object.values(eyes)) groups.forEach((a, i) => i && expect(apart(a, groups[i - 1], m)).toBeGreaterThan(11));
  });
  it('names on spans can be read, however they are shaded', () => {
    const cats = ['op', 'user_annotation', 'python_function', 'runtime', 'driver', 'kernel', 'memcpy', 'memset', 'gpu_user_annotation', 'sync', 'overhead', 'other'];
    const names = Array.from({ length: 300 }, (_, i) => `name ${i}`);
    const color = palette(cats, names);
    cats.forEach((_, c) => names.forEach((_n, k) => expect(contrast(color(c, k), parse(inkOn(color(c, k))))).toBeGreaterThan(4.5)));
  });
  it('text of the page stands out from what it is on, light and dark', () => {
    const css = readFileSync(new URL('../src/style.css', import.meta.url), 'utf8');
    const blocks = [...css.matchAll(/(?::root|:root\[data-theme='dark'\]) \{([^}]*)\}/g)].map((m) => Object.fromEntries([...m[1].matchAll(/--(\w+): (#\w+)/g)].map((p) => [p[1], parse(p[2])])));
    const themes = blocks.filter((b) => 'panel' in b);
    expect(themes.length).toBeGreaterThanOrEqual(2);
    for (const t of themes)
      for (const text of ['text', 'soft', 'accent', 'link'])
        for (const on of ['page', 'panel', 'band', 'pick']) expect(contrast(t[text], t[on]), `${text} on ${on}`).toBeGreaterThan(4.5);
  });
});
