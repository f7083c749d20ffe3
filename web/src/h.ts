// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// build.mjs adds this to every file, to make the page's code smaller: JSX as calls of a short name, and short names for
// frequently used functions.
import { type ComponentChildren, type ComponentType, Fragment as _Fragment, h } from 'preact';

/** preact's h. If the properties are a text, it is the class: short.mjs writes `{ class: x }` this way. */
const _h = (type: string | ComponentType<object>, props: string | object | null, ...kids: ComponentChildren[]) => h(type as string, (typeof props === 'string' ? { class: props } : props) as object, ...kids);

const { abs, ceil, floor, log2, max, min, round } = Math;
const list = Array.from;
const { document: page, Float64Array: doubles, Int32Array: ints, Number: number, String: text, Uint8Array: octets } = globalThis;

export {
  _Fragment,
  _h,
  abs as 'Math.abs',
  ceil as 'Math.ceil',
  doubles as Float64Array,
  floor as 'Math.floor',
  ints as Int32Array,
  list as 'Array.from',
  log2 as 'Math.log2',
  max as 'Math.max',
  min as 'Math.min',
  number as Number,
  octets as Uint8Array,
  page as document,
  round as 'Math.round',
  text as String,
};
