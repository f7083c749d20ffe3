// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page: header, minimap, tabs, one view, help.
import { Component, type ComponentChildren, render } from 'preact';
import { useEffect } from 'preact/hooks';
import { getMain, type Main } from './data/page';
import { help, start, theme, view, views } from './state';
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

function App({ main }: { main: Main }) {
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
        <span class="file" title={main.file}>{main.file}</span>
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
      {row.timed && <Minimap main={main} />}
      <main key={theme.value}>
        <Guard key={row.key}>{row.show(main)}</Guard>
      </main>
      <Help />
    </>
  );
}

async function run(): Promise<void> {
  const app = document.getElementById('app')!;
  // What the address asks for unpacks beside the first section, not after it.
  const asked = new URLSearchParams(location.hash.slice(1)).get('view');
  void registry.find((r) => r.key === asked)?.early?.().catch(() => {});
  try {
    const main = await getMain();
    document.title = `${main.file} · Tidemark`;
    start(main.t_end, viewsOf(main).map((r) => r.key));
    app.textContent = '';
    render(<App main={main} />, app);
  } catch (e) {
    app.textContent = `This page could not be read: ${(e as Error).message}`;
  }
}
void run();
