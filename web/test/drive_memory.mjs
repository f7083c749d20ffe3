// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drives the memory, phases and overview views in a real browser: selects moments as a user would and compares every figure with
// the output of the commands for the same file.
//   node drive_memory.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { launch, open } from './chromium.mjs';
import { cells, data, go, hash as address, json, picture, redrawn, restored, run, settle, soon } from './driver.mjs';

const [program, , pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-memory-'));
const { context, close } = await launch();
const shot = async (page, name) => pictures && (await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true }));
const hash = async (page, key) => (await address(page)).get(key);
/** Click and wait until the address names another moment. */
async function clickMoment(page, x, y) {
  const before = await hash(page, 'at');
  await page.mouse.click(x, y);
  return soon(async () => {
    const at = await hash(page, 'at');
    assert.notEqual(at, before, 'a click chooses a moment');
    return at;
  });
}
const choose = (page, label, text) => page.click(`.choice[aria-label="${label}"] button:text-is("${text}")`);
const alive = (page) => page.locator('#alive').evaluate((e) => ({ bytes: Number(e.dataset.bytes), count: Number(e.dataset.count) }));

/** Moments all over the chart: the page's live allocations equal those of `tidemark peak`. */
async function moments(page, file) {
  const peak = json('peak', file);
  await page.click('button:text-is("Go to the peak")');
  await soon(async () => assert.deepEqual(await alive(page), { bytes: peak.peak_bytes, count: peak.alive_count }, 'alive at the peak'));
  const box = await page.locator('.chart.memory canvas').boundingBox();
  for (const part of [0.12, 0.5, 0.83, 0.97]) {
    const at = await clickMoment(page, box.x + 80 + (box.width - 80) * part, box.y + 200);
    const want = json('peak', file, '--at', `${at}ns`, '--group-by', 'role');
    await soon(async () => assert.deepEqual(await alive(page), { bytes: want.alive_bytes, count: want.alive_count }, `alive at ${at}`));
    await choose(page, 'Show', 'Role');
    await soon(async () => {
      const rows = await cells(page, 'groups alive', 20);
      assert.deepEqual(rows.map((r) => r[0]).sort(), want.groups.map((g) => g.key).sort(), 'roles');
      assert.deepEqual(rows.map((r) => Number(r[3].replaceAll(',', ''))).sort(), want.groups.map((g) => g.count).sort(), 'counts of roles');
    });
    await choose(page, 'Show', 'One by one');
  }
}

const totals = (d) => ({
  reserved: d.reserved_bytes, active: d.active_bytes, allocated: d.allocated_bytes, requested: d.requested_bytes, free: d.free_bytes, cached: d.cached_free_bytes,
  split: d.inactive_split_bytes, expandable: d.expandable_free_bytes, largest: d.largest_free_block_bytes, loose: d.loose_bytes, freeBlocks: d.free_blocks_count,
  segments: d.segments.length, blocks: d.segments.reduce((a, s) => a + s.blocks.length, 0),
});
const shown = (page) => page.locator('#totals').evaluate((e) => JSON.parse(e.dataset.totals));

/** The map's figures, and a block that is chosen by a click. */
async function map(page, file, name) {
  await choose(page, 'Below', 'Allocator map');
  await page.waitForSelector('.chart.blocks canvas');
  await page.click('button:text-is("Go to the peak")');
  const peak = totals(json('allocator', file, '--at', 'peak', '--no-advice'));
  await soon(async () => assert.deepEqual(await shown(page), peak, 'the map at the peak'));
  const box = await page.locator('.chart.memory canvas').boundingBox();
  for (const part of [0.3, 0.9]) {
    const at = await clickMoment(page, box.x + 80 + (box.width - 80) * part, box.y + 200);
    const want = totals(json('allocator', file, '--at', `${at}ns`, '--no-advice'));
    await soon(async () => assert.deepEqual(await shown(page), want, `the map at ${at}`));
  }
  await shot(page, `${name}-map`);
  const canvas = page.locator('.chart.blocks canvas');
  const blocks = await canvas.boundingBox();
  let found = null;
  for (let y = 10; y < blocks.height && found === null; y += 26) {
    await canvas.click({ position: { x: 30, y } });
    found = await hash(page, 'alloc');
  }
  assert.ok(found !== null, 'a click on a block chooses an allocation');
  assert.match(await page.textContent('#chosen'), /Address0x[0-9a-f]+/);
  await canvas.hover({ position: { x: 31, y: 10 } });
  await soon(async () => assert.match(await page.textContent('.tip', { timeout: 1000 }), /segment 0x[0-9a-f]+: /));
  await choose(page, 'Layout', 'One row per segment');
  await settle(page);
  await page.click('summary:text-is("Segments as a table")');
  await soon(async () => assert.ok((await cells(page, 'segments', 1))[0][0].startsWith('0x')));
  await page.click('#chosen button:text-is("Close")');
}

/** A band under the pointer has a name; with a highlighted layer, the list has only that layer. */
async function layers(page) {
  await page.click('button:text-is("Go to the peak")');
  await choose(page, 'Below', 'What is alive');
  const box = await page.locator('.chart.memory canvas').boundingBox();
  const x = await page.evaluate(() => Number(new URLSearchParams(location.hash.slice(1)).get('at')));
  assert.ok(x >= 0);
  await page.mouse.move(box.x + box.width - 20, box.y + box.height - 6);
  await soon(async () => assert.match(await page.textContent('.tip', { timeout: 1000 }), /live in all/));
  const sums = [];
  for (const b of await page.locator('.layers button').all()) {
    await b.click();
    await page.waitForSelector('.layers button[aria-pressed="true"]');
    await settle(page);
    sums.push((await alive(page)).bytes);
    await b.click();
    await page.waitForSelector('.layers button[aria-pressed="true"]', { state: 'detached' });
  }
  assert.equal(sums.reduce((a, b) => a + b, 0), (await alive(page)).bytes, 'layers add up');
  await choose(page, 'Below', 'Chart as a table');
  await soon(async () => assert.equal((await cells(page, 'live memory over time', 5)).length, 5));
  await choose(page, 'Below', 'What is alive');
}

/** Over events: every memory event is as wide as any other, and the peak is the same. */
async function events(page) {
  await page.click('button:text-is("Whole trace")');
  await settle(page);
  const before = await picture(page, '.chart.memory');
  await choose(page, 'Axis', 'Over events');
  await redrawn(page, '.chart.memory', before, 'another axis');
  assert.equal(await hash(page, 'over'), 'events', 'the address keeps it');
  const box = await page.locator('.chart.memory canvas').boundingBox();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height - 6);
  const [, n, all] = /event ([\d,]+) of ([\d,]+)/.exec(await page.textContent('.tip'));
  assert.ok(Number(n.replaceAll(',', '')) >= 0.99 * Number(all.replaceAll(',', '')), `the last column is event ${n} of ${all}`);
  await choose(page, 'Below', 'Chart as a table');
  await page.click('table[aria-label="live memory over time"] th button:has-text("Live")');
  await settle(page);
  const [top] = await cells(page, 'live memory over time', 1);
  assert.equal(top[1], await page.locator('.bar b').first().textContent(), 'the highest interval has the peak');
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -120);
  const [t0, t1] = [Number(await hash(page, 't0')), Number(await hash(page, 't1'))];
  assert.ok(t1 > t0, 'the wheel zooms');
  await page.click('button:text-is("Whole trace")');
  await choose(page, 'Below', 'What is alive');
  await choose(page, 'Axis', 'Over time');
  await restored(page, '.chart.memory', before, 'and back');
}

/** The details of an allocation are in sight when it is chosen. */
async function docked(page) {
  await page.click('table[aria-label="allocations alive"] tbody tr >> nth=2');
  const box = await page.locator('#chosen').boundingBox();
  assert.ok(box.y > 0 && box.y + box.height <= 901, `the details are at ${box.y}, ${box.height} high`);
  await page.click('#chosen button:text-is("Close")');
}

/** Phases: every scope's bars are the highest use that `tidemark phases` gives; a click shows that moment. */
async function phases(page, file, name) {
  const want = json('phases', file).phases;
  const marked = want.some((p) => p.name);
  assert.equal(await page.locator('nav button:text-is("Phases")').count(), Number(marked), 'a tab only if phases were marked');
  if (!marked) return;
  await go(page, 'Phases');
  await page.waitForSelector('.bars');
  const scopes = await page.locator('.choice[aria-label="Memory"] button').allTextContents();
  const list = page.locator('select[aria-label="Memory"]');
  const options = (await list.count()) ? await list.locator('option').allTextContents() : [];
  for (const text of [...scopes, ...options, ''].slice(0, scopes.length + options.length || 1)) {
    if (options.length) await list.selectOption({ label: text });
    else if (text) await choose(page, 'Memory', text);
    await settle(page);
    await soon(async () => {
      const tops = await page.locator('.bars').evaluate((e) => JSON.parse(e.dataset.tops));
      const same = want[0].memory.some((_, k) => tops.every((v, n) => v === want[n].memory[k].highest_bytes));
      assert.ok(tops.length === want.length && same, `bars of ${text || 'all'}: ${tops}`);
    });
  }
  await page.fill('input[type="number"]', '0.5');
  await page.keyboard.press('Enter');
  await soon(async () => assert.match(await page.textContent('.bars'), / %/, 'percent of the limit that was given'));
  assert.ok((await cells(page, 'phases', 3)).length > 0);
  await shot(page, `${name}-phases`);
  await page.click('.bars .name >> nth=0');
  await page.waitForSelector('.chart.memory canvas');
  await soon(async () => assert.ok((await hash(page, 'at')) !== null));
}

/** As pages write it. */
function size(v) {
  if (v === null) return 'unknown';
  const step = v < 1024 ? 0 : Math.min(5, Math.floor(Math.log2(v) / 10));
  const x = v / 1024 ** step;
  return `${x.toFixed(step === 0 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : 3)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][step]}`;
}

/** A failed request: the figures and holders of the command. */
async function ooms(page, file) {
  const all = json('oom', file).ooms;
  assert.equal(await page.locator('.oom').count(), Math.min(4, all.length));
  for (const [i, o] of all.slice(0, 4).entries()) {
    const panel = page.locator('.panel:has(.oom)').nth(i);
    const facts = await panel.locator('dd').allTextContents();
    const last = o.limit_below_bytes ?? o.capacity_bytes;
    const want = [o.requested_bytes, o.segment_bytes, o.device_free_bytes, o.reserved_bytes, o.allocated_bytes, o.reserved_unallocated_bytes, o.largest_free_block_bytes, o.inactive_split_bytes, last];
    facts.forEach((text, k) => assert.equal(text, size(want[k]), `line ${k} of request ${i}`));
    const held = await panel.locator('.bars b').allTextContents();
    assert.deepEqual(held, o.holders.slice(0, 6).map((h) => size(h.bytes)));
    const cut = await panel.locator('.bars .name').evaluateAll((all) => all.filter((e) => e.textContent.includes('…') || e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
    assert.deepEqual(cut, [], 'names of callers are whole');
    assert.deepEqual(await panel.locator('.bars span').allTextContents(), o.holders.slice(0, 6).map((h) => (h.enough === 'yes' ? 'enough' : '')));
  }
}

/** The overview: reasons, devices, findings; a click opens the memory view with the same group. */
async function overview(page, file, name) {
  const want = json('peak', file, '--group-by', 'role');
  await go(page, 'Overview');
  await page.waitForSelector('.bars');
  await shot(page, `${name}-overview`);
  const told = await page.locator('.panel section').evaluateAll((list) => list.map((e) => [...e.querySelectorAll('.name')].map((n) => n.textContent)));
  assert.ok(told.every((names) => names.some((n) => !n.startsWith('('))), `groups that tell nothing: ${JSON.stringify(told)}`);
  const first = page.locator('.panel:has(h2:text("at the peak")) .name').first();
  const role = await first.textContent();
  assert.equal(role, want.groups[0].key);
  await ooms(page, file);
  await first.click();
  await page.waitForSelector('#alive', { state: 'attached' });
  await soon(async () => assert.deepEqual(await alive(page), { bytes: want.groups[0].bytes, count: want.groups[0].count }, `alive of ${role}`));
  await go(page, 'Overview');
  await soon(async () => assert.equal(await page.locator('.card:not(:disabled)').count(), want.devices.length, 'a card for every device with memory'));
  const found = page.locator('.findings button');
  if (await found.count()) {
    await found.last().click();
    await soon(async () => assert.equal(await page.locator('.card').count(), 0, 'a finding leads somewhere'));
    await go(page, 'Overview');
  }
}

/** Data recorded with an op: none, a number, its call stack. */
async function ops(page) {
  await page.click('nav button:text-is("Timeline")');
  const told = async (name) => {
    await page.fill('#find', name);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`section.details h3:text-is("${name}")`);
    return page.evaluate(() => document.querySelector('section.details').textContent);
  };
  assert.doesNotMatch(await told('bare'), /number|sequence|Stack/);
  assert.match(await told('numbered'), /number passed with it0/);
  assert.match(await told('joined'), /sequence, the same forward and backward5.*Stack, 2 framesstep \(train\.py:21\)main \(train\.py:7\)/);
}

/** The capacity is known if the device refused a request, and unknown if a limit did. */
async function limits(file, want) {
  const html = join(folder, 'limits.html');
  run('report', file, '-o', html);
  const { page, troubles } = await open(context, html);
  await page.waitForSelector('.oom');
  await ooms(page, file);
  assert.match(await page.textContent('.card small'), want ? /% of a total of \S+ GiB\)/ : /size is not recorded/);
  assert.deepEqual(troubles, []);
  await page.close();
  run('phases', file, '-o', html);
  const one = await open(context, html);
  await one.page.waitForSelector('.bars');
  await soon(async () => assert.match(await one.page.textContent('.bars + p'), want ? new RegExp(`limit of ${size(want)}`) : /lacks the capacity/));
  assert.deepEqual(one.troubles, []);
  await one.page.close();
}

/** Named pools on several devices: all are listed by name; L1 counts only in the sum of all devices. */
async function banks(file) {
  const html = join(folder, 'banks.html');
  run('report', file, '-o', html);
  const opened = await open(context, html, '#view=memory&by=pool&dev=all');
  const { page } = opened;
  await page.waitForSelector('.layers');
  const want = json('memory', file);
  const sums = json('peak', file, '--at', '100%', '--device', 'tt:0', '--group-by', 'pool');
  const labels = await page.locator('.layers button span').allTextContents();
  assert.ok(labels.some((l) => l.includes('bank 3')) && labels.some((l) => l.includes('tt:1 ')), `pools: ${labels}`);
  assert.ok(want);
  assert.deepEqual(sums.groups.map((g) => g.key.replace(/^tt:0 /, '')).sort(), [0, 1, 2, 3].map((i) => `DRAM bank ${i}`), 'L1 is no part of the device');
  await page.goto(`${page.url().split('#')[0]}#view=memory&by=pool&dev=1&at=${1e15}`);
  await page.reload();
  await page.waitForSelector('#alive', { state: 'attached' });
  await soon(async () => assert.deepEqual(await alive(page), { bytes: sums.alive_bytes, count: sums.alive_count }));
  await choose(page, 'Show', 'Pool');
  const rows = await soon(async () => {
    const list = await cells(page, 'groups alive', 30);
    assert.ok(list.length);
    return list;
  });
  assert.deepEqual(rows.map((r) => r[0].replace('tt:0 ', '')).sort(), sums.groups.map((g) => g.key.replace(/^tt:0 /, '')).sort());
  await shot(page, 'banks-memory');
  await phases(page, file, 'banks');
  await overview(page, file, 'banks');
  await ops(page);
  assert.deepEqual(opened.troubles, []);
  await page.close();
}

/** The bar and the tooltip show the reserved bytes of each device. */
async function reserved(page, file) {
  const { device } = json('peak', file);
  const all = json('memory', file).devices;
  const said = (want) => soon(async () => assert.match(await page.locator('.bar .soft').first().textContent(), want));
  const box = await page.locator('.chart.memory canvas').boundingBox();
  for (const d of [...all.filter((x) => x.device !== device), all.find((x) => x.device === device)]) {
    const t = d.totals;
    if (all.length > 1) await choose(page, 'Device', d.device);
    await said(t.reserved_source === 'samples' ? / · line: \S+ \S+ reserved at most \(sampled\)$/ : t.reserved_source ? / · line: \S+ \S+ reserved at most$/ : d.device === 'cpu' ? /^[^·]*$/ : / · reserved unknown$/);
    await page.mouse.move(box.x + box.width * 0.6, box.y + 200);
    await soon(async () => assert.equal(/ of \S+ \S+ reserved/.test(await page.locator('.tip').textContent()), t.reserved_source !== null, `${d.device} under the pointer`));
  }
}

async function whole(name, file, hasMap) {
  const html = join(folder, `${name}.html`);
  run('report', file, '-o', html);
  const opened = await open(context, html, '#view=memory');
  const { page } = opened;
  await page.waitForSelector('.chart.memory canvas');
  await moments(page, file);
  await reserved(page, file);
  await layers(page);
  await events(page);
  await docked(page);
  await shot(page, `${name}-memory`);
  if (hasMap) await map(page, file, name);
  else {
    assert.equal(await page.locator('button:text-is("Allocator map")').count(), 0, `${name}: no map of what is not known`);
    await soon(async () => { // a link to it shows the reason; the page may still be writing its own address
      if ((await hash(page, 'pane')) !== 'map') await page.evaluate(() => (location.hash += '&pane=map'));
      assert.ok(await page.locator('.loading:has-text("no segments")').isVisible(), `${name}: no reason`);
    });
  }
  await phases(page, file, name);
  await overview(page, file, name);
  assert.deepEqual(opened.troubles, [], `${name}: the page complains`);
  await page.close();
}

try {
  await whole('snapshot', data('torchsnap/snapshot_gpt_train.pickle.gz'), true);
  await whole('oom', data('torchsnap/snapshot_oom.pickle.gz'), true);
  await limits(data('torchsnap/snapshot_oom.pickle.gz'), json('oom', data('torchsnap/snapshot_oom.pickle.gz')).ooms[0].capacity_bytes);
  await limits(data('snapshots/expandable_oom.pickle.gz'), 0);
  await whole('kineto', data('kineto_gpt_train.json.gz'), false);
  const gpt = join(dirname(program), '../examples/gpt');
  if (existsSync(gpt)) {
    execFileSync(gpt, ['--steps', '6', '-o', join(folder, 'gpt.tide')], { stdio: 'ignore' });
    await whole('gpt', join(folder, 'gpt.tide'), true);
  }
  const writer = join(dirname(program), '../tests/e2e/banks_writer');
  if (existsSync(writer)) {
    execFileSync(writer, [join(folder, 'banks.tide')]);
    await banks(join(folder, 'banks.tide'));
  }
  console.log('ok');
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
