// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The timeline of a recording that is too large to be sent whole: pieces at the zoom that is looked at,
// from the server. What is shorter than a pixel is one piece with its neighbours; a span's details and
// the search are asked for.
import { signal } from '../signals';
import { useEffect, useMemo, useRef, useState } from '../hooks';
import { count, exact, ns, plural } from '../data/format';
import { askJson, bytesOf } from '../data/live';
import { getTables, type Main } from '../data/page';
import { openPieces, type Pieces, Provider } from '../data/pieces';
import { spanAt } from '../data/spans';
import { catColor, palette } from '../draw/colors';
import { css } from '../draw/pixels';
import { lookAll, lookAround, moment, query, range, span } from '../state';
import { Canvas } from '../ui/canvas';
import { Legend, Loading, useData } from '../ui/parts';
import { Tip } from '../ui/tip';
import { dragTime, keyTime, typing, wheelTime } from '../ui/travel';
import { arrange, arrangement, dims, flipClosed, layout, laneAt, rowAt } from './lanes';
import { drawScene, tops } from './timeline_draw';

interface SpanJson {
  n: number;
  name: string;
  cat: string;
  t0_ns: number;
  t1_ns: number;
}
interface DetailsJson {
  span: SpanJson;
  lane: string;
  parents: SpanJson[];
  cause: SpanJson | null;
  args: Record<string, unknown>;
}
interface FoundJson {
  total: number;
  before: number;
  spans: SpanJson[];
}

const scroll = signal(0);
const hover = signal<{ x: number; y: number; i: number } | null>(null);
const newest = signal<Pieces | undefined>(undefined);

function pick(s: SpanJson): void {
  span.value = s.n;
  lookAround(s.t0_ns, s.t1_ns);
}

function Details({ id, n }: { id: string; n: number }) {
  const [d, set] = useState<DetailsJson>();
  useEffect(() => {
    let mine = true;
    askJson<DetailsJson>(`/api/recordings/${id}/span?n=${n}`).then((v) => mine && set(v), () => mine && set(undefined));
    return () => void (mine = false);
  }, [n]);
  if (!d || d.span.n !== n) return null;
  const s = d.span;
  return (
    <div class="details">
      <h3>{s.name || '(unnamed)'}</h3>
      <dl class="facts row">
        <div><dt>Type</dt><dd>{s.cat}</dd></div>
        <div><dt>Lasts</dt><dd>{ns(s.t1_ns - s.t0_ns)}</dd></div>
        <div><dt>Starts</dt><dd>{exact(s.t0_ns)}</dd></div>
        <div><dt>Ends</dt><dd>{exact(s.t1_ns)}</dd></div>
        <div><dt>Where</dt><dd>{d.lane}</dd></div>
        {Object.entries(d.args).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{String(v)}</dd></div>)}
      </dl>
      <p class="crumbs">
        {[...d.parents].reverse().map((p) => <button key={p.n} onClick={() => pick(p)}>{p.name || '(unnamed)'}</button>)}
        <button onClick={() => pick(s)}>Focus</button>
        {d.cause && <button onClick={() => pick(d.cause!)}>↖ started by {d.cause.name}</button>}
      </p>
    </div>
  );
}

/** Matches of the search, found by the server: how many, and the next one after what is in sight. */
function Find({ id }: { id: string }) {
  const [found, set] = useState<FoundJson>();
  const q = query.value.trim();
  const at = useRef(-1);
  const get = (after: number) => askJson<FoundJson>(`/api/recordings/${id}/search?q=${encodeURIComponent(q)}&limit=1${after > 0 ? `&after=${Math.ceil(after)}` : ''}`);
  useEffect(() => {
    at.current = -1;
    if (!q) return set(undefined);
    const later = setTimeout(() => get(0).then(set, () => set(undefined)), 200);
    return () => clearTimeout(later);
  }, [q]);
  const next = async () => {
    let f = await get(at.current < 0 ? range.value[0] : at.current + 1);
    if (!f.spans.length && f.total) f = await get(0);
    set(f);
    if (f.spans.length) {
      at.current = f.spans[0].t0_ns;
      pick(f.spans[0]);
    }
  };
  return (
    <>
      <input id="find" type="search" placeholder="Search spans  ( / )" aria-label="Search spans" value={query.value} onInput={(e) => (query.value = e.currentTarget.value)} onKeyDown={(e) => e.key === 'Enter' && q && void next()} />
      <button disabled={!found?.total} aria-label="Next match" onClick={() => void next()}>›</button>
      {found && <span class="soft" id="matches" role="status">{at.current >= 0 ? `${count(found.before + 1)} of ` : ''}{plural(found.total, 'match').replace(/hs$/, 'hes')}</span>}
    </>
  );
}

export function FarTimeline({ id, main }: { id: string; main: Main }) {
  const tables = useData(getTables);
  const provider = useMemo(
    () => new Provider(async (a, b, px) => openPieces(await bytesOf(`/data/${id}/pieces?from=${a}&to=${b}&px=${px}`)), main.t_end + 1, (p) => (newest.value = p)),
    [id, main],
  );
  const frame = useRef<HTMLDivElement>(null);
  const pieces = newest.value;
  const color = useMemo(() => pieces && palette(pieces.cats, pieces.names), [pieces]);
  const [t0, t1] = range.value;
  useEffect(() => void provider.visible(t0, t1, Math.max(200, (frame.current?.clientWidth ?? innerWidth) - dims.value.left)), [provider, t0, t1]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key === '/') document.getElementById('find')?.focus();
      else if (e.key === 'Escape') span.value = moment.value = null;
      else if (!keyTime(e)) return;
      e.preventDefault();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  if (!pieces || !color || !tables) return <Loading />;
  const arranged = arrangement(pieces);
  const { lanes, height } = layout(pieces, arranged);
  const { base } = tops(main, tables.phases);
  const { left } = dims.value;
  const scrollTo = (y: number) => (scroll.value = Math.max(0, Math.min(Math.max(0, height + base - (frame.current?.clientHeight ?? 400)), y)));
  const under = (x: number, y: number): number => {
    const at = x < left || y < base ? undefined : rowAt(lanes, y - base + scroll.value);
    const row = at && pieces.tracks[at.lane.track].rows[at.row];
    const perPixel = (t1 - t0) / Math.max(1, (frame.current?.clientWidth ?? 800) - left);
    return row ? spanAt(pieces, row, t0 + (x - left) * perPixel, perPixel) : -1;
  };
  const click = (x: number, y: number) => {
    const i = under(x, y);
    const lane = laneAt(lanes, y - base + scroll.value);
    if (x < left && y >= base && lane) arrange(flipClosed(arranged, lane.track));
    else if (i >= 0 && pieces.count[i] > 1) lookAround(pieces.t0[i], pieces.t1[i]);
    else if (i >= 0) span.value = pieces.number[i];
    else if (x >= left) moment.value = t0 + ((x - left) * (t1 - t0)) / Math.max(1, (frame.current?.clientWidth ?? 800) - left);
  };
  const h = hover.value;
  const chosen = span.value;
  const at = chosen === null ? -1 : pieces.number.indexOf(chosen);
  return (
    <div class="stack timeline-view">
      <div class="bar">
        <Find id={id} />
        <span class="grow" />
        <span class="soft">{plural(main.spans, 'span')}, shown in pieces: what is shorter than a pixel is one with its neighbours. A click on such a piece looks closer.</span>
        <button onClick={lookAll}>Whole trace</button>
      </div>
      <div class="timeline" ref={frame} style={{ maxHeight: `${Math.max(220, height + base + 6)}px` }}>
        <Canvas
          label="Timeline of threads and streams"
          onWheelTime={wheelTime(left, (dy) => scrollTo(scroll.value + dy))}
          onPointerDown={dragTime(left, click, (dy) => scrollTo(scroll.value + dy))}
          onPointerMove={(e) => {
            const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
            const i = e.buttons ? -1 : under(e.clientX - box.left, e.clientY - box.top);
            hover.value = i >= 0 ? { x: e.clientX, y: e.clientY, i } : null;
          }}
          onPointerLeave={() => (hover.value = null)}
          draw={(s) => {
            const [a, b] = range.value;
            const p = newest.value ?? pieces;
            drawScene(s, { main, spans: p, phases: [...tables.phases], lanes, high: height, scroll: scroll.value, t0: a, t1: b, moment: moment.value, span: at >= 0 && p === pieces ? at : null, cursor: null, links: [], area: null, found: null, color: p === pieces ? color : palette(p.cats, p.names) });
          }}
        />
      </div>
      <Legend items={pieces.used.map((c) => ({ color: css(catColor(c)), text: c.replaceAll('_', ' ') }))} />
      {h && h.i < pieces.n && (
        <Tip at={h}>
          <b>{pieces.names[pieces.name[h.i]] || '(unnamed)'}</b>
          <span>{pieces.cats[pieces.cat[h.i]]}</span>
          {pieces.count[h.i] > 1 && <span>and {plural(pieces.count[h.i] - 1, 'shorter span')}: {ns(pieces.busy[h.i])} in all</span>}
          <span>{ns(pieces.t1[h.i] - pieces.t0[h.i])} from {exact(pieces.t0[h.i])}</span>
        </Tip>
      )}
      {chosen !== null && <Details id={id} n={chosen} />}
    </div>
  );
}
