// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page as a server shows it: the list of recordings, and one of them with the views of every page. What it
// needs beyond those is here and not in pages of one file.
import { signal } from './signals';
import { render } from 'preact';
import { askJson, bytesOf, listen, type Recording, serverSource } from './data/live';
import { forget, getMain, getTables, type Main } from './data/page';
import { setSource } from './data/source';
import { run, show, slot } from './main';
import { openInPerfetto } from './perfetto';
import { dark, extend, keepTheme, theme } from './state';
import { FarTimeline } from './views/far';
import { Recordings, status } from './views/recordings';
import { registry, type ViewRow } from './views/registry';

// Spans: more are not sent whole. /r/ID?pieces shows any recording that way.
const MANY = new URLSearchParams(location.search).has('pieces') ? 0 : 1_500_000;
const id = /^\/r\/([0-9a-f]+)$/.exec(location.pathname)?.[1];
const app = document.getElementById('app')!;
const rec = signal<Recording | null>(null);
const said = signal('');

function Head() {
  const r = rec.value;
  const word = r?.writer && { running: 'live', closed: 'ended', killed: 'killed' }[r.writer];
  return (
    <>
      <span class="soft" role="status">{said.value}</span>
      {word && <span class={`live ${r!.writer}`} title={status(r!)}>{word}</span>}
      <button title="Hands this recording to ui.perfetto.dev, from this window to that" onClick={() => void openInPerfetto(r?.name ?? 'recording', () => bytesOf(`/data/${id}/perfetto`), (t) => (said.value = t)).catch((e: Error) => (said.value = e.message))}>
        Open in Perfetto
      </button>
      <a href={`/data/${id}/perfetto`} download>.pftrace</a>
      <a href="/">All recordings</a>
    </>
  );
}

/** The timeline of a large recording comes in pieces. */
function adapt(): void {
  const row = registry.find((r) => r.key === 'timeline') as ViewRow;
  const whole = row.show;
  row.early = undefined;
  row.show = (main) => (main.spans > MANY ? <FarTimeline id={id!} main={main} /> : whole(main));
}

/** Until the recording is in memory: how far it is. */
async function waitFor(): Promise<void> {
  for (;;) {
    const r = await askJson<Recording>(`/api/recordings/${id}`);
    rec.value = r;
    if (r.state === 'failed') throw new Error(r.error ?? 'it cannot be read');
    if (r.state === 'ready') return;
    app.textContent = '';
    render(
      <p class="loading">
        {r.name}: {status(r) || 'about to be read'}
        <br />
        <progress value={r.progress ?? undefined} max={1} />
      </p>,
      app,
    );
    void fetch(`/api/recordings/${id}/curve?px=1`); // asks for it; the answer comes when it was read
    await new Promise((done) => setTimeout(done, 200));
  }
}

const empty = new Set<string>();
/** What there is nothing of has no tab. */
function note(main: Main): void {
  empty.clear();
  if (main.spans < 50_000) empty.add('coarse');
  if (!main.gpu_ns) empty.add('hta').add('critical');
  if (main.devices.every((d) => d.reserved_peak === null)) empty.add('allocator');
}

async function refresh(row: Recording): Promise<void> {
  forget();
  const main = await getMain();
  await Promise.all([getTables(), registry.find((r) => location.hash.includes(`view=${r.key}`))?.early?.()]);
  note(main);
  rec.value = row;
  extend(main.t_end);
  show(main);
}

function follow(): void {
  let busy = false;
  let next: Recording | null = null;
  listen(async (r) => {
    if (!r || r.id !== id || r.state !== 'ready') return;
    next = r;
    while (!busy && next) {
      busy = true;
      const now: Recording = next;
      next = null;
      if (now.generation !== rec.value?.generation) await refresh(now).catch(() => {});
      else rec.value = now;
      await new Promise((done) => setTimeout(done, 300));
      busy = false;
    }
  });
}

async function begin(): Promise<void> {
  keepTheme();
  if (!id) {
    render(
      <>
        <header class="top">
          <h1>tidemark</h1>
          <span class="grow" />
          <button aria-label="Light or dark" title="Light or dark" onClick={() => (theme.value = dark.value ? 'light' : 'dark')}>◐</button>
        </header>
        <main><Recordings /></main>
      </>,
      (app.textContent = '', app),
    );
    return;
  }
  setSource(serverSource(id, empty));
  adapt();
  slot.head = () => <Head />;
  try {
    await waitFor();
    render(null, app);
    note(await getMain());
    await run();
    follow();
  } catch (e) {
    render(<p class="loading error">This recording cannot be shown: {(e as Error).message} <a href="/">All recordings</a></p>, app);
  }
}
void begin();
