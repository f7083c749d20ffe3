# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The examples in the comments of the installed headers: each compiles, as C and as C++, and those of trace.h and
analyze.h run (as C). installed.py calls check()."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Names that examples use without defining them; "..." is code that they leave out.
GIVEN = """
#include <inttypes.h>
#include <stdio.h>
#define UNUSED __attribute__((unused))
static UNUSED void *p;
static UNUSED size_t bytes = 1;
static UNUSED uint64_t address = 64;
static UNUSED void model_create(void) {}
static UNUSED void optimizer_create(void) {}
static UNUSED void forward(void) {}
static UNUSED void backward(void) {}
"""
TRACES = {  # example's function -> a trace that has its data; the others use the first one
    "": "kineto_gpt_train.json.gz",
    "allocator oom whatif leaks": "torchsnap/snapshot_oom.pickle.gz",
    "compile": "torchtrace/gpt.log.gz",
    "device": "device/one.tide",
}


def blocks(text: str) -> list[str]:
    """Indented code in comments: lines of which one ends a statement."""
    found, lines = [], []
    for line in [*text.split("\n"), ""]:
        m = re.match(r" \* {5,}(\S.*?)(?: \*/)?$", line)
        if m:
            lines.append(m[1])
        elif line.rstrip() != " *" or not all(x.startswith("#include") for x in lines):  # includes come before a blank line
            if any(re.search(r";\s*(//.*)?$", x) for x in lines):
                found.append("\n".join(lines))
            lines = []
    return found


def program(header: str, code: str) -> str:
    """A whole program around an example."""
    includes = "".join(f"{x}\n" for x in re.findall(r"^#include.*$", code, re.M))
    code = re.sub(r"^#include.*$", "", code, flags=re.M).replace("...", "")
    head = f"{includes}#include <tidemark/{header}>\n{GIVEN}"
    if "int main" in code:
        return head + code
    if header not in {"trace.h", "analyze.h"}:
        return f"{head}int main(void)\n{{\n{code}\nreturn 0;\n}}\n"
    return f"""#include <tidemark/analyze.h>
{head}
static int example(const tide_trace *t, const tide_trace *u, tide_report *r, tide_error err)
{{
(void)t, (void)u, (void)r, (void)err;
{{
{code}
}}
return 0;
}}
int main(int argc, char **argv)
{{
tide_trace *t, *u;
tide_error err = {{}};
if (argc != 3 || tide_trace_open(argv[1], &t, &err) || tide_trace_open(argv[2], &u, &err))
	return fprintf(stderr, "%s\\n", err.text), 2;
return example(t, u, NULL, err);
}}
"""


def trace_of(code: str) -> str:
    name = re.search(r"tide_(\w+)_find", code)
    return next((path for words, path in TRACES.items() if name and name[1] in words.split()), TRACES[""])


def must(words: list[str], what: str, **more) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{what}: {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(source: pathlib.Path, root: pathlib.Path, folder: pathlib.Path, flags: list[str]) -> None:
    data, count, shown = source / "tests/data", 0, ""
    env = dict(os.environ, LD_LIBRARY_PATH=str(next(root.rglob("libtidemark.so")).parent))
    shutil.copy(data / TRACES[""], folder / "run.tide")  # the content decides
    for header in sorted((source / "include/tidemark").glob("*.h*")):
        for i, code in enumerate(blocks(header.read_text(encoding="utf-8"))):
            count, shown = count + 1, shown + code
            runs = header.name in {"trace.h", "analyze.h"}
            languages = ["c++"] if header.suffix == ".hpp" else ["c", "c++"]
            for language in languages:
                what, file, to = f"{header.name}, example {i + 1}", folder / ("example." + ("c" if language == "c" else "cpp")), folder / "example"
                file.write_text(program(header.name, code))
                std = ["cc", "-std=gnu2x"] if language == "c" else ["c++", "-std=c++17"]
                link = ["-o", str(to)] if runs and language == "c" else ["-fsyntax-only"]
                must([*std, "-Wall", "-Werror", "-Wno-unused-variable", str(file), *flags, *link], what)
            if runs:
                trace = str(data / trace_of(code))
                out = must([str(to), trace, trace], what, env=env, cwd=folder)
                assert out or "printf" not in code, f"{what} prints nothing for {trace}"
    find = set(re.findall(r"TIDE_API tide_code (tide_\w+_find)", (source / "include/tidemark/analyze.h").read_text(encoding="utf-8")))
    assert len(find) > 20 and not (lack := {f for f in find if f + "(" not in shown}), f"no example of {sorted(lack)}"
    print(f"{count} examples of the headers compile")
