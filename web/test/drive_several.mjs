// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Pages of several traces: ranks of one job with a list to choose from, two runs compared. Figures are
// those of `tidemark hta` and `tidemark diff`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cells, data, drive, go, gpt, hash, json, picture, redrawn, run, settle, shot } from './driver.mjs';
import { rankTrace } from './traces.mjs';

const number = (s) => Number(s.replaceAll(',', ''));

async function ranks(folder, visit) {
  const job = join(folder, 'job');
  mkdirSync(job);
  for (let r = 0; r < 3; r++) writeFileSync(join(job, `rank-${r}.json`), rankTrace(r));
  const html = join(folder, 'job.html');
  run('report', job, '-o', html);
  const want = json('hta', job);
  await visit(html, '', async (page) => {
    assert.deepEqual(await page.locator('select[aria-label="Trace"] option').allTextContents(), ['rank 0', 'rank 1', 'rank 2']);
    assert.equal((await hash(page)).get('view'), 'job', 'it opens on the job');
    assert.deepEqual((await cells(page, 'ranks of the job')).map((r) => r.slice(0, 3)), [0, 1, 2].map((r) => [`rank ${r}`, '210.0 KiB', 'cuda:0']));
    assert.equal(await page.locator('.ranks >> nth=0 >> css=> div').count(), 3, 'a bar for each rank');
    const late = await cells(page, 'stragglers');
    assert.deepEqual(late.map((r) => r.slice(0, 3).map(number)), want.stragglers.map((s) => [s.rank, s.collectives, s.last]));
    assert.equal(number(late[0][0]), 2, 'rank 2 comes late');
    await shot(page, 'ranks');
    await page.click('table[aria-label="ranks of the job"] tbody tr >> nth=2');
    assert.deepEqual([(await hash(page)).get('view'), (await hash(page)).get('trace')], ['overview', '2'], 'a click opens the rank');
    await go(page, 'Device time');
    assert.match(await page.textContent('.rank h3'), /^Rank 2$/, 'its own device time');
    await page.selectOption('select[aria-label="Trace"]', '0');
    const timeline = async () => {
      await go(page, 'Timeline');
      await settle(page);
      return picture(page, '.timeline');
    };
    const first = await timeline();
    await page.selectOption('select[aria-label="Trace"]', '2');
    await settle(page);
    assert.equal((await hash(page)).get('trace'), '2', 'the address keeps the rank');
    assert.notEqual(await timeline(), first, 'the views show the other rank');
    await go(page, 'Kernels');
    await settle(page);
    const all = await cells(page, 'kernels');
    await page.click('.choice[aria-label="Ranks"] button:text-is("This rank")');
    await settle(page);
    const one = await cells(page, 'kernels');
    assert.equal(number(all[0][2]), 3 * number(one[0][2]), 'kernels of all ranks, or of one');
    const link = page.url();
    await page.selectOption('select[aria-label="Trace"]', '0');
    await settle(page);
    assert.equal(await timeline(), first, 'and back');
    await page.goto('about:blank');
    await page.goto(link);
    await page.waitForSelector('header.top');
    assert.equal(await page.inputValue('select[aria-label="Trace"]'), '2', 'a link opens on its rank');
  });
}

/** A job says first which ranks are missing: of traces with device time, and of recordings of memory alone. */
async function incomplete(folder, visit) {
  const traces = join(folder, 'some');
  const memory = join(folder, 'memory');
  for (const d of [traces, memory]) mkdirSync(d);
  for (const r of [0, 2]) {
    writeFileSync(join(traces, `rank-${r}.json`), rankTrace(r));
    execFileSync(join(dirname(process.argv[2]), '../examples/gpt'), ['--steps', '1', '-o', join(memory, `rank-${r}.tide`)], { env: { ...process.env, RANK: String(r), WORLD_SIZE: '4' }, stdio: 'pipe' });
  }
  for (const [job, text] of [[traces, '1 of 3 ranks are missing: 1'], [memory, '2 of 4 ranks are missing: 1 3']]) {
    run('report', job, '-o', `${job}.html`);
    await visit(`${job}.html`, '', async (page) => {
      assert.equal((await hash(page)).get('view'), 'job');
      assert.equal(await page.locator('.losses li').first().textContent(), text);
      assert.ok((await page.locator('.losses').first().boundingBox()).y < (await page.locator('table[aria-label="ranks of the job"]').boundingBox()).y, 'above everything else');
    });
  }
}

/** Ranks without details have their device time, and the page says so. */
async function bounded(folder, visit) {
  const html = join(folder, 'bounded.html');
  run('report', join(folder, 'job'), '--detail', '200', '-o', html);
  await visit(html, '#view=job', async (page) => {
    assert.match(await page.textContent('.losses'), /by their device time only: 2\./);
    const options = page.locator('select[aria-label="Trace"] option');
    assert.deepEqual(await options.evaluateAll((list) => list.map((o) => o.disabled)), [false, true, true]);
    assert.equal((await cells(page, 'ranks')).length, 3, 'device time of all');
  });
}

const evil = '</script><img src=x onerror="document.title=\'owned\'">';

/** Hostile names on a page that compares. */
async function hostile(folder, visit) {
  const [a, b] = [join(folder, `a.json`), join(folder, 'b.json')];
  const op = (name, dur) => ({ ph: 'X', cat: 'cpu_op', name, pid: 1, tid: 1, ts: 960, dur });
  writeFileSync(a, rankTrace(0, 1, [op(`${evil} a`, 9)]));
  writeFileSync(b, rankTrace(0, 1, [op(`${evil} b`, 19)]));
  const html = join(folder, 'hostile.html');
  run('report', a, b, '-o', html);
  await visit(html, '', async (page) => {
    assert.ok((await page.textContent('table[aria-label="changes of ops"]')).includes(evil), 'the name is there, as text');
    for (const v of await page.locator('nav[aria-label="Views"] button').allTextContents()) {
      await go(page, v);
      await settle(page);
      assert.equal(await page.locator('img').count(), 0, `${v}: a name became an element`);
    }
    assert.notEqual(await page.title(), 'owned');
  });
}

async function twoRuns(folder, visit) {
  const [a, b] = [join(folder, 'before.json'), join(folder, 'after.json')];
  writeFileSync(a, rankTrace(0));
  writeFileSync(b, rankTrace(0, 2, [{ ph: 'X', cat: 'cpu_op', name: 'aten::extra', pid: 1, tid: 1, ts: 960, dur: 25 }]));
  const html = join(folder, 'two.html');
  run('report', a, b, '-o', html);
  const want = json('diff', a, b);
  await visit(html, '', async (page) => {
    assert.equal((await hash(page)).get('view'), 'diff', 'it opens on the comparison');
    const rows = await cells(page, 'changes of ops');
    assert.deepEqual(rows.map((r) => [r[0], r[1]]), want.ops.map((o) => [o.name, o.status]));
    assert.ok(rows.some((r) => r[0] === 'aten::extra' && r[1] === 'added'));
    for (const [title, key] of [['Kernels', 'kernels'], ['Device by op', 'device_by_op'], ['Device by kind', 'device_by_category'], ['Calls of one only', 'calls'], ['Peak by op', 'by_op'], ['Peak by role', 'by_role']]) {
      await page.selectOption('select[aria-label="Table"]', { label: title });
      await settle(page);
      assert.equal((await cells(page, `changes of ${key}`)).length, want[key].length, title);
    }
    const peak = await page.textContent('.figure:has-text("Peak memory")');
    assert.ok(peak.includes('+100.0 %'), peak);
    await page.click('summary:text-is("These curves as a table")');
    await page.click('table[aria-label="live memory of both runs"] th button:text-is("B")');
    const top = await page.textContent('table[aria-label="live memory of both runs"] tbody tr >> nth=0');
    assert.match(top, /210\.0 KiB420\.0 KiB$/, 'the peaks of both are in the table');
    assert.match(await page.locator('canvas[aria-label^="Live memory of both"]').getAttribute('aria-label'), /A: cuda:0: peak 210\.0 KiB .*B: cuda:0: peak 420\.0 KiB/);
    const box = await page.locator('.flame canvas').boundingBox();
    await page.locator('.flame canvas').scrollIntoViewIfNeeded();
    const at = await page.locator('.flame canvas').boundingBox();
    await page.mouse.move(at.x + 10, at.y + 19 + 8);
    await settle(page);
    assert.match(await page.textContent('.tip'), /A .*B .*grown|A .*B .*same/);
    assert.ok(box.width > 300);
    const before = await picture(page, '.flame');
    await page.mouse.move(0, 0);
    await page.click('.choice[aria-label="Width"] button:text-is("A")');
    await settle(page);
    await redrawn(page, '.flame', before, 'widths of one run');
    await page.click('.choice[aria-label="What"] button:text-is("Memory at the peak")');
    await settle(page);
    await shot(page, 'diff');
    await page.selectOption('select[aria-label="Trace"]', '1');
    await go(page, 'Ops');
    await settle(page);
    assert.ok((await cells(page, 'ops')).some((r) => r[0] === 'aten::extra'), 'the views of B');
  });
}

/** Two jobs of three ranks, one of which got slower: a table has all of them, and that rank has details. */
async function twoJobs(folder, visit) {
  const [a, b] = ['jobA', 'jobB'].map((n, k) => {
    mkdirSync(join(folder, n));
    for (let r = 0; r < 3; r++) writeFileSync(join(folder, n, `host_${9 - r}.pt.trace.json`), rankTrace(r, k && r === 1 ? 2 : 1, k && r === 1 ? [{ ph: 'X', cat: 'cpu_op', name: 'aten::extra', pid: 1, tid: 1, ts: 960, dur: 25 }] : []));
    return join(folder, n);
  });
  writeFileSync(join(b, 'rank-7.json'), rankTrace(7));
  run('report', a, b, '-o', join(folder, 'jobs.html'));
  const want = json('diff', a, b);
  await visit(join(folder, 'jobs.html'), '#view=diff', async (page) => {
    const rows = await cells(page, 'ranks');
    assert.deepEqual(rows.map((r) => Number(r[0])), [1, 0, 2], 'the worst first');
    assert.equal(rows.length, want.ranks.length);
    assert.ok(rows[0][3].startsWith('+') && rows[1][3] === '0 ns', rows[0][3]);
    assert.ok((await cells(page, 'changes of ops')).some((r) => r[0] === 'aten::extra' && r[1] === 'added'), 'rank 1 in full');
    await shot(page, 'jobs');
    await go(page, 'Overview');
    const text = await page.textContent('main');
    assert.match(text, /Compared in full: rank 1, the worst of 3 by time/);
    assert.match(text, /Ranks that only B has: 1/);
  });
}

/** Two runs without device work and memory: no table of either is offered. */
async function poor(folder, visit) {
  const [a, b] = ['a', 'b'].map((n, k) => {
    writeFileSync(join(folder, `poor-${n}.json`), JSON.stringify({ traceEvents: [{ ph: 'X', cat: 'cpu_op', name: 'op', pid: 1, tid: 1, ts: 5, dur: 3 + k }] }));
    return join(folder, `poor-${n}.json`);
  });
  run('report', a, b, '-o', join(folder, 'poor.html'));
  await visit(join(folder, 'poor.html'), '#view=diff', async (page) => {
    assert.deepEqual(await page.locator('.choice[aria-label="Table"] button').allTextContents(), ['Ops']);
    assert.deepEqual(await page.locator('.choice[aria-label="What"] button').allTextContents(), ['CPU time']);
    assert.equal((await cells(page, 'changes of ops'))[0][3], '+33.3 %', 'a change has its sign');
  });
}

/** The kind of page that two files give; an unreadable file does not stop the others. */
function rules(folder) {
  const name = (n) => join(folder, n);
  const kind = (html) => execFileSync('grep', ['-c', 'id="tide-diff"', html], { encoding: 'utf8' }).trim() === '1';
  const says = (...args) => {
    run('report', ...args, '-o', name('rule.html'));
    try {
      return kind(name('rule.html'));
    } catch {
      return false; // grep found nothing
    }
  };
  writeFileSync(name('r0.json'), rankTrace(0));
  writeFileSync(name('r1.json'), rankTrace(1));
  assert.equal(says(name('r0.json'), name('r1.json')), false, 'different ranks are a job');
  assert.equal(says(name('r0.json'), name('r1.json'), '--diff'), true, 'unless told');
  assert.equal(says(name('r0.json'), name('r0.json')), true, 'the same rank is two runs');
  assert.equal(says(name('r0.json'), name('r0.json'), '--ranks'), false, 'unless told');
  assert.equal(says(gpt, data('kineto_gpt_train_stack.json.gz')), true, 'ranks that are not known are two runs');
  assert.throws(() => run('report', name('r0.json'), '--diff', '-o', name('rule.html')));
  writeFileSync(name('broken.json'), '{"traceEvents": [');
  assert.equal(says(name('r0.json'), name('r1.json'), name('broken.json')), false);
}

await drive(async ({ folder, visit }) => {
  rules(folder);
  await ranks(folder, visit);
  await incomplete(folder, visit);
  await bounded(folder, visit);
  await twoRuns(folder, visit);
  await twoJobs(folder, visit);
  await poor(folder, visit);
  await hostile(folder, visit);
});
