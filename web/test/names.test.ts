// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The build renames only properties of our own code: a renamed key of the C code's JSON would be lost.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OWN } from '../short.mjs';

const src = join(import.meta.dirname, '../../src');
const texts = new Set<string>();
for (const f of readdirSync(src, { recursive: true, encoding: 'utf8' }))
  if (/\.[ch]$/.test(f)) for (const m of readFileSync(join(src, f), 'utf8').matchAll(/\\?"(\w+)\\?"/g)) texts.add(m[1]);
const notKeys = new Set(['json', 'main', 'colors', 'parts']); // names of a format, of a section, and of sets of colours

test('no renamed property is a key that C writes', () => {
  expect(texts.has('peak_bytes')).toBe(true); // the test reads the right files
  expect(OWN.filter((n: string) => texts.has(n) && !notKeys.has(n))).toEqual([]);
});
// json is a field of every section here; of the browser's, parse(await r.text()) does the same.
test('nobody calls json()', () => {
  const web = join(import.meta.dirname, '../src');
  const callers = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((f) => /\.tsx?$/.test(f) && readFileSync(join(web, f), 'utf8').includes('.json()'));
  expect(callers).toEqual([]);
});
test('names are renamed once', () => expect(new Set(OWN).size).toBe(OWN.length));
