// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
// @ts-expect-error a part of the build, without types
import { arrows, shorten } from '../short.mjs';

const program = `(() => {
  'use strict';
  const o = { 'aria-label': 'button', currentTarget: { currentTarget: null, ab: 'button' }, currentTarget2: ['a,b', 'a,b', 'a,b', 'a"b'] };
  class Base { longMethodName() { return 'button'; } }
  class Sub extends Base { longMethodName() { return super.longMethodName() + super.longMethodName() + super.longMethodName(); } }
  const none = undefined;
  return JSON.stringify([o, o.currentTarget.currentTarget?.currentTarget, none?.currentTarget, o['aria-label'], o.currentTarget2,
    new Sub().longMethodName(), { 'aria-label': 'button' }, { 'aria-label': \`button\` }, o.currentTarget.ab, typeof o === 'object' ? 'button' : '',
    function () { return this; }() === undefined]);
})()`;

describe('shorten', () => {
  it('changes how a program says things, not what it does', () => {
    const short: string = shorten(program);
    // biome-ignore lint/security/noGlobalEval: it is the test's own program
    expect((0, eval)(short)).toBe((0, eval)(program));
    expect(short).toContain('"aria-label,button,currentTarget"');
    expect(short.match(/currentTarget\b/g)).toHaveLength(3); // said once, and the two keys of literals
  });
  it('functions are there as early as they were, and those that need a `this` of their own stay', () => {
    const code = `(() => {
      'use strict';
      const out = [early(2), twice(3), counts(4), typeof Maker];
      function early(n) { return n + later(n); function later(k) { return k * 10; } }
      async function slow(n = 1) { return n; }
      function twice(n) { if (n) { return inner(n); function inner(k) { return 2 * k; } } return 0; }
      function counts() { return arguments.length; }
      function Maker(n) { this.n = n; }
      function Old() {}
      Old.prototype.m = function () { return early(1); };
      function* each() { yield 1; yield* [2, 3]; }
      function self() { return this; }
      function keeps(n) { const f = function () { return this; }; return [n, f.call(7)]; }
      function rec(n, { a, b = 2 } = {}, ...rest) { return n ? rec(n - 1, { a: n }, ...rest) : [a, b, rest.length]; }
      return JSON.stringify([out, new Maker(5).n, new Old().m(), [...each()], self() === undefined, keeps(1), rec(3, {}, 1, 2), slow() instanceof Promise]);
    })()`;
    const short: string = arrows(code);
    // biome-ignore lint/security/noGlobalEval: it is the test's own program
    expect((0, eval)(short)).toBe((0, eval)(code));
    expect(short.match(/function (\w+)/g)).toEqual(['function counts', 'function Maker', 'function Old', 'function self']);
  });
});
