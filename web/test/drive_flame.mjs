// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drives flame graphs, ops, kernels and device time as a user would. Figures equal those of the commands to the nanosecond and
// the byte.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cells, drive, go, gpt, hash, json, picture, redrawn, restored, settle, shot } from './driver.mjs';

const choose = async (page, label, text) => {
  await page.click(`.choice[aria-label="${label}"] button:text-is("${text}")`);
  await settle(page);
};
const whole = (text, unit) => Number(text.match(new RegExp(`\\(([\\d,]+) ${unit}`))[1].replaceAll(',', ''));
const tip = async (page, x, y) => {
  await page.mouse.move(x, y);
  await settle(page);
  return page.textContent('.tip');
};

/** Totals by function of a tree from the command line; a recursive call counts once. */
function functions(root) {
  const of = {};
  const walk = (node, open) => {
    const own = (of[node.name] ??= { total: 0, self: 0 });
    const value = (n) => n.value_ns ?? n.value;
    if (!open.has(node.name)) own.total += value(node);
    own.self += node.self_ns ?? node.self;
    for (const c of node.children ?? []) walk(c, new Set([...open, node.name]));
  };
  for (const c of root.children) walk(c, new Set());
  return of;
}

async function graph(page) {
  const kinds = [['CPU time', 'cpu', 'ns'], ['GPU time', 'gpu', 'ns'], ['Memory at the peak', 'memory', 'B']];
  for (const [title, kind, unit] of kinds) {
    await choose(page, 'What', title);
    const want = json('flame', gpt, '--kind', kind, '--merge-steps');
    const box = await page.locator('.flame canvas').boundingBox();
    assert.equal(whole(await tip(page, box.x + box.width / 2, box.y + 8), unit), want.value_ns ?? want.value, `${title}: the root`);
    const first = want.children[0];
    const said = await tip(page, box.x + 4, box.y + 19 + 8);
    assert.ok(said.startsWith(first.name), `${said} starts with ${first.name}`);
    assert.equal(whole(said, unit), first.value_ns ?? first.value, `${title}: its largest child`);
    assert.match(said, /% of all · [\d.]+ % of its parent/);
  }
  await choose(page, 'What', 'CPU time');
  const heavy = await picture(page, '.flame');
  await choose(page, 'Order', 'In order of time');
  const box = await page.locator('.flame canvas').boundingBox();
  await redrawn(page, '.flame', heavy, 'order of time is another picture');
  assert.equal(whole(await tip(page, box.x + 400, box.y + 8), 'ns'), json('flame', gpt, '--kind', 'cpu').value_ns, 'of the same whole');
  await shot(page, 'flame-time');
  await choose(page, 'Order', 'Largest first');
  await choose(page, 'Direction', 'Flame');
  await shot(page, 'flame-up');
  await page.mouse.move(box.x, box.y - 20);
  await redrawn(page, '.flame', heavy, 'upside down');
  await choose(page, 'Direction', 'Icicle');
  await restored(page, '.flame', heavy, 'and back');
}

async function zoom(page) {
  const before = await picture(page, '.flame');
  const box = await page.locator('.flame canvas').boundingBox();
  await page.mouse.click(box.x + box.width * 0.45, box.y + 19 * 3 + 8);
  await settle(page);
  const crumbs = await page.locator('nav[aria-label="Path"] button').allTextContents();
  assert.equal(crumbs[0], 'All');
  assert.ok(crumbs.length >= 4, 'a click zooms, the path says where');
  const node = (await hash(page)).get('node');
  assert.ok(Number(node) > 0, 'the address keeps it');
  assert.ok((await page.textContent('.details h3')).length > 0, 'its whole name can be read');
  await page.click('nav[aria-label="Path"] button >> nth=2');
  await settle(page);
  assert.equal(await page.locator('nav[aria-label="Path"] button').count(), 3, 'a step of the path zooms out to it');
  await page.click('button:text-is("Reset")');
  await settle(page);
  await restored(page, '.flame', before, 'and back');
  // The keyboard alone.
  const names = [];
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowUp']) {
    await page.keyboard.press(key);
    await settle(page);
    names.push(await page.textContent('.details h3'));
  }
  assert.notEqual(names[1], names[2], 'right is the neighbour');
  assert.equal(names[1], names[3], 'left leads back');
  assert.equal(names[0], names[4], 'up is the parent');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await settle(page);
  await redrawn(page, '.flame', before, 'Enter zooms');
  await page.keyboard.press('Escape');
  await settle(page);
  await restored(page, '.flame', before, 'Escape shows all');
}

async function search(page) {
  const want = functions(json('flame', gpt, '--kind', 'cpu', '--merge-steps'));
  await page.fill('input[aria-label="Search frames"]', 'cudaLaunchKernel');
  await settle(page);
  const said = await page.textContent('#matched');
  const part = (100 * want.cudaLaunchKernel.total) / json('flame', gpt, '--kind', 'cpu').value_ns;
  assert.ok(said.includes(`${part.toFixed(part < 10 ? 2 : 1)} %`), `${said} says ${part}`);
  assert.match(said, /in \d+ frames match$/);
  await page.click('button[aria-label="Next match"]');
  assert.equal(await page.textContent('.details h3'), 'cudaLaunchKernel', 'the next match is selected');
  await shot(page, 'flame-search');
  await page.keyboard.press('Escape');
  const whole = await picture(page, '.chart.flame');
  await page.fill('input[aria-label="Search frames"]', '');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Escape');
  await redrawn(page, '.chart.flame', whole);
  const none = await picture(page, '.chart.flame');
  await page.fill('input[aria-label="Search frames"]', 'no such frame');
  await settle(page);
  assert.equal(await page.textContent('#matched'), 'no frame matches');
  assert.equal(await picture(page, '.chart.flame'), none, 'and nothing is pale');
  await page.fill('input[aria-label="Search frames"]', '');
}

async function sandwich(page) {
  const want = functions(json('flame', gpt, '--kind', 'cpu', '--merge-steps'));
  await choose(page, 'Show', 'Sandwich');
  const rows = await cells(page, 'functions', 12);
  assert.ok(rows.length > 5);
  for (const name of ['aten::mm', 'aten::to', 'cudaLaunchKernel']) {
    await page.fill('input[aria-label="Filter functions"]', name);
    await settle(page);
    await page.click(`table[aria-label="functions"] tbody tr:has(td span:text-is("${name}"))`);
    await settle(page);
    assert.equal(await page.textContent('#slice'), name);
    assert.equal(whole(await page.textContent('#slice + p'), 'ns'), want[name].total, `${name}: total, inside itself once`);
    for (const which of ['Callers', 'Callees']) {
      const box = await page.locator(`canvas[aria-label="${which}"]`).boundingBox();
      const root = which === 'Callers' ? box.y + box.height - 12 : box.y + 8;
      assert.equal(whole(await tip(page, box.x + 5, root), 'ns'), want[name].total, `${which} of ${name} begin with its total`);
    }
  }
  await page.fill('input[aria-label="Filter functions"]', '');
  await shot(page, 'flame-sandwich');
  await choose(page, 'Show', 'Graph');
}

async function ops(page) {
  const want = json('ops', gpt, '--flat');
  await go(page, 'Ops');
  const head = await page.locator('table[aria-label="ops"] th').allTextContents();
  assert.deepEqual(head.slice(0, 3), ['Op', 'Self ▼', 'Wall'], 'self time leads');
  const most = (want.ops ?? want.rows ?? want).reduce((a, o) => (o.self_ns > a.self_ns ? o : a));
  assert.equal((await cells(page, 'ops', 1))[0][0], most.name ?? most.op, 'the op with most self time is first');
  await page.fill('input[aria-label="Filter ops"]', 'aten::addmm');
  await settle(page);
  const [row] = await cells(page, 'ops', 1);
  const op = (want.ops ?? want.rows ?? want).find((o) => (o.name ?? o.op) === 'aten::addmm');
  assert.equal(Number(row[3].replaceAll(',', '')), op.count, 'count as the command says');
  await page.click('table[aria-label="ops"] tbody tr');
  await page.click('#follow button:text-is("In the flame graph")');
  await page.waitForSelector('#matched');
  assert.equal(await page.inputValue('input[aria-label="Search frames"]'), 'aten::addmm');
  await go(page, 'Ops');
  await choose(page, 'Shape', 'Tree');
  const closed = (await cells(page, 'op tree')).length;
  await page.click('button:text-is("Hot path")');
  await settle(page);
  assert.ok((await page.locator('tr.hot').count()) >= 2, 'the heaviest path is marked');
  assert.ok((await cells(page, 'op tree')).length > closed, 'and open');
  await shot(page, 'ops-tree');
  await page.fill('input[aria-label="Filter op tree"]', 'aten::copy_');
  await settle(page);
  assert.ok((await page.locator('table[aria-label="op tree"] tbody').textContent()).includes('aten::copy_'));
  await page.click('table[aria-label="op tree"] tbody tr >> nth=0');
  await page.click('#follow button:text-is("On the timeline")');
  await page.waitForSelector('.timeline canvas');
}

async function kernels(page) {
  const want = json('kernels', gpt);
  await go(page, 'Kernels');
  await settle(page);
  const rows = await cells(page, 'kernels', 5);
  want.kernels.slice(0, 5).forEach((k, i) => {
    assert.ok(rows[i][0].startsWith(k.short_name), `${rows[i][0]} is short for ${k.name}`); // those that shorten alike are numbered
    assert.equal(Number(rows[i][2].replaceAll(',', '')), k.count);
  });
  assert.equal(await page.locator('.spread svg').count(), Math.min(14, want.kernels.length));
  assert.match(await page.locator('.spread div').first().getAttribute('title'), /min .* median .* p90 .* p99 .* max .* std /);
  await shot(page, 'kernels');
}

async function deviceTime(page) {
  const want = json('critical-path', gpt, '--path');
  await go(page, 'Device time');
  await settle(page);
  const parts = await page.locator('.breakdown').first().getAttribute('aria-label');
  assert.match(parts, /compute [\d.]+ %/);
  await page.click('.choice button:text-is("The path")');
  await settle(page);
  const [edge] = await cells(page, 'critical path', 1);
  const timed = want.path.filter((e) => e.time_ns > 0);
  const shown = await page.textContent('.tablebar:has(input[aria-label="Filter critical path"])');
  assert.match(shown, /shorter edges/, 'what is left out is said');
  assert.ok(timed.some((e) => e.name === edge[4] && edge[2] === e.type.replaceAll('_', ' ')), 'its edges are those of the command');
  await shot(page, 'device-time');
  await page.click('table[aria-label="critical path"] tbody tr >> nth=3');
  await page.waitForSelector('.timeline canvas');
  assert.ok((await hash(page)).get('span'), 'an edge leads to its span');
  // Every table of the bars has the document's figures.
  const hta = json('hta', gpt);
  await go(page, 'Device time');
  await settle(page);
  const calls = await cells(page, 'launch calls');
  assert.deepEqual(calls.map((r) => [r[0], Number(r[1].replaceAll(',', ''))]), [...hta.launch_calls].sort((a, b) => b.cpu_sum_ns - a.cpu_sum_ns).map((c) => [c.name, c.launches]));
}

await drive(async ({ folder, make, visit }) => {
  const html = make('report', gpt);
  await visit(html, '#view=flame', async (page) => {
    await graph(page);
    await zoom(page);
    await search(page);
    await sandwich(page);
    await ops(page);
    await kernels(page);
    await deviceTime(page);
  });
  // Trees without data are not offered.
  const plain = join(folder, 'plain.json');
  writeFileSync(plain, JSON.stringify({ traceEvents: [{ ph: 'X', cat: 'cpu_op', name: 'a', pid: 1, tid: 1, ts: 5, dur: 3 }] }));
  await visit(make('report', plain), '#view=flame', async (page) =>
    assert.deepEqual(await page.locator('.choice[aria-label="What"] button').allTextContents(), ['CPU time']));
});
