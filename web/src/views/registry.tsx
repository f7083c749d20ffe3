// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The views, in the order of the tabs. A view is one row here: its name, what it is called, which
// sections of the page it cannot do without, and how it is shown. What the page does not hold has no tab.
import type { ComponentChildren } from 'preact';
import { getMemory, getSpans, type Main } from '../data/page';
import { has, hasShared } from '../data/section';
import { Compare } from './diff';
import { Flame } from './flame';
import { HtaView } from './hta';
import { Kernels } from './kernels';
import { MemoryView } from './memory';
import { Overview } from './overview';
import { Ops } from './ops';
import { Phases } from './phases';
import { Timeline } from './timeline';

export interface ViewRow {
  key: string; // in the address of the page
  title: string;
  needs: readonly string[]; // sections
  when?: (main: Main) => boolean; // false = this trace has nothing to show here
  timed?: boolean; // has an axis of time: the strip of the whole trace stands above it
  early?: () => Promise<unknown>; // unpacked beside the first section when the address asks for the view
  show: (main: Main) => ComponentChildren;
}

export const registry: readonly ViewRow[] = [
  { key: 'diff', title: 'Compare', needs: [], when: () => hasShared('diff'), show: () => <Compare /> },
  { key: 'overview', title: 'Overview', needs: [], show: (main) => <Overview main={main} /> },
  { key: 'timeline', title: 'Timeline', needs: ['spans'], when: (m) => m.spans > 0, timed: true, early: getSpans, show: (main) => <Timeline main={main} /> },
  { key: 'memory', title: 'Memory', needs: ['memory'], when: (m) => m.allocs > 0, timed: true, early: getMemory, show: (main) => <MemoryView main={main} /> },
  { key: 'flame', title: 'Flame', needs: ['flame'], when: (m) => m.spans + m.allocs > 0, show: () => <Flame /> },
  { key: 'ops', title: 'Ops', needs: ['ops'], when: (m) => m.spans > 0, show: () => <Ops /> },
  { key: 'kernels', title: 'Kernels', needs: ['hta'], show: () => <Kernels /> },
  { key: 'phases', title: 'Phases', needs: ['tables', 'memory'], when: (m) => m.allocs > 0, show: (main) => <Phases main={main} /> },
  { key: 'hta', title: 'Device time', needs: ['hta'], show: () => <HtaView /> },
];

/** Rows that this page has something for; of a page of one view, that one. */
export function viewsOf(main: Main): readonly ViewRow[] {
  const rows = registry.filter((r) => r.needs.every(has) && (!main.only || main.only === r.key));
  const full = rows.filter((r) => !r.when || r.when(main));
  return full.length ? full : rows;
}
