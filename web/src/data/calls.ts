// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Call stacks of a section (src/render/page/page_stacks.h): a tree of frames.
import { lazy, type Section, snake } from './section';

export interface Calls {
  json: { names: string[] };
  stackFrame: Int32Array;
  stackParent: Int32Array;
  frameFunction: Int32Array;
  frameFile: Int32Array;
  frameLine: Int32Array;
}

/** Columns that are read on first use. */
export function readCalls<T extends Calls>(s: Section<T['json']>, to = { json: s.json } as T): T {
  for (const name of ['stackFrame', 'stackParent', 'frameFunction', 'frameFile', 'frameLine'] as const) lazy(to as Calls, { [name]: () => s.ints(snake(name)) });
  return to;
}

function frameText(c: Calls, f: number): string {
  const { names } = c.json;
  const file = names[c.frameFile[f]];
  const line = c.frameLine[f];
  return `${names[c.frameFunction[f]] || '?'}${file ? ` (${file}${line ? `:${line}` : ''})` : ''}`;
}

/** Returns the frame that represents a stack, as in the commands: not the allocator's own. */
export const faceText = (c: Calls, face: number): string => (face ? frameText(c, face - 1) : '');

/** Returns the frames, innermost first. */
export function stackFrames(c: Calls, stack: number): string[] {
  const out: string[] = [];
  for (let at = stack; at; at = c.stackParent[at - 1]) out.push(faceText(c, c.stackFrame[at - 1]));
  return out.filter(Boolean);
}
