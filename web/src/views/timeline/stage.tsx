// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Shared by the timeline of loaded spans and that of pieces from a server: tools, keys, lanes and their scrolling, the
// picture and pointer actions. The view defines the effect of a click or a key (Acts).
import { type Signal, signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../data/format';
import type { Main } from '../../data/page';
import { after, firstIn, placeOf, spanAt, type Spans } from '../../data/spans';
import { look, lookAll, lookAround, moment, query, range, span } from '../../state';
import { Canvas } from '../../ui/canvas';
import { Search } from '../../ui/parts';
import { pointed } from '../../ui/tip';
import { dragTime, inside, keyTime, useKeys, wheelTime } from '../../ui/travel';
import { arrange, arrangement, compact, dims, type Lane, layout, rowAt } from './lanes';
import { type Arrow, arrowAt, drawScene, type Place, type Scene, tops } from './draw';
import { LaneList } from './lanes_view';
import { keptArea, presses, readArea, selecting, writeArea } from './pointer';

export const DRAWN = 60; // arrows of one span
const scroll = signal(0);

export interface Hover {
  x: number;
  y: number;
  i: number; // span or piece
}
export const hover = pointed<Hover>();

export const placeIn = (s: Spans, i: number): Place => ({ ...placeOf(s, i), t0: s.t0[i], t1: s.t1[i] });

/** Returns the span that an arrow key leads to from `i`: along its row, to its parent, to a child, to the next lane. */
export function step(s: Spans, lanes: readonly Lane[], i: number, key: string, around = -1): number {
  const p = placeOf(s, i);
  const { rows } = s.tracks[p.track];
  const { first, end } = rows[p.row];
  if (key === 'ArrowLeft') return i > first ? i - 1 : i;
  if (key === 'ArrowRight') return i + 1 < end ? i + 1 : i;
  const up = key === 'ArrowUp';
  if (up && around >= 0) return around;
  const to = up ? -1 : 1;
  const near = (r: { first: number; end: number } | undefined) => (r && r.end > r.first ? Math.min(r.end - 1, after(s.t1, r.first, r.end, s.t0[i])) : -1);
  const at = lanes.findIndex((l) => l.track === p.track);
  const k = lanes[at]?.open ? near(rows[p.row + to]) : -1;
  if (k >= 0 && (up || s.t0[k] < s.t1[i])) return k;
  const next = lanes[at + to];
  const first0 = next ? near(s.tracks[next.track].rows[0]) : -1;
  return first0 < 0 ? i : first0;
}

/** Returns the first visible span, where an arrow key starts; -1 for none. */
export function firstSeen(s: Spans, lanes: readonly Lane[]): number {
  for (const l of lanes) {
    const row = s.tracks[l.track].rows[0];
    const i = firstIn(s, row.first, row.end, range.value[0]);
    if (i < row.end && s.t0[i] <= range.value[1]) return i;
  }
  return -1;
}

/** The arrangement of lanes, and functions that scroll a place into view. */
export function useStage(main: Main, spans: Spans, phases: Parameters<typeof tops>[1], frame: { current: HTMLDivElement | null }) {
  const [table, setTable] = useState(false);
  const arranged = arrangement(spans, main.only === 'gantt');
  const { lanes, height } = layout(spans, arranged);
  const area = readArea(keptArea.value, spans.tracks.length);
  const { base } = tops(main, phases);
  const room = () => (frame.current?.clientHeight ?? 400) - base;
  const scrollTo = (y: number) => (scroll.value = Math.max(0, Math.min(Math.max(0, height - room()), y)));
  const close = () => {
    setTable(false);
    writeArea(null);
  };
  /** Scrolls a place into view and shows its lane if hidden; `focus`: zooms in. */
  const reveal = (p: Place, focus?: boolean) => {
    const back = arranged.hidden.has(p.track) || (arranged.closed.has(p.track) && p.row > 0);
    const less = (s: ReadonlySet<number>) => new Set([...s].filter((k) => k !== p.track));
    const now = back ? { ...arranged, hidden: less(arranged.hidden), closed: less(arranged.closed) } : arranged;
    if (back) arrange(now);
    const l = layout(spans, now).lanes.find((k) => k.track === p.track);
    const y = l ? l.y + p.row * dims.value.row : 0;
    if (y < scroll.value || y + dims.value.row * 2 > scroll.value + room()) scrollTo(y - room() / 3);
    const [a, b] = range.value;
    if (focus) lookAround(p.t0, p.t1);
    else if (p.t0 > b || p.t1 < a) look(p.t0 - (b - a) / 3, p.t0 + (2 * (b - a)) / 3);
  };
  /** Shows a match: zooms in if it is too short to be visible, or outside the window. */
  const revealMatch = (p: Place) => {
    const [a, b] = range.value;
    reveal(p, p.t1 - p.t0 < (b - a) / 400 || p.t0 > b || p.t1 < a);
  };
  return { main, spans, phases, frame, table, setTable, close, arranged, lanes, height, area, base, room, scrollTo, reveal, revealMatch };
}

/** The actions of a view. */
export interface Acts {
  found: { total: number; at: number } | null | undefined; // matches of the search; at: the one chosen, -1 = none
  next: (by: number) => unknown;
  walk: (key: string) => void; // an arrow key
  enter: () => boolean; // selects the item under the keyboard; returns whether there is one
  cursor: Signal<unknown>; // where the keyboard is
  focus: () => unknown; // zooms to the selected one
  open: (i: number) => unknown; // a click on a span or piece
  follow: (span: number) => unknown; // a click on an arrow
}

/** Tools, lanes and the picture. */
export function Stage({ g, acts, scene }: { g: ReturnType<typeof useStage>; acts: Acts; scene: Pick<Scene, 'span' | 'cursor' | 'links' | 'found' | 'hits' | 'color' | 'live' | 'life' | 'at'> }) {
  const { main, spans, frame, arranged, lanes, height, base, room, scrollTo } = g;
  const { found, next, cursor } = acts;
  const { left } = dims.value;
  const [lists, setLists] = useState(false);
  const arrows = useRef<Arrow[]>([]);
  useEffect(() => { // details changed the height of the lanes
    scrollTo(scroll.value);
    const chosen = scene.span;
    const p = chosen === null ? undefined : scene.at ? scene.at(chosen) : chosen < spans.n ? placeIn(spans, chosen) : undefined;
    const l = p && lanes.find((k) => k.track === p.track);
    if (l && l.y + (l.open ? p.row : 0) * dims.value.row + dims.value.row * 2 > scroll.value + room()) g.reveal({ ...p, t0: range.value[0], t1: range.value[1] });
  }, [scene.span]);
  const flipLow = () => (compact.value = compact.value ? '' : '1');
  const flipSelecting = () => (selecting.value = !selecting.value);
  const flipTable = () => g.setTable((v) => !v);
  const flipLists = () => setLists((v) => !v);
  const moveBy = (dy: number) => scrollTo(scroll.value + dy);

  const keys: Record<string, () => unknown> = {
    f: acts.focus,
    n: () => next(1),
    N: () => next(-1),
    r: flipSelecting,
    c: flipLow,
    t: flipTable,
    l: flipLists,
    PageDown: () => moveBy(room() * 0.8),
    PageUp: () => moveBy(room() * -0.8),
    Escape: () => {
      span.value = moment.value = cursor.value = null;
      selecting.value = false;
      setLists(false);
      g.close();
    },
  };
  useKeys((e) => {
    if (e.key.startsWith('Arrow')) acts.walk(e.key);
    else if (e.key === 'Enter' && !/^(BUTTON|SUMMARY|TR|A)$/.test((e.target as HTMLElement).tagName) && acts.enter()) return;
    else if (keys[e.key]) keys[e.key]();
    else if (!keyTime(e)) return;
    e.preventDefault();
  });

  const timeAt = (x: number) => {
    const [a, b] = range.value;
    const perPixel = (b - a) / Math.max(1, (frame.current?.clientWidth ?? 800) - left);
    return { t: a + (x - left) * perPixel, perPixel };
  };
  const under = (x: number, y: number): number => {
    const at = x < left || y < base ? undefined : rowAt(lanes, y - base + scroll.value);
    const row = at && spans.tracks[at.lane.track].rows[at.row];
    const { t, perPixel } = timeAt(x);
    return row ? spanAt(spans, row, t, perPixel) : -1;
  };
  const click = (x: number, y: number) => {
    const link = x >= left && y >= base ? arrowAt(arrows.current, x, y) : undefined;
    const i = under(x, y);
    cursor.value = null;
    if (i >= 0) acts.open(i);
    else if (link) acts.follow(link.to);
    else if (x >= left) moment.value = timeAt(x).t;
  };
  const tool = (text: string, title: string, on: boolean, act: () => unknown) => <button aria-pressed={on} title={title} onClick={act}>{text}</button>;
  const hidden = arranged.hidden.size;
  return (
    <>
      <div class="bar">
        <Search id="find" label="Search spans" hint="Search spans  ( / )" value={query.value} set={(v) => (query.value = v)} onKeyDown={(e) => e.key === 'Enter' && next(e.shiftKey ? -1 : 1)} />
        <button onClick={() => next(-1)} disabled={!found?.total} aria-label="Previous match">‹</button>
        <button onClick={() => next(1)} disabled={!found?.total} aria-label="Next match">›</button>
        {found && <span class="soft" id="matches" role="status">{found.at >= 0 ? `${count(found.at + 1)} of ` : ''}{count(found.total)} match{found.total === 1 ? '' : 'es'}</span>}
        <span class="grow" />
        {tool('Select area', 'A drag selects an area ( r, or hold shift )', selecting.value, flipSelecting)}
        {tool('Compact', 'Low rows without names ( c )', !!compact.value, flipLow)}
        {tool(`Lanes${hidden ? ` (${hidden} hidden)` : ''}`, 'Show, fold and move lanes ( l )', lists, flipLists)}
        {tool('As table', 'Visible spans by name ( t )', g.table, flipTable)}
        <button onClick={lookAll}>Whole trace</button>
      </div>
      {lists && <LaneList spans={spans} a={arranged} close={flipLists} />}
      <div class={`timeline${selecting.value ? ' selecting' : ''}`} ref={frame} style={{ maxHeight: `${Math.max(220, height + base + 6)}px` }}>
        <Canvas
          label="Timeline: arrow keys go between spans, Enter selects, T shows a table"
          onWheelTime={wheelTime(left, moveBy)}
          onPointerDown={presses({ left, base, lanes, arranged, end: main.t_end, timeAt, scroll, pan: dragTime(left, click, moveBy) })}
          onPointerMove={(e) => {
            const [x, y] = inside(e);
            const i = e.buttons ? -1 : under(x, y);
            hover.value = i >= 0 ? { x: e.clientX, y: e.clientY, i } : null;
            (e.currentTarget as HTMLElement).classList.toggle('pointing', i >= 0 || (x < left && y > base) || !!arrowAt(arrows.current, x, y));
          }}
          onPointerLeave={() => (hover.value = null)}
          onDblClick={acts.focus}
          draw={(s) => {
            const [t0, t1] = range.value;
            arrows.current = drawScene(s, { ...scene, main, spans, phases: [...g.phases], lanes, high: height, scroll: scroll.value, t0, t1, moment: moment.value, area: g.area });
          }}
        />
      </div>
    </>
  );
}
