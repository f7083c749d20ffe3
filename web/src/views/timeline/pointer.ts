// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Actions of a press on the timeline: selecting an area, moving or folding a lane by its name, or panning; for loaded spans and
// for pieces.
import { keep } from '../../state';
import { type Signal, signal } from '@preact/signals';
import { follow, inside } from '../../ui/travel';
import { type Arrangement, arrange, flipClosed, type Lane, laneAt, moveTrack } from './lanes';
import type { Area } from './draw';

export const selecting = signal(false); // a drag chooses an area
export const keptArea = keep('area'); // "t0-t1-track.track"

export function readArea(text: string, tracks: number): Area | null {
  const [a, b, list] = text.split('-');
  const [t0, t1] = [Number(a), Number(b)];
  const rows = (list ?? '').split('.').map(Number).filter((k) => Number.isInteger(k) && k >= 0 && k < tracks);
  return text && rows.length && t1 > t0 ? { t0, t1, tracks: rows } : null;
}
export const writeArea = (a: Area | null): void => {
  keptArea.value = a ? `${Math.round(a.t0)}-${Math.round(a.t1)}-${a.tracks.join('.')}` : '';
};

export interface Ground {
  left: number; // where names end
  base: number; // where lanes begin
  lanes: readonly Lane[];
  arranged: Arrangement;
  end: number; // of the trace
  timeAt: (x: number) => { t: number };
  scroll: Signal<number>;
  pan: (e: PointerEvent) => void;
}

export function presses({ left, base, lanes, arranged, end, timeAt, scroll, pan }: Ground): (e: PointerEvent) => void {
  const dragArea = (e: PointerEvent, x0: number, y0: number) => {
    const from = timeAt(x0).t;
    writeArea(null);
    follow(e, (x, y) => {
      const to = timeAt(Math.max(left, x)).t;
      const [a, b] = [Math.min(y0, y), Math.max(y0, y)].map((v) => v - base + scroll.value);
      const tracks = lanes.filter((l) => l.y < b && l.y + l.height > a).map((l) => l.track);
      writeArea({ t0: Math.max(0, Math.min(from, to)), t1: Math.min(end, Math.max(from, to)), tracks });
    });
  };
  const dragLane = (e: PointerEvent, y0: number) => {
    const track = laneAt(lanes, y0 - base + scroll.value)?.track;
    if (track === undefined) return;
    follow(e, () => {}, (_, y) => {
      const to = laneAt(lanes, y - base + scroll.value)?.track;
      if (to === track) arrange(flipClosed(arranged, track));
      else if (to !== undefined) arrange(moveTrack(arranged, track, to));
    });
  };
  return (e: PointerEvent) => {
    const [x, y] = inside(e);
    if (x < left && y >= base) dragLane(e, y);
    else if (e.shiftKey || selecting.value) dragArea(e, x, y);
    else pan(e);
  };
}
