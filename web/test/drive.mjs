// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drives a page in a real browser as a user would: every view, zoom, pan, search, a moment, a span; light and dark. The page
// sends no request and logs no error, hostile names are shown as text, and figures equal those of the commands.
//   node drive.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open } from './chromium.mjs';
import { clean, go, gpt, json, picture, redrawn, restored, run, settle, shot } from './driver.mjs';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-page-'));

const evil = '</script><img src=x onerror="document.title=\'owned\'"><script>alert(1)</script>';

/** A trace in which every name is an attack. */
function hostileTrace() {
  const e = [];
  for (let i = 0; i < 40; i++) {
    e.push({ ph: 'X', cat: 'cpu_op', name: `${evil} ${i % 3}`, pid: 1, tid: 1, ts: 100 + i * 10, dur: 8 });
    e.push({ ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', pid: 1, tid: 1, ts: 101 + i * 10, dur: 2, args: { correlation: i + 1 } });
    e.push({ ph: 'X', cat: 'kernel', name: `kernel ${evil}`, pid: 0, tid: 7, ts: 104 + i * 10, dur: 5, args: { correlation: i + 1, device: 0, stream: 7 } });
    e.push({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 1, tid: 1, ts: 102 + i * 10, args: { 'Device Type': 1, 'Device Id': 0, Addr: 4096 + i * 65536, Bytes: 1024 * (i + 1), 'Total Allocated': 0, 'Total Reserved': 1 << 20 } });
  }
  e.push({ ph: 'M', name: 'thread_name', pid: 1, tid: 1, args: { name: evil } });
  e.push({ ph: 'M', name: 'process_name', pid: 1, args: { name: evil } });
  return JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: evil, totalGlobalMem: 1 << 30 }], traceEvents: e });
}

const { context, close } = await launch();
const views = ['Overview', 'Timeline', 'Memory', 'Flame', 'Ops', 'Kernels', 'Device time'];
const hash = (page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());

async function timeline(page) {
  await go(page, 'Timeline');
  await page.waitForSelector('.timeline canvas');
  await settle(page);
  const box = await page.locator('.timeline canvas').boundingBox();
  const before = await picture(page, '.timeline');
  await page.mouse.move(box.x + 500, box.y + 150);
  await page.mouse.wheel(0, -240);
  await settle(page);
  const zoomed = await picture(page, '.timeline');
  assert.notEqual(zoomed, before, 'the wheel zooms');
  assert.match(await hash(page), /t0=\d+&t1=\d+/);
  await page.mouse.down();
  await page.mouse.move(box.x + 380, box.y + 150, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  await redrawn(page, '.timeline', zoomed, 'a drag pans');
  for (const key of ['w', 'd', 'a', 's']) {
    const was = await hash(page);
    await page.keyboard.press(key);
    await settle(page);
    assert.notEqual(await hash(page), was, `${key} moves`);
  }
  await page.keyboard.press('0');
  await settle(page);
  assert.doesNotMatch(await hash(page), /t0=/, '0 shows everything');
  await page.keyboard.press('?');
  await page.waitForSelector('.help');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.help', { state: 'detached' });
}

async function search(page, text) {
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.details');
  assert.match(await page.textContent('#matches'), /^1 of [\d,]+ matches$/);
  assert.ok((await page.textContent('.details h3')).includes(text));
  await page.click('button[aria-label="Next match"]');
  assert.match(await page.textContent('#matches'), /^2 of /);
  await page.click('button[aria-label="Previous match"]');
  assert.match(await page.textContent('#matches'), /^1 of /);
  await settle(page);
}

async function memory(page) {
  await go(page, 'Memory');
  await page.waitForSelector('.chart.memory canvas');
  await page.keyboard.press('0');
  await page.click('button:text-is("Go to the peak")');
  await settle(page);
  const title = await page.textContent('.panel h2');
  assert.match(title, /^Alive at .* in [\d,]+ allocations? \(the peak\)$/);
  for (const by of ['Op', 'Pool', 'Device', 'Role']) {
    await page.click(`.choice button:text-is("${by}")`);
    await settle(page);
  }
  const box = await page.locator('.chart.memory canvas').boundingBox();
  await page.mouse.click(box.x + box.width * 0.7, box.y + 200);
  await settle(page);
  assert.match(await hash(page), /at=\d+/);
  const other = await page.textContent('.panel h2');
  assert.notEqual(other, title, 'a click chooses a moment');
  await page.click('table[aria-label="allocations alive"] tbody tr >> nth=0');
  await page.waitForSelector('#chosen');
  await page.click('#chosen button:text-is("Close")');
  await page.click('th button:has-text("Born")');
  await page.fill('input[aria-label="Filter allocations alive"]', 'no such thing');
  await page.waitForSelector('.empty');
  await page.fill('input[aria-label="Filter allocations alive"]', '');
}

async function flame(page) {
  await go(page, 'Flame');
  await page.fill('input[aria-label="Search frames"]', '');
  for (const what of ['CPU time', 'GPU time', 'Memory at the peak', 'CPU time']) {
    await page.click(`.choice button:text-is("${what}")`);
    await settle(page);
  }
  const box = await page.locator('.flame canvas').boundingBox();
  await page.keyboard.press('Escape'); // the span that was selected is marked
  await settle(page);
  const before = await picture(page, '.flame');
  await page.mouse.click(box.x + 60, box.y + 19 * 2 + 8);
  await settle(page);
  await redrawn(page, '.flame', before, 'a click zooms into a frame');
  await page.click('button:text-is("Reset")');
  await settle(page);
  await restored(page, '.flame', before, 'and back');
  await page.click('summary');
  await page.waitForSelector('table tbody tr >> nth=3');
}

async function whole(name, file, word) {
  const html = join(folder, `${name}.html`);
  run('report', file, '-o', html);
  const opened = await open(context, html);
  const { page } = opened;
  await settle(page);
  await shot(page, `${name}-overview`);
  const mem = json('memory', file);
  const peak = Math.max(...mem.devices.map((d) => d.totals.peak_bytes));
  await timeline(page);
  await search(page, word);
  await shot(page, `${name}-timeline`);
  const link = page.url();
  await memory(page);
  await shot(page, `${name}-memory`);
  // The figure of the chart equals the command's to the byte.
  await page.click('button:text-is("Go to the peak")');
  await settle(page);
  const unit = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
  const [, v, u] = (await page.textContent('.panel h2')).match(/: ([\d.]+) (\w+) in/);
  assert.equal((peak / unit[u]).toFixed(v.split('.')[1]?.length ?? 0), v, 'peak as the command says');
  await flame(page);
  await shot(page, `${name}-flame`);
  for (const v2 of views.slice(4)) {
    await go(page, v2);
    await settle(page);
    assert.ok((await page.locator('table, .loading').count()) > 0, v2);
    await shot(page, `${name}-${v2.toLowerCase().replace(' ', '-')}`);
  }
  await go(page, 'Ops');
  await page.click('tbody tr >> nth=0');
  await page.click('#follow button:text-is("On the timeline")');
  await page.waitForSelector('.timeline canvas');
  await page.click('button[aria-label="Light or dark"]');
  await settle(page);
  await shot(page, `${name}-dark`);
  clean(opened);
  await page.close();
  // A copied link opens the same view.
  const again = await open(context, html, new URL(link).hash);
  await again.page.waitForSelector('.details');
  assert.ok((await again.page.textContent('.details h3')).includes(word));
  clean(again);
  await again.page.close();
}

async function hostile() {
  const file = join(folder, 'hostile.json');
  writeFileSync(file, hostileTrace());
  const html = join(folder, 'hostile.html');
  run('report', file, '-o', html);
  const opened = await open(context, html);
  const { page } = opened;
  for (const v of views) {
    await go(page, v);
    await settle(page);
    assert.equal(await page.locator('img').count(), 0, `${v}: a name became an element`);
  }
  await go(page, 'Ops');
  assert.ok((await page.textContent('tbody')).includes(evil), 'the name is there, as text');
  assert.notEqual(await page.title(), 'owned');
  clean(opened);
  await page.close();
}

try {
  await whole('gpt', gpt, 'aten::mm');
  await hostile();
  console.log('ok');
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
