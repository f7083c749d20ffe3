// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// What the timeline tells about one span: a few lines beside the pointer, everything below the picture.
import { signal } from '../signals';
import type { ComponentChildren } from 'preact';
import { bytes, count, delta, exact, ns } from '../data/format';
import { argsOf, chainOf, linksOf, notesOf } from '../data/notes';
import type { Main } from '../data/page';
import { placeOf, type Spans } from '../data/spans';
import { frame, go, keep, moment, query, span, views } from '../state';

export const hover = signal<{ x: number; y: number; span: number } | null>(null);

export const title = (s: Spans, i: number): string => s.names[s.name[i]] || '(unnamed)';
const kind = (s: Spans, i: number): string => s.cats[s.cat[i]].replaceAll('_', ' ');

/** Bytes that a span's thread allocated and freed while it ran; null where that is not known. */
function memoryOf(main: Main, s: Spans, i: number): { allocated: number; freed: number } | null {
  if (!main.allocs || s.tracks[placeOf(s, i).track]?.kind !== 'thread') return null;
  const n = notesOf(s);
  return { allocated: n.allocated[i], freed: n.freed[i] };
}

const change = (m: { allocated: number; freed: number } | null): string =>
  !m ? 'not known (threads allocate)' : m.allocated || m.freed ? `${delta(m.allocated - m.freed)}: ${bytes(m.allocated)} allocated, ${bytes(m.freed)} freed` : 'none';

export function Tip({ main, spans }: { main: Main; spans: Spans }) {
  const h = hover.value;
  if (!h) return null;
  const i = h.span;
  const flip = h.x > innerWidth - 420;
  const mem = memoryOf(main, spans, i);
  const shapes = argsOf(spans, i).slice(0, 3);
  const cause = spans.cause[i] - 1;
  const chain = chainOf(spans, cause < 0 ? i : cause);
  return (
    <div class="tip" style={{ left: flip ? 'auto' : `${h.x + 14}px`, right: flip ? `${innerWidth - h.x + 14}px` : 'auto', top: `${Math.min(h.y + 14, innerHeight - 210)}px` }}>
      <b>{title(spans, i)}</b>
      <span>{kind(spans, i)} · {spans.tracks[placeOf(spans, i).track]?.name}</span>
      <span>{ns(spans.t1[i] - spans.t0[i])}, of it {ns(notesOf(spans).self[i])} its own</span>
      <span>from {exact(spans.t0[i])} to {exact(spans.t1[i])}</span>
      {mem && <span>memory {change(mem)}</span>}
      {shapes.map(([k, v]) => <span key={k} class="cut">{k}: {v}</span>)}
      {cause >= 0 && <span>started by {title(spans, cause)}, {ns(spans.t0[i] - spans.t0[cause])} before</span>}
      {chain.length > 0 && <span class="soft">in {chain.slice(-4).map((k) => title(spans, k)).join(' › ')}</span>}
    </div>
  );
}

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** What the flags of a span say. */
export const notes: [number, string][] = [
  [1, 'It had not ended when the recording did.'],
  [2, 'Its beginning was lost: it starts where something inside it was first seen.'],
  [4, 'It ended because what is around it did.'],
];

function Crumbs({ spans, what, chain, pick }: { spans: Spans; what: string; chain: number[]; pick: (k: number) => void }) {
  if (!chain.length) return null;
  return (
    <div class="path">
      <span class="soft">{what}</span>
      <ol class="crumbs" aria-label={`${what}, outermost first`}>
        {chain.map((k) => (
          <li key={k}><button title={title(spans, k)} onClick={() => pick(k)}>{title(spans, k)}</button></li>
        ))}
      </ol>
    </div>
  );
}

/** Spans around it and, for device work, those around its launch. */
function Path({ spans, i, pick }: { spans: Spans; i: number; pick: (k: number) => void }) {
  const cause = spans.cause[i] - 1;
  return (
    <>
      <Crumbs spans={spans} what="Inside" chain={chainOf(spans, i)} pick={pick} />
      {cause >= 0 && <Crumbs spans={spans} what="Launched from" chain={[...chainOf(spans, cause), cause]} pick={pick} />}
    </>
  );
}

const LISTED = 12;

function Links({ spans, i, pick }: { spans: Spans; i: number; pick: (k: number) => void }) {
  const { links, all } = linksOf(spans, i);
  if (!all) return null;
  return (
    <div class="path">
      <span class="soft">Linked</span>
      <ul class="crumbs" aria-label="What it started and what started it">
        {links.slice(0, LISTED).map((l, k) => {
          const other = l.from === i ? l.to : l.from;
          const how = l.what === 'launch' ? (l.from === i ? 'starts' : 'started by') : l.what === 'fwdbwd' ? (l.from === i ? 'its backward' : 'its forward') : l.what;
          return (
            <li key={k}>
              <button title={title(spans, other)} onClick={() => pick(other)}>
                {l.from === i ? '→' : '←'} {how} {title(spans, other)} <small>{ns(Math.abs(spans.t0[l.to] - spans.t0[l.from]))} {l.from === i ? 'later' : 'before'}</small>
              </button>
            </li>
          );
        })}
        {all > LISTED && <li class="soft">and {count(all - LISTED)} more</li>}
      </ul>
    </div>
  );
}

/** To the frame of a span: below its lane and what is around it or, for device work, below what launched it. */
export const InFlame = ({ lane, path, gpu }: { lane: string; path: string[]; gpu: boolean }) =>
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

/** Names from the outermost on: what it ran in, or what launched it, and itself. */
export function framePath(s: Spans, i: number, gpu: boolean): string[] {
  const cause = gpu ? s.cause[i] - 1 : -1;
  return (cause < 0 ? [...chainOf(s, i), i] : [...chainOf(s, cause), cause, i]).map((k) => s.names[s.name[k]]);
}

export function Details({ main, spans, pick }: { main: Main; spans: Spans; pick: (k: number) => void }) {
  const i = span.value;
  if (i === null || i >= spans.n) return <p class="soft hint">A click on a span tells its details, on an empty place it chooses a moment; shift and a drag sum up an area.</p>;
  const args = argsOf(spans, i);
  const n = notesOf(spans);
  const track = spans.tracks[placeOf(spans, i).track];
  const gpu = track.kind === 'stream';
  return (
    <section class="details" aria-label="The selected span">
      <h3>{title(spans, i)}</h3>
      <dl class="facts row">
        <Fact name="Type">{kind(spans, i)}</Fact>
        <Fact name="Lasts">{ns(spans.t1[i] - spans.t0[i])}</Fact>
        <Fact name="Self">{ns(n.self[i])}</Fact>
        <Fact name="Starts">{exact(spans.t0[i])}</Fact>
        <Fact name="Ends">{exact(spans.t1[i])}</Fact>
        <Fact name="Where">{spans.tracks[placeOf(spans, i).track]?.name}</Fact>
        {main.allocs > 0 && <Fact name="Memory">{change(memoryOf(main, spans, i))}</Fact>}
      </dl>
      {args.length > 0 && (
        <dl class="facts row">
          {args.map(([k, v]) => <Fact key={k} name={k}><code>{v}</code></Fact>)}
        </dl>
      )}
      {spans.argsLeftOut > 0 && !args.length && <p class="soft">Arguments of {count(spans.argsLeftOut)} spans did not fit into this page.</p>}
      {notes.map(([bit, text]) => (spans.flags[i] & bit ? <p key={bit} class="soft">{text}</p> : null))}
      <Path spans={spans} i={i} pick={pick} />
      <Links spans={spans} i={i} pick={pick} />
      <p class="actions">
        <button onClick={() => pick(i)}>Focus ( f )</button>
        <button onClick={() => (query.value = title(spans, i))}>Find all of this name</button>
        <InFlame lane={track.name} gpu={gpu} path={framePath(spans, i, gpu)} />
        {views.value.includes('memory') && (
          <button
            onClick={() => {
              moment.value = spans.t0[i];
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
