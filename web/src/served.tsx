// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page as a server shows it: the list of recordings (/), one of them with the views of every page (/r/ID), two of
// them compared (/diff/A/B). Code that only a server's page needs is here, so that pages of one file do not contain it.
import { signal } from '@preact/signals';
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { FarSpans } from './data/far';
import { bytes, ns, plural } from './data/format';
import { askJson, bytesOf, early, listen, type Recording, serverSource } from './data/live';
import { type Critical, type CriticalJson, forget, getMain, getTables, mainOf, type Main, type MainJson, readCritical } from './data/page';
import { gunzip, open, traceNumber } from './data/section';
import { setSource } from './data/source';
import { run, show, slot } from './main';
import { openInPerfetto } from './perfetto';
import { Panel, useData } from './ui/parts';
import { dark, extend, keepTheme, theme } from './state';
import { asked, Path } from './views/device/critical';
import { FarTimeline } from './views/timeline/remote_timeline';
import { FarMemory, thinned } from './views/memory/remote_memory';
import { forPhases } from './views/memory/phases';
import { type Exported, ExportedReport } from './views/dashboard/exported';
import { Recordings, status } from './views/dashboard/recordings';
import { registry, type ViewRow } from './views/registry';

// Recordings with more spans are not sent as a whole. /r/ID?pieces shows any recording that way.
const MANY = new URLSearchParams(location.search).has('pieces') ? 0 : 1_500_000;
const CROWD = MANY && 2_500_000; // the same limit for memory events
const ids = /^\/(?:r\/[0-9a-f]+|diff\/[0-9a-f]+\/[0-9a-f]+)$/.test(location.pathname) ? location.pathname.split('/').slice(2) : [];
const app = document.getElementById('app')!;
const recs = signal<readonly Recording[]>([]); // those of `ids`
const said = signal('');
const gone = signal(''); // names of those that were removed
const seen = signal(0); // of a live recording: when it was last read, ms
/** The id of the shown recording. */
const here = (): string => ids[traceNumber()];
const rec = (): Recording | undefined => recs.value[traceNumber()];

function Head() {
  const r = rec();
  const word = r?.writer && { running: 'live', closed: 'ended', killed: 'killed' }[r.writer];
  return (
    <>
      <span class="soft" role="status">{said.value}</span>
      {word && <span class={`live ${r!.writer}`} title={status(r!)}>{word}</span>}
      {ids.length === 1 && <button title="Sends this recording to a ui.perfetto.dev window of this browser" onClick={() => void openInPerfetto(r?.name ?? 'recording', () => bytesOf(`/data/${here()}/perfetto`), (t) => (said.value = t)).catch((e: Error) => (said.value = e.message))}>
        Open in Perfetto
      </button>}
      {ids.length === 1 && <a href={`/data/${here()}/perfetto`} download>.pftrace</a>}
      <a href="/">All recordings</a>
    </>
  );
}

/** Returns whether a recording is large: then the picture comes first, the analysis of device time later. */
const large = (k: number): boolean => recs.value[k].size_bytes > 256 * 2 ** 20 || recs.value[k].memory_bytes > 256 * 2 ** 20;
const later: Main['findings'] = [{ severity: 'low', id: '', what: '', text: 'Device time is being analysed; the results will appear here.', view: 'hta', t: null }];
async function findings(): Promise<void> {
  const k = traceNumber();
  const main = await getMain();
  if (early.on || !large(k) || !main.gpu_ns) return;
  const full = open<MainJson>(await gunzip(await bytesOf(`/data/${ids[k]}/main`)));
  main.findings = full.json.findings;
  if (k === traceNumber()) show({ ...main });
}

let last: Main | undefined;
/** A recording that is being written: the page shows its state at the last reading. */
function Live() {
  const r = rec();
  if (gone.value)
    return (
      <p class="losses" role="note">
        <b>{gone.value} was removed or renamed.</b> What is here was read before; views that were not opened yet may stay empty, and a reload will not find it.
      </p>
    );
  if (early.on && r && last)
    return (
      <p class="being-written" role="note">
        <b>Its beginning.</b> The whole, {bytes(r.size_bytes)}, is being read{r.progress === null ? '' : `: ${Math.round(r.progress * 100)} %`}. Until then every figure is of the first {ns(last.t_end)}, {plural(last.spans, 'span')} and {plural(last.allocs, 'allocation')} in the file.
      </p>
    );
  if (r?.writer !== 'running' || !last) return null;
  return (
    <p class="being-written" role="note">
      <b>Live: still being written.</b> So far {ns(last.t_end)}, {plural(last.spans, 'span')}, {plural(last.allocs, 'allocation')}, as of {new Date(seen.value).toISOString().slice(11, 19)} UTC. The figures move as the program runs.
    </p>
  );
}

/** Removes the loss "not closed" while the recording is being written. */
function settled(main: Main): Main {
  last = main;
  seen.value = Date.now();
  main.now = rec()?.writer === 'running';
  if (!early.on && large(traceNumber()) && main.gpu_ns) main.findings = [...main.findings, ...later];
  if (early.on) main.losses = '';
  if (main.now) main.losses = main.losses.split('\n').filter((l) => !l.includes('the recording was not closed')).join('\n');
  return main;
}

/** The critical path of a large recording takes seconds: it is computed on request. */
function OnRequest({ whose }: { whose: string }) {
  const [c, set] = useState<Critical | string>('');
  const n = useData(getMain)?.spans ?? 0;
  if (typeof c !== 'string') return c.json.found ? <Path c={c} whose={whose} /> : <>{missing(c.json.why ?? 'the reason is unknown', whose)}</>;
  const find = () => {
    set('Computing the critical path…');
    bytesOf(`/data/${here()}/critical?all=1`).then(gunzip).then((raw) => set(readCritical(open<CriticalJson>(raw))), (e: Error) => set(e.message));
  };
  return (
    <Panel title={`Critical path${whose}`}>
      <p class="soft">{c || `With ${plural(n, 'span')} it is computed on request, which takes a few seconds.`}</p>
      {!c && <p class="actions"><button onClick={find}>Find the critical path</button></p>}
    </Panel>
  );
}
const missing = asked.path;

/** Views of a large recording request from the server the data that pages of one file contain. */
function adapt(): void {
  const row = registry.find((r) => r.key === 'timeline') as ViewRow;
  const Whole = row.show;
  const named = asked.span;
  row.early = undefined;
  row.show = ({ main }) => (main.spans > MANY ? <FarTimeline id={here()} main={main} /> : <Whole main={main} />);
  const memory = registry.find((r) => r.key === 'memory') as ViewRow;
  const All = memory.show;
  memory.early = undefined;
  memory.show = ({ main }) => (main.events > CROWD ? <FarMemory id={here()} main={main} /> : <All main={main} />);
  const { get } = forPhases;
  forPhases.get = () => (crowded.has(traceNumber()) ? thinned(here(), 'px=1&phases=1') : get());
  asked.span = async (name, t0, t1) => {
    const main = await getMain();
    return main.spans > MANY ? new FarSpans(here()).named(name, t0, t1).then((d) => d.span.n, () => -1) : named(name, t0, t1);
  };
  asked.path = (why, whose) => (why === 'not computed yet' ? <OnRequest whose={whose} /> : missing(why, whose));
}

/** Shown until the recordings are in memory, with their progress. */
async function waitFor(): Promise<void> {
  const wanted = new Set<string>();
  app.textContent = '';
  for (;;) {
    const list = await Promise.all(ids.map((id) => askJson<Recording>(`/api/recordings/${id}`)));
    recs.value = list;
    const bad = list.find((r) => r.state === 'failed');
    if (bad) throw new Error(`${bad.name}: ${bad.error ?? 'it cannot be read'}`);
    early.on = ids.length === 1 && !list[0].generation && !!list[0].early_generation;
    const read = early.on || list.every((r) => r.generation);
    render(
      <div class="loading" role="status">
        {list.map((r) => (
          <p key={r.id}>
            {r.name}, {bytes(r.size_bytes)}: {read ? 'read; computing the first figures' : status(r) || 'waiting to be read'}
            <br />
            <progress value={r.generation ? 1 : (r.progress ?? undefined)} max={1} />
          </p>
        ))}
        <a href="/">All recordings</a>
      </div>,
      app,
    );
    if (read) return;
    // Requests it once: the answer comes after it was read, and occupies one of the few connections of a browser.
    for (const r of list)
      if (!r.generation && !wanted.has(r.id)) {
        wanted.add(r.id);
        void fetch(`/api/recordings/${r.id}/curve?px=1${ids.length > 1 ? '' : '&early=1'}`).catch(() => wanted.delete(r.id));
      }
    await new Promise((done) => setTimeout(done, 150));
  }
}

const crowded = new Set<number>(); // limit of memory events
const empty = ids.map(() => new Set<string>());
/** Hides tabs without data. */
function note(main: Main, k: number): void {
  const e = empty[k];
  e.clear();
  crowded.delete(k);
  if (main.events > CROWD) {
    crowded.add(k);
    e.add('allocator'); // its rows are those of the whole memory section
  }
  if (main.spans < 50_000) e.add('coarse');
  if (!main.ledger) e.add('ledger');
  if (!main.gpu_ns) e.add('hta').add('critical').add('roofline');
  if (main.devices.every((d) => d.reserved_source !== 'segments')) e.add('allocator');
}

async function refresh(row: Recording): Promise<void> {
  forget();
  const main = await getMain();
  await Promise.all([getTables(), registry.find((r) => location.hash.includes(`view=${r.key}`))?.early?.()]);
  note(main, 0);
  recs.value = [row];
  extend(main.t_end);
  show(settled(main));
  void findings().catch(() => {});
}

/** Replaces the beginning by the whole recording once it has been read. */
async function wholeOf(): Promise<void> {
  while (early.on) {
    await new Promise((done) => setTimeout(done, 300));
    const r = await askJson<Recording>(`/api/recordings/${ids[0]}`);
    if (r.state === 'failed') said.value = status(r);
    recs.value = [r];
    if (r.state === 'failed') return;
    if (!r.generation) continue;
    early.on = false;
    await refresh(r);
  }
}

function follow(): void {
  let busy = false;
  let next: Recording | null = null;
  listen(async (r) => {
    if (!r) {
      const { recordings } = await askJson<{ recordings: Recording[] }>(`/api/recordings?ids=${ids.join(',')}`);
      gone.value = recs.value.filter((k) => !recordings.some((x) => x.id === k.id)).map((k) => k.name).join(' and ');
      return;
    }
    if (!ids.includes(r.id) || !r.generation) return;
    if (ids.length > 1) {
      if (r.generation !== recs.value[ids.indexOf(r.id)].generation) said.value = `${r.name} has changed: reload to compare the new version`;
      return;
    }
    next = r;
    while (!busy && next) {
      busy = true;
      const now: Recording = next;
      next = null;
      if (now.generation !== recs.value[0].generation) await refresh(now).catch(() => {});
      else recs.value = [now];
      await new Promise((done) => setTimeout(done, 300));
      busy = false;
    }
  }, ids);
}

/** Shows a report that tidemark.profiling exported. Returns false for a recording. */
async function showExported(): Promise<boolean> {
  const r = await askJson<Recording>(`/api/recordings/${ids[0]}`).catch(() => null);
  if (!r?.exported) return false;
  document.title = `${r.name} · Tidemark`;
  try {
    const of = await askJson<Exported>(`/api/recordings/${ids[0]}/exported`);
    render(<main><ExportedReport of={of} /></main>, (app.textContent = '', app));
  } catch (e) {
    render(<p class="loading error">This report cannot be shown: {(e as Error).message} <a href="/">All recordings</a></p>, app);
  }
  return true;
}

async function begin(): Promise<void> {
  keepTheme();
  if (!ids.length) {
    document.title = 'Recordings · Tidemark';
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
  if (ids.length === 1 && (await showExported())) return;
  setSource(serverSource(ids, empty, (name, k) => (name === 'main' && large(k) ? '?quick=1' : name === 'memory' && crowded.has(k) ? '?px=1024' : '')));
  adapt();
  slot.head = () => <Head />;
  slot.note = () => <Live />;
  try {
    await waitFor();
    settled(await getMain());
    for (let k = 0; k < ids.length; k++) note(await mainOf(k), k);
    render(null, app);
    await run();
    await new Promise((done) => setTimeout(done, 400)); // the picture first
    await findings().catch(() => {});
    await wholeOf();
    follow();
  } catch (e) {
    render(<p class="loading error">{ids.length > 1 ? 'These recordings' : 'This recording'} cannot be shown: {(e as Error).message} <a href="/">All recordings</a></p>, app);
  }
}
void begin();
