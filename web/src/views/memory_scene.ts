// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// What the parts of the memory view share: the choices that the address keeps, and the data of a device.
import { buildMip, type By, type Groups, groupBy, type Mip, reserved } from '../data/levels';
import { aliveAt, type Cut, cutAt, type Memory, peakOf } from '../data/memory';
import type { Main, Phase } from '../data/page';
import { groupColor } from '../draw/colors';
import { keep, moment } from '../state';

export const by = keep('by'); // how memory is stacked
export const device = keep('dev'); // number of a device, 'all', or '' = the one with the highest peak
export const focus = keep('focus'); // label of the one group that stands out
export const pane = keep('pane'); // what is shown of the moment

export const bys: readonly (readonly [By, string])[] = [
  ['role', 'Role'],
  ['op', 'Op'],
  ['stack', 'Code'],
  ['tensor', 'Tensor'],
  ['pool', 'Pool'],
  ['device', 'Device'],
];

export interface Scene {
  main: Main;
  m: Memory;
  dev: number; // 0 = all
  name: string;
  limit: number; // bytes there are, 0 = unknown
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

export const chosenBy = (): By => (bys.find(([k]) => k === by.value)?.[0] ?? 'role');

export function makeScene(main: Main, m: Memory, dev: number, how: By): Scene {
  const names = main.devices.map((d) => d.device);
  const peak = peakOf(m, dev);
  const atPeak = aliveAt(m, peak, dev);
  const g = groupBy(m, dev, how, names, atPeak);
  const used = dev ? [dev] : inUse(main);
  const limits = used.map((d) => main.devices[d].capacity);
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
    res: reserved(m, dev),
    phases: [],
  };
}

/** A role has the same colour wherever it appears. */
const roles = ['parameter', 'optimizer', 'gradient', '', 'activation', 'temporary', 'input', 'buffer', 'workspace', 'kv_cache'];
export const colorsOf = (labels: readonly string[], how: By): number[] => labels.map((l, i) => groupColor(l, how === 'role' ? roles.indexOf(l) : i));

/** The moment that is looked at: the peak unless one was chosen. The peak's own time means the peak itself. */
export function momentOf(sc: Scene): Cut {
  const t = moment.value;
  return t === null || t === sc.peak.t ? sc.peak : cutAt(sc.m, t);
}

/** Number of the group that stands out, -1 = none. Paths of ops may be written with or without blanks. */
export function focusOf(g: Groups): number {
  const plain = (s: string) => s.replaceAll(' / ', '/');
  return focus.value ? g.labels.findIndex((l) => plain(l) === plain(focus.value)) : -1;
}
