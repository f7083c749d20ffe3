// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Device memory by holder: figures equal those of `tidemark device --json`, for one process and for two on one device.
//   node drive_ledger.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { cells, data, drive, go, gpt, json, picture, redrawn, run, shot, soon } from './driver.mjs';

const [one, two] = [data('device/one.tide'), data('device/two.tide')];
const MIB = 1 << 20;
const number = (text) => (text === 'unknown' ? null : parseFloat(text) * ({ B: 1, KiB: 1024, MiB: MIB, GiB: 1024 * MIB }[text.split(' ')[1]] ?? NaN));
const legend = (page, k) => page.locator('.stack > section').nth(k).locator('.legend li').evaluateAll((all) => all.map((li) => [li.querySelector('span').textContent, li.querySelector('b').textContent]));
const near = (text, want) => (want === null ? assert.equal(text, 'unknown') : assert.ok(Math.abs(number(text) - want) <= 0.006 * Math.max(MIB, Math.abs(want)), `${text} for ${want}`));
const kinds = ['torch_live', 'torch_cached', 'other', 'pooled', 'context', 'profiler', 'others', 'reserved', 'unexplained'];

async function alone(page) {
  await go(page, 'Device memory');
  await page.waitForSelector('.chart.ledger canvas');
  const want = json('device', one).devices[0];
  await soon(async () => assert.equal((await legend(page, 0)).length, kinds.length));
  (await legend(page, 0)).forEach(([, text], i) => near(text, want[`${kinds[i]}_bytes`])); // at the highest moment
  const libraries = await cells(page, 'libraries');
  assert.deepEqual(libraries.map((r) => r[0]), want.libraries.map((r) => r.caller));
  await page.click('summary:text-is("These figures as a table")');
  await soon(async () => assert.equal((await cells(page, 'ledger')).length, want.over_time.length));
  const before = await picture(page, '.chart.ledger');
  const box = await page.locator('.chart.ledger canvas').boundingBox();
  await page.mouse.move(box.x + 90, box.y + 100); // the first moment
  await soon(async () => near((await legend(page, 0))[0][1], want.over_time[0].torch_live_bytes));
  await page.mouse.wheel(0, -400);
  await redrawn(page, '.chart.ledger', before);
  await shot(page, 'ledger');
}

async function together(page) {
  await go(page, 'Device memory');
  const want = json('device', one, two).devices[0];
  await soon(async () => assert.equal((await legend(page, 0)).length, 5));
  const all = await legend(page, 0);
  assert.deepEqual(all.map((r) => r[0]), [...want.processes.map((p) => `process ${p.pid} (${p.file.split('/').pop()})`), 'other processes', 'driver and firmware', 'unexplained']);
  const held = (p) => kinds.slice(0, 6).reduce((n, k) => n + (p[`${k}_bytes`] ?? 0), 0);
  want.processes.forEach((p, i) => near(all[i][1], held(p)));
  near(all[2][1], want.others_bytes);
  assert.equal((await legend(page, 1)).length, kinds.length); // the process by itself
  await shot(page, 'ledgers');
}

await drive(async ({ folder, make, visit }) => {
  await visit(make('report', one), '', alone);
  const both = join(folder, 'both.html');
  run('report', one, two, '--ranks', '-o', both);
  await visit(both, '', together);
  await visit(make('report', gpt), '', async (page) => assert.equal(await page.locator('nav button:text-is("Device memory")').count(), 0));
});
