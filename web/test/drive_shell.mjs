// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Functions of all views: pages of one view, tabs only for existing data, help, light and dark (stored), paper, small and wall
// screens, names for all controls.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { data, drive, go, gpt, hash, run, settle, shot } from './driver.mjs';
import { rankTrace } from './traces.mjs';

const tabs = (page) => page.locator('nav button').allTextContents();

/** Everything that takes the focus or is a picture has a name; nothing is wider than the window. */
async function named(page, where) {
  const bad = await page.evaluate(() => {
    const name = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.labels?.[0]?.textContent.trim() || e.placeholder;
    return [...document.querySelectorAll('button, input, select, canvas, table, [role=img], [tabindex="0"]')].filter((e) => !name(e)).map((e) => e.outerHTML.slice(0, 120));
  });
  assert.deepEqual(bad, [], `${where}: without a name`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where}: ${wide} pixels wider than the window`);
}

const back = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
/** The colour of the picture's last corner, read through a copy. */
const corner = (page) =>
  page.evaluate(() => {
    const c = document.querySelector('main canvas');
    const copy = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    copy.drawImage(c, 3 - c.width, 3 - c.height);
    return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
  });

async function themes(page) {
  await go(page, 'Timeline');
  await page.waitForSelector('.timeline canvas');
  await page.emulateMedia({ colorScheme: 'dark' });
  await settle(page);
  const dark = await back(page);
  assert.ok((await corner(page)).every((v) => v < 80), 'the picture is dark too');
  await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
  await settle(page);
  assert.equal(await back(page), 'rgb(255, 255, 255)', 'paper is white');
  assert.ok((await corner(page)).every((v) => v > 200), 'and so is the picture on it');
  assert.equal(await page.locator('nav').isVisible(), false, 'nothing to press on paper');
  await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
  await settle(page);
  assert.notEqual(await back(page), dark);
  await page.click('button[aria-label="Light or dark"]');
  await settle(page);
  assert.equal(await back(page), dark, 'the button wins over the system');
}

async function helpAndAbout(page) {
  await page.click('button[aria-label="Keys"]');
  const help = page.locator('dialog.help');
  assert.match(await help.textContent(), /Timeline.*shift \+ drag/s);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Close', 'the focus goes into the dialog');
  for (let i = 0; i < 3; i++) await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(() => ['DIALOG', 'BODY', 'SECTION', 'BUTTON'].includes(document.activeElement.tagName) && !document.activeElement.closest('header.top')), 'and stays there');
  const shown = await hash(page);
  await page.keyboard.press('3');
  assert.equal(String(await hash(page)), String(shown), 'nothing behind it moves');
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Keys', 'the focus is where it was');
  await page.keyboard.press('?');
  await page.keyboard.press('?');
  await help.waitFor({ state: 'detached' });
  assert.match(await page.textContent('.about'), /\w/);
  await page.click('.about button');
  assert.equal(await page.locator('.about').count(), 0);
}

const beyond = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** A phone: no view of any page scrolls sideways. */
async function phone(folder, make, visit) {
  const job = join(folder, 'job');
  const long = { ph: 'X', cat: 'kernel', name: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL_${'word'.repeat(30)}`, pid: 0, tid: 7, ts: 20000, dur: 9000, args: { device: 0, stream: 7 } };
  mkdirSync(job);
  for (const r of [0, 1]) writeFileSync(join(job, `a_rank_with_a_long_name_as_folders_of_jobs_have_${r}.json`), rankTrace(r, 1, [long]));
  run('report', ...[0, 1].map((r) => join(job, `a_rank_with_a_long_name_as_folders_of_jobs_have_${r}.json`)), '--diff', '-o', join(folder, 'two.html'));
  const files = [gpt, data('kineto_compiled_infer.json.gz'), data('kineto_gpt_train_stack.json.gz'), data('torchsnap/snapshot_oom.pickle.gz'), data('torchsnap/snapshot_gpt_train.pickle.gz'), data('torchtrace/gpt.log.gz'), job];
  for (const html of [...files.map((f) => make('report', f)), join(folder, 'two.html')])
    await visit(html, '', async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      for (const name of await tabs(page)) {
        await go(page, name);
        assert.ok((await beyond(page)) <= 0, `${html}: ${name} scrolls sideways on a phone`);
      }
    });
}

/** A tooltip goes when the view changes, and is not there when the user comes back. */
async function tips(all, visit) {
  await visit(all, '', async (page) => {
    for (const [view, where, y] of [['Timeline', '.timeline', 150], ['Memory', '.chart.memory', 250], ['Flame', '.flame', 28]]) {
      await go(page, view);
      const box = await page.locator(`${where} canvas`).boundingBox();
      const at = async () => {
        await page.mouse.move(0, 0);
        await page.mouse.move(box.x + 300, box.y + y);
        await settle(page);
        assert.equal(await page.locator('.tip').count(), 1, `${view}: a tooltip`);
      };
      await at();
      await page.keyboard.press('1');
      assert.equal(await page.locator('.tip').count(), 0, `${view}: gone with its view`);
      await page.goBack();
      assert.equal(await page.textContent('nav [aria-current]'), view);
      assert.equal(await page.locator('.tip').count(), 0, `${view}: not there again`);
      if (view === 'Flame') continue;
      await at();
      await page.keyboard.press('w');
      assert.equal(await page.locator('.tip').count(), 0, `${view}: gone with the visible time`);
      await page.keyboard.press('0');
    }
  });
}

await drive(async ({ folder, make, visit }) => {
  const all = make('report', gpt);
  await visit(all, '', async (page) => {
    assert.deepEqual(await tabs(page), ['Overview', 'Timeline', 'Memory', 'Flame', 'Ops', 'Kernels', 'Roofline', 'Device time'], 'no phases are marked');
    for (const [i, t] of (await tabs(page)).entries()) {
      await page.keyboard.press(String(i + 1));
      await settle(page);
      assert.equal(await page.textContent('nav [aria-current]'), t);
      await named(page, t);
    }
    await helpAndAbout(page);
    await themes(page);
    // Back returns to the previous view; Escape leaves the search box and keeps its text.
    await go(page, 'Ops');
    await page.waitForFunction(() => location.hash.includes('view=ops'));
    await go(page, 'Timeline');
    await page.waitForFunction(() => location.hash.includes('view=timeline'));
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('nav [aria-current]')?.textContent === 'Ops');
    await page.goForward();
    await page.waitForSelector('#find');
    await page.keyboard.press('/');
    await page.keyboard.type('addmm');
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    assert.equal(await page.inputValue('#find'), 'addmm');
  });
  await visit(all, '', async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'the choice is kept');
    assert.equal(await page.locator('.about').count(), 0, 'this one too');
    await page.evaluate(() => localStorage.clear());
  });
  for (const [command, where] of [['timeline', '.timeline canvas'], ['memory', '.chart.memory canvas'], ['flame', '.flame canvas'], ['ops', 'table'], ['kernels', 'table'], ['phases', 'table, .loading'], ['hta', '.breakdown']])
    await visit(make(command, gpt), '', async (page) => {
      await page.waitForSelector(where);
      assert.equal((await hash(page)).get('view'), command, `${command} -o x.html opens at its view`);
      assert.equal(await page.locator('nav').count(), 0);
      assert.equal(await page.locator('.error').count(), 0);
    });
  await visit(make('gantt', gpt), '', async (page) => {
    await page.waitForSelector('.timeline canvas');
    assert.equal(await page.title(), 'Operation Timeline - Gantt Chart');
    assert.match(await page.textContent('main'), /[\d,]+ operations \| \d+ concurrent lanes \| [\d.]+ ms total time/);
    assert.match(await page.textContent('main'), /LinearRMSNormSiLUEmbeddingother/);
  });
  // Tabs only for data that the trace has.
  const spans = join(folder, 'spans.json');
  writeFileSync(spans, JSON.stringify({ traceEvents: [{ ph: 'X', cat: 'cpu_op', name: 'one', pid: 1, tid: 1, ts: 0, dur: 5 }] }));
  await visit(make('report', spans), '', async (page) => {
    assert.deepEqual(await tabs(page), ['Overview', 'Timeline', 'Flame', 'Ops']);
  });
  for (const command of ['memory', 'kernels', 'phases', 'hta'])
    await visit(make(command, spans), '', async (page) => assert.match(await page.textContent('.loading'), /This trace has no/, command));
  const empty = join(folder, 'empty.json');
  writeFileSync(empty, '{"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}}]}');
  await visit(make('report', empty), '', async (page) => assert.equal(await page.locator('.error').count(), 0));
  // A laptop and walls.
  for (const [width, height, size] of [[1280, 720, '14px'], [2560, 1440, '21px'], [3840, 2160, '28px']]) {
    await visit(all, '#view=timeline', async (page) => {
      await page.setViewportSize({ width, height });
      await settle(page);
      assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), size);
      await named(page, `${width}`);
      await shot(page, `timeline-${width}`);
    });
  }
  await phone(folder, make, visit);
  await tips(all, visit);
  // Paper: nothing is wider than the sheet, and no gaps in place of rows outside the window.
  await visit(all, '', async (page) => {
    await page.setViewportSize({ width: 703, height: 1000 });
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.findings button:visible, .hint:visible').count(), 0, 'what cannot be clicked is not on paper');
    for (const name of ['Kernels', 'Memory', 'Device time']) {
      await page.evaluate((n) => [...document.querySelectorAll('nav button')].find((b) => b.textContent === n).click(), name);
      await page.waitForSelector('table tbody tr');
      await settle(page);
      assert.ok((await beyond(page)) <= 0, `${name} is wider than the sheet`);
    }
    const pad = await page.locator('.pad').first().evaluate((e) => [e.textContent, e.clientHeight]);
    assert.match(pad[0], /^… [\d,]+ more rows$/);
    assert.ok(pad[1] < 40, 'a hole on paper');
  });
});
