// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Details of one span and sums of an area for a large recording: requested from the server, and shown as
// panel.tsx and window_sums.tsx show a page's own data.
import { useEffect, useState } from 'preact/hooks';
import { argsOf, type DetailsJson, type FarSpans, type SpanJson } from '../../data/far';
import { exact, ns, plural } from '../../data/format';
import type { Sum } from '../../data/notes';
import type { Main } from '../../data/page';
import type { Pieces } from '../../data/pieces';
import { query, range, span } from '../../state';
import { Tip } from '../../ui/tip';
import type { Lane } from './lanes';
import type { Area } from './draw';
import { argName, change, Details, type Told } from './panel';
import { SumTable } from './window_sums';

const MOST_ROWS = 2000;
const title = (s: { name: string }): string => s.name || '(unnamed)';
const words = (s: string): string => s.replaceAll('_', ' ');

/** Shows the details of a span after they were received. */
export function useDetails(far: FarSpans, n: number | null, wait = 0): DetailsJson | undefined {
  const [d, set] = useState<DetailsJson>();
  useEffect(() => {
    if (n === null) return set(undefined);
    let mine = true;
    const later = setTimeout(() => far.details(n).then((v) => mine && set(v), () => mine && set(undefined)), wait);
    return () => {
      mine = false;
      clearTimeout(later);
    };
  }, [far, n]);
  return d && d.span.n === n ? d : undefined;
}

const memory = (d: DetailsJson): string => change(d.allocated_bytes === null || d.freed_bytes === null ? null : { allocated: d.allocated_bytes, freed: d.freed_bytes });

/** A tooltip beside the pointer: the data of the piece at once, the rest after the server sent it. */
export function FarTip({ far, main, pieces, at }: { far: FarSpans; main: Main; pieces: Pieces; at: { x: number; y: number; i: number } }) {
  const { i } = at;
  const several = pieces.count[i] > 1;
  const d = useDetails(far, several ? null : pieces.number[i], 60);
  const track = pieces.tracks.find((t) => t.rows.some((r) => i >= r.first && i < r.end));
  return (
    <Tip at={at}>
      <b>{pieces.names[pieces.name[i]] || '(unnamed)'}</b>
      <span>{words(pieces.cats[pieces.cat[i]])} · {track?.name}</span>
      {several && <span>and {plural(pieces.count[i] - 1, 'shorter span')}, {ns(pieces.busy[i])} in all. A click looks closer.</span>}
      <span>{ns(pieces.t1[i] - pieces.t0[i])}{d && `, self ${ns(d.self_ns)}`}</span>
      <span>from {exact(pieces.t0[i])} to {exact(pieces.t1[i])}</span>
      {d && main.allocs > 0 && d.allocated_bytes !== null && <span>memory {memory(d)}</span>}
      {d && argsOf(d).slice(0, 3).map(([k, v]) => <span key={k} class="cut">{argName(k)}: {v}</span>)}
      {d?.cause && <span>started by {title(d.cause)}, {ns(d.span.t0_ns - d.cause.t0_ns)} before</span>}
      {d && d.stack.length > 0 && <span class="cut">{d.stack[0]}</span>}
    </Tip>
  );
}

export function FarDetails({ d, main, pick }: { d: DetailsJson | undefined; main: Main; pick: (s: SpanJson) => void }) {
  if (!d) return <p class="soft hint">A click on a span shows its details, on merged spans it zooms in, elsewhere it selects a moment; shift and drag sum up an area.</p>;
  const s = d.span;
  const around = (list: SpanJson[]) => [...list].reverse();
  const told: Told<SpanJson> = {
    me: s,
    type: words(s.cat),
    t0: s.t0_ns,
    t1: s.t1_ns,
    self: d.self_ns,
    lane: d.lane,
    memory: main.allocs > 0 && memory(d),
    args: argsOf(d),
    flags: d.flags,
    inside: around(d.parents),
    from: d.cause ? [...around(d.cause.parents), d.cause] : undefined,
    links: d.links.map((l) => ({ to: l.span, kind: l.kind, starts: l.starts, apart: Math.abs(l.span.t0_ns - s.t0_ns) })),
    all: d.links_in_all,
    gpu: !!d.cause,
    stack: d.stack,
  };
  return <Details d={told} name={(k) => k.name} pick={pick} />;
}

/** Sums of an area, or of the visible window, by name, computed by the server. */
export function FarSums({ far, lanes, area, open, pick, close }: { far: FarSpans; lanes: readonly Lane[]; area: Area | null; open: boolean; pick: (n: number) => void; close: () => void }) {
  const on = open || area !== null;
  const [t0, t1] = area ? [area.t0, area.t1] : on ? range.value : [0, 0];
  const tracks = area ? area.tracks : lanes.map((l) => l.track);
  const [got, set] = useState<{ rows: Sum[]; names: number; why?: string }>({ rows: [], names: 0 });
  useEffect(() => {
    if (!on) return;
    let mine = true;
    const say = (e: Error) => mine && set({ rows: [], names: 0, why: e.message });
    const later = setTimeout(() => far.sums(t0, t1, tracks, MOST_ROWS).then((v) => mine && set(v), say), 150);
    return () => {
      mine = false;
      clearTimeout(later);
    };
  }, [far, on, t0, t1, tracks.join('.')]);
  if (!on) return null;
  return (
    <>
      {got.why && <p class="error">{got.why}</p>}
      <SumTable area={!!area} time={t1 - t0} lanes={tracks.length} rows={got.rows} names={got.names} pick={pick} close={close} />
    </>
  );
}

/** Matches of the search: their number, and moving from one to the next in order of time. */
export function useFind(far: FarSpans, pick: (s: SpanJson) => void) {
  const [found, set] = useState<{ total: number; at: number; n: number }>(); // at: place among the matches, -1 = none yet
  const q = query.value.trim();
  useEffect(() => {
    set(undefined);
    if (!q) return;
    let mine = true;
    const later = setTimeout(() => far.search(q, { after: 0 }).then((f) => mine && set({ total: f.total, at: -1, n: -1 }), () => {}), 200);
    return () => {
      mine = false;
      clearTimeout(later);
    };
  }, [far, q]);
  const next = async (by: number) => {
    if (!q) return;
    const here = found && found.at >= 0 && found.n === span.value; // otherwise starting at the visible window
    let f = await far.search(q, here ? { skip: (found.at + by + found.total) % found.total } : { after: range.value[0] });
    if (!here && f.total && (by < 0 || !f.spans.length)) f = await far.search(q, { skip: by < 0 ? (f.before - 1 + f.total) % f.total : 0 });
    const s = f.spans[0];
    set({ total: f.total, at: s ? f.before : -1, n: s ? s.n : -1 });
    if (s) pick(s);
  };
  return { found, next };
}
