// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Details of one span: a few lines beside the pointer, everything below the picture.
import type { ComponentChildren } from 'preact';
import { axis, bytes, count, delta, exact, lasts, plural } from '../../data/format';
import { stackFrames } from '../../data/calls';
import { argsOf, chainOf, linksOf, notesOf } from '../../data/notes';
import type { Main } from '../../data/page';
import { placeOf, type Spans } from '../../data/spans';
import { frame, go, keep, moment, query, span, views } from '../../state';
import { Facts } from '../../ui/parts';
import { Tip } from '../../ui/tip';
import { hover } from './stage';

const NAMELESS = '(unnamed)';
export const title = (s: Spans, i: number): string => s.names[s.name[i]] || NAMELESS;
const kind = (s: Spans, i: number): string => s.cats[s.cat[i]].replaceAll('_', ' ');

/** Returns the bytes that a span's thread allocated and freed while it ran; null if unknown. */
function memoryOf(main: Main, s: Spans, i: number): { allocated: number; freed: number } | null {
  if (!main.allocs || s.tracks[placeOf(s, i).track]?.kind !== 'thread') return null;
  const n = notesOf(s);
  return { allocated: n.allocated[i], freed: n.freed[i] };
}

export const change = (m: { allocated: number; freed: number } | null): string =>
  !m ? 'unknown (several threads allocate)' : m.allocated || m.freed ? `${delta(m.allocated - m.freed)}: ${bytes(m.allocated)} allocated, ${bytes(m.freed)} freed` : 'none';

export function SpanTip({ main, spans }: { main: Main; spans: Spans }) {
  const h = hover.value;
  if (!h || h.i >= spans.n) return null;
  const { i } = h;
  const mem = memoryOf(main, spans, i);
  const cause = spans.cause[i] - 1;
  const chain = chainOf(spans, cause < 0 ? i : cause);
  return (
    <Tip at={h}>
      <b>{title(spans, i)}</b>
      <span>{kind(spans, i)} · {spans.tracks[placeOf(spans, i).track]?.name}</span>
      <span>{lasts(spans.t1[i] - spans.t0[i])}{!axis.ops && `, self ${lasts(notesOf(spans).self[i])}`}</span>
      <span>from {exact(spans.t0[i])} to {exact(spans.t1[i])}</span>
      {mem && <span>memory {change(mem)}</span>}
      {argsOf(spans, i).slice(0, 3).map(([k, v]) => <span key={k} class="cut">{argName(k)}: {v}</span>)}
      {cause >= 0 && <span>started by {title(spans, cause)}, {lasts(spans.t0[i] - spans.t0[cause])} before</span>}
      {chain.length > 0 && <span class="soft">in {chain.slice(-4).map((k) => title(spans, k)).join(' › ')}</span>}
    </Tip>
  );
}

/* ---- everything, below the picture ---- */

/** Texts of a span's flags. */
const notes: [number, string][] = [
  [1, 'It had not ended when the recording ended.'],
  [2, 'Its begin was lost: it starts with the first event inside it.'],
  [4, 'It ended with the span around it.'],
];

/** All details of one span. K identifies a span: its number here, or the server's record of it. */
export interface Told<K> {
  me: K;
  type: string;
  t0: number;
  t1: number;
  self: number; // ns
  lane: string;
  memory: string | false;
  args: [string, string][];
  flags: number;
  inside: K[]; // from the outermost on
  from?: K[]; // for device work: its launch, and the spans around that
  links: { to: K; kind: string; starts: boolean; apart: number }[];
  all: number; // links, shown or not
  gpu: boolean; // where the flame graph has it
  stack?: string[];
}

const LISTED = 12;
/** Returns the meaning of a number recorded with an op. */
export const argName = (k: string): string => (k === 'arg' ? 'number passed with it' : k === 'sequence' ? 'sequence, the same forward and backward' : k);

export function Details<K>({ d, name, pick, more }: { d: Told<K>; name: (k: K) => string; pick: (k: K) => void; more?: ComponentChildren }) {
  const title = (k: K) => name(k) || NAMELESS;
  const crumb = (k: K, text: ComponentChildren = title(k)) => <li><button title={title(k)} onClick={() => pick(k)}>{text}</button></li>;
  const path = (what: string, chain: K[]) =>
    chain.length > 0 && (
      <div class="path">
        <span class="soft">{what}</span>
        <ol class="crumbs" aria-label={`${what}, outermost first`}>{chain.map((k) => crumb(k))}</ol>
      </div>
    );
  return (
    <section class="details" aria-label="The selected span">
      <h3>{title(d.me)}</h3>
      <Facts
        rows={[
          ['Type', d.type],
          [axis.ops ? 'Covers' : 'Lasts', lasts(d.t1 - d.t0)],
          !axis.ops && ['Self', lasts(d.self)],
          ['Starts', exact(d.t0)],
          ['Ends', exact(d.t1)],
          ['Where', d.lane],
          d.memory !== false && ['Memory', d.memory],
        ]}
      />
      {d.args.length > 0 && <Facts rows={d.args.map(([k, v]) => [argName(k), <code>{v}</code>])} />}
      {more}
      {notes.map(([bit, text]) => (d.flags & bit ? <p class="soft">{text}</p> : null))}
      {path('Inside', d.inside)}
      {d.from && path('Launched from', d.from)}
      {d.all > 0 && (
        <div class="path">
          <span class="soft">Linked</span>
          <ul class="crumbs" aria-label="Spans it launched, and its launch">
            {d.links.slice(0, LISTED).map(({ to, kind, starts, apart }) => {
              const how = kind === 'launch' ? (starts ? 'starts' : 'started by') : kind === 'fwdbwd' ? (starts ? 'its backward' : 'its forward') : kind;
              return crumb(to, <>{starts ? '→' : '←'} {how} {title(to)} <small>{lasts(apart)} {starts ? 'later' : 'before'}</small></>);
            })}
            {d.all > LISTED && <li class="soft">and {count(d.all - LISTED)} more</li>}
          </ul>
        </div>
      )}
      {d.stack && d.stack.length > 0 && (
        <details>
          <summary>Stack, {plural(d.stack.length, 'frame')}</summary>
          <ol class="frames">{d.stack.map((f) => <li><code>{f}</code></li>)}</ol>
        </details>
      )}
      <p class="actions">
        <button onClick={() => pick(d.me)}>Focus ( f )</button>
        <button onClick={() => (query.value = title(d.me))}>Find all of this name</button>
        <InFlame lane={d.lane} gpu={d.gpu} path={[...((d.gpu && d.from) || d.inside), d.me].map(name)} />
        {views.value.includes('memory') && (
          <button
            onClick={() => {
              moment.value = d.t0;
              go('memory');
            }}
          >
            Memory at its start
          </button>
        )}
      </p>
    </section>
  );
}

/** A link to the frame of a span: below its lane and its parents or, for device work, below its launch. */
const InFlame = ({ lane, path, gpu }: { lane: string; path: string[]; gpu: boolean }) =>
  views.value.includes('flame') ? (
    <button
      onClick={() => {
        frame.value = gpu ? path : [lane.replace(/ · overlap .*/, ''), ...path];
        keep('tree').value = gpu ? 'gpu' : '';
        keep('node').value = keep('mode').value = '';
        go('flame');
      }}
    >
      In the flame graph
    </button>
  ) : null;

/** Returns the names from the outermost on: the enclosing or launching spans, and the span itself. */
export function framePath(s: Spans, i: number, gpu: boolean): string[] {
  const cause = gpu ? s.cause[i] - 1 : -1;
  return (cause < 0 ? [...chainOf(s, i), i] : [...chainOf(s, cause), cause, i]).map((k) => s.names[s.name[k]]);
}

/** Details of a span, if all spans are loaded. */
export function SpanDetails({ main, spans, pick }: { main: Main; spans: Spans; pick: (k: number) => void }) {
  const i = span.value;
  if (i === null || i >= spans.n) return <p class="soft hint">A click on a span shows its details, elsewhere it selects a moment; shift and drag sum up an area.</p>;
  const track = spans.tracks[placeOf(spans, i).track];
  const cause = spans.cause[i] - 1;
  const { links, all } = linksOf(spans, i);
  const d: Told<number> = {
    me: i,
    type: kind(spans, i),
    t0: spans.t0[i],
    t1: spans.t1[i],
    self: notesOf(spans).self[i],
    lane: track.name,
    memory: main.allocs > 0 && change(memoryOf(main, spans, i)),
    args: argsOf(spans, i),
    flags: spans.flags[i],
    inside: chainOf(spans, i),
    from: cause < 0 ? undefined : [...chainOf(spans, cause), cause],
    links: links.map((l) => ({ to: l.from === i ? l.to : l.from, kind: l.what, starts: l.from === i, apart: Math.abs(spans.t0[l.to] - spans.t0[l.from]) })),
    all,
    gpu: track.kind === 'stream',
    stack: spans.calls && stackFrames(spans.calls, spans.calls.stack[i]),
  };
  return <Details d={d} name={(k) => spans.names[spans.name[k]]} pick={pick} more={spans.argsLeftOut > 0 && !d.args.length && <p class="soft">Arguments of {count(spans.argsLeftOut)} spans did not fit into this page.</p>} />;
}
