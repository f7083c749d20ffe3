// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The views, in the order of the tabs. A view is one row: its key, its title, the sections it requires, and its component. A view
// without its sections has no tab.
import type { ComponentType } from 'preact';
import { getMemory, getSpans, type Main } from '../data/page';
import { has, hasShared } from '../data/section';
import { Compare } from './compare/diff';
import { Document } from './common/document';
import { Flame } from './flame/flame';
import { Job } from './job/job';
import { HtaView } from './device/hta';
import { Ledger } from './device/ledger';
import { RooflineView } from './device/roofline';
import { Kernels } from './device/kernels';
import { MemoryView } from './memory/memory_view';
import { Overview } from './overview/overview';
import { Objects } from './objects/objects';
import { Ops } from './ops/ops';
import { Phases } from './memory/phases';
import { Tenstorrent } from './tenstorrent/tenstorrent';
import { Timeline } from './timeline/timeline';

export interface ViewRow {
  key: string; // in the address of the page
  title: string;
  about: string; // one sentence for new users
  needs: readonly string[]; // sections
  when?: (main: Main) => boolean; // false = this trace has nothing to show here
  timed?: boolean; // has a time axis: the strip of the whole trace is above it
  early?: () => Promise<unknown>; // unpacked in parallel with the first section if the address names the view
  show: ComponentType<{ main: Main }>;
}

const timed = (m: Main) => m.axis !== 'ops'; // without a clock there is no duration to show
const isGantt = (m: Main) => m.only === 'gantt';

export const registry: readonly ViewRow[] = [
  { key: 'diff', title: 'Compare', about: 'Two runs side by side: what grew, shrank, is new.', needs: [], when: () => hasShared('diff'), show: Compare },
  { key: 'job', title: 'Job', about: 'All ranks of a job: missing ones, memory and device time of each, late ranks.', needs: [], when: (m) => !m.only && hasShared('page') && !hasShared('diff'), show: Job },
  { key: 'overview', title: 'Overview', about: 'What was recorded, where memory peaked and why, what to look at first.', needs: [], show: Overview },
  { key: 'tenstorrent', title: 'Tenstorrent', about: 'Memory of each pool over operations. A click selects one and shows its text.', needs: ['tt'], show: Tenstorrent },
  { key: 'timeline', title: 'Timeline', about: 'Every op, call and kernel in time, below its caller. The wheel zooms, a drag moves, a click shows details.', needs: ['spans'], when: (m) => m.spans > 0, timed: true, early: getSpans, show: Timeline },
  { key: 'gantt', title: 'Operation Timeline - Gantt Chart', about: 'Every operation in time; concurrent ones are in lanes below each other.', needs: ['spans'], when: isGantt, timed: true, early: getSpans, show: Timeline },
  { key: 'memory', title: 'Memory', about: 'Live memory over time, by role. A click on the chart lists the live allocations at that moment.', needs: ['memory'], when: (m) => m.allocs > 0, timed: true, early: getMemory, show: MemoryView },
  { key: 'ledger', title: 'Device memory', about: 'Memory of a device by holder: PyTorch, other libraries, the context, other processes.', needs: ['ledger'], timed: true, show: Ledger },
  { key: 'flame', title: 'Flame', about: 'Where time or memory went: wider boxes took more, callees are below. A click zooms in.', needs: ['flame'], when: (m) => timed(m) && m.spans + m.allocs > 0, show: Flame },
  { key: 'ops', title: 'Ops', about: 'What ran, how often, how long, and its memory.', needs: ['ops'], when: (m) => timed(m) && m.spans > 0, show: Ops },
  { key: 'objects', title: 'Objects', about: 'Owners of live objects, shared objects and duplicates. A click on an owner filters.', needs: ['objects'], show: Objects },
  { key: 'document', title: 'Report', about: 'Figures and tables of one question.', needs: ['document'], show: Document },
  { key: 'kernels', title: 'Kernels', about: 'Work on the device by name: count, time and share.', needs: ['hta'], show: Kernels },
  { key: 'roofline', title: 'Roofline', about: 'Rates of ops against the peaks of the device: how close, and what bounds them.', needs: ['roofline'], show: RooflineView },
  { key: 'phases', title: 'Phases', about: 'Peak memory and kept bytes between marks.', needs: ['tables', 'memory'], when: (m) => m.allocs > 0 && m.phases > 0, show: Phases },
  { key: 'hta', title: 'Device time', about: 'What the device did, why it waited, and what would shorten a step.', needs: ['hta'], show: HtaView },
];

/** Returns the views that this page has data for; on a page of one view only that one, which shows a message if it is empty. */
export function viewsOf(main: Main): readonly ViewRow[] {
  const rows = registry.filter((r) => (main.only ? main.only === r.key : r.needs.every(has)));
  const full = rows.filter((r) => !r.when || r.when(main));
  return full.length ? full : rows;
}
