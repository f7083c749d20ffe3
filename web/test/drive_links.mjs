// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A selection in one view is shown in the others: a moment, a span, a stack, an allocation; blocks by keyboard alone; modules
// equal those of the command; every picture has a table.
//   node drive_links.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { cells, data, drive, go, gpt, hash, json, settle, shot, soon } from './driver.mjs';

const stacks = data('kineto_gpt_train_stack.json.gz');
const snapshot = data('torchsnap/snapshot_gpt_train.pickle.gz');
const press = async (page, key, times = 1) => {
  for (let i = 0; i < times; i++) await page.keyboard.press(key);
};

/** A span: its details, its frame, its row, its time in the memory view. */
async function span(page) {
  await page.waitForSelector('.timeline canvas');
  await page.fill('#find', 'aten::addmm');
  await press(page, 'Enter');
  await soon(async () => assert.equal(await page.textContent('.details h3'), 'aten::addmm'));
  await page.fill('#find', '');
  await page.click('.details button:text-is("In the flame graph")');
  await soon(async () => assert.equal(await page.textContent('[aria-label="Chosen frame"] h3'), 'aten::addmm', 'its frame is marked'));
  await go(page, 'Ops');
  await soon(async () => assert.equal(await page.textContent('tr.picked td', { timeout: 1000 }), 'aten::addmm', 'its row is marked and in sight'));
  const at = await hash(page);
  assert.match(at.get('span'), /^\d+$/);
  await go(page, 'Timeline');
  await page.fill('#find', 'flash_fprop');
  await press(page, 'Enter');
  await soon(async () => assert.match(await page.textContent('.details h3'), /flash_fprop/));
  const name = await page.textContent('.details h3');
  await page.fill('#find', '');
  await page.click('.details button:text-is("In the flame graph")');
  await soon(async () => assert.equal(await page.textContent('[aria-label="Chosen frame"] h3'), name, 'a kernel is found under its launch'));
  assert.equal((await hash(page)).get('tree'), 'gpu');
}

/** An allocation, its stack in the flame graph, and the other allocations of that stack. */
async function stack(page) {
  await page.waitForSelector('table[aria-label="allocations alive"] tr');
  await page.click('table[aria-label="allocations alive"] tbody tr >> nth=2');
  await page.click('#chosen button:text-is("In the flame graph")');
  const title = await soon(() => page.textContent('[aria-label="Chosen frame"] h3', { timeout: 1000 }));
  assert.match(title, /\.py:\d+\)$/, 'the innermost Python frame');
  const all = json('flame', snapshot, '--kind', 'memory', '--allocated');
  const said = async () => Number((await page.textContent('[aria-label="Chosen frame"] .facts')).match(/\(([\d,]+) B\)/)[1].replaceAll(',', ''));
  assert.ok((await said()) > 0 && (await said()) < all.value);
  await page.click('.choice[aria-label="Frames"] button:text-is("All frames")');
  await page.click('.choice[aria-label="Frames"] button:text-is("Python")');
  await page.click('.choice[aria-label="What"] button:text-is("Memory at the peak")');
  const peak = await soon(async () => (assert.equal(await page.textContent('[aria-label="Chosen frame"] h3', { timeout: 1000 }), title), await said()));
  await page.click('button:text-is("In the memory view")');
  await soon(async () => assert.equal(Number(await page.getAttribute('#alive', 'data-bytes')), peak, 'alive at the peak, made under this frame'));
  assert.match((await hash(page)).get('under'), /\.py:\d+\)$/);
  await page.reload();
  await soon(async () => assert.equal(Number(await page.getAttribute('#alive', 'data-bytes')), peak, 'the address keeps the stack'));
  await page.click('#alive button:has-text("made under")');
  await soon(async () => assert.ok(Number(await page.getAttribute('#alive', 'data-bytes')) > peak));
  // The allocation's lifetime is shown in the timeline too.
  await go(page, 'Timeline');
  await settle(page);
  assert.match((await hash(page)).get('alloc'), /^\d+$/);
}

/** Every block can be selected by keyboard, and the selected moment stays the same. */
async function blocks(page) {
  await page.waitForSelector('.chart.blocks canvas');
  await page.focus('.chart.blocks canvas');
  await press(page, 'ArrowRight', 3);
  await press(page, 'ArrowDown');
  const tip = await soon(() => page.textContent('.tip', { timeout: 1000 }));
  assert.match(tip, /segment 0x/);
  for (let i = 0; i < 8 && /free/.test(await page.textContent('.tip b')); i++) await press(page, 'ArrowRight');
  const title = await page.textContent('.tip b');
  const before = await hash(page);
  await press(page, 'Enter');
  await soon(async () => assert.ok(title.startsWith((await page.textContent('#chosen h3', { timeout: 1000 })).split(' · ')[0])));
  const after = await hash(page);
  assert.equal(after.get('t0'), before.get('t0'));
  await page.click('summary:text-is("Blocks as a table")');
  const rows = await soon(async () => {
    const list = await cells(page, 'blocks');
    assert.ok(list.length > 5);
    return list;
  });
  const want = json('allocator', snapshot, '--at', 'peak', '--no-advice').segments.flatMap((s) => s.blocks);
  assert.match(await page.locator('section.table:has(table[aria-label="blocks"]) .tablebar').textContent(), new RegExp(`of ${want.length.toLocaleString('en-US')} rows`));
  assert.match(rows[0][0], /^0x[0-9a-f]+$/);
  await shot(page, 'blocks');
}

/** Modules: the rows equal those of `tidemark modules`, and memory stacked by module equals `peak --group-by module`. */
async function modules(page) {
  const want = json('modules', stacks).modules;
  await go(page, 'Ops');
  await page.click('.choice[aria-label="Shape"] button:text-is("Modules")');
  const rows = await soon(async () => {
    const list = await cells(page, 'modules');
    assert.ok(list.length > 5);
    return list;
  });
  assert.deepEqual(rows.slice(0, 12).map((r) => r[0]), want.slice(0, 12).map((m) => m.module));
  assert.match(await page.textContent('.tablebar'), new RegExp(`of ${want.length} rows`));
  await shot(page, 'modules');
  const peak = json('peak', stacks, '--group-by', 'module');
  await go(page, 'Memory');
  await page.click('.choice[aria-label="Show"] button:text-is("Module")');
  await soon(async () => {
    const groups = await cells(page, 'groups alive');
    const counts = Object.fromEntries(groups.map((r) => [r[0], Number(r[3].replaceAll(',', ''))]));
    for (const g of peak.groups.slice(0, 8)) assert.equal(counts[g.key], g.count, g.key);
  });
}

await drive(async ({ make, visit }) => {
  await visit(make('report', gpt), '#view=timeline', span);
  await visit(make('report', snapshot), '#view=memory', stack);
  await visit(make('report', snapshot), '#view=memory&pane=map', blocks);
  await visit(make('report', stacks), '', modules);
});
