// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Measures the time to a page's first picture, and the time of a frame while panning and zooming.
//   node measure.mjs PAGE.html [ROUNDS]
// First picture: from the start of navigation until the view's canvas has been painted and shown.
// Frames: time between animation frames while the window moves at every one of them.
import { launch, open } from '../../web/test/chromium.mjs';

const [file, rounds = '5'] = process.argv.slice(2);
const median = (v) => [...v].sort((a, b) => a - b)[v.length >> 1];
const { context, close } = await launch({ width: 1600, height: 900 });

// Checks every frame from the start on, so that the figure includes no time of the test.
await context.addInitScript(() => {
  const look = () => {
    const where = { overview: '.chart canvas', timeline: '.timeline canvas', memory: '.chart.memory canvas' }[new URLSearchParams(location.hash.slice(1)).get('view')];
    if (where && document.querySelector(where)) requestAnimationFrame(() => setTimeout(() => (window.firstPicture = performance.now()), 0));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});

async function first(view) {
  const { page } = await open(context, file, `#view=${view}`);
  await page.waitForFunction(() => window.firstPicture);
  return { page, ms: await page.evaluate(() => window.firstPicture) };
}

/** Returns the milliseconds between frames while keys move the window. */
const frames = (page, keys) =>
  page.evaluate(
    (list) =>
      new Promise((done) => {
        const out = [];
        const put = CanvasRenderingContext2D.prototype.putImageData;
        let drawn = 0;
        CanvasRenderingContext2D.prototype.putImageData = function (...a) {
          drawn++;
          return put.apply(this, a);
        };
        let last = 0;
        let i = 0;
        const step = (now) => {
          if (last) out.push(now - last);
          last = now;
          if (i === 60) {
            CanvasRenderingContext2D.prototype.putImageData = put;
            return done({ out, drawn });
          }
          dispatchEvent(new KeyboardEvent('keydown', { key: list[i++ % list.length], bubbles: true }));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    keys,
  );

for (const view of ['overview', 'timeline', 'memory']) {
  const times = [];
  let kept;
  for (let i = 0; i < Number(rounds); i++) {
    await kept?.close();
    const { page, ms } = await first(view);
    times.push(ms);
    kept = page;
  }
  const line = [`${view}: first picture ${median(times).toFixed(0)} ms (of ${times.map((t) => t.toFixed(0)).join(' ')})`];
  if (view !== 'overview') {
    await kept.waitForTimeout(1500);
    for (const [what, zooms] of [['70 % of the trace', 1], ['8 %', 7], ['1 %', 13]]) {
      for (let i = 0; i < zooms; i++) await kept.keyboard.press('w');
      const pan = await frames(kept, ['d', 'd', 'a', 'a']);
      const zoom = await frames(kept, ['w', 's']);
      const say = (f) => `${median(f.out).toFixed(1)} ms a frame (max ${Math.max(...f.out).toFixed(0)}, ${f.drawn} pictures in 60 frames)`;
      line.push(`  ${what}: pan ${say(pan)}, zoom ${say(zoom)}`);
      await kept.keyboard.press('0');
    }
  }
  console.log(line.join('\n'));
  await kept.close();
}
await close();
