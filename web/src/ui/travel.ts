// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Moves in time with the pointer and the keyboard, in the same way in every view with a time axis.
import { useEffect } from 'preact/hooks';
import { help, look, lookAll, range } from '../state';

/** Returns the position of the pointer in its element. */
export function inside(e: { currentTarget: EventTarget | null; clientX: number; clientY: number }): [x: number, y: number] {
  const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
}

/** Follows the pointer until it is released; a pointer that a touch screen takes over (to scroll) is ignored. */
export function follow(e: PointerEvent, move: (x: number, y: number) => void, up?: (x: number, y: number) => void): void {
  const el = e.currentTarget as HTMLElement;
  const on = (ev: PointerEvent) => (ev.type === 'pointerup' ? up : move)?.(...inside(ev));
  const names = ['pointermove', 'pointerup'] as const;
  el.setPointerCapture(e.pointerId);
  for (const n of names) el.addEventListener(n, on);
  el.addEventListener('lostpointercapture', () => names.forEach((n) => el.removeEventListener(n, on)), { once: true });
}

/** Handles keys, unless the focus is in a text field. */
export function useKeys(press: (e: KeyboardEvent) => void): void {
  useEffect(() => {
    const key = (e: KeyboardEvent) => help.value || typing(e) || press(e);
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
}

/** An axis whose unit is not time: converts a time to a position and back. */
export interface Scale {
  at: (t: number) => number;
  time: (u: number) => number;
}
const same = (v: number): number => v;
const linear: Scale = { at: same, time: same };
const lookOn = (s: Scale, u0: number, u1: number): void => look(s.time(u0), s.time(u1));

/** Zooms by `factor` about position u. */
function zoomOn(s: Scale, factor: number, u: number): void {
  const [u0, u1] = range.value.map(s.at);
  lookOn(s, u - (u - u0) * factor, u + (u1 - u) * factor);
}

/** Wheel: zoom about the pointer; with shift, or a sideways wheel: pan. `left` = pixels before the axis. */
export const wheelTime = (left: number, scroll?: (dy: number) => void, scale = linear) => (e: WheelEvent) => {
  e.preventDefault();
  const el = e.currentTarget as HTMLElement;
  const width = Math.max(1, el.clientWidth - left);
  const [u0, u1] = range.value.map(scale.at);
  const x = Math.max(0, inside(e)[0] - left);
  const perPixel = (u1 - u0) / width;
  if (e.shiftKey && scroll) scroll(e.deltaY || e.deltaX);
  else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) lookOn(scale, u0 + e.deltaX * perPixel, u1 + e.deltaX * perPixel);
  else zoomOn(scale, Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), u0 + x * perPixel);
};

/** Drag to pan; a press without a drag is a click. */
export function dragTime(left: number, click: (x: number, y: number) => void, scroll?: (dy: number) => void, scale = linear) {
  return (e: PointerEvent) => {
    const [x0, y0] = inside(e);
    const [u0, u1] = range.value.map(scale.at);
    const perPixel = (u1 - u0) / Math.max(1, (e.currentTarget as HTMLElement).clientWidth - left);
    let moved = false;
    let last = y0;
    const move = (x: number, y: number) => {
      const by = (x0 - x) * perPixel;
      moved ||= Math.abs(x - x0) > 3 || Math.abs(y - y0) > 3;
      if (!moved) return;
      lookOn(scale, u0 + by, u1 + by);
      scroll?.(last - y);
      last = y;
    };
    follow(e, move, (x, y) => moved || click(x, y));
  };
}

/** Handles W S A D and the arrows, and 0 for the whole trace. Returns true if the key was one of them. */
export function keyTime(e: KeyboardEvent, scale = linear): boolean {
  const [u0, u1] = range.value.map(scale.at);
  const mid = (u0 + u1) / 2;
  const step = (u1 - u0) * 0.15;
  const pan = (by: number) => () => lookOn(scale, u0 + by, u1 + by);
  const act: Record<string, () => void> = {
    w: () => zoomOn(scale, 0.7, mid),
    s: () => zoomOn(scale, 1 / 0.7, mid),
    a: pan(-step),
    d: pan(step),
    arrowleft: pan(-step),
    arrowright: pan(step),
    '0': lookAll,
  };
  const run = act[e.key.toLowerCase()];
  run?.();
  return !!run;
}

export const typing = (e: KeyboardEvent): boolean =>
  e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test((e.target as HTMLElement)?.tagName ?? '');
