// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drives the timeline as a user would: details, arrows from launch to kernel, areas and their sums, lanes, the keyboard alone.
// Figures equal those of the commands.
import assert from 'node:assert/strict';
import { data, drive, gpt, hash, picture, redrawn, restored, run, settle, shot } from './driver.mjs';

const facts = (page) =>
  page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.details .facts div')].map((d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent])));
const canvas = (page) => page.locator('.timeline canvas').boundingBox();
const find = async (page, text) => {
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.fill('#find', text);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.details');
  await page.evaluate(() => document.activeElement.blur());
};

async function details(page) {
  await find(page, 'aten::mm');
  const f = await facts(page);
  assert.match(f.Lasts, /µs|ms/);
  assert.match(f['Input Dims'], /^\[\[\d+, \d+\], \[\d+, \d+\]\]$/, 'shapes of the op');
  assert.match(f.Memory, /allocated, .* freed/);
  assert.ok(f.Self && f.Starts && f.Ends && f.Where);
  assert.ok((await page.locator('ol.crumbs button').count()) > 0, 'what is around it');
  await shot(page, 'timeline-details');
}

/** Counts columns of the accent's colour in a line of a canvas. */
const accents = (page, where, y) =>
  page.evaluate(
    ([w, line]) => {
      const c = document.querySelector(`${w} canvas`);
      const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(c, 0, 0);
      const want = [179, 38, 30]; // --accent of the light page
      const { data } = copy.getImageData(0, line < 0 ? c.height + line : line, c.width, 1);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) n += want.every((v, k) => Math.abs(data[i + k] - v) < 3);
      return n;
    },
    [where, y],
  );

/** A search marks its matches on the axis and in the strip of the whole trace. */
async function matches(page) {
  await page.fill('#find', '');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  assert.equal(await accents(page, '.timeline', 18), 0);
  const strip = await accents(page, '.minimap', -4);
  await page.fill('#find', 'gelu');
  await settle(page);
  assert.equal(await page.textContent('#matches'), '144 matches');
  const columns = await accents(page, '.timeline', 18);
  assert.ok(columns > 60 && columns < 400, `${columns} columns are marked`);
  assert.ok((await accents(page, '.minimap', -4)) > strip + 30, 'and in the strip');
  const before = await picture(page, '.timeline');
  await page.fill('#find', 'no such span');
  await settle(page);
  assert.equal(await page.textContent('#matches'), '0 matches');
  assert.equal(await accents(page, '.timeline', 18), 0);
  await page.fill('#find', '');
  await redrawn(page, '.timeline', before);
  await page.evaluate(() => document.activeElement.blur());
}

/** The details of a span are in sight, and so is the span. */
async function docked(page) {
  await find(page, 'aten::mm');
  const [box, lanes] = [await page.locator('.details').boundingBox(), await canvas(page)];
  assert.ok(box.y + 120 < 900, `the details begin at ${box.y}`);
  assert.ok(lanes.y + lanes.height <= box.y + 1, 'and do not cover the lanes');
  await page.keyboard.press('Escape');
  await page.fill('#find', '');
  await page.evaluate(() => document.activeElement.blur());
}

/** Threads with deep stacks do not hide the device, and nearly empty further tracks are folded. */
async function deep(page) {
  await page.keyboard.press('l');
  const list = await page.locator('#lanes li').evaluateAll((all) => all.map((li) => [li.querySelector('label span').textContent, li.querySelector('button').textContent]));
  assert.equal(list[0][0], 'stream 7 on cuda:0');
  assert.deepEqual(list.filter(([, fold]) => fold === 'Unfold').map(([name]) => name), ['thread 678 (python3) · overlap 1']);
  assert.equal((await hash(page)).get('lanes'), null, 'which is the default');
  await page.click('#lanes li:has-text("overlap 1") button:text-is("Unfold")');
  assert.equal((await hash(page)).get('lanes'), 'c1');
  await page.click('#lanes button:text-is("As it came")');
  assert.equal((await hash(page)).get('lanes'), null);
}

async function arrows(page) {
  await find(page, 'cudaLaunchKernel');
  await page.click('.crumbs button:has-text("starts")');
  await settle(page);
  assert.equal((await facts(page)).Type, 'kernel', 'a link leads to the kernel');
  assert.ok((await facts(page)).grid, 'launch figures');
  assert.ok((await page.locator('ol.crumbs[aria-label^="Launched from"] li').count()) > 1, 'and the stack that launched it');
  const kernel = (await hash(page)).get('span');
  // Back along the drawn arrow: look at both ends, click the curve half way.
  await page.fill('#find', '');
  for (let i = 0; i < 6; i++) await page.keyboard.press('s');
  await settle(page);
  const box = await canvas(page);
  const before = await picture(page, '.timeline');
  let followed = false;
  for (let dy = box.height - 40; dy > 120 && !followed; dy -= 6)
    for (let dx = 300; dx < box.width - 10 && !followed; dx += 4) {
      // Only places where the pointer's shape shows a link and no span is below it.
      await page.mouse.move(box.x + dx, box.y + dy);
      const on = await page.evaluate(() => document.querySelector('.timeline canvas').classList.contains('pointing') && !document.querySelector('.tip'));
      if (!on) continue;
      await page.mouse.click(box.x + dx, box.y + dy);
      followed = (await hash(page)).get('span') !== kernel;
    }
  assert.ok(followed, 'a click on the arrow follows it');
  assert.match((await facts(page)).Type, /runtime|driver/);
  await redrawn(page, '.timeline', before);
}

async function areas(page) {
  await page.keyboard.press('Escape');
  await page.fill('#find', '');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('0');
  await settle(page);
  // All spans as a table: equal to the command's output to the nanosecond.
  await page.keyboard.press('t');
  await page.waitForSelector('#sums tbody tr');
  await page.fill('input[aria-label="Filter spans by name"]', 'aten::mm');
  await settle(page);
  const row = page.locator('#sums tbody tr', { has: page.locator('span:text-is("aten::mm")') }).first();
  const cells = await row.locator('td').allTextContents();
  const flat = JSON.parse(run('ops', gpt, '--flat', '--top', '0', '--json'));
  
  const mm = flat.ops.find((r) => r.op === 'aten::mm');
  assert.equal(cells[2], String(mm.count), 'count as the command says');
  const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const same = (text, want) => {
    const [v, u] = text.split(' ');
    assert.equal((want / unit[u]).toFixed(v.split('.')[1]?.length ?? 0), v, `${text} is ${want} ns`);
  };
  same(cells[3], mm.wall_ns);
  same(cells[4], mm.self_ns);
  await page.click('#sums button:text-is("Close")');
  // An area, by shift and by the button.
  const box = await canvas(page);
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 400, box.y + 130);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 160, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.waitForSelector('#sums tbody tr');
  assert.match(await page.textContent('#sums h2'), /^The area: .* of 1 lane, [\d,]+ spans?, .* covered$/);
  const [t0, t1, lanes] = (await hash(page)).get('area').split('-');
  assert.ok(Number(t1) > Number(t0) && lanes === '0');
  const shares = await page.evaluate(() => [...document.querySelectorAll('#sums tbody tr:not(.pad)')].map((r) => parseFloat(r.cells[5].textContent)));
  assert.ok(shares.length > 2 && shares.every((v, i) => !i || v <= shares[i - 1]) && shares.reduce((a, b) => a + b, 0) < 100.5, `shares of a whole, largest first: ${shares}`);
  await shot(page, 'timeline-area');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#sums').count(), 0, 'Escape drops the area');
  await page.click('button:text-is("Select area")');
  await page.mouse.move(box.x + 300, box.y + 120);
  await page.mouse.down();
  await page.mouse.move(box.x + 900, box.y + box.height - 15, { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector('#sums tbody tr');
  assert.match(await page.textContent('#sums h2'), /of 4 lanes/);
  await page.keyboard.press('Escape');
}

async function lanes(page) {
  await settle(page);
  const before = await picture(page, '.timeline');
  await page.keyboard.press('l');
  await page.waitForSelector('#lanes li');
  await page.click('#lanes li:nth-child(1) button:text-is("Fold")');
  await page.click('#lanes li:nth-child(2) input');
  await page.click('#lanes li:nth-child(4) button:text-is("↑")');
  assert.equal((await hash(page)).get('lanes'), 'o0.1.3.2_h1_c0', 'folded, hidden, moved');
  await redrawn(page, '.timeline', before);
  await shot(page, 'timeline-lanes');
  await page.click('#lanes button:text-is("As it came")');
  await page.click('#lanes button:text-is("Close")');
  await settle(page);
  await restored(page, '.timeline', before, 'and back');
  // In the picture: a click on a name folds, a drag moves.
  const box = await canvas(page);
  await page.mouse.click(box.x + 60, box.y + 112);
  assert.equal((await hash(page)).get('lanes'), 'c0');
  await page.mouse.click(box.x + 60, box.y + 112);
  assert.equal((await hash(page)).get('lanes'), null);
  await page.mouse.move(box.x + 60, box.y + box.height - 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, box.y + 112, { steps: 3 });
  await page.mouse.up();
  assert.equal((await hash(page)).get('lanes'), 'o3.0.1.2');
  await page.keyboard.press('l');
  await page.click('#lanes button:text-is("As it came")');
  await page.click('#lanes button:text-is("Close")');
}

/** Low rows: the same spans in less room, and back. */
async function low(page) {
  await page.keyboard.press('0');
  await settle(page);
  const height = async () => (await canvas(page)).height;
  const [was, before] = [await height(), await picture(page, '.timeline')];
  await page.keyboard.press('c');
  assert.equal((await hash(page)).get('low'), '1');
  assert.ok((await height()) < was, 'lower rows need less room');
  await page.click('button:text-is("Compact")');
  await settle(page);
  await restored(page, '.timeline', before);
}

/** The keyboard alone. */
async function keyboard(page) {
  await page.focus('.timeline canvas');
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  const heard = () => page.textContent('.heard');
  await page.keyboard.press('ArrowRight');
  const first = await heard();
  assert.match(first, /, .* (ns|µs|ms)$/, 'the first span in sight is told');
  await page.keyboard.press('ArrowDown');
  const inner = await heard();
  assert.notEqual(inner, first);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await heard(), inner);
  const told = await heard();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.details');
  assert.ok(told.startsWith(await page.textContent('.details h3')), 'Enter selects it');
  await page.keyboard.press('f');
  await page.waitForFunction(() => location.hash.includes('t0=')); // f focuses it
  await page.keyboard.press('ArrowUp');
  assert.notEqual(await heard(), told);
  await page.keyboard.press('Escape');
  assert.equal(await heard(), '');
}

/** Escape closes what was opened over the timeline. */
async function leave(page) {
  for (const name of ['Lanes', 'As table']) {
    const button = page.locator(`.bar button:text-is("${name}")`);
    await button.click();
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    await page.keyboard.press('Escape');
    await settle(page);
    assert.equal(await button.getAttribute('aria-pressed'), 'false', `Escape closes ${name}`);
  }
}

/** The strip of the whole trace: a drag beside the window chooses one, inside it moves it. */
async function minimap(page) {
  await page.keyboard.press('0');
  const box = await page.locator('.minimap canvas').boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + from, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + to, box.y + 20, { steps: 4 });
    await page.mouse.up();
    const h = await hash(page);
    return [Number(h.get('t0')), Number(h.get('t1'))];
  };
  const [a, b] = await drag(300, 500);
  assert.ok(a > 0 && b > a);
  const [c, d] = await drag(400, 600);
  assert.ok(c > a && Math.abs(d - c - (b - a)) < 3, 'the window moves, its width stays');
}

/** A finger: sideways it moves in time, up and down it scrolls the page and leaves nothing behind. */
async function finger(page) {
  await page.keyboard.press('0');
  for (let i = 0; i < 4; i++) await page.keyboard.press('w');
  const box = await canvas(page);
  const cdp = await page.context().newCDPSession(page);
  const [x, y] = [box.x + box.width / 2, box.y + 150];
  const touch = (type, dx, dy) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x: x + dx, y: y + dy }] });
  const drag = async (dx, dy) => {
    await touch('touchStart', 0, 0);
    for (let i = 1; i <= 6; i++) await touch('touchMove', (dx * i) / 6, (dy * i) / 6);
    await touch('touchEnd', 0, 0);
    await settle(page);
    return (await hash(page)).get('t0');
  };
  const before = (await hash(page)).get('t0');
  const moved = await drag(-200, 0);
  assert.ok(Number(moved) > Number(before), 'sideways it moves in time');
  assert.equal(await drag(0, 120), moved, 'downwards it does not');
  await page.mouse.move(x - 100, y);
  await page.mouse.move(x + 100, y);
  await settle(page);
  assert.equal((await hash(page)).get('t0'), moved, 'and nothing follows the pointer afterwards');
}

await drive(async ({ make, visit }) => {
  await visit(make('timeline', gpt), '', async (page) => {
    assert.equal(await page.locator('nav').count(), 0, 'a page of one view has no tabs');
    await page.waitForSelector('.timeline canvas');
    await shot(page, 'timeline');
    for (const part of [details, matches, docked, arrows, areas, lanes, low, keyboard, leave, minimap, finger]) await part(page);
  });
  await visit(make('timeline', data('kineto_gpt_train_stack.json.gz')), '', deep);
});
