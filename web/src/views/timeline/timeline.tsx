// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Threads, streams, memory and phases on one time axis.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { axis, count, lasts } from '../../data/format';
import { buildMip, oneGroup, picture } from '../../data/levels';
import { linksOf, notesOf } from '../../data/notes';
import { getCoarse, getMemory, getSpans, getTables, type Main } from '../../data/page';
import { has } from '../../data/section';
import { searchSpans, type Spans } from '../../data/spans';
import { most, same, sum } from '../../data/sums';
import { unit } from '../../draw/axis';
import { catColor, modules, palette } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { alloc, marked, query, span } from '../../state';
import { Legend, Loading, useData } from '../../ui/parts';
import { SpanDetails, SpanTip, title } from './panel';
import { type Acts, DRAWN, firstSeen, placeIn, Stage, step, useStage } from './stage';
import { Sums } from './window_sums';

const cursor = signal<number | null>(null); // where the keyboard is

/** The exact curve of live bytes, available after the memory section was read, which is after the first picture. */
function useLive(main: Main) {
  const [live, set] = useState<(t0: number, t1: number, width: number) => Float64Array>();
  useEffect(() => {
    if (!main.device || !has('memory')) return;
    const later = setTimeout(async () => {
      const m = await getMemory();
      const g = oneGroup(m, main.device);
      const mip = buildMip(m, g);
      set(() => (t0: number, t1: number, width: number) => picture(m, g, mip, t0, t1, width).sum);
    }, 50);
    return () => clearTimeout(later);
  }, [main]);
  return live;
}

export function Timeline({ main }: { main: Main }) {
  const whole = useData(getSpans);
  const coarse = useData(getCoarse);
  const tables = useData(getTables);
  const [early] = useState(span.value === null); // otherwise the address refers to a span of the whole recording
  useEffect(() => {
    if (whole && early && coarse && span.value !== null) span.value = coarse.number[span.value];
  }, [whole]);
  const spans = whole ?? (early && coarse);
  if (!spans || !tables) return <Loading />;
  if (!spans.n) return <p class="loading">This trace has no spans.</p>;
  return <Ready main={main} spans={spans} phases={tables.phases} />;
}

/** Describes a Gantt chart. Its lanes are the rows of all tracks: operations that ran concurrently or nested. */
function ganttText(s: Spans): string {
  const lanes = sum(s.tracks, (t) => t.rows.length);
  const time = most(s.t1, same) + most(s.t0, (t) => -t, -Infinity);
  const total = axis.ops ? 'axis: Operations' : `${(time / 1e6).toFixed(2)} ms total time · axis: Time (milliseconds)`;
  return `${count(s.n)} operations | ${lanes} concurrent lanes | ${total}`;
}

function Ready({ main, spans, phases }: { main: Main; spans: Spans; phases: Parameters<typeof useStage>[2] }) {
  const live = useLive(main);
  const gantt = (unit.ms = main.only === 'gantt');
  const g = useStage(main, spans, phases, useRef<HTMLDivElement>(null));
  const found = useMemo(() => (query.value ? searchSpans(spans, query.value) : null), [spans, query.value]);
  const hit = useMemo(() => (found?.length ? new Set(Array.from(found, (i) => spans.name[i])) : null), [found]);
  const hits = useMemo(() => (found?.length ? Int32Array.from(found).sort() : undefined), [found]);
  useEffect(() => {
    marked.value = found?.length ? Float64Array.from(found, (i) => spans.t0[i]) : null;
    return () => (marked.value = null);
  }, [found]);
  const color = useMemo(() => palette(spans.cats, spans.names, gantt), [spans]);
  const chosenNow = () => (span.value !== null && span.value < spans.n ? span.value : null);
  const chosen = chosenNow();
  const links = useMemo(() => (chosen !== null ? linksOf(spans, chosen, DRAWN).links : []), [spans, chosen]);
  // Computes self times and memory of all spans before the pointer needs those of one.
  useEffect(() => {
    const later = setTimeout(() => notesOf(spans), 600);
    return () => clearTimeout(later);
  }, [spans]);

  const pick = (i: number) => {
    span.value = i;
    g.reveal(placeIn(spans, i), true);
  };
  const index = found && chosen !== null ? found.indexOf(chosen) : -1;
  const next = (by: number) => {
    if (!found?.length) return;
    const i = found[(index + by + found.length) % found.length];
    span.value = i;
    g.revealMatch(placeIn(spans, i));
  };
  const walk = (key: string) => {
    const from = cursor.value ?? chosen;
    const i = from === null ? firstSeen(spans, g.lanes) : step(spans, g.lanes, from, key, notesOf(spans).parent[from]);
    if (i < 0) return;
    cursor.value = i;
    g.reveal(placeIn(spans, i));
  };
  const acts: Acts = {
    found: found && { total: found.length, at: index },
    next,
    walk,
    enter: () => {
      if (cursor.value !== null) span.value = cursor.value;
      return cursor.value !== null;
    },
    cursor,
    focus: () => {
      const i = chosenNow(); // now: it may not be drawn yet
      if (i !== null) pick(i);
    },
    open: (i) => (span.value = i),
    follow: pick,
  };
  const m = getMemory.now?.();
  const row = alloc.value;
  const at = cursor.value;
  return (
    <div class="stack timeline-view">
      {gantt && <p>{ganttText(spans)}</p>}
      <Stage g={g} acts={acts} scene={{ span: span.value, cursor: at, links, found: hit, hits, color, live, life: m && row !== null && row < m.n ? [m.born[row], m.died[row]] : undefined }} />
      <Legend items={(gantt ? Object.keys(modules) : spans.used).map((c) => ({ color: css(gantt ? modules[c] : catColor(c)), text: c.replaceAll('_', ' ') }))} />
      <p class="heard" aria-live="polite">{at !== null && at < spans.n ? `${title(spans, at)}, ${lasts(spans.t1[at] - spans.t0[at])}` : ''}</p>
      <SpanTip main={main} spans={spans} />
      <Sums spans={spans} lanes={g.lanes} area={g.area} open={g.table} pick={pick} close={g.close} />
      <SpanDetails main={main} spans={spans} pick={pick} />
      {spans.cut > 0 && <p class="soft">{count(spans.cut)} spans that cross others are drawn up to the end of what is around them.</p>}
    </div>
  );
}
