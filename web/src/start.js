// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The one script that is in the page as it is: unpacks the style sheet and the program, and puts them in.
// The page's policy names all three by their hashes, so nothing else can run.
const unpack = async (id) => {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
};
const put = (kind, text) => document.head.append(Object.assign(document.createElement(kind), { textContent: text }));
(async () => {
  try {
    const [css, js] = await Promise.all([unpack('code-css'), unpack('code-js')]);
    put('style', css);
    put('script', js);
  } catch (e) {
    document.getElementById('app').textContent = `This browser cannot unpack the page: ${e.message}`;
  }
})();
