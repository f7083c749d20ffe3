// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Where things are on the timeline: tracks one below the other, each with its rows.
import type { Spans } from '../data/spans';

export const ROW = 17;
export const HEAD = 20;
export const TOP = 20; // the axis
export const CURVE = 70; // the memory curve
export const LEFT = 190; // names of lanes

export interface Lane {
  track: number;
  y: number; // of its head, below the axis and the curve
  height: number;
  open: boolean;
}

export function layout(s: Spans, closed: ReadonlySet<number>): { lanes: Lane[]; height: number } {
  const lanes: Lane[] = [];
  let y = 0;
  s.tracks.forEach((t, track) => {
    const open = !closed.has(track);
    const height = HEAD + (open ? t.rows.length * ROW : 6) + 4;
    lanes.push({ track, y, height, open });
    y += height;
  });
  return { lanes, height: y };
}

/** The lane and row at height y; row -1 = its head. */
export function rowAt(lanes: Lane[], y: number): { lane: Lane; row: number } | undefined {
  const lane = lanes.find((l) => y >= l.y && y < l.y + l.height);
  if (!lane) return undefined;
  return { lane, row: lane.open && y >= lane.y + HEAD ? Math.floor((y - lane.y - HEAD) / ROW) : -1 };
}
