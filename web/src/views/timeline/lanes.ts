// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The layout of the timeline: tracks one below the other, each with its rows; their order, which are
// folded and which hidden. The address keeps the layout.
import { computed } from '@preact/signals';
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

const kept = keep('lanes'); // "o2.0.1_h3_c5.6": order, hidden, folded or unfolded; only deviations from the default

const SCREEN = 24; // rows that fit below the curve of a small screen
const FEW = 20; // a further track with 1/20 of its lane's spans is nearly empty

/** Returns the arrangement before the user changes it. Device lanes come first if the threads before them fill a screen; further tracks of a
 * lane are folded if they are nearly empty. A Gantt chart has the order of the command. */
export function defaults(s: Pick<Spans, 'tracks'>, gantt = false): Arrangement {
  const all = s.tracks.map((_, k) => k);
  if (gantt) return { order: all, hidden: new Set(), closed: new Set() };
  const lane = (k: number) => s.tracks[k].name.replace(/ · overlap \d+$/, '');
  const first = new Map(all.map((k) => [lane(k), k] as const).reverse()); // the first track of each lane
  const closed = new Set(all.filter((k) => first.get(lane(k)) !== k && s.tracks[k].count * FEW <= s.tracks[first.get(lane(k))!].count));
  const device = (k: number) => s.tracks[k].kind === 'stream';
  const above = all.slice(0, Math.max(0, all.findIndex(device))).reduce((n, k) => n + (closed.has(k) ? 1 : s.tracks[k].rows.length), 0);
  return { order: above > SCREEN ? [...all.filter(device), ...all.filter((k) => !device(k))] : all, hidden: new Set(), closed };
}

const differ = (a: ReadonlySet<number>, b: ReadonlySet<number>): number[] => [...new Set([...a, ...b])].filter((k) => a.has(k) !== b.has(k)).sort((x, y) => x - y);

export function readArrangement(text: string, from: Arrangement): Arrangement {
  const known = new Set(from.order);
  const part = (letter: string) => (text.split('_').find((p) => p[0] === letter)?.slice(1).split('.') ?? []).map(Number).filter((k) => known.has(k));
  const first = [...new Set(part('o'))];
  const rest = from.order.filter((k) => !first.includes(k));
  return { order: [...first, ...rest], hidden: new Set(part('h')), closed: new Set(differ(from.closed, new Set(part('c')))) };
}

export function writeArrangement(a: Arrangement, from: Arrangement): string {
  const parts: string[] = [];
  if (a.order.some((k, i) => k !== from.order[i])) parts.push(`o${a.order.join('.')}`);
  if (a.hidden.size) parts.push(`h${[...a.hidden].join('.')}`);
  const folds = differ(a.closed, from.closed);
  if (folds.length) parts.push(`c${folds.join('.')}`);
  return parts.join('_');
}

let base: Arrangement = { order: [], hidden: new Set(), closed: new Set() }; // of the trace that is shown
export const initial = (): Arrangement => base;
export function arrangement(s: Spans, gantt: boolean): Arrangement {
  base = defaults(s, gantt);
  return readArrangement(kept.value, base);
}
export const arrange = (a: Arrangement): void => {
  kept.value = writeArrangement(a, base);
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
