#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Check who includes whom. The tables below are the architecture; ARCHITECTURE.md draws it."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SRC = TOP / "src"

MAY = {  # folder of src/ -> folders it may include besides itself
    "base": set(),
    "format": {"base"},
    "runtime": {"base", "format"},
    "capture": {"base", "format", "runtime"},
    "config": {"base"},
    "model": {"base"},
    "import": {"base", "format", "model"},
    "analyze": {"base", "model"},
    "render": {"base", "model", "analyze"},
    "api": {"base", "model", "import", "analyze", "render"},
    "serve": {"base", "format", "model", "import", "analyze", "render", "api"},
    "usage": {"base", "model", "import", "analyze", "render"},
    "cli": {"base", "config", "format", "model", "import", "analyze", "render", "api", "serve"},
    # the extensions of the package: what the library and the recorder offer, never commands or the server
    "python": {"base", "config", "model", "analyze", "api"},
}

ROOMS = {  # room -> rooms of the same folder it may include besides itself; "" = files beside the rooms
    "analyze": {
        "common": set(),
        "memory": {"common", "ops"},  # an allocation's module is of the op tree
        "ops": {"common", "memory"},
        "device": {"common"},
        "timeline": {"common"},
        "compile": {"common", "memory"},
        "compat": {"common"},
        "tenstorrent": set(),
        "critical": {"common", "compat", "device"},
        "allocator": {"common", "memory", "advice"},  # its result has advice
        "advice": {"common", "memory", "device", "allocator", "compile"},
        "predict": {"common", "memory", "ops", "allocator"},
        "compare": {"common", "memory", "ops", "device", "timeline", "compile"},
    },
    "render": {
        "text": set(),
        "report": {"text"},
        "picture": {"text"},
        "export": {"text", "report"},
        "page": {"text", "report", "export"},
    },
    "cli": {
        "": {"job", "run"},
        "run": {"", "job"},
        "job": {""},
        "cmd": {"", "run", "job"},
    },
    "import": {
        "": {"kineto", "tide", "torchsnap", "torchtrace", "tracker", "phaselog", "tenstorrent", "ttgraph", "objects"},  # the registry
        "json": {"", "kineto"},  # the scanner's state is the Kineto parser's
        "kineto": {"", "json"},
        "tracker": {"", "json", "kineto"},
        "torchtrace": {"", "json", "kineto"},
        "ttgraph": {"", "tracker"},
        "tide": {""},
        "torchsnap": {""},
        "phaselog": {""},
        "objects": {"", "json", "kineto"},
        "tenstorrent": {"", "json", "kineto"},
    },
    "serve": {
        "": {"http", "store", "answer"},
        "http": {"", "store", "answer"},
        "store": {""},
        "answer": {"", "http", "store"},
    },
}

# Render sees results. Where it includes the model itself, this is why.
SEES_MODEL = {
    "render/text/": "names: texts of the model are cells of every table",
    "render/export/": "other tools' files hold the rows of the trace themselves",
    "render/page/": "sections hold columns of the trace, for views that zoom",
    "render/report/info.h": "the report is on the model",
    "render/report/objects.h": "measured objects are a table of their own, not a trace",
    "render/report/tenstorrent/tt_ir.h": "the listing of the program is an attribute of the trace",
}
# Analyses never format. Where a result is a text, this is why.
FORMATS = {
    "analyze/advice/": "advice is a sentence with its figures",
    "analyze/device/advice.c": "the same",
    "analyze/predict/training_sizes.c": "the same",
    "analyze/device/hta_finish.c": "notes on ranks that do not fit together",
    "analyze/device/hta_job.c": "the same; names of summed losses",
    "analyze/compare/run_summary.c": "keys of runs: a program's name, a version",
    "analyze/compare/thresholds.c": "a condition as it was given",
    "analyze/common/lane_name.c": "names of lanes that have none: thread 7",
    "analyze/common/stacks.c": "names of frames: function (file:line)",
    "analyze/memory/": "names of groups, pools and ranges that have none",
    "analyze/ops/flame.c": "names of roots: thread 7, cuda:0",
    "analyze/allocator/sim/": "allocator settings as PYTORCH_CUDA_ALLOC_CONF spells them",
    "analyze/compat/frame.c": "numbers as the tool that is imitated spells them",
}

# Modules of the package that may import a sub-package, and why.
ABOVE = {"_pytest.py": "the plugin measures objects where a test asks for it"}

# Code that runs inside other people's processes may use only libc, its own headers and xxHash.
INJECTED = {"base", "runtime", "capture"}
FOREIGN = re.compile(r"^(zstd|isa-l|cairo|microhttpd|mpi|cmocka|zlib)")
ONLY_CLI = re.compile(r"(?<![\w.>])(?:printf|puts|putchar|perror|exit|abort)\s*\(|\bstdout\b|\bstderr\b")
FORMATTING = re.compile(r"(?<!\w)(?:v?snprintf|v?asprintf|v?fprintf|open_memstream|tide__fmt_\w+)\s*\(|\bFILE\s*\*")
PYTHON = re.compile(r"^\s*(?:from\s+(\.+)(\w*)|import\s+tidemark\.(\w+))")


def without_comments(text: str) -> str:
    """The code alone, line numbers kept: no comments, no strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def room(path: str) -> tuple[str, str]:
    """Folder of src/ and room in it: "analyze/memory/peak.h" is ("analyze", "memory")."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def excused(path: str, table: dict[str, str]) -> bool:
    return any(path.startswith(k) if k.endswith("/") else path == k for k in table)


def include_fault(name: str, to: str) -> str:
    """Why the file `name` may not include `to` (both seen from src/); "" = it may."""
    (folder, mine), (top, theirs) = room(name), room(to)
    if "/" not in to:
        return ""
    if top != folder:
        if top not in MAY[folder]:
            return f"src/{folder} may not include src/{top}"
        if folder == "render" and top == "model" and not excused(name, SEES_MODEL):
            return f"src/render sees results, not src/model: {to}"
        return ""
    rooms = ROOMS.get(folder)
    if rooms and mine != theirs and theirs not in rooms.get(mine, set()):
        return f"src/{folder}/{mine} may not include src/{folder}/{theirs}"
    return ""


def includes(path: pathlib.Path, name: str, text: str) -> list[str]:
    faults = []
    folder = name.split("/")[0]
    for n, line in enumerate(text.splitlines(), 1):
        if (m := re.match(r'\s*#\s*include\s+"([^"]+)"', line)) and (why := include_fault(name, m[1])):
            faults.append(f"{path}:{n}: {why}")
        if (m := re.match(r"\s*#\s*include\s+<([^>]+)>", line)) and folder in INJECTED and FOREIGN.match(m[1]):
            faults.append(f"{path}:{n}: src/{folder} goes into other processes: no <{m[1]}> there")
    return faults


def lines_with(path: pathlib.Path, text: str, pattern: re.Pattern[str], why: str) -> list[str]:
    lines = enumerate(without_comments(text).splitlines(), 1)
    return [f"{path}:{n}: {why}: {s.strip()}" for n, s in lines if pattern.search(s)]


def check(path: pathlib.Path) -> list[str]:
    name = str(path.relative_to(SRC))
    folder, mine = room(name)
    if folder not in MAY:
        return [f"{path}: folder src/{folder} has no row in tools/check_layers.py"]
    if folder in ROOMS and mine not in ROOMS[folder] and mine:
        return [f"{path}: room src/{folder}/{mine} has no row in tools/check_layers.py"]
    text = path.read_text(encoding="utf-8")
    faults = includes(path, name, text)
    if folder != "cli":
        faults += lines_with(path, text, ONLY_CLI, "only src/cli prints or exits")
    if folder == "analyze" and not excused(name, FORMATS):
        faults += lines_with(path, text, FORMATTING, "analyses never format")
    return faults


def check_native(path: pathlib.Path) -> list[str]:
    """A C extension of the package."""
    return includes(path, "python/native/" + path.name, path.read_text(encoding="utf-8"))


def check_package(path: pathlib.Path) -> list[str]:
    """Typed Python: a sub-package may import what lies above it, never the other way round."""
    package = TOP / "python" / "tidemark"
    if path.parent != package or path.name == "__init__.py" or path.name in ABOVE:
        return []
    below = {p.name for p in package.iterdir() if p.is_dir()}
    faults = []
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        m = PYTHON.match(line)
        if m and ({m[2], m[3]} & below or (m[1] == "." and not m[2] and below & set(re.findall(r"\w+", line.split("import")[-1])))):
            faults.append(f"{path}:{n}: tidemark/{path.name} may not import a sub-package: {line.strip()}")
    return faults


def unused_excuses(files: list[str]) -> list[str]:
    """An excuse for a file that is not there is a fault as well."""
    return [f"tools/check_layers.py: nothing is at src/{k}" for k in (*SEES_MODEL, *FORMATS) if not any(f == k or (k.endswith("/") and f.startswith(k)) for f in files)]


def rules_hold() -> None:
    """The check itself: what it must see, and what it must let pass."""
    for name, to in (("analyze/device/x.c", "analyze/memory/y.h"), ("analyze/memory/x.c", "import/import.h"), ("render/report/memory/x.c", "model/model.h"),
                     ("render/text/x.c", "render/page/page.h"), ("cli/job/x.c", "cli/cmd/y.h"), ("serve/store/x.c", "serve/http/http.h"),
                     ("python/native/module.c", "cli/cli.h"), ("runtime/x.c", "model/model.h")):
        assert include_fault(name, to), f"{name} could include {to}"
    for name, to in (("analyze/ops/x.c", "analyze/memory/y.h"), ("render/report/memory/x.c", "analyze/memory/y.h"), ("render/export/x.c", "model/model.h"),
                     ("cli/cmd/x.c", "cli/cli.h"), ("python/native/module.c", "native.h")):
        assert not include_fault(name, to), include_fault(name, to)
    assert FORMATTING.search("snprintf(buf, n, fmt)") and FORMATTING.search("FILE *out") and not FORMATTING.search("tide__fail(err, code, 0)")


def main() -> int:
    rules_hold()
    files = sorted(p for p in SRC.rglob("*") if p.suffix in {".c", ".h", ".cpp"})
    native = sorted(p for p in (TOP / "python" / "native").glob("*.[ch]"))
    package = sorted((TOP / "python" / "tidemark").rglob("*.py"))
    faults = [f for p in files for f in check(p)] + [f for p in native for f in check_native(p)] + [f for p in package for f in check_package(p)]
    faults += unused_excuses([str(p.relative_to(SRC)) for p in files])
    print("\n".join(faults) if faults else f"{len(files) + len(native) + len(package)} files keep the layers")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
