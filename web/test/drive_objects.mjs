// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The page of live objects: its tables are those of `tidemark objects --json`, a click on an owner keeps only the objects that it
// shares, snapshots can be switched, and hostile names are shown as text.
//   node drive_objects.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { cells, data, drive, hash, json, shot, soon } from './driver.mjs';

const result = data('objects.json');

async function view(page) {
  const want = json('objects', result).snapshots;
  const end = want[want.length - 1];
  await page.waitForSelector('.objects');
  assert.match(await page.textContent('.objects .figures'), /Total bytes/);
  const owners = await cells(page, 'owners');
  assert.deepEqual(owners.map((r) => r[0]), end.owners.map((r) => r.name), 'in the order of the text: the program comes first');
  assert.deepEqual((await cells(page, 'modules')).map((r) => r[0]), end.modules.map((r) => r.module));
  assert.deepEqual(await page.locator('ul[aria-label="recommendations"] li').allTextContents(), end.recommendations);
  assert.deepEqual(await page.locator('ul[aria-label="problems"] li').allTextContents(), end.problems);
  const shared = await cells(page, 'shared');
  assert.equal(shared.length, end.shared.length);
  assert.equal(shared[0][3], end.shared[0].owners.join(', '));
  assert.equal((await cells(page, 'duplicates')).length, end.duplicates.length);
  assert.ok((await cells(page, 'owners')).some((r) => r[0].includes('<img src=x onerror=alert(1)>')), 'a name stays text');
  assert.ok(end.rows.types > end.types.length);
  assert.match(await page.textContent('.objects'), new RegExp(`${end.rows.types - end.types.length} more not listed`), 'a cut list says so');
  await shot(page, 'objects');

  await page.click(`table[aria-label="owners"] tbody tr:has-text("${end.shared[0].owners[0]}")`);
  await soon(async () => assert.equal((await hash(page)).get('owner'), end.shared[0].owners[0]));
  const mine = end.shared.filter((r) => r.owners.includes(end.shared[0].owners[0]));
  await soon(async () => assert.equal((await cells(page, 'shared')).length, mine.length));
  assert.ok(mine.length < end.shared.length);

  await page.click(`[aria-label="Snapshot"] button:text-is("${want[0].at}")`);
  await soon(async () => assert.equal((await cells(page, 'owners')).length, want[0].owners.length));
  assert.equal((await hash(page)).get('at'), want[0].at);
}

await drive(async ({ make, visit }) => {
  await visit(make('objects', result), '', view);
});
