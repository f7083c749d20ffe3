// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page: header, minimap, tabs, one view, help.
import { Component, type ComponentChildren, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { signal } from '@preact/signals';
import { getMain, getPage, type Main, type PageJson } from './data/page';
import { setTrace } from './data/section';
import { served } from './data/source';
import { change, dark, help, keep, keepText, keptText, start, theme, traceShown, view, views } from './state';
import { Minimap } from './ui/minimap';
import { Facts } from './ui/parts';
import { typing } from './ui/travel';
import { registry, type ViewRow, viewsOf } from './views/registry';

const keys: [string, string][] = [
  ['1 … 9', 'the views, from left to right'],
  ['W S', 'zoom in, zoom out (also the wheel)'],
  ['A D', 'earlier, later (also drag)'],
  ['0', 'the whole trace'],
  ['shift + wheel', 'scroll the lanes (also page up or down)'],
  ['/  n  N', 'search (Escape leaves the box); next and previous match'],
  ['← → ↑ ↓', 'to the next span, frame, block or row; Enter selects'],
  ['f', 'focus the selected span (also a double click)'],
  ['shift + drag', 'sum up an area (also r, then drag)'],
  ['t', 'the visible spans as a table'],
  ['c', 'low rows, for deep stacks'],
  ['l', 'show, fold and move lanes (also click or drag their names)'],
  ['p', 'the moment of the peak (memory)'],
  [', .', 'the event before, the event after (memory)'],
  ['Esc', 'clear the selection'],
  ['?', 'this help'],
];

/** Opens the dialog as soon as it exists, so that no key press is lost. */
function openHelp(box: HTMLDialogElement | null) {
  if (box && !box.open) box.showModal();
}

/** Also closes one that was requested and is not shown yet. */
function closeHelp() {
  const box = document.querySelector<HTMLDialogElement>('dialog.help');
  if (box) box.close(); // restores the focus
  else help.value = false;
}

function Help({ rows }: { rows: readonly ViewRow[] }) {
  return (
    <dialog class="help" ref={openHelp} aria-label="Views and keys" onClose={() => (help.value = false)} onClick={(e) => e.target === e.currentTarget && closeHelp()}>
      <section>
        <header>
          <h2>Views and keys</h2>
          <button onClick={closeHelp}>Close</button>
        </header>
        <div>
          <Facts class="" rows={rows.map((r) => [<b>{r.title}</b>, r.about])} />
          <Facts class="" rows={keys.map(([k, what]) => [<kbd>{k}</kbd>, what])} />
        </div>
        <p class="soft">The address stores the view: copy it to share the view. Figures are defined in docs/analyses.</p>
      </section>
    </dialog>
  );
}

/** Describes the view, until the user closes it permanently. */
function About({ row }: { row: ViewRow }) {
  const [gone, set] = useState(() => keptText('about') === 'no');
  if (gone) return null;
  return (
    <p class="about">
      {row.about}
      <button
        aria-label="Hide explanations of views"
        title="Hide explanations of views"
        onClick={() => {
          keepText('about', 'no');
          set(true);
        }}
      >
        ✕
      </button>
    </p>
  );
}

/** Shows an error of a view; tries again when the recording has grown. */
class Guard extends Component<{ of: Main; children: ComponentChildren }, { error?: Error; of?: Main }> {
  componentDidCatch(error: Error) {
    this.setState({ error, of: this.props.of });
  }
  render() {
    return this.state.error && this.state.of === this.props.of ? <p class="loading error">This part of the page could not be shown: {this.state.error.message}</p> : this.props.children;
  }
}

const trace = keep('trace'); // of a page with several
const shown = signal<Main | null>(null);

async function showTrace(k: number): Promise<void> {
  setTrace(k);
  const main = await getMain();
  trace.value = k ? String(k) : '';
  change(main.t_end, viewsOf(main).map((r) => r.key));
  shown.value = main;
}

traceShown.show = showTrace;

/** Selects the rank, or one of two runs, for the views of one trace. */
function Traces({ page }: { page: PageJson }) {
  return (
    <select aria-label="Trace" value={trace.value || '0'} onChange={(e) => void showTrace(Number(e.currentTarget.value))}>
      {page.traces.map((t, k) => (
        <option key={k} value={String(k)} disabled={!t.detail}>
          {page.kind === 'diff' ? `${t.title}: ${t.file}` : t.title}
          {t.detail ? '' : ' (device time only)'}
        </option>
      ))}
    </select>
  );
}

/** Elements that a server adds to the head of the page and above its views. */
export const slot: Record<'head' | 'note', () => ComponentChildren> = { head: () => null, note: () => null };

function App({ page }: { page: PageJson | null }) {
  const main = shown.value!;
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (help.value) {
        if (e.key === '?') closeHelp();
        return; // the page behind it does not scroll
      }
      if (typing(e)) {
        if (e.key !== 'Escape') return;
        e.preventDefault(); // which would empty the box
        (e.target as HTMLElement).blur();
      } else if (e.key === '?') help.value = true;
      else if (e.key === '/') {
        e.preventDefault();
        document.querySelector<HTMLElement>('main input[type=search]')?.focus();
      }
      else if (e.key >= '1' && e.key <= '9') view.value = views.value[Number(e.key) - 1] ?? view.value;
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const rows = viewsOf(main);
  const row = rows.find((r) => r.key === view.value) ?? rows[0];
  return (
    <>
      <header class="top">
        <h1>tidemark</h1>
        {page ? <Traces page={page} /> : <span class="file" title={main.file}>{main.file}</span>}
        {rows.length > 1 ? (
          <nav aria-label="Views">
            {rows.map((r) => (
              <button key={r.key} title={r.about} aria-current={r === row ? 'page' : undefined} onClick={() => (view.value = r.key)}>
                {r.title}
              </button>
            ))}
          </nav>
        ) : (
          <b>{row.title}</b>
        )}
        <span class="grow" />
        {slot.head()}
        <button aria-label="Light or dark" title="Light or dark" onClick={() => (theme.value = dark.value ? 'light' : 'dark')}>◐</button>
        <button aria-label="Keys" title="Keys ( ? )" onClick={() => (help.value = true)}>?</button>
      </header>
      {row.timed && <Minimap key={`${dark.value} ${trace.value}`} main={main} />}
      <main key={`${dark.value} ${trace.value}`}>
        <About row={row} />
        {slot.note()}
        {page && page.notes.length > 0 && <section class="losses" role="note"><ul>{page.notes.map((n) => <li key={n}>{n}</li>)}</ul></section>}
        <Guard key={row.key} of={main}><row.show main={main} /></Guard>
      </main>
      {help.value && <Help rows={rows} />}
    </>
  );
}

/** Shows the current state of a recording that grows. */
export const show = (main: Main): void => void (shown.value = main);

export async function run(): Promise<void> {
  const app = document.getElementById('app')!;
  // The section of the view in the address is unpacked in parallel with the first section.
  const hash = new URLSearchParams(location.hash.slice(1));
  const asked = hash.get('view');
  try {
    const page = await getPage();
    const k = Number(hash.get('trace')) || 0;
    if (page?.traces[k]?.detail) setTrace(k);
    void registry.find((r) => r.key === asked)?.early?.().catch(() => {});
    const main = await getMain();
    document.title = main.only === 'gantt' ? viewsOf(main)[0].title : `${page ? page.traces.map((t) => t.file).slice(0, 2).join(page.kind === 'diff' ? ' → ' : ', ') : main.file} · Tidemark`;
    shown.value = main;
    start(main.t_end, viewsOf(main).map((r) => r.key));
    app.textContent = '';
    render(<App page={page} />, app);
  } catch (e) {
    app.textContent = `This page could not be read: ${(e as Error).message}`;
  }
}
if (!served) void run();
