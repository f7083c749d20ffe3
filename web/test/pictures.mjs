// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Takes the pictures of docs/, each of a page that is driven to what it shows (make pictures).
//   node pictures.mjs PROGRAM SOURCE FOLDER
// DEMO names a recording of examples/gpt: phases and memory that was recorded, not imported. OTHER: one with a larger batch.
// LEDGER: one of a program on a GPU (tidemark run --gpu); without it that picture stays as it is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { data, drive, go, gpt, run, settle, shot } from './driver.mjs';
import { shrink } from './png.mjs';

const MOST = 60 * 1000; // bytes of a picture
const folder = process.argv[4];
const { DEMO: demo, OTHER: other, LEDGER: ledger } = process.env;
assert.ok(folder && demo && other, 'pictures.mjs PROGRAM SOURCE FOLDER, with DEMO=FILE.tide OTHER=FILE.tide');

const search = async (page, text) => {
  await page.fill('#find', text);
  await page.keyboard.press('Enter');
  await settle(page);
};

async function kineto(page) {
  await shot(page, 'overview');
  await go(page, 'Timeline');
  await settle(page);
  await shot(page, 'timeline');
  await search(page, 'aten::_cudnn_attention_forward');
  await page.click('ul.crumbs button:has-text("backward"), ol.crumbs button >> nth=-1');
  await page.fill('#find', '');
  await search(page, 'flash_fprop');
  await page.fill('#find', '');
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 9; i++) await page.keyboard.press('s');
  await page.setViewportSize({ width: 1280, height: 960 });
  await page.evaluate(() => scrollTo(0, 0));
  await settle(page);
  await shot(page, 'timeline-kernel');
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await settle(page);
  const box = await page.locator('.timeline canvas').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 560, box.y + 120);
  await page.mouse.down();
  await page.mouse.move(box.x + 760, box.y + box.height - 12, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.mouse.move(box.x + 10, box.y - 30);
  await page.waitForSelector('#sums tbody tr');
  await settle(page);
  await shot(page, 'timeline-area');
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1280, height: 760 });
  for (const name of ['Flame', 'Ops', 'Kernels', 'Device time']) {
    await go(page, name);
    await settle(page);
    await shot(page, name.toLowerCase().replace(' ', '-'));
  }
}

async function recorded(page) {
  await go(page, 'Memory');
  await page.click('button:text-is("Go to the peak")');
  await settle(page);
  await shot(page, 'memory');
  await go(page, 'Phases');
  await settle(page);
  await shot(page, 'phases');
  await go(page, 'Overview');
  await page.click('button[aria-label="Light or dark"]');
  await settle(page);
  await shot(page, 'dark');
}

await drive(
  async ({ folder: temporary, make, visit }) => {
    const log = join(temporary, 'train.log');
    const pair = join(temporary, 'pair.html');
    const shown = (tab, name) => async (page) => {
      if (tab) await go(page, tab);
      await settle(page);
      await settle(page);
      await shot(page, name);
    };
    writeFileSync(log, execFileSync('python3', [join(process.argv[3], 'tests/support/tt_emitter.py'), '--ranks', '2', '--runs', '3', '--oom']));
    await visit(make('report', log), '', shown('Tenstorrent', 'tenstorrent'));
    run('report', demo, other, '-o', pair);
    await visit(pair, '', shown('', 'compare'));
    if (ledger) await visit(make('report', ledger), '', shown('Device memory', 'device-memory'));
    await visit(make('report', gpt), '', kineto);
    await visit(make('report', data('torchsnap/snapshot_oom.pickle.gz')), '', (page) => shot(page, 'oom'));
    await visit(make('report', demo), '', recorded);
  },
  { width: 1280, height: 760 },
);
for (const name of readdirSync(folder).filter((n) => n.endsWith('.png'))) {
  const file = join(folder, name);
  const small = shrink(readFileSync(file));
  writeFileSync(file, small);
  console.log(`${name} ${small.length}`);
  assert.ok(statSync(file).size < MOST, `${name} has ${small.length} bytes`);
}
