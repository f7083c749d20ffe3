// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Threads, streams, memory and phases on one axis of true time.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { count, exact, ns } from '../data/format';
import { buildMip, oneGroup, picture } from '../data/levels';
import { getMemory, getSpans, getTables, type Main } from '../data/page';
import { after, placeOf, searchSpans, spanAt, type Spans } from '../data/spans';
import { catColor, palette } from '../draw/colors';
import { css } from '../draw/pixels';
import { look, lookAround, moment, query, range, span, view } from '../state';
import { Canvas } from '../ui/canvas';
import { Legend, Loading, useData } from '../ui/parts';
import { Table } from '../ui/table';
import { dragTime, keyTime, typing, wheelTime } from '../ui/travel';
import { CURVE, layout, LEFT, rowAt, TOP } from './lanes';
import { drawScene } from './timeline_draw';

const scroll = signal(0);
const closed = signal<ReadonlySet<number>>(new Set());
const hover = signal<{ x: number; y: number; span: number } | null>(null);
const MOST_ROWS = 20000;

/** The span that is open around it on the same track, one level up; -1 = none. */
function parentOf(s: Spans, i: number): number {
  const p = placeOf(s, i);
  if (p.row <= 0) return -1;
  const row = s.tracks[p.track].rows[p.row - 1];
  const at = after(s.t1, row.first, row.end, s.t0[i]);
  const j = at < row.end && s.t0[at] <= s.t0[i] ? at : at - 1;
  return j >= row.first && s.t0[j] <= s.t0[i] && s.t1[j] >= s.t1[i] ? j : -1;
}

const title = (s: Spans, i: number) => s.names[s.name[i]] || '(unnamed)';

function Tip({ spans }: { spans: Spans }) {
  const h = hover.value;
  if (!h) return null;
  const i = h.span;
  const flip = h.x > innerWidth - 380;
  return (
    <div class="tip" style={{ left: flip ? 'auto' : `${h.x + 14}px`, right: flip ? `${innerWidth - h.x + 14}px` : 'auto', top: `${Math.min(h.y + 14, innerHeight - 130)}px` }}>
      <b>{title(spans, i)}</b>
      <span>{spans.cats[spans.cat[i]]}</span>
      <span>
        {ns(spans.t1[i] - spans.t0[i])} · from {exact(spans.t0[i])} to {exact(spans.t1[i])}
      </span>
      {spans.cause[i] > 0 && <span>started by {title(spans, spans.cause[i] - 1)}, {ns(spans.t0[i] - spans.t0[spans.cause[i] - 1])} before</span>}
    </div>
  );
}

function Details({ spans }: { spans: Spans }) {
  const i = span.value;
  if (i === null || i >= spans.n) return <p class="soft hint">Click a span for its details, an empty place for a moment. Press ? for the keys.</p>;
  const chain: number[] = [];
  for (let at = parentOf(spans, i); at >= 0 && chain.length < 64; at = parentOf(spans, at)) chain.unshift(at);
  const p = placeOf(spans, i);
  const pick = (k: number) => {
    span.value = k;
    lookAround(spans.t0[k], spans.t1[k]);
  };
  return (
    <div class="details">
      <h3>{title(spans, i)}</h3>
      <dl class="facts row">
        <div><dt>Type</dt><dd>{spans.cats[spans.cat[i]]}</dd></div>
        <div><dt>Lasts</dt><dd>{ns(spans.t1[i] - spans.t0[i])}</dd></div>
        <div><dt>Starts</dt><dd>{exact(spans.t0[i])}</dd></div>
        <div><dt>Ends</dt><dd>{exact(spans.t1[i])}</dd></div>
        <div><dt>Where</dt><dd>{spans.tracks[p.track]?.name}</dd></div>
      </dl>
      <p class="crumbs">
        {chain.map((k) => (
          <button key={k} onClick={() => pick(k)}>{title(spans, k)}</button>
        ))}
        {spans.cause[i] > 0 && <button onClick={() => pick(spans.cause[i] - 1)}>↖ started by {title(spans, spans.cause[i] - 1)}</button>}
        <button
          onClick={() => {
            moment.value = spans.t0[i];
            view.value = 'memory';
          }}
        >
          Memory at its start
        </button>
      </p>
    </div>
  );
}

interface Sum {
  name: string;
  cat: string;
  n: number;
  ns: number;
  longest: number;
  at: number;
}

/** What the window holds, by name: the text behind the picture. */
function sums(s: Spans, t0: number, t1: number): Sum[] {
  const by = new Map<number, Sum>();
  for (const t of s.tracks)
    for (const row of t.rows)
      for (let i = after(s.t1, row.first, row.end, t0); i < row.end && s.t0[i] < t1; i++) {
        const key = s.name[i] * 32 + s.cat[i];
        let x = by.get(key);
        if (!x) by.set(key, (x = { name: title(s, i), cat: s.cats[s.cat[i]], n: 0, ns: 0, longest: 0, at: i }));
        const d = Math.min(s.t1[i], t1) - Math.max(s.t0[i], t0);
        x.n++;
        x.ns += d;
        if (d > x.longest) {
          x.longest = d;
          x.at = i;
        }
      }
  return [...by.values()].sort((a, b) => b.ns - a.ns).slice(0, MOST_ROWS);
}

function Sums({ spans }: { spans: Spans }) {
  const [open, setOpen] = useState(false);
  const [rows, setRows] = useState<Sum[]>([]);
  const [t0, t1] = range.value;
  useEffect(() => {
    if (!open) return;
    const later = setTimeout(() => setRows(sums(spans, t0, t1)), 120);
    return () => clearTimeout(later);
  }, [open, t0, t1]);
  return (
    <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>What is in this window, as a table</summary>
      <Table
        label="spans in the window by name"
        rows={rows}
        sort="ns"
        height={320}
        onPick={(r) => {
          span.value = r.at;
          lookAround(spans.t0[r.at], spans.t1[r.at]);
        }}
        cols={[
          { key: 'name', title: 'Name', value: (r) => r.name, wide: true },
          { key: 'cat', title: 'Type', value: (r) => r.cat },
          { key: 'n', title: 'Count', value: (r) => r.n, text: (r) => count(r.n) },
          { key: 'ns', title: 'Time in window', value: (r) => r.ns, text: (r) => ns(r.ns), bar: (r) => r.ns / (rows[0]?.ns || 1) },
          { key: 'longest', title: 'Longest', value: (r) => r.longest, text: (r) => ns(r.longest) },
        ]}
      />
    </details>
  );
}

function useFound(spans: Spans | undefined, text: string): Int32Array | null {
  return useMemo(() => (spans && text ? searchSpans(spans, text) : null), [spans, text]);
}

/** The exact curve of live bytes, once the memory section is read: after the first picture. */
function useLive(main: Main, ready: boolean) {
  const [live, set] = useState<(t0: number, t1: number, width: number) => Float64Array>();
  useEffect(() => {
    if (!ready || !main.device) return;
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

export function Timeline({ main }: { main: Main }) {
  const spans = useData(getSpans);
  const tables = useData(getTables);
  const live = useLive(main, !!spans);
  const found = useFound(spans, query.value);
  const color = useMemo(() => spans && palette(spans.cats, spans.names), [spans]);
  const lanes = useMemo(() => spans && layout(spans, closed.value), [spans, closed.value]);
  const hit = useMemo(() => (found && spans ? new Set(Array.from(found, (i) => spans.name[i])) : null), [found]);

  const reveal = (i: number) => {
    if (!spans || !lanes) return;
    span.value = i;
    const l = lanes.lanes[placeOf(spans, i).track];
    if (l && (l.y < scroll.value || l.y > scroll.value + 300)) scroll.value = Math.max(0, l.y - 40);
    const [t0, t1] = range.value;
    if (spans.t0[i] > t1 || spans.t1[i] < t0 || spans.t1[i] - spans.t0[i] < (t1 - t0) / 400) lookAround(spans.t0[i], spans.t1[i]);
  };
  const next = (step: number) => {
    if (!found?.length) return;
    const at = span.value === null ? -1 : found.indexOf(span.value);
    reveal(found[(at + step + found.length) % found.length]);
  };

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key === '/' && !typing(e)) {
        e.preventDefault();
        document.getElementById('find')?.focus();
      }
      if (typing(e)) return;
      if (keyTime(e)) e.preventDefault();
      else if (e.key === 'f' && span.value !== null && spans) lookAround(spans.t0[span.value], spans.t1[span.value]);
      else if (e.key === 'n') next(1);
      else if (e.key === 'N') next(-1);
      else if (e.key === 'Escape') span.value = moment.value = null;
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const move = (dy: number) => {
    scroll.value = Math.max(0, Math.min((lanes?.height ?? 0) - 80, scroll.value + dy));
  };
  const wheel = useMemo(() => wheelTime(LEFT, move), [lanes]);
  if (!spans || !lanes || !color) return <Loading />;
  if (!spans.n) return <p class="loading">This trace holds no spans: nothing was timed.</p>;

  const place = (x: number, y: number): { t: number; span: number; lane?: number } => {
    const el = document.querySelector('.timeline canvas') as HTMLCanvasElement;
    const [t0, t1] = range.value;
    const perPixel = (t1 - t0) / Math.max(1, el.clientWidth - LEFT);
    const t = t0 + (x - LEFT) * perPixel;
    const at = y < TOP + CURVE ? undefined : rowAt(lanes.lanes, y - TOP - CURVE + scroll.value);
    if (!at) return { t, span: -1 };
    const row = spans.tracks[at.lane.track].rows[at.row];
    return { t, span: row && x >= LEFT ? spanAt(spans, row, t, perPixel) : -1, lane: at.lane.track };
  };
  const click = (x: number, y: number) => {
    const p = place(x, y);
    if (x < LEFT && p.lane !== undefined) {
      const set = new Set(closed.value);
      if (!set.delete(p.lane)) set.add(p.lane);
      closed.value = set;
    } else if (p.span >= 0) {
      span.value = p.span;
    } else if (x >= LEFT) {
      moment.value = p.t;
    }
  };
  const index = found && span.value !== null ? found.indexOf(span.value) : -1;
  return (
    <div class="stack timeline-view">
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
        {found && <span class="soft" id="matches">{index >= 0 ? `${count(index + 1)} of ` : ''}{count(found.length)} matches</span>}
        <span class="grow" />
        <Legend items={spans.used.map((c) => ({ color: css(catColor(c)), text: c.replaceAll('_', ' ') }))} />
        <button onClick={() => look(0, main.t_end)}>Whole trace</button>
      </div>
      <div class="timeline" style={{ maxHeight: `${Math.max(260, lanes.height + TOP + CURVE + 10)}px` }}>
        <Canvas
          label="Timeline of threads and streams"
          onWheelTime={wheel}
          onPointerDown={dragTime(LEFT, click, move)}
          onPointerMove={(e) => {
            const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
            const p = place(e.clientX - box.left, e.clientY - box.top);
            hover.value = p.span >= 0 ? { x: e.clientX, y: e.clientY, span: p.span } : null;
          }}
          onPointerLeave={() => (hover.value = null)}
          onDblClick={() => span.value !== null && lookAround(spans.t0[span.value], spans.t1[span.value])}
          draw={(s) => {
            const [t0, t1] = range.value;
            drawScene(s, { main, spans, phases: tables?.phases ?? [], lanes: lanes.lanes, scroll: scroll.value, t0, t1, moment: moment.value, span: span.value, found: hit, color, live });
          }}
        />
      </div>
      <Tip spans={spans} />
      <Details spans={spans} />
      <Sums spans={spans} />
      {spans.cut > 0 && <p class="soft">{count(spans.cut)} spans that cross others are drawn up to the end of what is around them.</p>}
    </div>
  );
}
