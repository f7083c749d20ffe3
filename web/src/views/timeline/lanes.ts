// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The layout of the timeline: tracks one below the other, each with its rows; their order, which are
// folded and which hidden. The address keeps the layout.
import { computed } from '../../signals';
import type { Spans } from '../../data/spans';
import { keep } from '../../state';
import { narrow, px } from '../../ui/scale';

/** "1" = low rows without names, for deep stacks. */
export const compact = keep('low');

/** Sizes in pixels of the screen at hand. */
export const dims = computed(() => ({
  row: px(compact.value ? 7 : 17),
  gap: px(5), // between lanes
  least: px(22), // of a lane: its name must fit
  axis: px(20),
  marks: px(18), // phases and marks
  curve: px(58), // live memory
  left: px(narrow.value ? 96 : 206), // names of lanes
}));

export interface Arrangement {
  order: readonly number[]; // all tracks
  hidden: ReadonlySet<number>;
  closed: ReadonlySet<number>;
}

const kept = keep('lanes'); // "o2.0.1_h3_c5.6": order, hidden, closed; only deviations from the default

export function readArrangement(text: string, n: number): Arrangement {
  const part = (letter: string) =>
    (text.split('_').find((p) => p[0] === letter)?.slice(1).split('.') ?? []).map(Number).filter((k) => Number.isInteger(k) && k >= 0 && k < n);
  const first = [...new Set(part('o'))];
  const seen = new Set(first);
  const rest = Array.from({ length: n }, (_, k) => k).filter((k) => !seen.has(k));
  return { order: [...first, ...rest], hidden: new Set(part('h')), closed: new Set(part('c')) };
}

export function writeArrangement(a: Arrangement): string {
  const parts: string[] = [];
  if (a.order.some((k, i) => k !== i)) parts.push(`o${a.order.join('.')}`);
  if (a.hidden.size) parts.push(`h${[...a.hidden].join('.')}`);
  if (a.closed.size) parts.push(`c${[...a.closed].join('.')}`);
  return parts.join('_');
}

export const arrangement = (s: Spans): Arrangement => readArrangement(kept.value, s.tracks.length);
export const arrange = (a: Arrangement): void => {
  kept.value = writeArrangement(a);
};

const flip = (set: ReadonlySet<number>, k: number): ReadonlySet<number> => {
  const out = new Set(set);
  if (!out.delete(k)) out.add(k);
  return out;
};
export const flipClosed = (a: Arrangement, track: number): Arrangement => ({ ...a, closed: flip(a.closed, track) });
export const flipHidden = (a: Arrangement, track: number): Arrangement => ({ ...a, hidden: flip(a.hidden, track) });

/** Moves `track` to the place of `to`. */
export function moveTrack(a: Arrangement, track: number, to: number): Arrangement {
  const at = a.order.indexOf(to);
  const order = a.order.filter((k) => k !== track);
  order.splice(at, 0, track);
  return { ...a, order };
}

export interface Lane {
  track: number;
  y: number; // below everything that stays at the top
  height: number;
  open: boolean;
}

export function layout(s: Spans, a: Arrangement): { lanes: Lane[]; height: number } {
  const { row, gap, least } = dims.value;
  const lanes: Lane[] = [];
  let y = 0;
  for (const track of a.order) {
    if (a.hidden.has(track)) continue;
    const open = !a.closed.has(track);
    const height = Math.max(least, (open ? s.tracks[track].rows.length : 1) * row + gap);
    lanes.push({ track, y, height, open });
    y += height;
  }
  return { lanes, height: y };
}

export const laneAt = (lanes: readonly Lane[], y: number): Lane | undefined => lanes.find((l) => y >= l.y && y < l.y + l.height);

/** Returns the lane and row at height y. A closed lane shows its outermost row. */
export function rowAt(lanes: readonly Lane[], y: number): { lane: Lane; row: number } | undefined {
  const lane = laneAt(lanes, y);
  return lane && { lane, row: lane.open ? Math.floor((y - lane.y - 2) / dims.value.row) : 0 };
}
