// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// "Open in Perfetto": its window is opened by a click, asked whether it is there until it says so, then
// given the bytes. They go from window to window, past no server.
const SITE = 'https://ui.perfetto.dev';

export async function openInPerfetto(title: string, read: () => Promise<Uint8Array<ArrayBuffer>>, say: (text: string) => void): Promise<void> {
  const other = window.open(SITE); // now: a browser lets nothing open later
  if (!other) return say('The browser did not let a window open.');
  say('Making the file…');
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
