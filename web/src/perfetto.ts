// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// "Open in Perfetto": a click opens its window, which is pinged until it answers and then receives the bytes. They go from window
// to window, through no server.
const SITE = 'https://ui.perfetto.dev';

export async function openInPerfetto(title: string, read: () => Promise<Uint8Array<ArrayBuffer>>, say: (text: string) => void): Promise<void> {
  const other = window.open(SITE); // now, because a browser blocks windows that are opened later
  if (!other) return say('The browser blocked the window. Allow pop-ups for this page and click again.');
  say('Writing the file…');
  const { buffer } = await read();
  say('Waiting for ui.perfetto.dev…');
  const answered = new Promise<boolean>((done) => {
    let tries = 0;
    const heard = (e: MessageEvent) => {
      if (e.origin === SITE && e.data === 'PONG') end(true);
    };
    const ping = setInterval(() => {
      if (other.closed || ++tries > 300) end(false);
      else other.postMessage('PING', SITE);
    }, 100);
    const end = (ok: boolean) => {
      clearInterval(ping);
      removeEventListener('message', heard);
      done(ok);
    };
    addEventListener('message', heard);
  });
  if (!(await answered)) return say('ui.perfetto.dev did not answer. Download the file and open it there by hand.');
  other.postMessage({ perfetto: { buffer, title, fileName: `${title}.pftrace` } }, SITE, [buffer]);
  say('');
}
