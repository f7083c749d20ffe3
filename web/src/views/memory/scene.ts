// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Shared by the parts of the memory view: the choices that the address keeps, and the data of a device.
import { buildMip, type By, type Groups, groupBy, type Mip, reserved } from '../../data/levels';
import { aliveAt, type Cut, cutAt, type Memory, peakOf } from '../../data/memory';
import { type Main, type Phase, sizeOf } from '../../data/page';
import { groupColor } from '../../draw/colors';
import { keep, moment } from '../../state';

export const by = keep('by'); // how memory is stacked
export const device = keep('dev'); // number of a device, 'all', or '' = the one with the highest peak
export const focus = keep('focus'); // label of the one group that stands out
export const pane = keep('pane'); // what is shown of the moment

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
  dev: number; // 0 = all
  name: string;
  limit: number; // bytes there are: the device's, or all the allocator could hold; 0 = unknown
  by: By;
  g: Groups;
  colors: number[];
  mip: Mip;
  peak: Cut & { bytes: number };
  atPeak: Int32Array; // what is alive then
  res: { t: Float64Array; v: Float64Array };
  phases: Phase[];
}

/** Devices that ever held anything. */
export const inUse = (main: Main): number[] => main.devices.map((_, i) => i).filter((i) => i && main.devices[i].allocs > 0);

export function chosenDevice(main: Main): number {
  const d = Number(device.value);
  if (device.value === 'all' || (by.value === 'device' && !device.value)) return 0;
  return main.devices[d]?.allocs ? d : main.device;
}

/** Returns the grouping: the user's choice, else by role, or by code or op if most of the peak has no known role. */
export function chosenBy(main: Main): By {
  const why = main.why;
  const most = (how: 'role' | 'stack' | 'op') => why?.[how][0]?.[0] ?? 'unknown';
  const first = most('role') !== 'unknown' ? 'role' : most('stack')[0] !== '(' && most('stack') !== 'unknown' ? 'stack' : most('op')[0] !== '(' && most('op') !== 'unknown' ? 'op' : 'role';
  return bys.find(([k]) => k === by.value)?.[0] ?? first;
}

export function makeScene(main: Main, m: Memory, dev: number, how: By): Scene {
  const names = main.devices.map((d) => d.device);
  const peak = peakOf(m, dev);
  const atPeak = aliveAt(m, peak, dev);
  const g = groupBy(m, dev, how, names, atPeak);
  const used = dev ? [dev] : inUse(main);
  const limits = used.map((d) => sizeOf(main, d));
  const res = reserved(m, dev);
  return {
    main,
    m,
    dev,
    name: dev ? names[dev] : 'all devices',
    limit: limits.every((v) => v > 0) ? limits.reduce((a, b) => a + b, 0) : 0,
    by: how,
    g,
    colors: colorsOf(g.labels, how),
    mip: buildMip(m, g),
    peak,
    atPeak,
    res,
    phases: [],
  };
}

/** A role has the same colour wherever it appears. */
const roles = ['parameter', 'optimizer', 'gradient', '', 'activation', 'temporary', 'input', 'buffer', 'workspace', 'kv_cache'];
export const colorsOf = (labels: readonly string[], how: By): number[] => labels.map((l, i) => groupColor(l, how === 'role' ? roles.indexOf(l) : i));

/** The moment that is looked at: the peak unless one was chosen. The peak's own time means the peak itself. */
export function momentOf(sc: Scene): Cut {
  const t = moment.value;
  return t === null || t === sc.peak.t ? sc.peak : cutAt(sc.m, Math.min(t, sc.main.t_end));
}

/** Number of the group that stands out, -1 = none. Paths of ops may be written with or without blanks. */
export function focusOf(g: Groups): number {
  const plain = (s: string) => s.replaceAll(' / ', '/');
  return focus.value ? g.labels.findIndex((l) => plain(l) === plain(focus.value)) : -1;
}

/** Shortens a group's name: the file without its folders, the last two ops. */
export const brief = (label: string, how: string): string =>
  how === 'stack' ? label.replace(/\(\S*\/(\S+)\)$/, '($1)') : how === 'op' && label.length > 30 ? label.replace(/^.*\/(?=[^/]*\/[^/]*$)/, '…/') : label;
