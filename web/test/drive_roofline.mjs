// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The roofline: a point for every op with operations and bytes, tables equal to those of `tidemark roofline --json`, and the way from a point to its op.
//   node drive_roofline.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { cells, data, drive, go, gpt, json, shot, soon } from './driver.mjs';

await drive(async ({ make, visit }) => {
  await visit(make('report', gpt), '', async (page) => {
    await go(page, 'Roofline');
    await page.waitForSelector('.roofline circle');
    const want = json('roofline', gpt);
    const points = want.ops.filter((o) => o.flops > 0 && o.intensity > 0);
    assert.equal(await page.locator('.roofline circle').count(), points.length);
    assert.equal(await page.locator('.roofline .roof').count(), new Set(points.map((o) => o.peak_tflops)).size + 1); // and the bandwidth
    const kinds = await cells(page, 'kinds of work');
    assert.deepEqual(kinds.map((r) => r[0]), want.categories.map((c) => c.category));
    await page.locator('.roofline circle').first().click();
    const name = await page.locator('#follow b').innerText();
    assert.equal(name, points[0].op);
    await shot(page, 'roofline');
    await page.click('#follow button:text-is("On the timeline")');
    await soon(async () => assert.match(page.url(), /view=timeline/));
  });
  const without = data('kineto_gpt_train_stack.json.gz');
  await visit(make('roofline', without), '', async (page) => {
    const doc = json('roofline', without);
    await soon(async () => assert.equal(await page.locator('.roofline circle').count(), doc.ops.filter((o) => o.flops > 0 && o.intensity > 0).length));
  });
});
