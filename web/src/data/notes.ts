// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Details of a span: enclosing spans, self time and memory, links; and sums by name over any part of the picture.
// Definitions: docs/analyses/timeline.md.
import { after, type Spans } from './spans';

export interface Notes {
  parent: Int32Array; // -1 = none
  self: Float64Array; // ns: its time minus that of the spans directly inside it
  allocated: Float64Array; // bytes, including nested spans
  freed: Float64Array;
}

/** Finds the span around each: the last one of the row above that starts no later, unless `up` overrides it. */
export function parents(s: Pick<Spans, 'n' | 't0' | 'up' | 'tracks'>): Int32Array {
  const out = new Int32Array(s.n).fill(-1);
  for (const t of s.tracks)
    for (let k = 1; k < t.rows.length; k++) {
      const above = t.rows[k - 1];
      let j = above.first;
      for (let i = t.rows[k].first; i < t.rows[k].end; i++) {
        while (j + 1 < above.end && s.t0[j + 1] <= s.t0[i]) j++;
        out[i] = j;
      }
    }
  for (let i = 0; i < s.n; i++) if (s.up[i]) out[i] = s.up[i] - 2;
  return out;
}

/** Orders spans from the innermost to the outermost: a span comes before the one that contains it. */
function inwardsFirst(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length).fill(-1);
  let deepest = 0;
  const way: number[] = [];
  for (let i = 0; i < parent.length; i++) {
    let at = i;
    while (at >= 0 && depth[at] < 0) {
      way.push(at);
      at = parent[at];
    }
    let d = at < 0 ? -1 : depth[at];
    while (way.length) depth[way.pop()!] = ++d;
    if (depth[i] > deepest) deepest = depth[i];
  }
  const place = new Int32Array(deepest + 2);
  for (let i = 0; i < depth.length; i++) place[deepest - depth[i] + 1]++;
  for (let d = 0; d <= deepest; d++) place[d + 1] += place[d];
  const out = new Int32Array(parent.length);
  for (let i = 0; i < depth.length; i++) out[place[deepest - depth[i]]++] = i;
  return out;
}

export function makeNotes(s: Spans): Notes {
  const parent = parents(s);
  const self = new Float64Array(s.n);
  for (let i = 0; i < s.n; i++) self[i] = s.t1[i] - s.t0[i];
  // Children that overlap each other count once.
  const covered = new Float64Array(s.n).fill(-Infinity);
  const children = Array.from({ length: s.n }, (_, i) => i).filter((i) => parent[i] >= 0);
  for (const i of children.sort((a, b) => s.t0[a] - s.t0[b])) {
    const p = parent[i];
    const end = Math.min(s.t1[i], s.t1[p]);
    self[p] -= Math.max(0, end - Math.max(s.t0[i], s.t0[p], covered[p]));
    covered[p] = Math.max(covered[p], end);
  }
  const allocated = s.allocated.slice();
  const freed = s.freed.slice();
  for (const i of inwardsFirst(parent)) {
    const p = parent[i];
    if (p < 0) continue;
    allocated[p] += allocated[i];
    freed[p] += freed[i];
  }
  return { parent, self, allocated, freed };
}

const kept = new WeakMap<Spans, Notes>();
export function notesOf(s: Spans): Notes {
  let n = kept.get(s);
  if (!n) kept.set(s, (n = makeNotes(s)));
  return n;
}

/** Returns the enclosing spans, outermost first. */
export function chainOf(s: Spans, i: number, most = 200): number[] {
  const { parent } = notesOf(s);
  const out: number[] = [];
  for (let at = parent[i]; at >= 0 && out.length < most; at = parent[at]) out.push(at);
  return out.reverse();
}

export interface Link {
  from: number;
  to: number;
  what: string; // launch, fwdbwd, wait ...
}

/** Returns the spans that a span started or that started it, at most `most`; `all` is their number. */
export function linksOf(s: Spans, i: number, most = 200): { links: Link[]; all: number } {
  const links: Link[] = [];
  let all = 0;
  const add = (l: Link) => {
    if (all++ < most) links.push(l);
  };
  if (s.cause[i]) add({ from: s.cause[i] - 1, to: i, what: 'launch' });
  const { cause } = s;
  for (let k = 0; k < s.n; k++) if (cause[k] === i + 1) add({ from: i, to: k, what: 'launch' });
  const { from, to, kind } = s.flows;
  for (let k = 0; k < from.length; k++)
    if (from[k] && to[k] && (from[k] === i + 1 || to[k] === i + 1)) add({ from: from[k] - 1, to: to[k] - 1, what: s.flowKinds[kind[k]] });
  return { links, all };
}

/** Returns the arguments as pairs. */
export const argsOf = (s: Spans, i: number): [string, string][] =>
  s.args[i] ? s.argTexts[s.args[i]].split('\n').map((l) => [l.slice(0, l.indexOf('\t')), l.slice(l.indexOf('\t') + 1)]) : [];

export interface Sum {
  name: string;
  cat: string;
  n: number;
  total: number; // ns inside the window, nested ones of the same name again
  self: number; // ns inside the window, minus spans directly inside; adds up to the covered time
  longest: number;
  at: number; // the longest
}

/** Sums up [t0, t1) of these tracks by name and type, largest self time first. */
export function sums(s: Spans, t0: number, t1: number, tracks: Iterable<number>): Sum[] {
  const { parent } = notesOf(s);
  const by = new Map<number, Sum>();
  const chosen = new Set(tracks);
  const inside = new Uint8Array(s.tracks.length);
  for (const t of chosen) inside[t] = 1;
  const firsts = s.tracks.map((t) => t.rows[0]?.first ?? 0);
  const shown = (i: number) => {
    let lo = 0;
    for (let hi = firsts.length; lo + 1 < hi; ) {
      const mid = (lo + hi) >> 1;
      if (firsts[mid] <= i) lo = mid;
      else hi = mid;
    }
    return inside[lo] === 1;
  };
  const whole = chosen.size === s.tracks.length;
  const rowOf = (i: number): Sum => {
    const key = s.name[i] * 32 + s.cat[i];
    let x = by.get(key);
    if (!x) by.set(key, (x = { name: s.names[s.name[i]] || '(unnamed)', cat: s.cats[s.cat[i]], n: 0, total: 0, self: 0, longest: -1, at: i }));
    return x;
  };
  for (const t of chosen)
    for (const row of s.tracks[t].rows)
      for (let i = after(s.t1, row.first, row.end, t0); i < row.end && s.t0[i] < t1; i++) {
        const d = Math.min(s.t1[i], t1) - Math.max(s.t0[i], t0);
        const x = rowOf(i);
        x.n++;
        x.total += d;
        x.self += d;
        if (d > x.longest) {
          x.longest = d;
          x.at = i;
        }
        const p = parent[i];
        if (p >= 0 && (whole || shown(p))) rowOf(p).self -= d;
      }
  for (const x of by.values()) x.self = Math.max(x.self, 0); // spans inside one overlap each other
  return [...by.values()].filter((x) => x.n).sort((a, b) => b.self - a.self);
}
