// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page: header, minimap, tabs, one view, help.
import { Component, type ComponentChildren, render } from 'preact';
import { useEffect } from 'preact/hooks';
import { signal } from './signals';
import { getMain, getPage, type Main, type PageJson } from './data/page';
import { setTrace } from './data/section';
import { change, help, keep, start, theme, view, views } from './state';
import { Minimap } from './ui/minimap';
import { typing } from './ui/travel';
import { registry, viewsOf } from './views/registry';

const keys: [string, string][] = [
  ['1 … 8', 'the views, from left to right'],
  ['W S', 'zoom in, zoom out (also the wheel)'],
  ['A D ← →', 'earlier, later (also drag)'],
  ['shift + wheel', 'scroll the lanes'],
  ['0', 'the whole trace'],
  ['/', 'search spans'],
  ['n N', 'next and previous match'],
  ['f', 'focus the selected span (also a double click)'],
  ['p', 'the moment of the peak (memory view)'],
  ['Esc', 'drop the selection'],
  ['?', 'this help'],
];

function Help() {
  if (!help.value) return null;
  return (
    <div class="shade" onClick={() => (help.value = false)}>
      <div class="help" role="dialog" aria-label="Keys">
        <h2>Keys</h2>
        <dl>
          {keys.map(([k, what]) => (
            <div key={k}>
              <dt><kbd>{k}</kbd></dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p class="soft">The address of the page keeps what you look at: copy it to share the same view of this file.</p>
      </div>
    </div>
  );
}

class Guard extends Component<{ children: ComponentChildren }, { error?: Error }> {
  componentDidCatch(error: Error) {
    this.setState({ error });
  }
  render() {
    return this.state.error ? <p class="loading error">This part of the page could not be shown: {this.state.error.message}</p> : this.props.children;
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

/** Which rank, or which of two runs, the views of one trace show. */
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

function App({ page }: { page: PageJson | null }) {
  const main = shown.value!;
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key === '?') help.value = !help.value;
      else if (e.key === 'Escape') help.value = false;
      else if (e.key >= '1' && e.key <= '9') view.value = views.value[Number(e.key) - 1] ?? view.value;
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const rows = viewsOf(main);
  const row = rows.find((r) => r.key === view.value) ?? rows[0];
  const dark = theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <>
      <header class="top">
        <h1>tidemark</h1>
        {page ? <Traces page={page} /> : <span class="file" title={main.file}>{main.file}</span>}
        {rows.length > 1 ? (
          <nav aria-label="Views">
            {rows.map((r) => (
              <button key={r.key} aria-current={r === row ? 'page' : undefined} onClick={() => (view.value = r.key)}>
                {r.title}
              </button>
            ))}
          </nav>
        ) : (
          <b>{row.title}</b>
        )}
        <span class="grow" />
        <button aria-label="Light or dark" title="Light or dark" onClick={() => (theme.value = dark ? 'light' : 'dark')}>◐</button>
        <button aria-label="Keys" title="Keys ( ? )" onClick={() => (help.value = true)}>?</button>
      </header>
      {row.timed && <Minimap key={trace.value} main={main} />}
      <main key={`${theme.value} ${trace.value}`}>
        {page && page.notes.length > 0 && <section class="losses" role="note"><ul>{page.notes.map((n) => <li key={n}>{n}</li>)}</ul></section>}
        <Guard key={row.key}>{row.show(main)}</Guard>
      </main>
      <Help />
    </>
  );
}

async function run(): Promise<void> {
  const app = document.getElementById('app')!;
  // What the address asks for unpacks beside the first section, not after it.
  const hash = new URLSearchParams(location.hash.slice(1));
  const asked = hash.get('view');
  try {
    const page = await getPage();
    const k = Number(hash.get('trace')) || 0;
    if (page?.traces[k]?.detail) setTrace(k);
    void registry.find((r) => r.key === asked)?.early?.().catch(() => {});
    const main = await getMain();
    document.title = `${page ? page.traces.map((t) => t.file).slice(0, 2).join(page.kind === 'diff' ? ' → ' : ', ') : main.file} · Tidemark`;
    shown.value = main;
    start(main.t_end, viewsOf(main).map((r) => r.key));
    app.textContent = '';
    render(<App page={page} />, app);
  } catch (e) {
    app.textContent = `This page could not be read: ${(e as Error).message}`;
  }
}
void run();
