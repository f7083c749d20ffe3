// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
// @ts-expect-error a part of the build, without types
import { shorten } from '../short.mjs';

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
});
