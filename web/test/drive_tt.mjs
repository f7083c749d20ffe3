// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The view of a Tenstorrent run: its figures are those of `tidemark tt`, a click on the chart chooses an
// operation and shows its text and its line in the module, and no duration is anywhere.
//   node drive_tt.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cells, drive, hash, json, shot, soon } from './driver.mjs';

const log = join(mkdtempSync(join(tmpdir(), 'tt-')), 'run_profile.log');
writeFileSync(log, execFileSync('python3', [join(process.argv[3], 'tests/support/tt_emitter.py'), '--oom']));

async function view(page) {
  const want = json('tt', '--analyze', log);
  await page.waitForSelector('.tenstorrent canvas');
  const text = await page.textContent('.tenstorrent');
  assert.match(text, /DRAM peak/);
  assert.doesNotMatch(text, /\d (ns|µs|ms|s)\b/, 'no duration');
  const growers = await cells(page, 'Top growers, DRAM');
  assert.equal(growers.length, want.top_growers_dram.length);
  assert.equal(Number(growers[0][2]), want.top_growers_dram[0].index);
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

await drive(async ({ make, visit }) => {
  await visit(make('report', log), '#view=tenstorrent', view);
});
