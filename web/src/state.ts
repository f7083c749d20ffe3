// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The state of the page: the view, the window of time, the selected moment and span. The URL's hash
// keeps it, so that a link to the file shows the same.
import { computed, effect, type Signal, signal } from '@preact/signals';

export type View = string; // key of a row of views/registry.tsx

export const view = signal<View>('overview');
/** Keys of the views that this page has. */
export const views = signal<readonly View[]>([]);
export const range = signal<[number, number]>([0, 1]);
export const moment = signal<number | null>(null);
export const span = signal<number | null>(null); // number of a span
export const alloc = signal<number | null>(null); // number of an allocation
export const query = signal('');
/** Times that the strip of the whole trace marks: matches of the search; null = none. */
export const marked = signal<Float64Array | null>(null);
export const help = signal(false);
export const theme = signal<'auto' | 'light' | 'dark'>('auto');

const kept = new Map<string, Signal<string>>();
/** A choice of a view that the hash keeps under `key`; '' = not made. Created when modules load. */
export function keep(key: string): Signal<string> {
  const s = kept.get(key) ?? signal('');
  kept.set(key, s);
  return s;
}

/** The chosen stack or path of ops: its names from the outermost on, a line each; '' = none. */
export const under = keep('under');

/** Path of names that the flame graph marks when it is shown next. */
export const frame = signal<string[] | null>(null);

/** Shows a view, if this page has it. */
export function go(v: View): void {
  if (views.value.includes(v)) view.value = v;
}

let end = 1;

/** Shows [t0, t1), limited to the trace and at least a nanosecond wide. */
export function look(t0: number, t1: number): void {
  const width = Math.min(Math.max(t1 - t0, Math.min(10, end)), end);
  const from = Math.min(Math.max(0, t0), end - width);
  range.value = [from, from + width];
}

export const lookAll = (): void => look(0, end);

/** Zooms by `factor` about time t. */
export function zoom(factor: number, t: number): void {
  const [a, b] = range.value;
  look(t - (t - a) * factor, t + (b - t) * factor);
}

export function lookAround(t0: number, t1: number): void {
  const pad = Math.max((t1 - t0) * 0.3, 5);
  look(t0 - pad, t1 + pad);
}

function read(): void {
  const p = new URLSearchParams(location.hash.slice(1));
  const v = p.get('view') ?? '';
  const num = (key: string): number | null => {
    const x = Number(p.get(key));
    return p.has(key) && Number.isFinite(x) ? x : null;
  };
  go(v);
  const [t0, t1] = [num('t0'), num('t1')];
  if (t0 !== null && t1 !== null && t1 > t0) look(t0, t1);
  moment.value = num('at');
  span.value = num('span');
  alloc.value = num('alloc');
  query.value = p.get('q') ?? '';
  for (const [key, s] of kept) s.value = p.get(key) ?? '';
}

function write(): void {
  const p = new URLSearchParams({ view: view.value });
  const [a, b] = range.value;
  if (a > 0 || b < end) {
    p.set('t0', String(Math.round(a)));
    p.set('t1', String(Math.round(b)));
  }
  if (moment.value !== null) p.set('at', String(Math.round(moment.value)));
  if (span.value !== null) p.set('span', String(span.value));
  if (alloc.value !== null) p.set('alloc', String(alloc.value));
  if (query.value) p.set('q', query.value);
  for (const [key, s] of kept) if (s.value) p.set(key, s.value);
  const hash = `#${p}`;
  if (hash === location.hash) return;
  // A change of the view is a step that the browser's Back undoes; within a view only the address is updated.
  const was = new URLSearchParams(location.hash.slice(1)).get('view');
  history[was && was !== view.value ? 'pushState' : 'replaceState'](null, '', hash);
}

/** Returns a text from the browser's storage, which the browser may refuse, especially for files. */
export function keptText(key: string): string | null {
  try {
    return localStorage.getItem(`tidemark-${key}`);
  } catch {
    return null;
  }
}
export function keepText(key: string, text: string): void {
  try {
    localStorage.setItem(`tidemark-${key}`, text);
  } catch {}
}

const system = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : undefined;
const night = signal(!!system?.matches);
system?.addEventListener('change', () => (night.value = system.matches));
/** true for dark colours: the user's choice, else the system's. */
export const dark = computed(() => (theme.value === 'auto' ? night.value : theme.value === 'dark'));

export function keepTheme(): void {
  const was = keptText('theme');
  if (was === 'light' || was === 'dark') theme.value = was;
  effect(() => {
    document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
    if (theme.value !== 'auto') keepText('theme', theme.value);
  });
}

/** Shows the k-th trace of a page with several; the page sets it. */
export const traceShown: { show: (k: number) => Promise<void> } = { show: () => Promise.resolve() };

/** Selects another trace of the page: sets its length and views, and drops the selection of the previous one. */
export function change(tEnd: number, keys: readonly View[]): void {
  end = Math.max(1, tEnd);
  views.value = keys;
  if (!keys.includes(view.value)) view.value = keys[0];
  moment.value = span.value = alloc.value = null;
  under.value = '';
  lookAll();
}

/** Extends the trace to time t. A window that showed all of it, or its end, still does. */
export function extend(t: number): void {
  const [a, b] = range.value;
  const was = end;
  end = Math.max(1, t);
  if (b >= was) look(a ? end - (b - a) : 0, end);
}

export function start(tEnd: number, keys: readonly View[]): void {
  end = Math.max(1, tEnd);
  views.value = keys;
  view.value = keys[0];
  lookAll();
  read();
  let pending = 0;
  effect(() => {
    void [view.value, range.value, moment.value, span.value, alloc.value, query.value];
    for (const s of kept.values()) void s.value;
    clearTimeout(pending);
    pending = window.setTimeout(write, 150);
  });
  addEventListener('hashchange', read);
  keepTheme();
}
