// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The timeline of a recording that is too large to be sent whole: pieces at the current zoom, from the server.
// Spans shorter than a pixel are merged with their neighbours into one piece; everything else is as in views/timeline.tsx,
// with details, sums, links and matches requested from the server (remote_panel.tsx).
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { FarSpans, type SpanJson } from '../../data/far';
import { count, ns, plural } from '../../data/format';
import { askJson, bytesOf } from '../../data/live';
import { getTables, type Main } from '../../data/page';
import { openPieces, type Pieces, Provider } from '../../data/pieces';
import { spanAt } from '../../data/spans';
import { catColor, palette } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { lookAround, query, range, span } from '../../state';
import { Legend, Loading, useData } from '../../ui/parts';
import { FarDetails, FarSums, FarTip, useDetails, useFind } from './remote_panel';
import { dims } from './lanes';
import type { Place } from './draw';
import { type Acts, DRAWN, firstSeen, hover, placeIn, Stage, step, useStage } from './stage';

const cursor = signal<{ track: number; row: number; t: number } | null>(null); // where the keyboard is
const newest = signal<Pieces | undefined>(undefined);
let owner = ''; // the recording of both

interface Curve {
  from: number;
  to: number;
  v: number[];
}
const curve = signal<Curve | undefined>(undefined);

/** Returns the highest live bytes of each of `width` parts of [t0, t1), from a curve that contains the window. */
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

const placeOfSpan = (s: SpanJson): Place => ({ track: s.track, row: s.row, t0: s.t0_ns, t1: s.t1_ns });

/** The piece under the keyboard. */
function pieceAt(p: Pieces): number {
  const c = cursor.value;
  const row = c && p.tracks[c.track]?.rows[c.row];
  return row ? spanAt(p, row, c.t, 1) : -1;
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

function Ready({ far, main, pieces, phases, frame }: { far: FarSpans; main: Main; pieces: Pieces; phases: Parameters<typeof useStage>[2]; frame: { current: HTMLDivElement | null } }) {
  const g = useStage(main, pieces, phases, frame);
  const color = useMemo(() => palette(pieces.cats, pieces.names), [pieces]);
  const chosen = useDetails(far, span.value);
  const q = query.value.trim().toLowerCase();
  const names = useMemo(() => (q ? new Set(pieces.names.flatMap((n, i) => (n.toLowerCase().includes(q) ? [i] : []))) : null), [pieces, q]);
  const live = useMemo(() => curve.value && liveFrom(curve.value), [curve.value]);

  const pick = (s: SpanJson) => {
    span.value = s.n;
    g.reveal(placeOfSpan(s), true);
  };
  const pickNumber = (n: number) => void far.details(n).then((d) => pick(d.span), () => {});
  const { found, next } = useFind(far, (s) => {
    span.value = s.n;
    g.revealMatch(placeOfSpan(s));
  });
  const hit = found && !found.total ? null : names;
  const open = (i: number) => {
    if (pieces.count[i] > 1) lookAround(pieces.t0[i], pieces.t1[i]);
    else span.value = pieces.number[i];
  };
  const at = pieceAt(pieces);
  const acts: Acts = {
    found,
    next,
    walk: (key) => {
      const i = at >= 0 ? step(pieces, g.lanes, at, key) : firstSeen(pieces, g.lanes);
      if (i < 0) return;
      const p = placeIn(pieces, i);
      cursor.value = { track: p.track, row: p.row, t: (p.t0 + p.t1) / 2 };
      g.reveal(p);
    },
    enter: () => {
      if (at >= 0) open(at);
      return at >= 0;
    },
    cursor,
    focus: () => chosen && pick(chosen.span),
    open,
    follow: pickNumber,
  };

  // Places of the selected span and its linked spans, by their numbers; ~i is piece i (selected by keyboard).
  const places = useMemo(() => new Map(chosen ? [chosen.span, ...chosen.links.map((l) => l.span)].map((s) => [s.n, placeOfSpan(s)]) : []), [chosen]);
  const links = useMemo(() => (chosen?.links ?? []).slice(0, DRAWN).map((l) => (l.starts ? { from: chosen!.span.n, to: l.span.n, what: l.kind } : { from: l.span.n, to: chosen!.span.n, what: l.kind })), [chosen]);
  const h = hover.value;
  return (
    <div class="stack timeline-view">
      <Stage g={g} acts={acts} scene={{ span: chosen ? chosen.span.n : null, cursor: at >= 0 ? ~at : null, links, found: hit, color, live, at: (n) => (n < 0 ? placeIn(pieces, ~n) : places.get(n)) }} />
      <Legend items={pieces.used.map((c) => ({ color: css(catColor(c)), text: c.replaceAll('_', ' ') }))} />
      <p class="soft">{plural(main.spans, 'span')}, shown in pieces: what is shorter than a pixel is one with its neighbours, and a click looks closer.</p>
      <p class="heard" aria-live="polite">{at >= 0 ? `${pieces.names[pieces.name[at]] || '(unnamed)'}, ${pieces.count[at] > 1 ? `${count(pieces.count[at])} spans` : ns(pieces.t1[at] - pieces.t0[at])}` : ''}</p>
      {h && h.i < pieces.n && <FarTip far={far} main={main} pieces={pieces} at={h} />}
      <FarSums far={far} lanes={g.lanes} area={g.area} open={g.table} pick={pickNumber} close={g.close} />
      <FarDetails d={chosen} main={main} pick={pick} />
      {pieces.cut > 0 && <p class="soft">{count(pieces.cut)} spans that cross others are drawn up to the end of what is around them.</p>}
    </div>
  );
}
