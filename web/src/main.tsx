// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page: header, minimap, tabs, one view, help.
import { Component, type ComponentChildren, render } from 'preact';
import { useEffect } from 'preact/hooks';
import { getMain, getMemory, getSpans, type Main } from './data/page';
import { help, start, theme, type View, view, views } from './state';
import { Minimap } from './ui/minimap';
import { typing } from './ui/travel';
import { Flame } from './views/flame';
import { HtaView } from './views/hta';
import { MemoryView } from './views/memory';
import { Overview } from './views/overview';
import { Kernels, Ops, Phases } from './views/tables';
import { Timeline } from './views/timeline';

const titles: Record<View, string> = { overview: 'Overview', timeline: 'Timeline', memory: 'Memory', flame: 'Flame', ops: 'Ops', kernels: 'Kernels', phases: 'Phases', hta: 'Device time' };
const timed: ReadonlySet<View> = new Set<View>(['timeline', 'memory']);

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

function Body({ main }: { main: Main }) {
  const of: Record<View, () => ComponentChildren> = {
    overview: () => <Overview main={main} />,
    timeline: () => <Timeline main={main} />,
    memory: () => <MemoryView main={main} />,
    flame: () => <Flame />,
    ops: () => <Ops />,
    kernels: () => <Kernels />,
    phases: () => <Phases />,
    hta: () => <HtaView />,
  };
  return <Guard key={view.value}>{of[view.value]()}</Guard>;
}

function App({ main }: { main: Main }) {
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key === '?') help.value = !help.value;
      else if (e.key === 'Escape') help.value = false;
      else if (e.key >= '1' && e.key <= String(views.length)) view.value = views[Number(e.key) - 1];
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const dark = theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <>
      <header class="top">
        <h1>tidemark</h1>
        <span class="file" title={main.file}>{main.file}</span>
        <nav>
          {views.map((v) => (
            <button key={v} aria-current={v === view.value ? 'page' : undefined} onClick={() => (view.value = v)}>
              {titles[v]}
            </button>
          ))}
        </nav>
        <span class="grow" />
        <button aria-label="Light or dark" title="Light or dark" onClick={() => (theme.value = dark ? 'light' : 'dark')}>◐</button>
        <button aria-label="Keys" title="Keys ( ? )" onClick={() => (help.value = true)}>?</button>
      </header>
      {timed.has(view.value) && <Minimap main={main} />}
      <main key={`${theme.value}`}>
        <Body main={main} />
      </main>
      <Help />
    </>
  );
}

async function run(): Promise<void> {
  const app = document.getElementById('app')!;
  // What the address asks for unpacks beside the first section, not after it.
  if (location.hash.includes('view=timeline')) void getSpans().catch(() => {});
  if (location.hash.includes('view=memory')) void getMemory().catch(() => {});
  try {
    const main = await getMain();
    document.title = `${main.file} · Tidemark`;
    start(main.t_end);
    app.textContent = '';
    render(<App main={main} />, app);
  } catch (e) {
    app.textContent = `This page could not be read: ${(e as Error).message}`;
  }
}
void run();
