// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Stores frequent strings and long names of browser properties once: `x.currentTarget` becomes `x[a]`, "button" becomes `b`, if
// that makes the code shorter. A minifier renames only our own names. Short properties, and those in loops, are unchanged.
// Functions become arrows.
import ts from 'typescript';

const LONG = 4; // minimum length of a replaced property
const LOOPED = 7; // the same in a loop, where the lookup costs time
const SHORT = 2; // length of the short name

/** Properties that only the page's own code and preact's see, which esbuild may rename. test/names.test.ts checks that nothing
 *  else says them: no key of JSON, no text of the source. */
export const OWN = (
  'about acts again apart argTexts argsLeftOut arranged asked asking atPeak away band callees callers colors cols ' +
  'ctx dark deepest deps dev drop far flip flowKinds hits holdRow inside ints json kids main mains ' +
  'mip nUsed named needs node onPick onWheelTime parts peakT perPixel pic pick picked reader readers reveal revealMatch ' +
  'room scene seg segKind segWho segs setTable shown sides slices slots soft stretched thin timeAt timed topSum topT undo wake ' +
  'walk want wanted who whole whose wide ' +
  'componentDidCatch componentDidMount componentDidUpdate componentWillMount componentWillReceiveProps componentWillUnmount ' +
  'componentWillUpdate debounceRendering getChildContext getDerivedStateFromError getDerivedStateFromProps getSnapshotBeforeUpdate ' +
  'shouldComponentUpdate'
).split(' ');

/** Returns whether this runs often: in a loop of its function, or in the comparison of a sort. */
function inLoop(node) {
  for (let n = node.parent; n; n = n.parent) {
    if (ts.isIterationStatement(n, false)) return true;
    if (ts.isFunctionLike(n)) return ts.isCallExpression(n.parent) && ts.isPropertyAccessExpression(n.parent.expression) && n.parent.expression.name.text === 'sort';
  }
  return false;
}

/** Returns the properties of a call of _h (src/h.ts), if it has literal ones. */
const propsOf = (node) => (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === '_h' ? node.arguments[1] : undefined);

/** Shortens the properties of an element: none, or only a class. */
function shortProps(node) {
  const props = propsOf(node);
  if (props?.kind === ts.SyntaxKind.NullKeyword) return ts.factory.createNumericLiteral(0);
  const [only, more] = props && ts.isObjectLiteralExpression(props) ? props.properties : [];
  return only && !more && ts.isPropertyAssignment(only) && only.name.text === 'class' ? only.initializer : undefined;
}

/** Occurrences of a text: [from, to, text around the short name, bytes saved]. */
function place(node) {
  if (ts.isStringLiteral(node)) {
    if (ts.isExpressionStatement(node.parent)) return null; // a directive
    const key = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
    return [node.text, node.getStart(), node.end, key ? '[]' : '', node.text.length + 2 - SHORT - (key ? 2 : 0)];
  }
  if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && propsOf(node.parent.parent) === node.parent) {
    return [node.name.text, node.getStart(), node.name.end, '[]', node.name.text.length - 2 - SHORT];
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) && !node.dotDotDotToken && !inLoop(node)) {
    const key = node.propertyName ?? node.name;
    if (!ts.isIdentifier(key)) return null;
    return [key.text, key.getStart(), key.end, '[]', key.text.length - 2 - SHORT, node.propertyName ? '' : `: ${key.text}`];
  }
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name) && node.name.text.length >= (inLoop(node) ? LOOPED : LONG)) {
    if (node.expression.kind === ts.SyntaxKind.SuperKeyword) return null;
    return [node.name.text, node.expression.end, node.end, node.questionDotToken ? '?.[]' : '[]', node.name.text.length - 1 - SHORT];
  }
  return null;
}

/** Returns whether a function uses features that arrows lack. */
function needsOwn(node) {
  if (node.kind === ts.SyntaxKind.ThisKeyword || (ts.isIdentifier(node) && node.text === 'arguments')) return true;
  const own = ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isClassLike(node) || ts.isMethodDeclaration(node);
  return !own && !!ts.forEachChild(node, (n) => needsOwn(n) || undefined);
}

/** `function f(a) { return b; }` as `let f = (a) => { return b; }` at the head of its block, where it is defined as early as a
 * declared one. Constructors, generators and functions that use `this` or `arguments` are unchanged. */
export function arrows(code) {
  const program = ts.createSourceFile('page.js', code, ts.ScriptTarget.ES2022, true);
  const makers = new Set();
  const look = (node) => {
    const of = ts.isNewExpression(node) || (ts.isPropertyAccessExpression(node) && node.name.text === 'prototype') ? node.expression : undefined;
    if (of && ts.isIdentifier(of)) makers.add(of.text);
    ts.forEachChild(node, look);
  };
  look(program);
  const plain = (s) => ts.isFunctionDeclaration(s) && !s.asteriskToken && !makers.has(s.name.text) && !ts.getOriginalNode(s).forEachChild((n) => needsOwn(n) || undefined);
  const { factory } = ts;
  const elements = (n) => {
    if (ts.isVoidExpression(n)) return factory.createIdentifier('_void_');
    const props = shortProps(n);
    return props ? factory.updateCallExpression(n, n.expression, undefined, [n.arguments[0], props, ...n.arguments.slice(2)]) : n;
  };
  const step = (context) => {
    const visit = (node) => {
      const n = elements(ts.visitEachChild(node, visit, context));
      const moved = ts.isBlock(n) ? n.statements.filter(plain) : [];
      if (!moved.length) return n;
      const rest = n.statements.filter((s) => !moved.includes(s));
      const first = rest.findIndex((s) => !(ts.isExpressionStatement(s) && ts.isStringLiteral(s.expression))); // after directives
      const at = first < 0 ? rest.length : first;
      const made = moved.map((s) => factory.createVariableDeclaration(s.name, undefined, undefined, factory.createArrowFunction(s.modifiers, undefined, s.parameters, undefined, undefined, s.body)));
      const head = factory.createVariableStatement(undefined, factory.createVariableDeclarationList(made, ts.NodeFlags.Let));
      return factory.updateBlock(n, [...rest.slice(0, at), head, ...rest.slice(at)]);
    };
    return (root) => ts.visitNode(root, visit);
  };
  return ts.createPrinter().printFile(ts.transform(program, [step]).transformed[0]);
}

/** Returns the same program as an immediately called function, with the frequent texts declared first. */
export function shorten(code) {
  const said = new Map();
  const walk = (node) => {
    const p = place(node);
    if (p && p[4] > 0 && /^[^,"\\\n]+$/.test(p[0])) {
      const all = said.get(p[0]) ?? [];
      said.set(p[0], all);
      all.push(p);
    }
    ts.forEachChild(node, walk);
  };
  walk(ts.createSourceFile('page.js', code, ts.ScriptTarget.ES2022, true));
  const texts = [...said].filter(([text, all]) => all.reduce((n, p) => n + p[4], 0) > text.length + 1 + SHORT + 1);
  const edits = texts.flatMap(([, all], i) => all.map(([, from, to, around, , after = '']) => [from, to, (around ? `${around.slice(0, -1)}_${i}_]` : `_${i}_`) + after]));
  edits.sort((a, b) => a[0] - b[0]);
  const out = [];
  let at = 0;
  for (const [from, to, name] of edits) {
    out.push(code.slice(at, from), name);
    at = to;
  }
  out.push(code.slice(at));
  const head = `let [${texts.map((_, i) => `_${i}_`)}] = "${texts.map(([text]) => text)}".split(","), _void_;`;
  return out.join('').replace(/\{(\s*['"]use strict['"];)?/, (start) => start + head);
}
