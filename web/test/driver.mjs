// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Shared functions of the tests that drive pages. Run each as node drive_X.mjs PROGRAM SOURCE [FOLDER FOR PICTURES].
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, settle } from './chromium.mjs';

export { settle };

const [program, source, pictures] = process.argv.slice(2);
if (pictures) mkdirSync(pictures, { recursive: true });

export const data = (name) => join(source, 'tests/data', name);
export const gpt = data('kineto_gpt_train.json.gz');
export const run = (...args) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
export const json = (...args) => JSON.parse(run(...args, '--json'));
export const go = (page, name) => page.click(`nav button:text-is("${name}")`);
export const shot = async (page, name) => pictures && (await page.screenshot({ path: join(pictures, `${name}.png`) }));
/** Texts of the first n rows of a table. */
export const cells = (page, label, n = 1e9) => page.locator(`table[aria-label="${label}"] tbody tr:not(.pad)`).evaluateAll((rows, k) => rows.slice(0, k).map((r) => [...r.cells].map((c) => c.textContent)), n);
/** Returns a short text that is different for different pictures. */
export const picture = async (page, where) =>
  createHash('sha1').update(await page.evaluate((w) => document.querySelector(`${w} canvas`).toDataURL(), where)).digest('hex');
/** Waits until the picture is another one than `was`. */
export const redrawn = (page, where, was, why) => soon(async () => assert.notEqual(await picture(page, where), was, why));
/** Waits until the picture is `was` again. */
export const restored = (page, where, was, why) => soon(async () => assert.equal(await picture(page, where), was, why));
/** Returns the state in the address, after the page has written it. */
export async function hash(page) {
  await settle(page);
  return new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));
}

/** Pages draw and write their address with a delay, which is long on a busy machine: check repeatedly. */
export async function soon(check) {
  for (const end = Date.now() + 200000; ; ) {
    try {
      return await check();
    } catch (e) {
      if (Date.now() > end) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

/** Checks that there was no error, no warning, no dialog, and no request except for the page itself. */
export function clean({ troubles, requests }) {
  assert.deepEqual(troubles, [], 'the page complains');
  assert.ok(requests.every((r) => r.startsWith('file://') && r.includes('.html')), `the page asked for ${requests}`);
}

/** Runs `body({ context, make, visit })`: make(command, file) writes a page, visit(page, hash) opens it. */
export async function drive(body, viewport) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-page-'));
  const { context, close } = await launch(viewport);
  const made = new Map();
  const make = (command, file) => {
    const key = `${command} ${file}`;
    if (!made.has(key)) {
      made.set(key, join(folder, `${made.size}-${command}.html`));
      run(command, file, '-o', made.get(key));
    }
    return made.get(key);
  };
  /** Opens a page, runs the test's actions, and checks for errors. */
  const visit = async (html, at, act) => {
    const opened = await open(context, html, at);
    await settle(opened.page);
    await act(opened.page);
    clean(opened);
    await opened.page.close();
  };
  try {
    await body({ context, folder, make, visit });
    console.log('ok');
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}
