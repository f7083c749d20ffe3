# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The examples in the comments of the installed headers: every function has one, each compiles, as C and as C++, and those of
record.h, trace.h and analyze.h run (as C). installed.py calls check()."""
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
#include <stdlib.h>
#define UNUSED __attribute__((unused))
static UNUSED void *p;
static UNUSED size_t bytes = 1;
static UNUSED uint64_t address = 64;
static UNUSED void model_create(void) {}
static UNUSED void optimizer_create(void) {}
static UNUSED void forward(void) {}
static UNUSED void backward(void) {}
"""
RECORD = """
static UNUSED tide_pool pool;
static UNUSED tide_stream stream;
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


def whole(header: str, examples: list[str]) -> str:
    """One program of all examples of a header that need no trace, each in a function of its own."""
    includes = f"#include <tidemark/{header}>\n{GIVEN}{RECORD if header.startswith(('record', 'tidemark')) else ''}"
    bodies = [re.sub(r"^#include.*$", "", code, flags=re.M).replace("...", "") for code in examples]
    functions = "".join(f"static void example_{i}(void)\n{{\n{code}\n}}\n" for i, code in enumerate(bodies))
    return f"{includes}{functions}int main(void)\n{{\n{''.join(f'example_{i}();' for i in range(len(bodies)))}\nreturn 0;\n}}\n"


def program(header: str, code: str) -> str:
    """A whole program around an example that reads a trace, or is a program already."""
    includes = "".join(f"{x}\n" for x in re.findall(r"^#include.*$", code, re.M))
    code = re.sub(r"^#include.*$", "", code, flags=re.M).replace("...", "")
    head = f"{includes}#include <tidemark/{header}>\n{GIVEN}"
    if "int main" in code:
        return head + code
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


def compiled(text: str, language: str, folder: pathlib.Path, flags: list[str], what: str) -> None:
    """Compiles a program; to folder/example if the flags name a library."""
    file = folder / ("example." + ("c" if language == "c" else "cpp"))
    file.write_text(text)
    std = ["cc", "-std=gnu2x"] if language == "c" else ["c++", "-std=c++17"]
    link = ["-o", str(folder / "example")] if any(f.startswith("-l") for f in flags) else ["-fsyntax-only"]
    must([*std, "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable", str(file), *flags, *link], what)


def functions(header: pathlib.Path) -> set[str]:
    """The functions that a C header declares."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
    return set(re.findall(r"\b(tide_\w+)\([^;{}]*\);", text))


def check(source: pathlib.Path, root: pathlib.Path, folder: pathlib.Path, flags: list[str]) -> None:
    data, count, shown, declared = source / "tests/data", 0, "", set()
    env = dict(os.environ, LD_LIBRARY_PATH=str(next(root.rglob("libtidemark.so")).parent))
    shutil.copy(data / TRACES[""], folder / "run.tide")  # the content decides
    (folder / "record").mkdir()
    include = [f for f in flags if not f.startswith("-l")]
    for header in sorted((source / "include/tidemark").glob("*.h*")):
        examples = blocks(header.read_text(encoding="utf-8"))
        count, shown = count + len(examples), shown + "".join(examples)
        declared |= functions(header) if header.suffix == ".h" else set()
        languages = ["c++"] if header.suffix == ".hpp" else ["c", "c++"]
        if header.name not in {"trace.h", "analyze.h"}:
            plain = [code for code in examples if "int main" not in code]
            for language in languages if plain else []:
                runs = header.name == "record.h" and language == "c"
                compiled(whole(header.name, plain), language, folder, [*include, "-ltidemark-rt"] if runs else include, header.name)
                if runs:
                    must([str(folder / "example")], header.name, env=env, cwd=folder / "record")
            examples = [code for code in examples if "int main" in code]
        for i, code in enumerate(examples):
            what = f"{header.name}, example {i + 1}"
            runs = header.name in {"trace.h", "analyze.h"}
            for language in languages:
                compiled(program(header.name, code), language, folder, flags if runs and language == "c" else include, what)
            if runs:
                trace = str(data / trace_of(code))
                out = must([str(folder / "example"), trace, trace], what, env=env, cwd=folder)
                assert out or "printf" not in code, f"{what} prints nothing for {trace}"
    assert len(declared) > 80 and not (lack := {f for f in declared if f + "(" not in shown}), f"no example of {sorted(lack)}"
    print(f"{count} examples of the headers compile")
