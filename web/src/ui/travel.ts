// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Moving in time with the pointer and the keyboard, the same in every view that has an axis.
import { look, lookAll, range, zoom } from '../state';

/** Wheel: zoom about the pointer; with shift, or a sideways wheel: pan. `left` = pixels before the axis. */
export const wheelTime = (left: number, scroll?: (dy: number) => void) => (e: WheelEvent) => {
  e.preventDefault();
  const el = e.currentTarget as HTMLElement;
  const width = Math.max(1, el.clientWidth - left);
  const [t0, t1] = range.value;
  const x = Math.max(0, e.clientX - el.getBoundingClientRect().left - left);
  const perPixel = (t1 - t0) / width;
  if (e.shiftKey && scroll) scroll(e.deltaY || e.deltaX);
  else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) look(t0 + e.deltaX * perPixel, t1 + e.deltaX * perPixel);
  else zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), t0 + x * perPixel);
};

/** Drag to pan; a press without a drag is a click. */
export function dragTime(left: number, click: (x: number, y: number) => void, scroll?: (dy: number) => void) {
  return (e: PointerEvent) => {
    const el = e.currentTarget as HTMLElement;
    const box = el.getBoundingClientRect();
    const [t0, t1] = range.value;
    const perPixel = (t1 - t0) / Math.max(1, el.clientWidth - left);
    let moved = false;
    let lastY = e.clientY;
    el.setPointerCapture(e.pointerId);
    const move = (ev: PointerEvent) => {
      const dx = e.clientX - ev.clientX;
      if (Math.abs(dx) > 3 || Math.abs(ev.clientY - e.clientY) > 3) moved = true;
      if (!moved) return;
      look(t0 + dx * perPixel, t1 + dx * perPixel);
      scroll?.(lastY - ev.clientY);
      lastY = ev.clientY;
    };
    const up = (ev: PointerEvent) => {
      el.removeEventListener('pointermove', move);
      if (!moved) click(ev.clientX - box.left, ev.clientY - box.top);
    };
    el.addEventListener('pointermove', move);
    el.addEventListener('pointerup', up, { once: true });
  };
}

/** W S A D and the arrows, 0 for everything. True when the key was one of them. */
export function keyTime(e: KeyboardEvent): boolean {
  const [t0, t1] = range.value;
  const mid = (t0 + t1) / 2;
  const step = (t1 - t0) * 0.15;
  const act: Record<string, () => void> = {
    w: () => zoom(0.7, mid),
    s: () => zoom(1 / 0.7, mid),
    a: () => look(t0 - step, t1 - step),
    d: () => look(t0 + step, t1 + step),
    arrowleft: () => look(t0 - step, t1 - step),
    arrowright: () => look(t0 + step, t1 + step),
    '0': lookAll,
  };
  const run = act[e.key.toLowerCase()];
  run?.();
  return !!run;
}

export const typing = (e: KeyboardEvent): boolean =>
  e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test((e.target as HTMLElement)?.tagName ?? '');
