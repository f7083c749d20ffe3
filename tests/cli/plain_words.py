#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Comments, docstrings and documents use plain words: plain_words.py SOURCE.

Every rule is a phrase that readers had to read twice, with its plain replacement. Code, code spans in backticks and
quoted texts are not checked. A comment must not say "Returns" above a C function without a result. First the rules must find the old sentences in OLD and accept the new ones in NEW."""
import ast
import io
import re
import sys
import tokenize
from pathlib import Path

ANYWHERE = (
    (r"\btold\b(?! apart)|\btell(?:s|ing)? (?:of|nothing|nobody)\b", "reported, recorded, shown"),
    (r"\btold apart\b|\btells? \w+ apart\b", "distinguished"),
    (r"\b(?:is|are|was|were|be|been) said\b|\bsays? (?:so )?of\b", "reported, printed; or name what it is"),
    (r"\bto be had\b|\bbe had\b", "available, can be allocated"),
    (r"\bknows? (?:of|nothing|no|none)\b", "has, lists, contains"),
    (r"\bstands? (?:in )?for\b", "represents, means, replaces"),
    (r"\banew\b", "again"),
    (r"\bof (?:which|whom|what)\b", "two sentences"),
    (r"\bg(?:iv(?:es?|en|ing)|ave) (?:it |them |memory |that )?back\b", "released, freed, returned"),
    (r"\bgo(?:es|ing)? on\b(?! (?:the|a|its|their|one|top|to the|standard|another)\b)|\bwent on\b", "continues"),
    (r"\bcomes? and goes?\b|\bcome and go\b", "is allocated and freed"),
    (r"\bwork(?:s|ed)? out\b", "computes, computed"),
    (r"\bstretch(?:es)?\b", "interval (time), range (addresses)"),
    (r"\btak(?:es?|ing) turns\b", "alternate"),
    (r"\b(?:per|each|every|the|last|next|these|those|all|many|of|after|before|between) moves?\b(?! (?:to|back|up|past|on)\b)", "memory event"),
    (r"\bon exhaustion\b", "if memory runs out"),
    (r"\bnobody knows\b|\b(?:is|are) known of\b", "is unknown, is known about"),
    (r"\bwhoever\b|\bno more than that is known\b|\bwithout a line of code\b|\bnobody\b", "name the subject"),
    (r"\basked (?:for|of)\b|\basks? for\b", "requested, requests, looked up"),
    (r"\btells?\b(?! a reader)", "shows, says, marks"),
    (r"\bwhatever\b|\bhowever (?:many|much|deep|long|large|often)\b", "for any, regardless of"),
    (r"\b(?:in|out of) sight\b|\bto be seen\b", "visible, hidden"),
    (r"\band (?:its|the) (?:like|kin)\b", "and similar"),
    (r"\bjust now\b|\bany more\b|\ball the same\b|\bthe one before\b", "meanwhile, afterwards, still, the previous one"),
    (r"\bas (?:it|they) (?:comes?|stands?)\b|\bin the making\b|\bis at it\b", "as written, being built, is working"),
    (r"\bnot there\b|\bfewer will do\b|\bnonsense\b|\binvented\b|\bparted (?:by|as)\b", "missing, are enough, invalid, made up, separated"),
    (r"\b(?:an?|one) (?!is\b)\w+ an? (?:thread|kind|process|row|file|stream|segment|pixel|event)\b", "per thread, per kind, …"),
)
BEGINNING = (  # of a comment or a docstring
    (r"(?:What|Whatever|Where|Who|Whose|Whoever|How (?:many|much|often|long))\b(?!-)", "begin with a verb or a noun: Returns the …, The …"),
    (r"Of (?!course\b)", "begin with a verb: Returns the … of …"),
    (r"Whether\b", "Returns whether …"),
    (r"(?:Is|Are|Was|Were|Does|Do|Did|Has|Have|Had|May|Can)\b[^.]*\?", "Returns whether …"),
)
SENTENCE = ((r"(?:^|[.!?] )Of (?:a|an|the|its|several|these|those|two|all|many|what|each|every|this|one|more|[A-Z]\w+)\b", "For …, If …"),)  # of documents


def plain(text: str) -> str:
    """Returns the text without code spans and quoted texts, on one line."""
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|\{[^}]*\}|\]\([^)]*\)", " X ", text)
    return re.sub(r"[\s*/]+", " ", text).strip()


def wrong(text: str, rules: tuple, front: tuple = ()) -> list:
    text = plain(text)
    found = [(m[0], advice) for rule, advice in rules for m in [re.search(rule, text)] if m]
    return found + [(" ".join(text.split()[:3]), advice) for rule, advice in front if re.match(rule, text)]


def c_comments(text: str):
    """Yields line and text of each comment; consecutive // lines are one comment."""
    held, begin, end = "", 0, -1
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|`(?:\\.|[^`\\])*`|/\*.*?\*/|//[^\n]*', text, re.S):
        if m[0][0] != "/" or "SPDX-" in m[0]:
            continue
        line = text.count("\n", 0, m.start()) + 1
        alone = not text[text.rfind("\n", 0, m.start()) + 1:m.start()].strip()
        if m[0].startswith("//") and alone and line == end + 1:
            held, end = held + " " + m[0], line
            continue
        if held:
            yield begin, held
        held, begin, end = m[0], line, line if m[0].startswith("//") and alone else -1
    if held:
        yield begin, held


def void_returns(text: str):
    """Yields the line of each comment that says "Returns" above a C function without a result."""
    for m in re.finditer(r"^/\*\*? Returns? (?:[^*]|\*(?!/))*\*/\n(?:static |inline |TIDE_\w+ )*void (?!\*)\w+\(", text, re.M):
        yield text.count("\n", 0, m.start()) + 1


def python_comments(text: str):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (doc := ast.get_docstring(node)):
            yield node.body[0].lineno, doc.split("\n    ")[0] if "\n    " in doc else doc
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type == tokenize.COMMENT and not re.match(r"# (?:SPDX|type:|noqa)|#!", t.string):
            yield t.start[0], re.sub(r"# (?:type|noqa):.*", "", t.string).lstrip("# ")


def paragraphs(text: str):
    """Yields line and text of paragraphs, list items, table cells and options outside of code."""
    fence, held, begin = False, "", 0
    for i, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        row = line.lstrip().startswith("|")
        if fence or row or not line.strip() or re.match(r"\s*(?:[-*] |\d+\. |#)|    |\t", line):
            if held:
                yield begin, held
            held = ""
        if row:
            yield from ((i, cell.strip()) for cell in line.strip().strip("|").split("|"))
        elif not fence and line.strip() and not re.match(r"    |```", line):
            begin = begin if held else i
            held = f"{held} {line.strip()}".strip()


def sources(source: Path):
    """Yields file, reader of its comments, and rules for the beginning of a comment."""
    for folder, endings in (("src", "c h cpp"), ("include", "h hpp"), ("python", "c h py"), ("web/src", "ts tsx"), ("examples", "c h py")):
        for f in sorted(f for e in endings.split() for f in (source / folder).rglob(f"*.{e}")):
            if "node_modules" not in f.parts and "__pycache__" not in f.parts:
                yield f, python_comments if f.suffix == ".py" else c_comments, BEGINNING
    documents = [source / n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
    for f in [*documents, *sorted(source.glob("docs/**/*.md")), *sorted(source.glob("docs/man/*.scd"))]:
        yield f, paragraphs, ()


def check(source: Path) -> list:
    failures = []
    for f, read, front in sources(source):
        rules = ANYWHERE + (SENTENCE if read is paragraphs else ())
        for line, text in read(f.read_text(encoding="utf-8")):
            text = re.sub(r"^[\s/*-]+", "", text)
            failures += [f"{f.relative_to(source)}:{line}: \"{phrase}\": write {advice}" for phrase, advice in wrong(text, rules, front)]
        if read is c_comments:
            failures += [f"{f.relative_to(source)}:{line}: \"Returns\" above a function without a result" for line in void_returns(f.read_text(encoding="utf-8"))]
    return failures


OLD = """Its file was told before
What is of it
Of those that are leaves.
Whether a line is due
Is the file full? What it began with does not count.
if that space is not to be had
one span stands for all that were open
snapshots as counted anew
the op of which it is the backward
memory that was given back
the recording goes on
what is free is not told apart
totals worked out from the recording
the highest of 128 stretches
two tasks that take turns
after every move of the log
False on exhaustion.
nothing is known of its banks
one function a kind
a storage counts once, however many views it has
the frames it asked for
fields that are made when first asked for
torch.tensor and its like
only the rows in sight
nobody may write it
passes the arguments as they stand
the program runs on if it is not there
renamed by another process just now"""
NEW = """Returns the address of the tensor's storage, 0 if it has no memory.
The recording continues after a loss, and every report shows it.
Returns whether a line is due.
Moves entries back over the gap.
Released segments are counted; blocks go on the free list.
Returns the rows that are visible, one per pixel, for any number of spans."""


def self_test() -> list:
    missed = [] if list(void_returns("/* Returns the\n * size. */\nstatic void put(int a)\n")) else ["not noticed: Returns above void"]
    missed += [f"not noticed: {s}" for s in OLD.splitlines() if not wrong(s, ANYWHERE, BEGINNING)]
    return missed + [f"wrongly noticed: {s}" for s in NEW.splitlines() if wrong(s, ANYWHERE, BEGINNING)]


def main() -> int:
    failures = self_test() + check(Path(sys.argv[1]))
    print("\n".join(failures) or "no riddles")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
