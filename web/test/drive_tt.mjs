// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The view of a Tenstorrent run: its figures equal those of `tidemark tt`, a click on the chart selects an operation and shows
// its text and its line in the module, and no duration is shown.
//   node drive_tt.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cells, drive, go, hash, json, picture, redrawn, shot, soon } from './driver.mjs';

const folder = mkdtempSync(join(tmpdir(), 'tt-'));
const emit = (name, ...args) => {
  const to = join(folder, name);
  writeFileSync(to, execFileSync('python3', [join(process.argv[3], 'tests/support/tt_emitter.py'), ...args]));
  return to;
};
const log = emit('run_profile.log', '--oom');
const bare = join(folder, 'bare_profile.log');
writeFileSync(bare, readFileSync(log, 'utf8').split('\n').filter((l) => !l.includes('memory state')).join('\n'));
const four = emit('four_profile.log', '--ranks', '4', '--runs', '3');

async function view(page) {
  const want = json('tt', '--analyze', log);
  await page.waitForSelector('.tenstorrent canvas');
  const text = await page.textContent('.tenstorrent');
  assert.match(text, /DRAM peak/);
  assert.doesNotMatch(text, /\d (ns|µs|ms|s)\b/, 'no duration');
  const growers = await cells(page, 'Top growers, DRAM');
  assert.equal(growers.length, want.top_growers_dram.length);
  assert.equal(Number(growers[0][2]), want.top_growers_dram[0].position);
  const peaks = await cells(page, 'Peaks, charged to the operation that ran before the state');
  for (const k of [1, 4, 6, 7]) assert.match(peaks[0][k], /^[\d.]+ [KMG]?i?B$/, 'bytes of a bank have a unit');
  const slopes = (await cells(page, 'Fragmentation')).map((r) => r[4]);
  assert.ok(slopes.length && slopes.every((s) => / %$/.test(s) && !/^-0\.0+ %$/.test(s)), `slopes: ${slopes}`);
  await page.locator('.tenstorrent canvas').first().click({ position: { x: 400, y: 100 } });
  const op = await soon(async () => {
    const at = (await hash(page)).get('op');
    assert.match(at ?? '', /^\d+$/);
    return at;
  });
  await soon(async () => assert.ok((await page.locator('.tenstorrent h2').allTextContents()).some((h) => h.startsWith(`op ${op}: `))));
  assert.match(await page.textContent('.tenstorrent pre.ir'), /tt(nn|core)\./, 'its text');
  await page.fill('.tenstorrent .panel:last-child input', 'matmul.1');
  await soon(async () => assert.ok((await cells(page, 'Operations')).every((r) => r.join(' ').includes('matmul.1'))));
  await page.locator('table[aria-label="Operations"] tbody tr:not(.pad)').first().click();
  await soon(async () => assert.match(await page.textContent('.tenstorrent .ir .here'), /matmul/, 'its line in the module'));
  await shot(page, 'tenstorrent');
}

/** Without a clock, no busy time is shown. */
async function overview(page) {
  const text = await page.textContent('main');
  assert.match(text, /Covers/);
  assert.doesNotMatch(text, /data is missing/, 'nothing is');
  assert.doesNotMatch(text, /active|\d (ns|µs|ms)\b/, 'no activity, no duration');
  await shot(page, 'tenstorrent-overview');
}

/** L1 and DRAM are separate memories: the memory view shows either, or both. */
async function chip(page) {
  const [dram, l1] = [...json('peak', log).devices, ...json('peak', log).on_chip].map((p) => p.peak_bytes);
  const alive = async () => Number(await page.getAttribute('#alive', 'data-bytes'));
  await soon(async () => assert.equal(await alive(), dram));
  const before = await picture(page, 'main');
  await page.click('[aria-label="Device"] button:text-is("tt:0 L1")');
  await soon(async () => assert.equal(await alive(), l1));
  await redrawn(page, 'main', before);
  assert.ok((await cells(page, 'allocations alive')).every((r) => r.includes('L1')), 'only allocations in L1');
  await shot(page, 'tenstorrent-l1');
}

/** Unknown values are not drawn, and a text names them. */
async function noStates(page) {
  const text = await page.textContent('main');
  assert.match(text, /Peak memoryunknown/);
  assert.match(text, /TT_RUNTIME_MEMORY_LOG_LEVEL=operation/, 'how to get them');
  assert.equal(await page.locator('main canvas').count(), 0, 'no empty chart');
  await shot(page, 'tenstorrent-no-states');
  await go(page, 'Timeline');
  await page.waitForSelector('main canvas');
  assert.equal(await page.locator('.minimap').count(), 0, 'no empty map');
}

/** Every rank has a curve and peaks of its own; a click chooses an operation of the rank that is shown. */
async function ranks(page) {
  const want = json('tt', '--analyze', four);
  const one = json('tt', '--analyze', four, '--rank', '2');
  await page.waitForSelector('.tenstorrent canvas');
  const peaks = await cells(page, 'Peaks, charged to the operation that ran before the state');
  assert.deepEqual(peaks.filter((r) => r[0] === 'DRAM').map((r) => r[1]), ['tt:0', 'tt:1', 'tt:2', 'tt:3']);
  const all = await picture(page, '.tenstorrent');
  await shot(page, 'tenstorrent-ranks');
  await page.click('.tenstorrent [aria-label="Rank"] button:text-is("rank 2")');
  await redrawn(page, '.tenstorrent', all);
  assert.equal((await hash(page)).get('rank'), '2');
  assert.match(await page.textContent('.tenstorrent .figures'), new RegExp(`Operations${one.operations}of rank 2`));
  assert.ok((await cells(page, 'Operations')).every((r) => r.at(-1) === '2'), 'operations of that rank');
  await page.locator('.tenstorrent canvas').first().click({ position: { x: 400, y: 100 } });
  await soon(async () => assert.match((await page.locator('.tenstorrent h2').allTextContents()).find((h) => h.startsWith('op ')) ?? '', / of rank 2: /));
  await shot(page, 'tenstorrent-rank');
  assert.ok(want.ranks === 4);
  await go(page, 'Phases');
  const rows = await soon(async () => {
    const all = await page.locator('table tbody tr:not(.pad)').allTextContents();
    assert.ok(all.length >= 12);
    return all;
  });
  assert.ok(rows.every((r) => /\d ops/.test(r)), 'phases last operations');
  await go(page, 'Overview');
  await soon(async () => assert.match(await page.textContent('main'), /Processrank 0 · MPI 1,0/));
}

await drive(async ({ make, visit }) => {
  await visit(make('report', log), '#view=tenstorrent', view);
  await visit(make('report', log), '#view=overview', overview);
  await visit(make('report', log), '#view=memory', chip);
  assert.equal(spawnSync(process.argv[2], ['report', bare, '-o', `${bare}.html`]).status, 4, 'the log is not complete');
  await visit(`${bare}.html`, '#view=overview', noStates);
  await visit(make('report', four), '#view=tenstorrent', ranks);
});
