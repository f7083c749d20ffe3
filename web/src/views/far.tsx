// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The timeline of a recording that is too large to be sent whole: pieces at the zoom that is looked at, from the server.
// What is shorter than a pixel is one piece with its neighbours; everything else is as in views/timeline.tsx, with
// details, sums, links and matches asked for (far_panel.tsx).
import { signal } from '../signals';
import { useEffect, useMemo, useRef, useState } from '../hooks';
import { FarSpans, type SpanJson } from '../data/far';
import { count, ns, plural } from '../data/format';
import { askJson, bytesOf } from '../data/live';
import { getTables, type Main } from '../data/page';
import { openPieces, type Pieces, Provider } from '../data/pieces';
import { after, placeOf, spanAt } from '../data/spans';
import { catColor, palette } from '../draw/colors';
import { css } from '../draw/pixels';
import { look, lookAll, lookAround, moment, query, range, span } from '../state';
import { Canvas } from '../ui/canvas';
import { Legend, Loading, useData } from '../ui/parts';
import { dragTime, keyTime, typing, wheelTime } from '../ui/travel';
import { FarDetails, FarSums, FarTip, useDetails, useFind } from './far_panel';
import { arrange, arrangement, compact, dims, type Lane, layout, rowAt } from './lanes';
import { type Arrow, arrowAt, drawScene, type Place, tops } from './timeline_draw';
import { LaneList } from './timeline_lanes';
import { keptArea, presses, readArea, selecting, writeArea } from './timeline_pointer';

const scroll = signal(0);
const hover = signal<{ x: number; y: number; i: number } | null>(null);
const cursor = signal<{ track: number; row: number; t: number } | null>(null); // where the keyboard is
const newest = signal<Pieces | undefined>(undefined);
let owner = ''; // the recording that both are of
const DRAWN = 60; // arrows of one span

interface Curve {
  from: number;
  to: number;
  v: number[];
}
const curve = signal<Curve | undefined>(undefined);

/** Highest live bytes of each of `width` parts of [t0, t1), from a curve that holds the window. */
function liveFrom(c: Curve) {
  const per = c.v.length / (c.to - c.from);
  return (t0: number, t1: number, width: number): Float64Array =>
    Float64Array.from({ length: width }, (_, k) => {
      const a = (t0 + ((t1 - t0) * k) / width - c.from) * per;
      const b = (t0 + ((t1 - t0) * (k + 1)) / width - c.from) * per;
      let most = 0;
      for (let i = Math.max(0, Math.floor(a)); i < Math.min(c.v.length, Math.max(b, Math.floor(a) + 1)); i++) most = Math.max(most, c.v[i]);
      return most;
    });
}

const placeIn = (p: Pieces, i: number): Place => ({ ...placeOf(p, i), t0: p.t0[i], t1: p.t1[i] });
const placeOfSpan = (s: SpanJson): Place => ({ track: s.track, row: s.row, t0: s.t0_ns, t1: s.t1_ns });

/** The piece under the keyboard. */
function pieceAt(p: Pieces): number {
  const c = cursor.value;
  const row = c && p.tracks[c.track]?.rows[c.row];
  return row ? spanAt(p, row, c.t, 1) : -1;
}

/** The piece that an arrow key leads to: along its row, out to what is around it, into it, to the next lane. */
function step(p: Pieces, lanes: readonly Lane[], i: number, key: string): number {
  const at = placeOf(p, i);
  const rows = p.tracks[at.track].rows;
  const row = rows[at.row];
  if (key === 'ArrowLeft') return i > row.first ? i - 1 : i;
  if (key === 'ArrowRight') return i + 1 < row.end ? i + 1 : i;
  const near = (r: { first: number; end: number }) => Math.min(r.end - 1, after(p.t1, r.first, r.end, p.t0[i]));
  const inTrack = rows[at.row + (key === 'ArrowUp' ? -1 : 1)];
  if (inTrack && inTrack.end > inTrack.first && lanes.find((l) => l.track === at.track)?.open) {
    const k = near(inTrack);
    if (key === 'ArrowUp' || p.t0[k] < p.t1[i]) return k;
  }
  const here = lanes.findIndex((l) => l.track === at.track);
  const next = lanes[here + (key === 'ArrowUp' ? -1 : 1)];
  const first = next && p.tracks[next.track].rows[0];
  return first && first.end > first.first ? near(first) : i;
}

/** Where an arrow key starts: the first piece in sight. */
function firstSeen(p: Pieces, lanes: readonly Lane[]): number {
  for (const l of lanes) {
    const row = p.tracks[l.track].rows[0];
    const i = after(p.t1, row.first, row.end, range.value[0]);
    if (i < row.end && p.t0[i] < range.value[1]) return i;
  }
  return -1;
}

export function FarTimeline({ id, main }: { id: string; main: Main }) {
  const tables = useData(getTables);
  const far = useMemo(() => new FarSpans(id), [id, main.t_end, main.spans]);
  const provider = useMemo(() => {
    if (owner !== id) newest.value = curve.value = undefined;
    owner = id;
    const read = async (a: number, b: number, px: number): Promise<Pieces> => {
      if (main.device) void askJson<{ live_bytes: number[] }>(`/api/recordings/${id}/curve?from=${a}&to=${b}&px=${px}`).then((c) => (curve.value = { from: a, to: b, v: c.live_bytes }), () => {});
      return openPieces(await bytesOf(`/data/${id}/pieces?from=${a}&to=${b}&px=${px}`));
    };
    return new Provider(read, main.t_end + 1, (p) => (newest.value = p));
  }, [id, main.t_end, main.spans]);
  const frame = useRef<HTMLDivElement>(null);
  const [t0, t1] = range.value;
  useEffect(() => void provider.visible(t0, t1, Math.max(200, (frame.current?.clientWidth ?? innerWidth) - dims.value.left)), [provider, t0, t1]);
  const pieces = newest.value;
  if (!pieces || !tables) return <Loading />;
  return <Ready far={far} main={main} pieces={pieces} phases={tables.phases} frame={frame} />;
}

function Ready({ far, main, pieces, phases, frame }: { far: FarSpans; main: Main; pieces: Pieces; phases: Parameters<typeof tops>[1]; frame: { current: HTMLDivElement | null } }) {
  const [lists, setLists] = useState(false);
  const [table, setTable] = useState(false);
  const arrows = useRef<Arrow[]>([]);
  const color = useMemo(() => palette(pieces.cats, pieces.names), [pieces]);
  const chosen = useDetails(far, span.value);
  const arranged = arrangement(pieces);
  const { lanes, height } = layout(pieces, arranged);
  const area = readArea(keptArea.value, pieces.tracks.length);
  const { base } = tops(main, phases);
  const { left } = dims.value;
  const q = query.value.trim().toLowerCase();
  const hit = useMemo(() => (q ? new Set(pieces.names.flatMap((n, i) => (n.toLowerCase().includes(q) ? [i] : []))) : null), [pieces, q]);
  const live = useMemo(() => curve.value && liveFrom(curve.value), [curve.value]);

  const room = () => (frame.current?.clientHeight ?? 400) - base;
  const scrollTo = (y: number) => (scroll.value = Math.max(0, Math.min(Math.max(0, height - room()), y)));
  /** Bring a place into sight, and its lane out of hiding. */
  const reveal = (p: Place, focus: boolean) => {
    const back = arranged.hidden.has(p.track) || (arranged.closed.has(p.track) && p.row > 0);
    const less = (s: ReadonlySet<number>) => new Set([...s].filter((k) => k !== p.track));
    const now = back ? { ...arranged, hidden: less(arranged.hidden), closed: less(arranged.closed) } : arranged;
    if (back) arrange(now);
    const l = layout(pieces, now).lanes.find((k) => k.track === p.track);
    const y = l ? l.y + p.row * dims.value.row : 0;
    if (y < scroll.value || y + dims.value.row * 2 > scroll.value + room()) scrollTo(y - room() / 3);
    const [a, b] = range.value;
    if (focus) lookAround(p.t0, p.t1);
    else if (p.t0 > b || p.t1 < a) look(p.t0 - (b - a) / 3, p.t0 + (2 * (b - a)) / 3);
  };
  const pick = (s: SpanJson) => {
    span.value = s.n;
    reveal(placeOfSpan(s), true);
  };
  const pickNumber = (n: number) => void far.details(n).then((d) => pick(d.span), () => {});
  const { found, next } = useFind(far, (s) => {
    const [a, b] = range.value;
    span.value = s.n;
    reveal(placeOfSpan(s), s.t1_ns - s.t0_ns < (b - a) / 400 || s.t0_ns > b || s.t1_ns < a);
  });
  const open = (i: number) => {
    if (pieces.count[i] > 1) lookAround(pieces.t0[i], pieces.t1[i]);
    else span.value = pieces.number[i];
  };
  const walk = (key: string) => {
    const was = pieceAt(pieces);
    const i = was >= 0 ? step(pieces, lanes, was, key) : firstSeen(pieces, lanes);
    if (i < 0) return;
    const p = placeIn(pieces, i);
    cursor.value = { track: p.track, row: p.row, t: (p.t0 + p.t1) / 2 };
    reveal(p, false);
  };

  useEffect(() => {
    const act: Record<string, () => void> = {
      f: () => chosen && pick(chosen.span),
      n: () => void next(1),
      N: () => void next(-1),
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
      if (e.key === '/') {
        e.preventDefault();
        document.getElementById('find')?.focus();
      } else if (e.key.startsWith('Arrow')) {
        e.preventDefault();
        walk(e.key);
      } else if (e.key === 'Enter' && pieceAt(pieces) >= 0 && !/^(BUTTON|SUMMARY|TR|A)$/.test((e.target as HTMLElement).tagName)) {
        open(pieceAt(pieces));
      } else if (act[e.key]) {
        e.preventDefault();
        act[e.key]();
      } else if (keyTime(e)) e.preventDefault();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });

  const timeAt = (x: number) => {
    const [a, b] = range.value;
    const perPixel = (b - a) / Math.max(1, (frame.current?.clientWidth ?? 800) - left);
    return { t: a + (x - left) * perPixel, perPixel };
  };
  const under = (x: number, y: number): number => {
    const at = x < left || y < base ? undefined : rowAt(lanes, y - base + scroll.value);
    const row = at && pieces.tracks[at.lane.track].rows[at.row];
    const { t, perPixel } = timeAt(x);
    return row ? spanAt(pieces, row, t, perPixel) : -1;
  };
  const click = (x: number, y: number) => {
    const link = x >= left && y >= base ? arrowAt(arrows.current, x, y) : undefined;
    const i = under(x, y);
    cursor.value = null;
    if (i >= 0) open(i);
    else if (link) pickNumber(link.to);
    else if (x >= left) moment.value = timeAt(x).t;
  };
  const pan = dragTime(left, click, (dy) => scrollTo(scroll.value + dy));
  const down = presses({ left, base, lanes, arranged, end: main.t_end, timeAt, scroll, pan });

  // Where the selected span and what it is linked to are, by their numbers; ~i is the piece i (the keyboard's).
  const places = useMemo(() => new Map(chosen ? [chosen.span, ...chosen.links.map((l) => l.span)].map((s) => [s.n, placeOfSpan(s)]) : []), [chosen]);
  const links = useMemo(() => (chosen?.links ?? []).slice(0, DRAWN).map((l) => (l.starts ? { from: chosen!.span.n, to: l.span.n, what: l.kind } : { from: l.span.n, to: chosen!.span.n, what: l.kind })), [chosen]);
  const at = pieceAt(pieces);
  const h = hover.value;
  return (
    <div class="stack timeline-view">
      <div class="bar">
        <input id="find" type="search" placeholder="Search spans  ( / )" aria-label="Search spans" value={query.value} onInput={(e) => (query.value = e.currentTarget.value)} onKeyDown={(e) => e.key === 'Enter' && void next(e.shiftKey ? -1 : 1)} />
        <button onClick={() => void next(-1)} disabled={!found?.total} aria-label="Previous match">‹</button>
        <button onClick={() => void next(1)} disabled={!found?.total} aria-label="Next match">›</button>
        {found && <span class="soft" id="matches" role="status">{found.at >= 0 ? `${count(found.at + 1)} of ` : ''}{count(found.total)} matches</span>}
        <span class="grow" />
        <button aria-pressed={selecting.value} title="A drag chooses an area ( r, or hold shift )" onClick={() => (selecting.value = !selecting.value)}>Select area</button>
        <button aria-pressed={!!compact.value} title="Low rows without names ( c )" onClick={() => (compact.value = compact.value ? '' : '1')}>Compact</button>
        <button aria-pressed={lists} title="Show, fold and move lanes ( l )" onClick={() => setLists(!lists)}>Lanes{arranged.hidden.size ? ` (${arranged.hidden.size} hidden)` : ''}</button>
        <button aria-pressed={table} title="What is in sight, by name ( t )" onClick={() => setTable(!table)}>As table</button>
        <button onClick={lookAll}>Whole trace</button>
      </div>
      {lists && <LaneList spans={pieces} a={arranged} close={() => setLists(false)} />}
      <div class={`timeline${selecting.value ? ' selecting' : ''}`} ref={frame} style={{ maxHeight: `${Math.max(220, height + base + 6)}px` }}>
        <Canvas
          label="Timeline: arrow keys go from span to span, Enter selects, T is a table of it"
          onWheelTime={wheelTime(left, (dy) => scrollTo(scroll.value + dy))}
          onPointerDown={down}
          onPointerMove={(e) => {
            const el = e.currentTarget as HTMLElement;
            const box = el.getBoundingClientRect();
            const [x, y] = [e.clientX - box.left, e.clientY - box.top];
            const i = e.buttons ? -1 : under(x, y);
            hover.value = i >= 0 ? { x: e.clientX, y: e.clientY, i } : null;
            el.classList.toggle('pointing', i >= 0 || (x < left && y > base) || !!arrowAt(arrows.current, x, y));
          }}
          onPointerLeave={() => (hover.value = null)}
          onDblClick={() => chosen && pick(chosen.span)}
          draw={(s) => {
            const [a, b] = range.value;
            arrows.current = drawScene(s, { main, spans: pieces, phases: [...phases], lanes, high: height, scroll: scroll.value, t0: a, t1: b, moment: moment.value, span: chosen ? chosen.span.n : null, cursor: at >= 0 ? ~at : null, links, area, found: hit, color, live, at: (n) => (n < 0 ? placeIn(pieces, ~n) : places.get(n)) });
          }}
        />
      </div>
      <Legend items={pieces.used.map((c) => ({ color: css(catColor(c)), text: c.replaceAll('_', ' ') }))} />
      <p class="soft">{plural(main.spans, 'span')}, shown in pieces: what is shorter than a pixel is one with its neighbours, and a click looks closer.</p>
      <p class="heard" aria-live="polite">{at >= 0 ? `${pieces.names[pieces.name[at]] || '(unnamed)'}, ${pieces.count[at] > 1 ? `${count(pieces.count[at])} spans` : ns(pieces.t1[at] - pieces.t0[at])}` : ''}</p>
      {h && h.i < pieces.n && <FarTip far={far} main={main} pieces={pieces} at={h} />}
      <FarSums
        far={far}
        lanes={lanes}
        area={area}
        open={table}
        pick={pickNumber}
        close={() => {
          setTable(false);
          writeArea(null);
        }}
      />
      <FarDetails d={chosen} main={main} pick={pick} />
      {pieces.cut > 0 && <p class="soft">{count(pieces.cut)} spans that cross others are drawn up to the end of what is around them.</p>}
    </div>
  );
}
