// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { expect, it } from 'vitest';
import { common } from '../src/data/format';

it('finds the innermost folder that contains all folders', () => {
  expect(common(['/a/b/c', '/a/b', '/a/b/d/e'])).toBe('/a/b');
  expect(common(['/a/b', '/a/bc'])).toBe('/a');
  expect(common(['/a', '/b'])).toBe('');
  expect(common(['/a/b', '/a/b'])).toBe('/a/b');
  expect(common(['x/y', 'x/z'])).toBe('x');
});
