#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Pages against the same command's JSON and text: `flame -o x.html` draws the tree of its options; `gantt` counts the lanes that it draws."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIDEMARK, SOURCE = os.environ["TIDEMARK"], pathlib.Path(os.environ["TIDE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/support"))
from page_section import section  # noqa: E402

DATA = SOURCE / "tests" / "data"
TRACES = [DATA / "kineto_gpt_train.json.gz", DATA / "kineto_gpt_train_stack.json.gz", DATA / "torchsnap/snapshot_gpt_train.pickle.gz",
          SOURCE / "tests/fuzz/tracker.corpus/ours"]
OPTIONS = [[], ["--kind", "cpu", "--max-depth", "3"], ["--kind", "cpu", "--merge"], ["--kind", "gpu", "--min-duration-us", "500"], ["--kind", "gpu", "--group-small", "1"],
           ["--kind", "memory"], ["--kind", "memory", "--by", "op", "--max-depth", "2"], ["--kind", "memory", "--allocated", "--min-bytes", "1MiB"]]


def run(*words):
    return subprocess.run([TIDEMARK, *map(str, words)], capture_output=True, text=True, timeout=300)


def paths_of(node, path=()):
    """(path: [self, count]) of a tree in JSON."""
    own = {path: [node.get("self_ns", node.get("self")) or 0, node["count"]]}  # null: the trace has none
    for child in node["children"]:
        for p, v in paths_of(child, (*path, child["name"])).items():
            old = own.setdefault(p, [0, 0])
            own[p] = [old[0] + v[0], old[1] + v[1]]
    return own


def paths_in(page, key):
    info, columns = section(page, "flame")
    names = info[key]["names"]
    path, out = [()], {}
    for i, (name, parent, own, count) in enumerate(zip(*(columns[f"{key}_{c}"] for c in ("name", "parent", "self", "count")))):
        if i:
            path.append((*path[parent], names[name]))
        old = out.setdefault(path[i], [0, 0])
        out[path[i]] = [old[0] + own, old[1] + count]
    return out


def flames(trace, options, page):
    done = run("flame", trace, *options, "-o", page)
    want = run("flame", trace, *options, "--json")
    assert done.returncode == want.returncode, (trace, options, done.stderr, want.stderr)
    if "no pages" in done.stderr:
        print("skipped: this build has no pages")
        sys.exit(77)
    if want.returncode:
        return 0
    tree = json.loads(want.stdout)
    key = "allocated" if "--allocated" in options else tree["kind"]
    text = page.read_text(encoding="utf-8")
    info = section(text, "flame")[0]
    assert info["first"] == key, (trace, options, info["first"])
    drawn = sorted(k for k in info if k != "first")
    assert drawn == [key] if options else key in drawn, (options, drawn)
    got = paths_in(text, key)
    assert got == paths_of(tree), (trace, options, [(p, got.get(p), paths_of(tree).get(p)) for p in {*got, *paths_of(tree)} if got.get(p) != paths_of(tree).get(p)][:3])
    if "--max-depth" in options:
        assert max(map(len, got)) <= int(options[options.index("--max-depth") + 1]), options
    return len(got) > 1


def lanes(trace, page):
    done = run("gantt", trace, "-o", page)
    if done.returncode:
        return
    told = int(re.search(r"in (\d+) lanes?, nested", done.stdout)[1])
    assert told == len(section(page.read_text(encoding="utf-8"), "spans")[0]["tracks"]), (trace, done.stdout)


def main():
    with tempfile.TemporaryDirectory() as folder:
        page, drawn = pathlib.Path(folder) / "x.html", 0
        for trace in TRACES:
            for options in OPTIONS:
                drawn += flames(trace, options, page)
            lanes(trace, page)
        assert drawn >= len(OPTIONS) + 4, drawn
        two = run("flame", TRACES[0], TRACES[1], "-o", page)
        assert two.returncode == 2 and "one file" in two.stderr, two.stderr


main()
