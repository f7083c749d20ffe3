// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// How long a page takes to its first picture and how long a frame takes while panning and zooming.
//   node measure.mjs PAGE.html [ROUNDS]
// First picture: from the start of navigation until the view's canvas has been painted and shown.
// Frames: time between animation frames while the window moves at every one of them.
import { launch, open } from '../../web/test/chromium.mjs';

const [file, rounds = '5'] = process.argv.slice(2);
const median = (v) => [...v].sort((a, b) => a - b)[v.length >> 1];
const { context, close } = await launch({ width: 1600, height: 900 });

async function first(view, canvas) {
  const { page } = await open(context, file, `#view=${view}`);
  await page.waitForSelector(canvas);
  const ms = await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => setTimeout(() => r(performance.now()), 0))));
  return { page, ms };
}

/** Milliseconds between frames while keys move the window. */
const frames = (page, keys) =>
  page.evaluate(
    (list) =>
      new Promise((done) => {
        const out = [];
        let last = 0;
        let i = 0;
        const step = (now) => {
          if (last) out.push(now - last);
          last = now;
          if (i === 60) return done(out);
          dispatchEvent(new KeyboardEvent('keydown', { key: list[i++ % list.length], bubbles: true }));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    keys,
  );

for (const [view, canvas] of [['overview', '.chart canvas'], ['timeline', '.timeline canvas'], ['memory', '.chart.memory canvas']]) {
  const times = [];
  let kept;
  for (let i = 0; i < Number(rounds); i++) {
    await kept?.close();
    const { page, ms } = await first(view, canvas);
    times.push(ms);
    kept = page;
  }
  const line = [`${view}: first picture ${median(times).toFixed(0)} ms (of ${times.map((t) => t.toFixed(0)).join(' ')})`];
  if (view !== 'overview') {
    await kept.waitForTimeout(1500);
    for (const [what, zooms] of [['whole', 0], ['10 %', 7], ['1 %', 13]]) {
      for (let i = 0; i < zooms; i++) await kept.keyboard.press('w');
      const pan = await frames(kept, ['d', 'd', 'a', 'a']);
      const zoom = await frames(kept, ['w', 's']);
      line.push(`  ${what}: pan ${median(pan).toFixed(1)} ms a frame (max ${Math.max(...pan).toFixed(0)}), zoom ${median(zoom).toFixed(1)} ms (max ${Math.max(...zoom).toFixed(0)})`);
      await kept.keyboard.press('0');
    }
  }
  console.log(line.join('\n'));
  await kept.close();
}
await close();
