// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A window of the timeline in pieces of at least a pixel, computed in C (src/analyze/timeline/level_of_detail.c). They are drawn
// like spans, because the pieces of a row are disjoint and ordered, too.
import { open, gunzip, type Section } from './section';
import { readRows, type Spans, type SpansJson } from './spans';

export interface PiecesJson extends Pick<SpansJson, 'names' | 'cats' | 'cut'> {
  from: number;
  to: number;
  px: number;
  spans: number; // in the whole recording
  tracks: (SpansJson['tracks'][number] & { spans: number })[];
}

export interface Pieces extends Spans {
  from: number;
  to: number;
  px: number;
  spans: number;
  number: Int32Array; // of the longest span of each piece, as the whole timeline numbers spans
  count: Float64Array; // spans in each
  busy: Float64Array; // ns: their lengths added up
}

export function readPieces(s: Section<PiecesJson>): Pieces {
  const { from, to, px, spans, tracks } = s.json;
  const rows = readRows(s, tracks, from);
  const none = new Int32Array(rows.n);
  const zero = new Float64Array(rows.n);
  return {
    ...rows,
    tracks: rows.tracks.map((t, i) => ({ ...t, count: tracks[i].spans })),
    from,
    to,
    px,
    spans,
    number: s.ints('place'),
    count: s.column('count'),
    busy: s.column('busy'),
    cause: none,
    up: none,
    args: none,
    allocated: zero,
    freed: zero,
    flags: new Uint8Array(rows.n),
    flows: { from: none.subarray(0, 0), to: none.subarray(0, 0), kind: new Uint8Array(0) },
    flowKinds: [],
    argTexts: [''],
    argsLeftOut: 0,
  };
}

export const openPieces = async (packed: Uint8Array<ArrayBuffer>): Promise<Pieces> => readPieces(open<PiecesJson>(await gunzip(packed)));

/** Pieces by window: requests more than is visible, so that small steps need no request, and never two windows at once. */
export class Provider {
  private have: Pieces | undefined;
  private asking = false;
  private wanted: [number, number, number] | undefined;

  constructor(
    private readonly read: (from: number, to: number, px: number) => Promise<Pieces>,
    private readonly end: number,
    private readonly changed: (p: Pieces) => void,
  ) {}

  /** Returns the pieces for [from, to) on px pixels; coarser ones until the right ones have arrived. */
  visible(from: number, to: number, px: number): Pieces | undefined {
    const h = this.have;
    const fine = h && h.from <= Math.max(0, from) && h.to >= Math.min(this.end, to) && (h.to - h.from) / h.px <= ((to - from) / px) * 1.5;
    if (!fine) this.want(from, to, px);
    return h;
  }

  private want(from: number, to: number, px: number): void {
    this.wanted = [from, to, px];
    if (!this.asking) void this.next();
  }

  private async next(): Promise<void> {
    this.asking = true;
    while (this.wanted) {
      const [from, to, px] = this.wanted;
      this.wanted = undefined;
      const pad = (to - from) / 2; // half a window on each side
      const a = Math.max(0, Math.floor(from - pad));
      const b = Math.max(a + 1, Math.min(this.end, Math.ceil(to + pad)));
      try {
        this.have = await this.read(a, b, Math.min(8192, Math.max(1, Math.ceil((px * (b - a)) / (to - from)))));
        this.changed(this.have);
      } catch {
        break; // the server does not answer: keep the pieces, the next step asks again
      }
    }
    this.asking = false;
  }
}
