// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Sums and highest figures of lists.

export function sum<T>(list: Iterable<T>, of: (v: T) => number): number {
  let n = 0;
  for (const v of list) n += of(v);
  return n;
}

/** Returns the highest figure, at least `least`, which is 1 for a divisor. */
export function most<T>(list: Iterable<T>, of: (v: T) => number, least = 1): number {
  let n = least;
  for (const v of list) n = Math.max(n, of(v));
  return n;
}

/** Returns the number itself, for lists of plain numbers. */
export const same = (v: number): number => v;
