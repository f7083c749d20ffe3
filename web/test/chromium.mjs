// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Chromium for tests: that of the system, headless, with a fresh profile and without network services. If it is missing, the test
// ends with status 77 (skipped) and one line.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export async function launch(viewport = { width: 1440, height: 900 }) {
  const executablePath = places.find((p) => p && existsSync(p));
  if (!executablePath) {
    console.log('skipped: no chromium here (tools/setup installs it)');
    process.exit(77);
  }
  const { chromium } = await import('playwright-core');
  const profile = mkdtempSync(join(tmpdir(), 'tidemark-chromium-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, viewport });
  context.setDefaultTimeout(200000); // ends what hangs; a busy machine takes longer than the default of 30 s
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, close };
}

/** Opens a new page and keeps its errors and requests. */
export async function blank(context) {
  const page = await context.newPage();
  const troubles = [];
  const requests = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && troubles.push(m.text()));
  page.on('pageerror', (e) => troubles.push(String(e)));
  page.on('dialog', (d) => (troubles.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => requests.push(r.url()));
  return { page, troubles, requests };
}

export async function open(context, file, hash = '') {
  const opened = await blank(context);
  const { page } = opened;
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector('header.top');
  return opened;
}
