// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The dashboard in a real browser: the list, a recording with every view (the same text as a report of the
// same file), the timeline in pieces, a recording that grows while its program runs, hostile names, the transfer to Perfetto. The
// page sends no request to another host before the user clicks.
//   LIVE_WRITER=PROGRAM node drive_serve.mjs PROGRAM SOURCE [FOLDER FOR PICTURES]
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { blank, launch, open } from './chromium.mjs';
import { go, picture, redrawn, settle, shot, soon } from './driver.mjs';

const [program, source] = process.argv.slice(2);
const writer = process.env.LIVE_WRITER;
const folder = mkdtempSync(join(tmpdir(), 'tidemark-serve-'));
const evil = '</script><img src=x onerror="document.title=\'owned\'">';
const text = (page) => page.evaluate(() => document.querySelector('main').innerText.replace(/\s+/g, ' '));

function lines(process) {
  const waiting = [];
  const have = [];
  createInterface({ input: process.stdout }).on('line', (l) => (waiting.length ? waiting.shift()(l) : have.push(l)));
  return () => (have.length ? Promise.resolve(have.shift()) : new Promise((done) => waiting.push(done)));
}

const polls = /^tidemark serve: looks for new files every 2 seconds: .*\n/; // other processes have used up the instances of inotify
const children = []; // ended with the test, also after a failure

async function server(...files) {
  const child = spawn(program, ['serve', ...files, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, XDG_STATE_HOME: folder } });
  children.push(child);
  let err = '';
  child.stderr.on('data', (d) => (err += d));
  const line = await Promise.race([lines(child)(), new Promise((done) => child.on('exit', () => done('')))]);
  if (/no server/.test(err)) {
    console.log('skipped: this build has no server (libmicrohttpd-dev was not there)');
    process.exit(77);
  }
  const end = () =>
    new Promise((done) => {
      child.on('exit', (code) => done(assert.deepEqual([code, err.replace(polls, '')], [0, ''])));
      child.kill('SIGINT');
    });
  return { url: line.split(' ').pop(), end };
}

function recorder(path) {
  const child = spawn(writer, [path], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const next = lines(child);
  const tell = async (what) => {
    child.stdin.write(`${what}\n`);
    assert.equal(await next(), 'ok');
  };
  return { tell, kill: () => child.kill('SIGKILL') };
}

const { context, close } = await launch();

async function visit(url, act) {
  const { page, troubles, requests } = await blank(context);
  await page.goto(url);
  await act(page);
  assert.deepEqual(troubles, [], 'the page complains');
  const ours = new URL(url).origin;
  assert.ok(requests.every((r) => r.startsWith(ours)), `the page asked ${requests.filter((r) => !r.startsWith(ours))}`);
  await page.close();
}

/** Two steps of train.py, `peak` bytes on a device. */
function trained(i, peak, step) {
  const ts = 1.7e15 + i * 1e6;
  const memory = { ph: 'i', cat: 'cpu_instant_event', name: '[memory]', pid: 7, tid: 7, s: 't' };
  const args = { 'Device Type': 1, 'Device Id': 0, Addr: 4096, 'Total Reserved': peak };
  return {
    deviceProperties: [{ id: 0, name: 'Some GPU', totalGlobalMem: 2 ** 34 }],
    traceEvents: [
      { ph: 'M', name: 'process_name', pid: 7, tid: 0, args: { name: 'python3 train.py' } },
      ...[0, 1].map((k) => ({ ph: 'X', cat: 'user_annotation', name: `ProfilerStep#${k}`, pid: 7, tid: 7, ts: ts + k * step, dur: step })),
      { ...memory, ts: ts + 5, args: { ...args, Bytes: peak, 'Total Allocated': peak } },
      { ...memory, ts: ts + 50, args: { ...args, Bytes: -peak, 'Total Allocated': 0 } },
    ],
  };
}

async function list(page) {
  await page.waitForSelector('table');
  const rows = await page.locator('tbody tr').allTextContents();
  for (const name of ['gpt.json.gz', 'evil.json', 'broken.json', 'live.tide']) assert.ok(rows.some((r) => r.includes(name)), name);
  await page.waitForSelector('tr:has-text("live.tide"):has-text("live: being written")'); // before a client opened it
  await page.waitForSelector('tr:has-text("broken.json"):has-text("cannot be read")'); // likewise
  await shot(page, 'recordings');
  assert.match(await page.getAttribute('a:text-is("gpt.json.gz")', 'href'), /^\/r\/[0-9a-f]{16}$/, 'it can be opened beside the list');
  await page.click('tr:has-text("gpt.json.gz")');
  await page.waitForSelector('nav');
  assert.match(page.url(), /\/r\/[0-9a-f]{16}/);
}

/** Figures, tags and a note of a run; two selected runs. */
async function runs(page) {
  const row = 'tr:has-text("gpt.json.gz")';
  await page.waitForSelector(`${row} svg.spark`); // once the index has read it
  const cells = await page.locator(`${row} td`).allInnerTexts();
  await shot(page, 'runs_first');
  const seen = (what) => page.locator(`th:has-text("${what}")`).evaluate((e) => e.getBoundingClientRect().right <= e.closest('.scroll').getBoundingClientRect().right);
  for (const what of ['Program', 'Kind', 'Device', 'Memory', 'Peak', 'Step', 'GPU busy', 'Losses']) assert.ok(await seen(what), `${what} is in sight at 1440 pixels`);
  assert.ok(cells.some((c) => /5\.342 GiB/.test(c)), `its peak: ${cells.join(' | ')}`);
  assert.ok(cells.some((c) => c.includes('NVIDIA H200')), 'its device');
  const beside = await blank(context);
  await beside.page.goto(page.url());
  await beside.page.waitForSelector(row);
  await page.click(`${row} button.tags`);
  await page.fill('form.notes input >> nth=0', 'baseline, <b>bold</b>');
  await page.fill('form.notes input >> nth=1', 'a note');
  await page.click('form.notes button:text-is("Keep")');
  await page.waitForSelector(`${row} .tag:text-is("baseline")`);
  await beside.page.waitForSelector(`${row} .tag:text-is("baseline")`); // another client of the list sees it
  await beside.page.close();
  assert.equal(await page.locator(`${row} b`).count(), 0, 'a tag is text');
  await page.click(`${row} button.tags`);
  assert.equal(await page.inputValue('form.notes input >> nth=0'), 'baseline, <b>bold</b>');
  await page.click('tr:has-text("run0.json") button.tags');
  assert.equal(await page.inputValue('form.notes input >> nth=0'), '', 'the form is of the other run');
  await page.click('form.notes button:text-is("Close")');
  await shot(page, 'runs');
  // The keyboard edits and selects, too; the older run is A in any order of selection, until they are swapped.
  await page.focus('tr:has-text("run1.json")');
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.activeElement.closest('form.notes')?.innerText.includes('run1.json')), true, 'typing goes to its tags');
  await page.keyboard.press('Escape');
  await page.waitForSelector('form.notes', { state: 'detached' });
  const said = () => page.locator('p[role=status]').innerText();
  for (const name of ['run2.json', 'run0.json']) {
    await page.focus(`tr:has-text("${name}")`);
    await page.keyboard.press('Space');
  }
  assert.equal(await said(), 'A run0.json before · B run2.json after');
  await page.click('button:text-is("Swap")');
  assert.equal(await said(), 'A run2.json before · B run0.json after');
  await page.click('button:text-is("Cancel")');
  for (const name of ['gpt.json.gz', 'stack.json.gz']) await page.check(`input[aria-label="compare ${name}"]`);
  await page.click('button:text-is("Compare")');
  await page.waitForSelector('nav');
  assert.match(page.url(), /\/diff\/[0-9a-f]{16}\/[0-9a-f]{16}/);
}

/** One figure over the runs of a program; a run that got worse is marked. */
async function trends(page) {
  await page.waitForSelector('tr:has-text("run2.json") svg.spark');
  assert.match(await page.locator('tr:has-text("run2.json")').innerText(), /\+17\.6 %/);
  await page.selectOption('select[aria-label="Program"]', 'train.py');
  await page.waitForSelector('.trend');
  assert.deepEqual(await page.locator('.trend').evaluateAll((l) => l.map((e) => [e.querySelectorAll('circle').length, e.querySelectorAll('circle.worse').length])), [[3, 1], [3, 1]]);
  assert.equal(await page.locator('tbody tr').count(), 3);
  assert.deepEqual(await page.locator('.trend').first().locator('text').allTextContents().then((l) => l.slice(0, 3)), ['120.0 MiB', '110.0 MiB', '100.0 MiB'], 'the axis');
  assert.ok(!(await page.locator('th').allInnerTexts()).includes('Program'), 'a column of one value is left out');
  assert.match(await page.locator('h2').innerText(), /1 worse than the run before/);
  await shot(page, 'trends');
}

/** Runs by program: groups that open, with the newest figures and their trends. A session and its exports are one row. */
async function groups(page) {
  await page.waitForSelector('tr:has-text("run2.json") svg.spark');
  assert.equal(await page.locator('tbody tr:has-text("session_1")').count(), 1, 'a session is one row');
  assert.deepEqual(await page.locator('tr:has-text("session_1") td:first-child a').allInnerTexts(), ['session_1.tide', '.json', '.pickle']);
  await page.click('button:text-is("Group by program")');
  const group = page.locator('table[aria-label="programs"] > tbody > tr:has-text("train.py")').first();
  await group.waitFor();
  assert.match(await group.innerText(), /3.*1 worse[^]*▲ \+17\.6 %[^]*▲ \+30\.0 %/);
  assert.deepEqual(await group.locator('.trendline').evaluateAll((l) => l.map((e) => e.querySelectorAll('circle.worse').length)), [1, 1]);
  const unknown = page.locator('table[aria-label="programs"] > tbody > tr:has-text("program not known")').first();
  assert.equal(await unknown.locator('.trendline').count(), 0, 'runs of unknown programs have no trend');
  assert.equal(await page.locator('table[aria-label^="runs of"]').count(), 0, 'closed at first');
  const twist = page.locator('button[aria-label="Open train.py"]');
  assert.equal(await twist.getAttribute('aria-expanded'), 'false');
  await twist.focus();
  await page.keyboard.press('Enter');
  const inner = page.locator('table[aria-label="runs of train.py"] tbody tr');
  await inner.first().waitFor();
  assert.deepEqual((await inner.locator('td:first-child a').allInnerTexts()), ['run2.json', 'run1.json', 'run0.json']);
  await shot(page, 'groups');
  await page.click('button[aria-label="Close train.py"]');
  await page.waitForSelector('table[aria-label^="runs of"]', { state: 'detached' });
  await page.reload();
  await page.waitForSelector('table[aria-label="programs"]'); // it is remembered
  await page.click('button:text-is("Group by program")');
  await page.waitForSelector('table[aria-label="recordings"]');
}

/** The comparison of two runs of the list equals the page of two files. */
async function compare(page, files) {
  const html = join(folder, 'diff.html');
  execFileSync(program, ['report', ...files, '-o', html]);
  const report = await open(context, html);
  await page.waitForSelector('table');
  await page.click('button:text-is("Compare two…")');
  assert.equal(await page.locator('button:text-is("Compare")').isDisabled(), true);
  for (const name of ['gpt.json.gz', 'stack.json.gz']) await page.click(`tr:has-text("${name}")`);
  await shot(page, 'compare_two');
  await page.click('button:text-is("Compare")');
  await page.waitForSelector('nav');
  assert.match(page.url(), /\/diff\/[0-9a-f]{16}\/[0-9a-f]{16}/);
  for (const p of [page, report.page]) {
    await p.waitForFunction(() => !/Reading…/.test(document.querySelector('main').innerText));
    await settle(p);
  }
  const paths = (t) => t.replaceAll(`${folder}/`, '');
  assert.equal(paths(await text(page)), paths(await text(report.page)), 'both pages compare the same');
  await page.selectOption('select[aria-label="Trace"]', '1');
  await go(page, 'Overview');
  await settle(page);
  assert.match(await text(page), /stack\.json\.gz/);
  await shot(page, 'diff');
  await report.page.close();
}

/** At 420 pixels nothing scrolls sideways. */
async function phone(page) {
  await page.setViewportSize({ width: 420, height: 700 });
  await page.waitForFunction(() => document.querySelectorAll('th').length === 3);
  await settle(page);
  const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className || 'page'));
  await shot(page, 'recordings_420');
  assert.deepEqual(wide, []);
  assert.deepEqual(await page.locator('th').allInnerTexts(), ['Name', 'Peak', 'Step']);
  assert.match(await page.locator('tr:has-text("run2.json")').innerText(), /120\.0 MiB ▲\s+1\.300 ms ▲/);
}

/** Runs with different arguments are not compared; the column shows the differing words, and checkboxes are always in sight. */
async function argumentsOfRuns(context) {
  const gpt = join(dirname(program), '../examples/gpt');
  if (!existsSync(gpt)) return;
  const own = mkdtempSync(join(tmpdir(), 'tidemark-arguments-'));
  for (const [i, batch] of ['2', '2', '3'].entries()) execFileSync(gpt, ['--steps', '3', '--batch', batch, '-o', join(own, `g${i}.tide`)], { stdio: 'ignore' });
  const s = await server(own, '--no-token');
  try {
    const { page, troubles } = await blank(context);
    await page.goto(s.url);
    await page.waitForSelector('th:has-text("Arguments")');
    const at = (await page.locator('th').allInnerTexts()).indexOf('Arguments');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 3 && !/looked at/.test(document.body.innerText));
    const rows = await page.locator('tbody tr').evaluateAll((list, k) => list.map((r) => [r.cells[0].innerText.trim(), r.cells[k].innerText]), at);
    assert.deepEqual(rows.sort(), [['g0.tide', '--batch 2'], ['g1.tide', '--batch 2'], ['g2.tide', '--batch 3']]);
    assert.doesNotMatch(await page.locator('tr:has-text("g2.tide")').innerText(), /▲|▼/, 'other arguments are not compared');
    await page.setViewportSize({ width: 900, height: 700 });
    await page.locator('.scroll').evaluate((e) => (e.scrollLeft = 1e6));
    for (const width of [900, 390]) {
      await page.setViewportSize({ width, height: 700 });
      const box = await page.locator('input[type=checkbox]').first().boundingBox();
      assert.ok(box && box.x >= 0 && box.x + box.width < width, `a checkbox in sight at ${width}`);
    }
    for (const n of [0, 1]) await page.locator('input[type=checkbox]').nth(n).click();
    assert.ok(await page.locator('button:text-is("Compare")').isEnabled());
    assert.deepEqual(troubles, []);
    await page.close();
    await s.end();
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** A report that tidemark.profiling exported: its kind in the list, its parts as tables; its texts are no markup. */
async function exportedReport() {
  const own = mkdtempSync(join(tmpdir(), 'tidemark-serve-'));
  try {
    const parts = { temporal_breakdown: { compute_pct: 81.25, memory_pct: null }, kernel_analysis: { top_kernels: [{ name: evil, time_us: 10.5, count: 3, pct: 100 }], launch_stats: {} }, recommendations: ['use fewer'] };
    writeFileSync(join(own, 'any name.json'), JSON.stringify({ format: 'tidemark-profiling', report: 'hta', ...parts }));
    const s = await server(own, '--no-token');
    await visit(s.url, async (page) => {
      await page.waitForSelector('tr:has-text("any name.json"):has-text("hta report")');
      await page.click('tr:has-text("any name.json")');
      await page.waitForSelector('section:has-text("Temporal breakdown")');
      const all = await text(page);
      for (const part of ['hta report', 'compute_pct', '81.25', 'memory_pct', 'Kernel analysis: top kernels', evil, '10.5', 'use fewer']) assert.ok(all.includes(part), `${part}: ${all}`);
      assert.equal(await page.title(), 'any name.json · Tidemark');
      await shot(page, 'exported');
    });
    await s.end();
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Every tab has the same text as the report of the same file. */
async function sameAsReport(page, html) {
  const report = await open(context, html);
  for (const tab of ['Overview', 'Memory', 'Flame', 'Ops', 'Kernels', 'Timeline']) {
    for (const p of [page, report.page]) {
      await go(p, tab);
      await p.waitForFunction(() => !/Reading…/.test(document.querySelector('main').innerText));
      await settle(p);
    }
    assert.equal(await text(page), await text(report.page), tab);
  }
  await go(page, 'Device time');
  await page.waitForFunction(() => /Critical path of /.test(document.querySelector('main').innerText));
  assert.match(await text(page), /compute/);
  await go(report.page, 'Device time');
  await settle(report.page);
  assert.equal(await text(page), await text(report.page), 'Device time');
  await report.page.close();
}

const details = (page) => page.evaluate(() => document.querySelector('.details')?.innerText.replace(/\s+/g, ' '));

/** The timeline of a large recording, in pieces, has all functions of a small one's. */
async function pieces(page) {
  await page.waitForSelector('.timeline canvas');
  await page.waitForFunction(() => /shown in pieces/.test(document.querySelector('main').innerText));
  await settle(page);
  const whole = await picture(page, '.timeline');
  const box = await page.locator('.timeline canvas').boundingBox();
  await page.mouse.move(box.x + 400, box.y + 130);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -200);
  await settle(page);
  await redrawn(page, '.timeline', whole, 'the wheel zooms');
  assert.match(await page.evaluate(() => location.hash), /t0=\d+&t1=\d+/);
  await page.keyboard.press('0');
  await page.fill('#find', 'cudaLaunchKernel');
  const matches = (re) => page.waitForFunction((r) => new RegExp(r).test(document.getElementById('matches')?.innerText ?? ''), re);
  await matches('^[\\d,]+ matches');
  await page.press('#find', 'Enter');
  await matches('^1 of');
  await page.press('#find', 'Enter');
  await matches('^2 of');
  await page.press('#find', 'Shift+Enter');
  await matches('^1 of');
  await page.click('button[aria-label="Previous match"]');
  await matches('^([\\d,]+) of \\1 '); // the last
  await page.click('button[aria-label="Next match"]');
  await matches('^1 of');
  await page.waitForSelector('.details h3');
  assert.equal(await page.locator('.details h3').innerText(), 'cudaLaunchKernel');
  await page.locator('.timeline canvas').focus().catch(() => {});
  await page.evaluate(() => document.activeElement?.blur());
  const still = await picture(page, '.timeline');
  for (let i = 0; i < 6; i++) await page.keyboard.press('s');
  await settle(page);
  await redrawn(page, '.timeline', still);
  await shot(page, 'pieces');
  // From the launch to its kernel.
  await page.click('.details button:has-text("→ starts")');
  await page.waitForFunction(() => (document.querySelector('.details h3')?.innerText ?? 'cudaLaunchKernel') !== 'cudaLaunchKernel');
  assert.match(await details(page), /Type kernel.*Launched from/);
  await page.waitForFunction(() => /span=\d+/.test(location.hash));
  // An area, then all visible spans by name.
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await settle(page);
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 300, box.y + 110);
  await page.mouse.down();
  await page.mouse.move(box.x + 600, box.y + 400, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.waitForFunction(() => /The area: .* of \d lanes, [1-9][\d,]* spans/.test(document.getElementById('sums')?.innerText ?? ''));
  await shot(page, 'pieces_area');
  await page.click('#sums tbody tr');
  await page.waitForSelector('.details h3');
  // The span under the pointer, requested from the server.
  await page.mouse.move(box.x + box.width / 2, box.y + 110);
  await page.waitForSelector('.tip');
  // The keyboard goes from piece to piece.
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.querySelector('.heard').innerText !== '');
}

/** The details and sums of a span are the same if the page has all spans and if it requests them. */
async function alike(page, url) {
  const { page: far } = await blank(context);
  const wait = (p) => p.waitForFunction(() => document.querySelector('.details h3'));
  for (const n of [0, 1500, 9000, 15000]) {
    for (const [p, query] of [[page, ''], [far, '?pieces']]) {
      await p.goto('about:blank');
      await p.goto(`${url}${query}#view=timeline&span=${n}`);
      await wait(p);
    }
    assert.equal(await details(far), await details(page), `span ${n}`);
  }
  for (const p of [page, far]) {
    await p.keyboard.press('0');
    await p.keyboard.press('t');
    await p.waitForFunction(() => /[1-9][\d,]* of [1-9][\d,]* rows/.test(document.getElementById('sums')?.innerText ?? ''));
    await settle(p);
  }
  const sums = (p) => p.evaluate(() => document.getElementById('sums').innerText);
  assert.equal(await sums(far), await sums(page));
  // Alive at the peak, and at another moment; the bars of phases. The axis of events is only where all of them are.
  const alive = (p) => p.evaluate(() => document.querySelector('main').innerText.replace(/\s+/g, ' ').replace(/[\d,]+ allocations, [\d,]+ of them here.*for more\. /, '').replace('Over time Over events ', ''));
  for (const where of ['view=memory', 'view=memory&at=40000000', 'view=phases']) {
    for (const [p, query] of [[page, ''], [far, '?pieces']]) {
      await p.goto('about:blank');
      await p.goto(`${url}${query}#${where}`);
      await p.waitForFunction(() => document.querySelector('nav') && !/Reading…/.test(document.querySelector('main').innerText));
      await settle(p);
    }
    assert.match(await alive(page), /GiB/);
    assert.equal(await alive(far), await alive(page), where);
  }
  await far.close();
}

/** The map of a recording that is sent in part equals the map of the whole: at the peak, at any moment, with blocks that streams
 * hold. */
async function maps(page, url) {
  const told = async (query, where) => {
    await page.goto('about:blank');
    await page.goto(`${url}${query}#view=memory&pane=map${where}`);
    await page.waitForSelector('#totals', { state: 'attached' });
    await settle(page);
    const n = await page.evaluate(() => Number(document.querySelector('main').innerText.match(/([\d,]+) of them here/)?.[1].replace(/,/g, '') ?? -1));
    return { n, totals: await page.locator('#totals').getAttribute('data-totals'), map: await picture(page, '.blocks') };
  };
  const end = (await (await fetch(`${url.replace('/r/', '/api/recordings/')}`)).json()).duration_ns;
  for (const part of [null, 0.3, 0.61, 0.87, 0.999]) {
    const where = part === null ? '' : `&at=${Math.round(end * part)}`;
    const [all, some] = [await told('', where), await told('?pieces', where)];
    assert.ok(some.n > 0 && all.n < 0, `a part of it is sent: ${some.n}`);
    assert.deepEqual([some.totals, some.map], [all.totals, all.map], `the map${where}`);
  }
}

async function hostile(page) {
  await page.waitForSelector('nav');
  for (const tab of await page.locator('nav button').allTextContents()) {
    await go(page, tab);
    await settle(page);
    assert.equal(await page.locator('main img').count(), 0);
  }
  assert.notEqual(await page.title(), 'owned');
}

/** The user's changes to a table stay while rows are added: filter, order, scroll position, the box with the focus. */
async function stays(page, w) {
  const table = page.locator('section.table', { has: page.locator('table[aria-label="allocations alive"]') });
  const box = table.locator('input[type=search]');
  const rows = async () => Number((await table.locator('.tablebar .soft').innerText()).match(/of ([\d,]+) rows/)[1].replaceAll(',', ''));
  await table.locator('th button:has-text("Born")').click();
  await box.fill('odd');
  await table.locator('.scroll').evaluate((e) => (e.scrollTop = 1040));
  await box.focus();
  await soon(async () => assert.equal(await rows(), 3024, 'all rows so far'));
  await w.tell('step 700');
  await soon(async () => assert.equal(await rows(), 3724, 'rows of what came since'));
  assert.equal(await box.inputValue(), 'odd', 'the filter stays');
  assert.equal(await table.locator('th[aria-sort="descending"]').innerText(), 'Born ▼', 'the order stays');
  assert.equal(await table.locator('.scroll').evaluate((e) => e.scrollTop), 1040, 'the place stays');
  assert.equal(await box.evaluate((e) => e === document.activeElement), true, 'the focus stays');
  // The zoomed box of a flame graph stays too.
  await go(page, 'Flame');
  await page.waitForSelector('.chart.flame canvas');
  await page.evaluate(() => document.activeElement.blur());
  for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  const zoomed = page.locator('nav.crumbs [aria-current]');
  const name = await zoomed.innerText();
  assert.match(name, /odd|even/);
  const all = await page.locator('.bar').innerText();
  await w.tell('step 801');
  await page.waitForFunction((was) => document.querySelector('.bar').innerText !== was, all);
  assert.equal(await zoomed.innerText(), name, 'the zoom stays');
}

/** Figures move as the program runs, without a reload. */
async function live(page, w) {
  const see = (re) => page.waitForFunction((r) => new RegExp(r).test(document.body.innerText), re.source);
  await page.waitForSelector('.live.running');
  assert.match(await text(page), /Live: still being written\. So far /);
  assert.doesNotMatch(await text(page), /Some data is missing/);
  await page.evaluate(() => (window.same = true));
  for (const [step, what] of [[90, /100\.0 KiB/], [924, /1\.000 MiB/]]) {
    await w.tell(`step ${step}`);
    await see(what);
  }
  await go(page, 'Memory');
  await page.waitForSelector('.chart.memory canvas');
  await settle(page);
  const before = await picture(page, '.chart.memory');
  await w.tell('step 2000');
  await redrawn(page, '.chart.memory', before, 'the chart moves');
  await stays(page, w);
  await go(page, 'Ops');
  await see(/1,?512|3,?024|even/);
  await shot(page, 'live');
  w.kill();
  await page.waitForSelector('.live.killed');
  assert.equal(await page.evaluate(() => window.same), true, 'no reload');
  await go(page, 'Overview');
  await see(/Nothing that was recorded is missing/);
  assert.doesNotMatch(await text(page), /Some data is missing/, 'all of it was recovered');
}

/** A stand-in for ui.perfetto.dev that answers as it does. */
async function perfetto(page) {
  const site = '<script>onmessage = (e) => { if (e.data === "PING") e.source.postMessage("PONG", e.origin); else document.title = `${e.data.perfetto.buffer.byteLength} ${e.data.perfetto.title}`; }</script>';
  await context.route('https://ui.perfetto.dev/**', (r) => r.fulfill({ contentType: 'text/html', body: site }));
  await page.waitForSelector('nav');
  const opened = context.waitForEvent('page');
  await page.click('button:text-is("Open in Perfetto")');
  const other = await opened;
  await other.waitForFunction(() => /^\d+ gpt/.test(document.title));
  assert.ok(Number((await other.title()).split(' ')[0]) > 100000, 'the whole export arrived');
  await other.close();
}

/** The head is one line on a small screen, and a message appears when the recording is removed. */
async function removed(page) {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForSelector('nav');
  await page.waitForFunction(() => window.tideListens); // it does once the picture is there
  await shot(page, 'head');
  assert.ok((await page.locator('.top').evaluate((e) => e.offsetHeight)) < 60, 'the head is one line');
  rmSync(join(folder, 'stack.json.gz'));
  await page.locator('[role=note]:has-text("stack.json.gz was removed")').waitFor({ timeout: 60000 });
}

try {
  copyFileSync(join(source, 'tests/data/kineto_gpt_train.json.gz'), join(folder, 'gpt.json.gz'));
  copyFileSync(join(source, 'tests/data/kineto_gpt_train_stack.json.gz'), join(folder, 'stack.json.gz'));
  const event = { ph: 'X', cat: 'cpu_op', name: evil, pid: 1, tid: 1, ts: 1, dur: 5 };
  writeFileSync(join(folder, 'evil.json'), JSON.stringify({ traceEvents: [event, { ph: 'M', name: 'thread_name', pid: 1, tid: 1, args: { name: evil } }] }));
  copyFileSync(join(source, 'tests/data/snapshots/streams.pickle.gz'), join(folder, 'streams.pickle.gz'));
  writeFileSync(join(folder, 'broken.json'), '{broken');
  for (const [i, peak, step] of [[0, 100, 1000], [1, 102, 1000], [2, 120, 1300]]) writeFileSync(join(folder, `run${i}.json`), JSON.stringify(trained(i, peak * 2 ** 20, step)));
  execFileSync(program, ['run', '--heap', '-o', join(folder, 'session_1.tide'), '--', 'true'], { stdio: 'ignore' });
  execFileSync(program, ['export', join(folder, 'session_1.tide'), '--to', 'chrome', '-o', join(folder, 'session_1.json')], { stdio: 'ignore' });
  copyFileSync(join(source, 'tests/data/snapshots/streams.pickle.gz'), join(folder, 'session_1_memory.pickle'));
  const w = recorder(join(folder, 'live.tide'));
  await w.tell('step 10');
  const mine = await server(folder); // as users start it: the address that is printed opens it, its plain one does not
  assert.match(mine.url, /\/\?token=[0-9a-f]{32}$/);
  assert.equal((await fetch(new URL('/', mine.url))).status, 401);
  await visit(mine.url, async (page) => {
    await page.getByText('gpt.json.gz').first().waitFor();
    assert.equal(new URL(page.url()).search, '', 'the address loses the token');
  });
  await mine.end();
  const s = await server(folder, '--no-token');
  const recs = (await (await fetch(`${s.url}api/recordings`)).json()).recordings;
  const at = (name) => `${s.url}r/${recs.find((r) => r.name === name).id}`;
  const html = join(folder, 'report.html');
  execFileSync(program, ['report', join(folder, 'gpt.json.gz'), '-o', html]);
  await visit(s.url, async (page) => {
    await list(page);
    await sameAsReport(page, html);
  });
  await visit(s.url, runs);
  await visit(s.url, trends);
  await visit(s.url, groups);
  await visit(s.url, (page) => compare(page, ['gpt.json.gz', 'stack.json.gz'].map((n) => join(folder, n))));
  await visit(s.url, phone);
  await visit(`${at('gpt.json.gz')}?pieces#view=timeline`, pieces);
  await visit(at('gpt.json.gz'), (page) => alike(page, at('gpt.json.gz')));
  await visit(at('streams.pickle.gz'), (page) => maps(page, at('streams.pickle.gz')));
  await visit(at('evil.json'), hostile);
  await visit(`${at('live.tide')}#view=overview`, (page) => live(page, w));
  await visit(at('gpt.json.gz'), perfetto);
  await visit(at('stack.json.gz'), removed);
  const page = await context.newPage();
  await page.goto(at('broken.json'));
  await page.waitForSelector('.error');
  assert.match(await page.locator('.error').innerText(), /cannot be shown/);
  await page.close();
  await s.end();
  await argumentsOfRuns(context);
  await exportedReport();
  console.log('ok');
} finally {
  for (const c of children) c.kill('SIGKILL');
  await close();
  rmSync(folder, { recursive: true, force: true });
}
