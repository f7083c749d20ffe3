// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Shared by the parts of the memory view: the choices that the address keeps, and the data of a device.
import { buildMip, type By, type EventAxis, eventAxis, type Groups, groupBy, type Mip, type Picture, picture, pictureOfEvents, reserved } from '../../data/levels';
import { axis } from '../../data/format';
import { after } from '../../data/spans';
import { liveSetAt, type Memory, peakOf, type Position, positionAt } from '../../data/memory';
import { type Main, type Phase, sizeOf } from '../../data/page';
import { groupColor, roleColor } from '../../draw/colors';
import { keep, moment, range } from '../../state';
import type { Scale } from '../../ui/travel';

export const by = keep('by'); // how memory is stacked
export const device = keep('dev'); // number of a place (`inPlace`), 'all', or '' = the device with the highest peak
export const focus = keep('focus'); // label of the highlighted group
export const pane = keep('pane'); // the pane below the chart
export const over = keep('over'); // 'events': a memory event is as wide as any other; '' = time

const bys: readonly (readonly [By, string])[] = [
  ['role', 'Role'],
  ['module', 'Module'],
  ['op', 'Op'],
  ['stack', 'Code'],
  ['tensor', 'Tensor'],
  ['pool', 'Pool'],
  ['device', 'Device'],
];

/** Returns the groupings that distinguish this trace's allocations. */
export function waysOf(main: Main, m: Memory): readonly (readonly [By, string])[] {
  const known: Partial<Record<By, boolean>> = { module: m.json.modules, op: m.opName.length > 0, stack: m.stackFrame.length > 0, tensor: m.json.tensors.length > 1, device: inUse(main).length > 1 };
  return bys.filter(([k]) => known[k] ?? true);
}

export interface Scene {
  main: Main;
  m: Memory;
  place: number; // `inPlace`
  dev: number; // its device; 0 = all
  name: string;
  limit: number; // capacity in bytes: the device's, or the most that the allocator could hold; 0 = unknown
  by: By;
  g: Groups;
  colors: number[];
  mip: Mip;
  peak: Position & { bytes: number };
  atPeak: Int32Array; // allocations alive at the moment
  res: { t: Float64Array; v: Float64Array };
  phases: Phase[];
  events?: EventAxis; // the axis, unless it is time
}

/** Returns whether memory events can be the axis: all of them are here, and time is not their number anyway. */
export const canCount = (m: Memory): boolean => !axis.ops && !m.json.left_out;

/** Returns the visible positions [a, b) of an axis of events. */
export function visible(e: EventAxis): [number, number] {
  const [t0, t1] = range.value;
  const a = after(e.t, 0, e.t.length, t0 - 1e-3);
  return [a, Math.max(a + 1, after(e.t, a, e.t.length, t1))];
}

/** Converts times to positions of the axis. */
export const scaleOf = (e: EventAxis | undefined, end: number): Scale | undefined =>
  e && {
    at: (t) => (t <= 0 ? 0 : t >= end ? e.t.length : after(e.t, 0, e.t.length, t - 1e-3)),
    time: (u) => (u <= 0 ? 0 : u >= e.t.length ? end : e.t[Math.floor(u)]),
  };

/** Returns the visible window in `width` columns, and the time at which a column begins. */
export function pictureOf(sc: Scene, width: number): { pic: Picture; timeAt: (x: number) => number } {
  const [t0, t1] = range.value;
  if (!sc.events) return { pic: picture(sc.m, sc.g, sc.mip, t0, t1, width), timeAt: (x) => t0 + (x / width) * (t1 - t0) };
  const [a, b] = visible(sc.events);
  const { t } = sc.events;
  return { pic: pictureOfEvents(sc.m, sc.g, sc.mip, sc.events, a, b, width), timeAt: (x) => t[Math.min(t.length - 1, Math.floor(a + (x / width) * (b - a)))] ?? t0 };
}

/** Returns the devices that ever held memory. */
export const inUse = (main: Main): number[] => main.devices.map((_, i) => i).filter((i) => i && main.devices[i].allocs > 0);

/** Places that ever held anything, with their names: devices, and memories on their chips. */
export function places(main: Main, m: Memory): [number, string][] {
  const held = new Set(m.pool);
  const chips = m.json.pools.flatMap((p, i): [number, string][] => (p.on_chip && held.has(i) ? [[-i, `${main.devices[p.device].device} ${p.name}`]] : []));
  return [...inUse(main).map((d): [number, string] => [d, main.devices[d].device]), ...chips];
}

export function chosenPlace(main: Main, all: readonly [number, string][]): number {
  const d = Number(device.value);
  if (device.value === 'all' || (by.value === 'device' && !device.value)) return 0;
  return all.some(([p]) => p === d) ? d : main.device;
}

/** Returns the grouping: the user's choice, else by role, or by code or op if most of the peak has no known role. */
export function chosenBy(main: Main): By {
  const why = main.peak_groups;
  const most = (how: 'role' | 'stack' | 'op') => why?.[how][0]?.[0] ?? 'unknown';
  const first = most('role') !== 'unknown' ? 'role' : most('stack')[0] !== '(' && most('stack') !== 'unknown' ? 'stack' : most('op')[0] !== '(' && most('op') !== 'unknown' ? 'op' : 'role';
  return bys.find(([k]) => k === by.value)?.[0] ?? first;
}

export function makeScene(main: Main, m: Memory, place: number, how: By): Scene {
  const chip = m.json.pools[-place];
  const dev = place < 0 ? chip.device : place;
  const names = main.devices.map((d) => d.device);
  const peak = peakOf(m, place);
  const atPeak = liveSetAt(m, peak, place);
  const g = groupBy(m, place, how, names, atPeak);
  const used = dev ? [dev] : inUse(main);
  const limits = place < 0 ? [chip.capacity] : used.map((d) => sizeOf(main, d));
  const res = reserved(m, place);
  return {
    main,
    m,
    place,
    dev,
    name: place < 0 ? `${names[dev]} ${chip.name}` : dev ? names[dev] : 'all devices',
    limit: limits.every((v) => v > 0) ? limits.reduce((a, b) => a + b, 0) : 0,
    by: how,
    g,
    colors: colorsOf(g.labels, how),
    mip: buildMip(m, g),
    peak,
    atPeak,
    res,
    phases: [],
    events: over.value && canCount(m) ? eventAxis(m, place) : undefined,
  };
}

export const colorsOf = (labels: readonly string[], how: By): number[] => labels.map((l, i) => (how === 'role' ? roleColor(l) : groupColor(l, i)));

/** Returns the shown moment: the selected one, else the peak. The time of the peak means the peak itself. */
export function momentOf(sc: Scene): Position {
  const t = moment.value;
  return t === null || t === sc.peak.t ? sc.peak : positionAt(sc.m, Math.min(t, sc.main.t_end));
}

/** Returns the number of the highlighted group, -1 = none. Paths of ops may be written with or without blanks. */
export function focusOf(g: Groups): number {
  const plain = (s: string) => s.replaceAll(' / ', '/');
  return focus.value ? g.labels.findIndex((l) => plain(l) === plain(focus.value)) : -1;
}

/** Shortens a group's name: the file without its folders, the last two ops. */
export const brief = (label: string, how: string): string =>
  how === 'stack' ? label.replace(/\(\S*\/(\S+)\)$/, '($1)') : how === 'op' && label.length > 30 ? label.replace(/^.*\/(?=[^/]*\/[^/]*$)/, '…/') : label;
