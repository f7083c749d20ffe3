// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Milliseconds from the start of navigation until the list of recordings is drawn: grouped by program, plain with the newest 500,
// and plain with all of them.   node many.mjs URL COUNT [ROUNDS]
import { launch } from '../../web/test/chromium.mjs';

const [url, count, rounds = '5'] = process.argv.slice(2);
const { context, close } = await launch({ width: 1600, height: 900 });
await context.addInitScript(() => {
  const look = () => {
    if (document.querySelector('tbody tr td')) requestAnimationFrame(() => setTimeout(() => (window.drawn = performance.now()), 0));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
const say = (what, times) => console.log(`${what}: ${times.join(' ')} ms`);
for (const [what, kept] of [['grouped by program', 'yes'], ['plain, the newest 500', 'no']]) {
  const times = [];
  for (let i = 0; i < Number(rounds); i++) {
    const page = await context.newPage();
    await page.addInitScript((v) => localStorage.setItem('tidemark-groups', v), kept);
    await page.goto(url);
    await page.waitForFunction(() => window.drawn, undefined, { timeout: 60000 });
    times.push(Math.round(await page.evaluate(() => window.drawn)));
    const text = await page.innerText('h2');
    if (!text.startsWith(`${Number(count).toLocaleString('en-US')} recordings`)) throw new Error(`the page says ${text}`);
    if ((await page.locator('table[aria-label="programs"]').count()) !== Number(kept === 'yes')) throw new Error('it is the other list');
    if (process.env.SHOT) await page.screenshot({ path: `${process.env.SHOT}-${kept}.png` });
    await page.close();
  }
  say(what, times);
}
// Opening a group and typing a filter, from the click or the key to the next picture.
const page = await context.newPage();
await page.addInitScript(() => localStorage.setItem('tidemark-groups', 'yes'));
await page.goto(url);
await page.waitForSelector('table[aria-label="programs"]');
const first = page.locator('button.twist').first();
let begun = Date.now();
await first.click();
await page.waitForSelector('table[aria-label^="runs of"] tbody tr td');
say('a group of it opened', [Date.now() - begun]);
if (process.env.SHOT) await page.screenshot({ path: `${process.env.SHOT}-open.png` });
await close();
