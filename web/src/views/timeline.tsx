// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Threads, streams, memory and phases on one axis of true time.
import { signal } from '../signals';
import { useEffect, useMemo, useRef, useState } from '../hooks';
import { count, ns } from '../data/format';
import { buildMip, oneGroup, picture } from '../data/levels';
import { linksOf, notesOf } from '../data/notes';
import { getCoarse, getMemory, getSpans, getTables, type Main } from '../data/page';
import { has } from '../data/section';
import { after, firstIn, placeOf, searchSpans, spanAt, type Spans } from '../data/spans';
import { catColor, modules, palette } from '../draw/colors';
import { css } from '../draw/pixels';
import { alloc, look, lookAll, lookAround, moment, query, range, span } from '../state';
import { Canvas } from '../ui/canvas';
import { Legend, Loading, useData } from '../ui/parts';
import { dragTime, keyTime, typing, wheelTime } from '../ui/travel';
import { arrange, arrangement, compact, dims, type Lane, layout, rowAt } from './lanes';
import { type Arrow, arrowAt, drawScene, tops } from './timeline_draw';
import { LaneList } from './timeline_lanes';
import { Details, hover, Tip, title } from './timeline_panel';
import { keptArea, presses, readArea, selecting, writeArea } from './timeline_pointer';
import { Sums } from './timeline_sums';

const scroll = signal(0);
const cursor = signal<number | null>(null); // where the keyboard is
const DRAWN = 60; // arrows of one span

/** The exact curve of live bytes, once the memory section is read: after the first picture. */
function useLive(main: Main, ready: boolean) {
  const [live, set] = useState<(t0: number, t1: number, width: number) => Float64Array>();
  useEffect(() => {
    if (!ready || !main.device || !has('memory')) return;
    const later = setTimeout(async () => {
      const m = await getMemory();
      const g = oneGroup(m, main.device);
      const mip = buildMip(m, g);
      set(() => (t0: number, t1: number, width: number) => picture(m, g, mip, t0, t1, width).sum);
    }, 50);
    return () => clearTimeout(later);
  }, [ready]);
  return live;
}

/** The span that an arrow key leads to from `i`: along its row, out to what is around it, into it. */
function step(s: Spans, lanes: readonly Lane[], i: number, key: string): number {
  const p = placeOf(s, i);
  const rows = s.tracks[p.track].rows;
  const row = rows[p.row];
  if (key === 'ArrowLeft') return i > row.first ? i - 1 : i;
  if (key === 'ArrowRight') return i + 1 < row.end ? i + 1 : i;
  const inTrack = key === 'ArrowUp' ? rows[p.row - 1] : rows[p.row + 1];
  const near = (r: { first: number; end: number }) => Math.min(r.end - 1, after(s.t1, r.first, r.end, s.t0[i]));
  if (key === 'ArrowUp' && inTrack) return notesOf(s).parent[i] >= 0 ? notesOf(s).parent[i] : near(inTrack);
  if (inTrack && lanes.find((l) => l.track === p.track)?.open) {
    const k = near(inTrack);
    if (s.t0[k] < s.t1[i]) return k;
  }
  const at = lanes.findIndex((l) => l.track === p.track);
  const next = lanes[at + (key === 'ArrowUp' ? -1 : 1)];
  return next ? near(s.tracks[next.track].rows[0]) : i;
}

/** Where an arrow key starts: the selected span, else the first in sight. */
function firstSeen(s: Spans, lanes: readonly Lane[]): number {
  if (span.value !== null && span.value < s.n) return span.value;
  for (const l of lanes) {
    const row = s.tracks[l.track].rows[0];
    const i = firstIn(s, row.first, row.end, range.value[0]);
    if (i < row.end && s.t0[i] <= range.value[1]) return i;
  }
  return -1;
}

export function Timeline({ main }: { main: Main }) {
  const whole = useData(getSpans);
  const coarse = useData(getCoarse);
  const tables = useData(getTables);
  const [early] = useState(span.value === null); // else the address means a span of the whole
  useEffect(() => {
    if (whole && early && coarse && span.value !== null) span.value = coarse.number[span.value];
  }, [whole]);
  const spans = whole ?? (early && coarse);
  if (!spans || !tables) return <Loading />;
  if (!spans.n) return <p class="loading">This trace holds no spans: nothing was timed.</p>;
  return <Ready main={main} spans={spans} phases={tables.phases} />;
}

/** As many lanes as operations ran at once, or inside each other: the rows of all tracks. */
function ganttText(s: Spans): string {
  const lanes = s.tracks.reduce((n, t) => n + t.rows.length, 0);
  const [first, last] = [s.t0.reduce((a, b) => Math.min(a, b), Infinity), s.t1.reduce((a, b) => Math.max(a, b), 0)];
  return `${count(s.n)} operations | ${lanes} concurrent lanes | ${((last - first) / 1e6).toFixed(2)} ms total time`;
}

function Ready({ main, spans, phases }: { main: Main; spans: Spans; phases: Parameters<typeof tops>[1] }) {
  const live = useLive(main, true);
  const gantt = main.only === 'gantt';
  const [lists, setLists] = useState(false);
  const [table, setTable] = useState(false);
  const arrows = useRef<Arrow[]>([]);
  const frame = useRef<HTMLDivElement>(null);
  const found = useMemo(() => (query.value ? searchSpans(spans, query.value) : null), [spans, query.value]);
  const hit = useMemo(() => found && new Set(Array.from(found, (i) => spans.name[i])), [found]);
  const color = useMemo(() => palette(spans.cats, spans.names, gantt), [spans]);
  const arranged = arrangement(spans);
  const { lanes, height } = layout(spans, arranged);
  const area = readArea(keptArea.value, spans.tracks.length);
  const chosen = span.value;
  const links = useMemo(() => (chosen !== null && chosen < spans.n ? linksOf(spans, chosen, DRAWN).links : []), [spans, chosen]);
  // Self times and memory of all spans, before the pointer asks for those of one.
  useEffect(() => {
    const later = setTimeout(() => notesOf(spans), 600);
    return () => clearTimeout(later);
  }, [spans]);
  const { base } = tops(main, phases);
  const left = dims.value.left;

  const room = () => (frame.current?.clientHeight ?? 400) - base;
  const scrollTo = (y: number) => (scroll.value = Math.max(0, Math.min(Math.max(0, height - room()), y)));
  /** Bring a span into sight, and its lane out of hiding. */
  const reveal = (i: number, focus: boolean) => {
    const p = placeOf(spans, i);
    const back = arranged.hidden.has(p.track) || (arranged.closed.has(p.track) && p.row > 0);
    const now = back ? { ...arranged, hidden: new Set([...arranged.hidden].filter((k) => k !== p.track)), closed: new Set([...arranged.closed].filter((k) => k !== p.track)) } : arranged;
    if (back) arrange(now);
    const l = layout(spans, now).lanes.find((k) => k.track === p.track);
    const y = l ? l.y + p.row * dims.value.row : 0;
    if (y < scroll.value || y + dims.value.row * 2 > scroll.value + room()) scrollTo(y - room() / 3);
    const [t0, t1] = range.value;
    const wide = t1 - t0;
    if (focus) lookAround(spans.t0[i], spans.t1[i]);
    else if (spans.t0[i] > t1 || spans.t1[i] < t0) look(spans.t0[i] - wide / 3, spans.t0[i] + (2 * wide) / 3);
  };
  const pick = (i: number) => {
    span.value = i;
    reveal(i, true);
  };
  const next = (by: number) => {
    if (!found?.length) return;
    const at = chosen === null ? -1 : found.indexOf(chosen);
    const i = found[(at + by + found.length) % found.length];
    span.value = i;
    const [t0, t1] = range.value;
    reveal(i, spans.t1[i] - spans.t0[i] < (t1 - t0) / 400 || spans.t0[i] > t1 || spans.t1[i] < t0);
  };
  const walk = (key: string) => {
    const at = cursor.value ?? firstSeen(spans, lanes);
    if (at < 0) return;
    cursor.value = cursor.value === null && span.value === null ? at : step(spans, lanes, at, key);
    reveal(cursor.value, false);
  };

  useEffect(() => {
    const act: Record<string, () => void> = {
      f: () => span.value !== null && pick(span.value),
      n: () => next(1),
      N: () => next(-1),
      r: () => (selecting.value = !selecting.value),
      c: () => (compact.value = compact.value ? '' : '1'),
      t: () => setTable((v) => !v),
      l: () => setLists((v) => !v),
      PageDown: () => scrollTo(scroll.value + room() * 0.8),
      PageUp: () => scrollTo(scroll.value - room() * 0.8),
      Escape: () => {
        span.value = moment.value = cursor.value = null;
        selecting.value = false;
        writeArea(null);
        setLists(false);
        setTable(false);
      },
    };
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key.startsWith('Arrow')) {
        e.preventDefault();
        walk(e.key);
      } else if (e.key === 'Enter' && cursor.value !== null && !/^(BUTTON|SUMMARY|TR|A)$/.test((e.target as HTMLElement).tagName)) {
        span.value = cursor.value;
      } else if (act[e.key]) {
        e.preventDefault();
        act[e.key]();
      } else if (keyTime(e)) e.preventDefault();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const wheel = useMemo(() => wheelTime(left, (dy) => scrollTo(scroll.value + dy)), [height, left, base]);

  const timeAt = (x: number) => {
    const [t0, t1] = range.value;
    const perPixel = (t1 - t0) / Math.max(1, (frame.current?.clientWidth ?? 800) - left);
    return { t: t0 + (x - left) * perPixel, perPixel };
  };
  const spanUnder = (x: number, y: number): number => {
    const at = x < left || y < base ? undefined : rowAt(lanes, y - base + scroll.value);
    const row = at && spans.tracks[at.lane.track].rows[at.row];
    const { t, perPixel } = timeAt(x);
    return row ? spanAt(spans, row, t, perPixel) : -1;
  };
  const click = (x: number, y: number) => {
    const link = x >= left && y >= base ? arrowAt(arrows.current, x, y) : undefined;
    const i = spanUnder(x, y);
    cursor.value = null;
    if (i >= 0) span.value = i;
    else if (link) pick(link.to);
    else if (x >= left) moment.value = timeAt(x).t;
  };
  const pan = dragTime(left, click, (dy) => scrollTo(scroll.value + dy));
  const down = presses({ left, base, lanes, arranged, end: main.t_end, timeAt, scroll, pan });
  const index = found && chosen !== null ? found.indexOf(chosen) : -1;
  const at = cursor.value;
  return (
    <div class="stack timeline-view">
      {gantt && <p>{ganttText(spans)} · axis: Time (milliseconds)</p>}
      <div class="bar">
        <input
          id="find"
          type="search"
          placeholder="Search spans  ( / )"
          aria-label="Search spans"
          value={query.value}
          onInput={(e) => (query.value = e.currentTarget.value)}
          onKeyDown={(e) => e.key === 'Enter' && next(e.shiftKey ? -1 : 1)}
        />
        <button onClick={() => next(-1)} disabled={!found?.length} aria-label="Previous match">‹</button>
        <button onClick={() => next(1)} disabled={!found?.length} aria-label="Next match">›</button>
        {found && <span class="soft" id="matches" role="status">{index >= 0 ? `${count(index + 1)} of ` : ''}{count(found.length)} matches</span>}
        <span class="grow" />
        <button aria-pressed={selecting.value} title="A drag chooses an area ( r, or hold shift )" onClick={() => (selecting.value = !selecting.value)}>Select area</button>
        <button aria-pressed={!!compact.value} title="Low rows without names ( c )" onClick={() => (compact.value = compact.value ? '' : '1')}>Compact</button>
        <button aria-pressed={lists} title="Show, fold and move lanes ( l )" onClick={() => setLists(!lists)}>Lanes{arranged.hidden.size ? ` (${arranged.hidden.size} hidden)` : ''}</button>
        <button aria-pressed={table} title="What is in sight, by name ( t )" onClick={() => setTable(!table)}>As table</button>
        <button onClick={lookAll}>Whole trace</button>
      </div>
      {lists && <LaneList spans={spans} a={arranged} close={() => setLists(false)} />}
      <div class={`timeline${selecting.value ? ' selecting' : ''}`} ref={frame} style={{ maxHeight: `${Math.max(220, height + base + 6)}px` }}>
        <Canvas
          label="Timeline: arrow keys go from span to span, Enter selects, T is a table of it"
          onWheelTime={wheel}
          onPointerDown={down}
          onPointerMove={(e) => {
            const el = e.currentTarget as HTMLElement;
            const rect = el.getBoundingClientRect();
            const [x, y] = [e.clientX - rect.left, e.clientY - rect.top];
            const i = e.buttons ? -1 : spanUnder(x, y);
            hover.value = i >= 0 ? { x: e.clientX, y: e.clientY, span: i } : null;
            el.classList.toggle('pointing', i >= 0 || (x < left && y > base) || !!arrowAt(arrows.current, x, y));
          }}
          onPointerLeave={() => (hover.value = null)}
          onDblClick={() => span.value !== null && pick(span.value)}
          draw={(s) => {
            const [t0, t1] = range.value;
            const m = getMemory.now?.();
            const row = alloc.value;
            const life: [number, number] | undefined = m && row !== null && row < m.n ? [m.born[row], m.died[row]] : undefined;
            arrows.current = drawScene(s, { life, main, spans, phases: [...phases], lanes, high: height, scroll: scroll.value, t0, t1, moment: moment.value, span: span.value, cursor: cursor.value, links, area, found: hit, color, live });
          }}
        />
      </div>
      <Legend items={(gantt ? Object.keys(modules) : spans.used).map((c) => ({ color: css(gantt ? modules[c] : catColor(c)), text: c.replaceAll('_', ' ') }))} />
      <p class="heard" aria-live="polite">{at !== null && at < spans.n ? `${title(spans, at)}, ${ns(spans.t1[at] - spans.t0[at])}` : ''}</p>
      <Tip main={main} spans={spans} />
      <Sums
        spans={spans}
        lanes={lanes}
        area={area}
        open={table}
        pick={pick}
        close={() => {
          setTable(false);
          writeArea(null);
        }}
      />
      <Details main={main} spans={spans} pick={pick} />
      {spans.cut > 0 && <p class="soft">{count(spans.cut)} spans that cross others are drawn up to the end of what is around them.</p>}
    </div>
  );
}
