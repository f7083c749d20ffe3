// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Strings and long names of the browser's properties that a bundle says often, said once: `x.currentTarget` becomes
// `x[a]`, "button" becomes `b`, wherever that makes the code shorter. A minifier renames what is ours alone; this
// does the rest. Short properties, and those that inner loops use, stay as they are.
import ts from 'typescript';

const LONG = 5; // of a property, to be worth a detour
const LOOPS = new Set(['length', 'parent', 'height', 'tracks', 'values', 'first', 'depth', 'total', 'level', 'moves']);
const SHORT = 2; // of a name that stands for it

/** Where a text is said: [from, to, what stands there around the short name, bytes that it is shorter by]. */
function place(node) {
  if (ts.isStringLiteral(node)) {
    if (ts.isExpressionStatement(node.parent)) return null; // a directive
    const key = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
    return [node.text, node.getStart(), node.end, key ? '[]' : '', node.text.length + 2 - SHORT - (key ? 2 : 0)];
  }
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name) && node.name.text.length >= LONG && !LOOPS.has(node.name.text)) {
    if (node.expression.kind === ts.SyntaxKind.SuperKeyword) return null;
    return [node.name.text, node.expression.end, node.end, node.questionDotToken ? '?.[]' : '[]', node.name.text.length - 1 - SHORT];
  }
  return null;
}

/** The same program, a function that is called at once, with what it says often in front. */
export function shorten(code) {
  const said = new Map();
  const walk = (node) => {
    const p = place(node);
    if (p && /^[^,"\\\n]+$/.test(p[0])) {
      const all = said.get(p[0]) ?? [];
      said.set(p[0], all);
      all.push(p);
    }
    ts.forEachChild(node, walk);
  };
  walk(ts.createSourceFile('page.js', code, ts.ScriptTarget.ES2022, true));
  const texts = [...said].filter(([text, all]) => all.reduce((n, p) => n + p[4], 0) > text.length + 1 + SHORT + 1);
  const edits = texts.flatMap(([, all], i) => all.map(([, from, to, around]) => [from, to, around ? `${around.slice(0, -1)}_${i}_]` : `_${i}_`]));
  edits.sort((a, b) => a[0] - b[0]);
  const out = [];
  let at = 0;
  for (const [from, to, name] of edits) {
    out.push(code.slice(at, from), name);
    at = to;
  }
  out.push(code.slice(at));
  const head = `let [${texts.map((_, i) => `_${i}_`)}] = "${texts.map(([text]) => text)}".split(",");`;
  return out.join('').replace(/\{(\s*['"]use strict['"];)?/, (start) => start + head);
}
