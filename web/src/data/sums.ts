// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Sums and highest figures of lists.

export function sum<T>(list: Iterable<T>, of: (v: T) => number): number {
  let n = 0;
  for (const v of list) n += of(v);
  return n;
}

/** The highest figure, and at least `least`: 1 where it is to be divided by. */
export function most<T>(list: Iterable<T>, of: (v: T) => number, least = 1): number {
  let n = least;
  for (const v of list) n = Math.max(n, of(v));
  return n;
}

/** Of plain numbers. */
export const same = (v: number): number => v;
