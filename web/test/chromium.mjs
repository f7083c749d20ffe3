// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Chromium for tests: that of the system, headless, with a fresh profile and without network services. If it is missing, the test
// ends with status 77 (skipped) and one line.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Runs in a page before its own scripts: counts the timers, frames, requests and answers that it still waits for. Timers from
 * 800 ms on are for something that repeats or is rare. */
function countWork() {
  const [later, clear, frame, cancel, ask] = [setTimeout, clearTimeout, requestAnimationFrame, cancelAnimationFrame, fetch].map((f) => f.bind(window));
  const open = new Set();
  const ending = (key, f) => (...args) => {
    open.delete(key());
    return f(...args);
  };
  window.setTimeout = (f, ms = 0, ...args) => {
    const id = later(typeof f === 'function' ? ending(() => `t${id}`, f) : f, ms, ...args);
    if (typeof f === 'function' && ms < 800) open.add(`t${id}`);
    return id;
  };
  window.clearTimeout = (id) => (open.delete(`t${id}`), clear(id));
  window.requestAnimationFrame = (f) => {
    const id = frame(ending(() => `f${id}`, f));
    open.add(`f${id}`);
    return id;
  };
  window.cancelAnimationFrame = (id) => (open.delete(`f${id}`), cancel(id));
  const until = (promise) => {
    const key = {};
    open.add(key);
    return promise.finally(() => open.delete(key));
  };
  window.fetch = (...args) => until(ask(...args));
  for (const kind of [Response, Blob])
    for (const read of ['arrayBuffer', 'json', 'text']) {
      const of = kind.prototype[read];
      if (of) kind.prototype[read] = function (...args) { return until(of.apply(this, args)); };
    }
  window.EventSource = class extends EventSource {
    constructor(...args) {
      super(...args);
      this.addEventListener('open', () => (window.tideListens = true));
    }
  };
  window.tideIdle = () =>
    new Promise((done) => {
      later(done, 20000); // where nothing is drawn
      const look = () => frame(() => frame(() => later(() => (open.size ? look() : done()))));
      look();
    });
}

/** Waits until the page has nothing left to do for what happened so far: it has drawn and written its address. */
export async function settle(page) {
  for (;;) {
    try {
      await page.bringToFront(); // another page would draw once a second
      return await page.evaluate(() => window.tideIdle());
    } catch (e) {
      if (!/context was destroyed|navigat/.test(String(e))) throw e; // another document takes its place
      await page.waitForLoadState();
    }
  }
}

const acts = ['check', 'click', 'fill', 'goBack', 'goForward', 'press', 'reload', 'selectOption', 'setViewportSize', 'type', 'up', 'wheel', 'emulateMedia'];

/** What a user does returns when the page has answered it: a test that looks afterwards sees the result, on any machine. */
function settled(page) {
  const locator = Object.getPrototypeOf(page.locator('html'));
  for (const [what, of] of [[page, () => page], [page.keyboard, () => page], [page.mouse, () => page], [locator, (l) => l.page()]])
    for (const name of acts) {
      const act = what[name];
      if (!act || act.settles) continue;
      what[name] = async function (...args) {
        const result = await act.apply(this, args);
        await settle(of(this));
        return result;
      };
      what[name].settles = true;
    }
}

export async function launch(viewport = { width: 1440, height: 900 }) {
  const executablePath = places.find((p) => p && existsSync(p));
  if (!executablePath) {
    console.log('skipped: no chromium here (tools/setup installs it)');
    process.exit(77);
  }
  const { chromium } = await import('playwright-core');
  const profile = mkdtempSync(join(tmpdir(), 'tidemark-chromium-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, viewport });
  await context.addInitScript(countWork);
  context.setDefaultTimeout(200000); // ends what hangs; a busy machine takes longer than the default of 30 s
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, close };
}

/** Opens a new page and keeps its errors and requests. */
export async function blank(context) {
  const page = await context.newPage();
  settled(page);
  const troubles = [];
  const requests = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && troubles.push(m.text()));
  page.on('pageerror', (e) => troubles.push(String(e)));
  page.on('dialog', (d) => (troubles.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => requests.push(r.url()));
  return { page, troubles, requests };
}

export async function open(context, file, hash = '') {
  const opened = await blank(context);
  const { page } = opened;
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector('header.top');
  return opened;
}
