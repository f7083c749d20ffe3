// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A canvas that fills its parent and is drawn again whenever a signal that it reads changes.
import { effect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Surface {
  ctx: CanvasRenderingContext2D;
  width: number; // in CSS pixels
  height: number;
}

interface Props extends Omit<JSX.HTMLAttributes<HTMLCanvasElement>, 'ref'> {
  draw: (s: Surface) => void; // may read signals
  height?: number; // else the parent's
  label: string;
  onWheelTime?: (e: WheelEvent) => void;
}

export function Canvas({ draw, height, label, onWheelTime, ...rest }: Props) {
  const ref = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    const canvas = ref.current!;
    const parent = canvas.parentElement!;
    const ctx = canvas.getContext('2d', { alpha: false })!;
    let frame = 0;
    let dirty = false;
    let stop = () => {};
    const paint = () => {
      dirty = false;
      if (!parent.clientWidth) return; // not laid out: its size will change
      const width = Math.max(1, Math.floor(parent.clientWidth));
      const high = Math.max(1, Math.floor(height ?? parent.clientHeight));
      // Makes text sharp if a page pixel is several screen pixels; views use page pixels.
      const fine = Math.min(4, window.devicePixelRatio || 1);
      const [w, h] = [Math.round(width * fine), Math.round(high * fine)];
      if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${high}px`;
      }
      ctx.setTransform(fine, 0, 0, fine, 0, 0);
      stop();
      let first = true;
      stop = effect(() => {
        if (first) {
          first = false;
          latest.current({ ctx, width, height: high });
        } else {
          dirty = true;
          queueMicrotask(request);
        }
      });
      frame = requestAnimationFrame(next);
    };
    // One frame is always requested after a picture, so that a window that moves at every frame is drawn at every frame, not at
    // every second one.
    const next = () => {
      frame = 0;
      if (dirty) paint();
    };
    const request = () => {
      dirty = true;
      if (!frame) frame = requestAnimationFrame(next);
    };
    again.current = request;
    const watch = new ResizeObserver(request);
    watch.observe(parent);
    const print = matchMedia('print'); // at once, in the colours for printing: no frame will follow
    print.addEventListener('change', paint);
    paint();
    return () => {
      stop();
      cancelAnimationFrame(frame);
      watch.disconnect();
      print.removeEventListener('change', paint);
    };
  }, [height]);
  useEffect(() => again.current());
  useEffect(() => {
    const canvas = ref.current!;
    if (!onWheelTime) return;
    canvas.addEventListener('wheel', onWheelTime, { passive: false });
    return () => canvas.removeEventListener('wheel', onWheelTime);
  }, [onWheelTime]);
  return <canvas ref={ref} role="img" aria-label={label} tabIndex={0} {...rest} />;
}
