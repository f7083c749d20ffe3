// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Milliseconds from the start of navigation to the first picture of a recording's timeline.
//   node picture.mjs URL [ROUNDS]
import { launch } from '../../web/test/chromium.mjs';

const [url, rounds = '5'] = process.argv.slice(2);
const { context, close } = await launch({ width: 1600, height: 900 });
// Checks every frame from the start on, so that the figure includes no time of the test.
await context.addInitScript(() => {
  const look = () => {
    if (document.querySelector('.timeline canvas')) requestAnimationFrame(() => setTimeout(() => (window.firstPicture = performance.now()), 0));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
const times = [];
for (let i = 0; i < Number(rounds); i++) {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => window.firstPicture, undefined, { timeout: 60000 });
  times.push(Math.round(await page.evaluate(() => window.firstPicture)));
  await page.close();
}
console.log(times.join(' '));
await close();
