// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Takes the pictures of docs/: opens each page and drives it to the state of the picture (make pictures).
//   node pictures.mjs PROGRAM SOURCE FOLDER
// DEMO names a recording of examples/gpt: phases and memory that were recorded, not imported. OTHER: a recording with a larger
// batch. LEDGER: a recording of a program on a GPU (tidemark run --gpu); without it that picture is not replaced. ONLY=runs: the
// table of runs alone; ONLY=documents: hang and serving.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { data, drive, go, gpt, run, settle, shot } from './driver.mjs';
import { shrink } from './png.mjs';
import { leakTrace, rankTrace } from './traces.mjs';

const MOST = 60 * 1000; // bytes of a picture
const started = Date.now();
const folder = process.argv[4];
const { DEMO: demo, OTHER: other, LEDGER: ledger } = process.env;
assert.ok(folder && demo && other, 'pictures.mjs PROGRAM SOURCE FOLDER, with DEMO=FILE.tide OTHER=FILE.tide');

const search = async (page, text) => {
  await page.fill('#find', text);
  await page.keyboard.press('Enter');
  await settle(page);
};

/** Takes the panel with this title alone, at most `high` pixels of it. */
async function panel(page, title, name, high = 640) {
  const box = page.locator(`section.panel:has(h2:text("${title}"))`).first();
  await box.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await box.boundingBox();
  const clip = { x, y: y + (await page.evaluate(() => scrollY)), width, height: Math.min(height, high) };
  await page.screenshot({ path: join(folder, `${name}.png`), clip, fullPage: true });
}

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
  await panel(page, 'Device time', 'idle');
  await panel(page, 'What to do', 'advice');
  await panel(page, 'Critical path', 'critical-path', 480);
  await panel(page, 'Launches', 'launches');
}

async function ranks(page) {
  await go(page, 'Job');
  await settle(page);
  await panel(page, 'Device time of', 'ranks', 256); // without the table, which has names of temporary files
  await panel(page, 'Stragglers', 'stragglers');
}

async function snapshot(page) {
  await shot(page, 'oom');
  await go(page, 'Memory');
  await settle(page);
  await page.click('button:text-is("Go to the peak")');
  await page.click('button:text-is("Allocator map")');
  await page.setViewportSize({ width: 1280, height: 1320 });
  await settle(page);
  await shot(page, 'allocator');
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

/** The dashboard over runs of examples/gpt, recorded now; from the 8th on the batch is larger. One file is truncated. */
async function runs(context, temporary) {
  const nights = join(temporary, 'runs');
  const program = join(dirname(process.argv[2]), '../examples/gpt');
  mkdirSync(nights);
  const name = (n) => join(nights, `gpt_${String(n).padStart(2, '0')}.tide`);
  for (let n = 1; n <= 12; n++) execFileSync(program, ['--steps', '12', '--batch', n < 8 ? '4' : '5', '-o', name(n)]);
  writeFileSync(name(5), readFileSync(name(5)).subarray(0, -2000));
  const server = spawn(process.argv[2], ['serve', nights, '--port', '0', '--no-token'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const url = await new Promise((done) => server.stdout.on('data', (d) => done(String(d).trim().split(' ').pop())));
    const asked = async () => (await fetch(`${url}api/runs`)).json();
    while ((await asked()).pending) await new Promise((done) => setTimeout(done, 200));
    const tag = async (name, tags, note) => fetch(`${url}api/runs/${(await asked()).runs.find((r) => r.name === name).id}/note?tags=${tags}&note=${note}`, { method: 'POST' });
    await tag('gpt_12.tide', 'baseline', 'a%20note');
    await tag('gpt_08.tide', 'batch%205', '');
    const page = await context.newPage();
    await page.goto(url);
    await page.selectOption('select[aria-label="Program"]', 'gpt');
    await page.setViewportSize({ width: 1280, height: 640 });
    await page.waitForSelector('.trend');
    await settle(page);
    await shot(page, 'runs');
    await page.close();
  } finally {
    server.kill('SIGINT');
  }
}

/** Reports about no single trace; their files are named as the guide does. */
async function documents(temporary, visit) {
  const server = ['shared-02-loaded', 'shared-03-captured32', 'shared-04-captured16', 'shared-08-captured1', 'shared-09-served'].map((n) => `${n}.pickle.gz`);
  const rows = [['hang', 'flightrec', 700, 'missing_rank'], ['serving', 'server', 1240, '--capacity', '141GiB', '--sizes', '32,16,8,4,2,1', ...server]];
  for (const [name, where, height, ...args] of rows) {
    const file = join(temporary, `${name}.html`);
    execFileSync(resolve(process.argv[2]), [name, ...args, '-o', file], { cwd: data(where), stdio: 'pipe' });
    await visit(file, '', async (page) => {
      await page.setViewportSize({ width: 1280, height });
      await settle(page);
      await shot(page, name);
    });
  }
}

await drive(
  async ({ context, folder: temporary, make, visit }) => {
    if (process.env.ONLY === 'documents') return documents(temporary, visit);
    await runs(context, temporary);
    if (process.env.ONLY === 'runs') return;
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
    await visit(make('report', data('kineto_gpt_train_stack.json.gz')), '', async (page) => {
      await go(page, 'Ops');
      await page.click('button:text-is("Modules")');
      await settle(page);
      await panel(page, 'Modules', 'modules', 480);
    });
    const job = join(temporary, 'job');
    mkdirSync(job);
    for (let r = 0; r < 3; r++) writeFileSync(join(job, `rank-${r}.json`), rankTrace(r));
    await visit(make('report', job), '', ranks);
    const leak = join(temporary, 'leak.json');
    writeFileSync(leak, leakTrace());
    await visit(make('report', leak), '', shown('', 'leaks'));
    await visit(make('report', data('torchsnap/snapshot_oom.pickle.gz')), '', snapshot);
    await visit(make('report', demo), '', recorded);
    await documents(temporary, visit);
  },
  { width: 1280, height: 760 },
);
for (const name of readdirSync(folder).filter((n) => n.endsWith('.png'))) {
  const file = join(folder, name);
  if (statSync(file).mtimeMs < started) continue; // not taken in this run
  const small = shrink(readFileSync(file));
  writeFileSync(file, small);
  console.log(`${name} ${small.length}`);
  assert.ok(statSync(file).size < MOST, `${name} has ${small.length} bytes`);
}
