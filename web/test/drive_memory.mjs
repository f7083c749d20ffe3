// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The memory, phases and overview views in a real browser: moments chosen as a person would, and every
// figure compared with what the commands print of the same file.
//   node drive_memory.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { launch, open } from './chromium.mjs';

const [program, source, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-memory-'));
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
const json = (...args) => JSON.parse(run(...args, '--json'));
if (pictures) mkdirSync(pictures, { recursive: true });

const { context, close } = await launch();
const shot = async (page, name) => pictures && (await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true }));
const settle = (page) => page.waitForTimeout(250);
const hash = async (page, key) => {
  await settle(page);
  return page.evaluate((k) => new URLSearchParams(location.hash.slice(1)).get(k), key);
};
const choose = (page, label, text) => page.click(`.choice[aria-label="${label}"] button:text-is("${text}")`);
const alive = (page) => page.locator('#alive').evaluate((e) => ({ bytes: Number(e.dataset.bytes), count: Number(e.dataset.count) }));
const cells = (page, label, n) => page.locator(`table[aria-label="${label}"] tbody tr:not(.pad)`).evaluateAll((rows, k) => rows.slice(0, k).map((r) => [...r.cells].map((c) => c.textContent)), n);

/** Moments all over the chart: what is alive there, by the page and by `tidemark peak`. */
async function moments(page, file) {
  const peak = json('peak', file);
  await page.click('button:text-is("Go to the peak")');
  await settle(page);
  assert.deepEqual(await alive(page), { bytes: peak.peak_bytes, count: peak.alive_count }, 'alive at the peak');
  const box = await page.locator('.chart.memory canvas').boundingBox();
  for (const part of [0.12, 0.5, 0.83, 0.97]) {
    await page.mouse.click(box.x + 80 + (box.width - 80) * part, box.y + 200);
    const at = await hash(page, 'at');
    const want = json('peak', file, '--at', `${at}ns`, '--group-by', 'role');
    assert.deepEqual(await alive(page), { bytes: want.alive_bytes, count: want.alive_count }, `alive at ${at}`);
    await choose(page, 'Show', 'Role');
    const rows = await cells(page, 'groups alive', 20);
    assert.deepEqual(rows.map((r) => r[0]).sort(), want.groups.map((g) => g.key).sort(), 'roles');
    assert.deepEqual(rows.map((r) => Number(r[3].replaceAll(',', ''))).sort(), want.groups.map((g) => g.count).sort(), 'counts of roles');
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
  await settle(page);
  assert.deepEqual(await shown(page), totals(json('allocator', file, '--at', 'peak', '--no-advice')), 'the map at the peak');
  const box = await page.locator('.chart.memory canvas').boundingBox();
  for (const part of [0.3, 0.9]) {
    await page.mouse.click(box.x + 80 + (box.width - 80) * part, box.y + 200);
    const at = await hash(page, 'at');
    assert.deepEqual(await shown(page), totals(json('allocator', file, '--at', `${at}ns`, '--no-advice')), `the map at ${at}`);
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
  await settle(page);
  assert.match(await page.textContent('.tip'), /segment 0x[0-9a-f]+: /);
  await choose(page, 'Layout', 'A row a segment');
  await settle(page);
  await page.click('summary:text-is("Segments as a table")');
  assert.ok((await cells(page, 'segments', 1))[0][0].startsWith('0x'));
  await page.click('#chosen button:text-is("Close")');
}

/** A band under the pointer has a name; a layer that stands out is all that is listed. */
async function layers(page) {
  await page.click('button:text-is("Go to the peak")');
  await choose(page, 'Below', 'What is alive');
  const box = await page.locator('.chart.memory canvas').boundingBox();
  const x = await page.evaluate(() => Number(new URLSearchParams(location.hash.slice(1)).get('at')));
  assert.ok(x >= 0);
  await page.mouse.move(box.x + box.width - 20, box.y + box.height - 6);
  await settle(page);
  assert.match(await page.textContent('.tip'), /live in all/);
  const sums = [];
  for (const b of await page.locator('.layers button').all()) {
    await b.click();
    sums.push((await alive(page)).bytes);
    await b.click();
  }
  assert.equal(sums.reduce((a, b) => a + b, 0), (await alive(page)).bytes, 'layers add up');
  await choose(page, 'Below', 'Chart as a table');
  assert.equal((await cells(page, 'live memory over time', 5)).length, 5);
  await choose(page, 'Below', 'What is alive');
}

async function whole(name, file, hasMap) {
  const html = join(folder, `${name}.html`);
  run('report', file, '-o', html);
  const opened = await open(context, html, '#view=memory');
  const { page } = opened;
  await page.waitForSelector('.chart.memory canvas');
  await moments(page, file);
  await layers(page);
  await shot(page, `${name}-memory`);
  if (hasMap) await map(page, file, name);
  else {
    await choose(page, 'Below', 'Allocator map');
    await page.waitForSelector('.loading');
  }
  assert.deepEqual(opened.troubles, [], `${name}: the page complains`);
  await page.close();
}

try {
  const data = (f) => join(source, 'tests/data', f);
  await whole('snapshot', data('torchsnap/snapshot_gpt_train.pickle.gz'), true);
  await whole('oom', data('torchsnap/snapshot_oom.pickle.gz'), true);
  await whole('kineto', data('kineto_gpt_train.json.gz'), false);
  const gpt = join(dirname(program), '../examples/gpt');
  if (existsSync(gpt)) {
    execFileSync(gpt, ['--steps', '6', '-o', join(folder, 'gpt.tide')], { stdio: 'ignore' });
    await whole('gpt', join(folder, 'gpt.tide'), true);
  }
  console.log('ok');
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
