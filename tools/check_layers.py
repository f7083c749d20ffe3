#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Checks the include lines. The tables below define the architecture; ARCHITECTURE.md draws it."""
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
    "report": {"base", "model", "import", "analyze", "render"},
    "api": {"base", "model", "import", "analyze", "render", "report"},
    "serve": {"base", "format", "model", "import", "analyze", "render", "report", "api"},
    "usage": {"base", "model", "import", "analyze", "render"},
    "sql": {"base", "model", "analyze", "render", "report"},
    "mcp": {"base", "model", "import", "render", "report", "sql"},
    "redact": {"base", "format", "model", "import"},
    "cli": {"base", "config", "redact", "format", "model", "import", "analyze", "render", "report", "api", "serve", "sql", "mcp"},
    # the extensions of the package: they may use the library and the recorder, never commands or the server
    "python": {"base", "config", "model", "analyze", "report", "api", "sql"},
}

ROOMS = {  # room -> rooms of the same folder it may include besides itself; "" = files beside the rooms
    "analyze": {
        "common": set(),
        "live": set(),
        "ops": {"common", "live", "device"},  # device time by module
        "memory": {"common", "live", "ops"},  # an allocation's module comes from the op tree
        "device": {"common"},
        "timeline": {"common"},
        "hang": set(),
        "serving": {"common", "live", "memory", "allocator"},
        "compile": {"common", "live", "memory"},
        "compat": {"common"},
        "tenstorrent": set(),
        "critical": {"common", "compat", "device"},
        "allocator": {"common", "live", "memory"},
        "advice": {"common", "live", "memory", "device", "allocator", "compile"},
        "overview": {"common", "memory", "ops", "device", "advice"},
        "roofline": {"common", "ops", "device"},
        "predict": {"common", "live", "memory", "ops", "allocator"},
        "compare": {"common", "live", "memory", "ops", "device", "timeline", "compile"},
    },
    "render": {
        "text": set(),
        "report": {"text"},
        "picture": {"text"},
        "export": {"text", "report"},
        "page": {"text", "report", "export"},
    },
    "cli": {
        "": {"job", "run", "output"},
        "output": {""},
        "run": {"", "job", "output"},
        "job": {"", "output"},
        "cmd": {"", "run", "job", "output"},
    },
    "import": {
        "": {"flightrec", "kineto", "tide", "torchsnap", "torchtrace", "tracker", "phaselog", "tenstorrent", "ttgraph", "ttperf", "objects", "nsys", "rocpd", "pprof", "xplane", "perfetto", "heaptrack", "heaptext", "memray", "rocprof", "exectrace", "pb"},  # the registry
        "pb": set(),  # a library
        "pprof": {"", "pb"},
        "heaptrack": {""},
        "ttperf": {""},
        "heaptext": {""},
        "memray": {""},
        "exectrace": {"", "json"},
        "rocprof": {"", "json", "nsys"},  # the same context as rocpd
        "xplane": {"", "pb"},
        "perfetto": {"", "pb", "kineto"},  # slices have the arguments of Chrome traces: one set of rules
        "json": set(),  # a library: it knows no importer
        "kineto": {"", "json"},
        "tracker": {"", "json"},
        "torchtrace": {"", "json"},
        "ttgraph": {"", "json", "tracker"},
        "sqlite": {""},
        "rocpd": {"", "sqlite", "nsys"},  # the same context: rows of tables become spans
        "nsys": {"", "sqlite", "kineto"},  # live ranges are the Kineto importer's
        "tide": {""},
        "torchsnap": {""},
        "flightrec": {"", "json", "torchsnap"},  # the pickle decoder
        "phaselog": {""},
        "objects": {"", "json"},
        "exported": {"", "json"},
        "tenstorrent": {"", "json"},
    },
    "serve": {
        "": {"http", "store", "answer"},
        "http": {"", "store", "answer"},
        "store": {""},
        "answer": {"", "store"},
    },
}

# Render uses results. Files that include the model itself, with the reason.
SEES_MODEL = {
    "render/text/": "Cells of tables are names, and names are texts of the model.",
    "render/export/": "Files for other tools hold the rows of the trace, not a result about them.",
    "render/page/": "Views that zoom need the columns of the trace; every sum on a page is a result.",
    "render/report/objects.h": "Measured objects are a table of their own, not a trace.",
}
# Analyses never format: texts of results are made in src/render, names of rows in src/model/names.c. Exceptions, with
# their reasons.
FORMATS = {
    "analyze/advice/": "A recommendation is a sentence with its figures; commands, pages, C and Python show the same sentence.",
    "analyze/allocator/sim/config.c": "Settings are written as PYTORCH_CUDA_ALLOC_CONF spells them, the inverse of the parser beside it.",
}

# Modules of the package that may import a sub-package, and why.
ABOVE = {"_pytest.py": "the plugin measures objects where a test asks for it"}

# Code that runs inside other people's processes may use only libc, its own headers and xxHash.
INJECTED = {"base", "runtime", "capture"}
FOREIGN = re.compile(r"^(zstd|isa-l|cairo|microhttpd|mpi|cmocka|zlib)")
ONLY_CLI = re.compile(r"(?<![\w.>])(?:printf|puts|putchar|perror|exit|abort)\s*\(|\bstdout\b|\bstderr\b")
FORMATTING = re.compile(r"(?<!\w)(?:v?s?n?printf|v?asprintf|v?fprintf|open_memstream|tide__fmt_\w+)\s*\(|\bFILE\s*\*")
RESIZING = re.compile(r"\btide__realloc\s*\(")
RAW = re.compile(r"(?<![\w.>])(?:malloc|calloc|realloc|strdup|strndup)\s*\(")  # memory that tests cannot make fail
COUNTED = {"analyze", "api", "import", "model", "render", "report", "usage"}
PYTHON = re.compile(r"^\s*(?:from\s+(\.+)(\w*)|import\s+tidemark\.(\w+))")


def cycle(rooms: dict[str, set[str]]) -> list[str]:
    """Returns rooms that include each other in a ring, [] if there is none. "" is left out: files beside the rooms join them."""
    done: set[str] = set()

    def walk(at: str, path: list[str]) -> list[str]:
        if at in path:
            return [*path[path.index(at):], at]
        found = [] if at in done else next((r for to in sorted(rooms.get(at, set()) - {""}) if (r := walk(to, [*path, at]))), [])
        done.add(at)
        return found

    return next((r for room in sorted(rooms) if room and (r := walk(room, []))), [])


def without_comments(text: str) -> str:
    """Returns the code without comments and strings, with the same line numbers."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def room(path: str) -> tuple[str, str]:
    """Returns the folder of src/ and the room in it: "analyze/memory/peak.h" is ("analyze", "memory")."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def excused(path: str, table: dict[str, str]) -> bool:
    return any(path.startswith(k) if k.endswith("/") else path == k for k in table)


def include_fault(name: str, to: str) -> str:
    """Returns the reason why the file `name` may not include `to` (both relative to src/); "" = it may."""
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
    if folder != "base":
        faults += lines_with(path, text, RESIZING, "arrays grow by TIDE_ROOM or TIDE_RESIZE (base/mem.h)")
    if folder in COUNTED:
        faults += lines_with(path, text, RAW, "the library allocates by base/mem.h, so that tests can make it fail")
    if folder == "analyze" and not excused(name, FORMATS):
        faults += lines_with(path, text, FORMATTING, "analyses never format")
    return faults


def check_native(path: pathlib.Path) -> list[str]:
    """Checks a C extension of the package."""
    return includes(path, "python/native/" + path.name, path.read_text(encoding="utf-8"))


def check_package(path: pathlib.Path) -> list[str]:
    """Checks typed Python: a sub-package may import modules above it, never the other way round."""
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


def check_unit_folders() -> list[str]:
    """Checks that tests/unit has the folders of src/: a test is in the folder of its source."""
    unit = TOP / "tests" / "unit"
    return [f"{p}: src/ has no such folder" for p in sorted(unit.rglob("*")) if p.is_dir() and not (SRC / p.relative_to(unit)).is_dir()]


def unused_excuses(files: list[str]) -> list[str]:
    """Reports exceptions for missing files."""
    return [f"tools/check_layers.py: nothing is at src/{k}" for k in (*SEES_MODEL, *FORMATS) if not any(f == k or (k.endswith("/") and f.startswith(k)) for f in files)]


def rules_hold() -> None:
    """Tests the check itself: includes that it must refuse, and includes that it must accept."""
    for name, to in (("analyze/device/x.c", "analyze/memory/y.h"), ("analyze/ops/x.c", "analyze/memory/y.h"), ("analyze/memory/x.c", "import/import.h"), ("render/report/memory/x.c", "model/model.h"),
                     ("render/text/x.c", "render/page/page.h"), ("cli/job/x.c", "cli/cmd/y.h"), ("serve/store/x.c", "serve/http/http.h"),
                     ("python/native/module.c", "cli/cli.h"), ("runtime/x.c", "model/model.h")):
        assert include_fault(name, to), f"{name} could include {to}"
    for name, to in (("analyze/memory/x.c", "analyze/ops/y.h"), ("render/report/memory/x.c", "analyze/memory/y.h"), ("render/export/x.c", "model/model.h"),
                     ("cli/cmd/x.c", "cli/cli.h"), ("python/native/module.c", "native.h")):
        assert not include_fault(name, to), include_fault(name, to)
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"] and not cycle({"a": {"b", "c"}, "b": {"c"}, "c": {""}})
    assert RAW.search("p = malloc(n)") and not RAW.search("tide__alloc(1, n)") and not RAW.search("m->free(p)")
    assert FORMATTING.search("snprintf(buf, n, fmt)") and FORMATTING.search("FILE *out") and not FORMATTING.search("tide__fail(err, code, 0)")


def main() -> int:
    rules_hold()
    files = sorted(p for p in SRC.rglob("*") if p.suffix in {".c", ".h", ".cpp"})
    native = sorted(p for p in (TOP / "python" / "native").glob("*.[ch]"))
    package = sorted((TOP / "python" / "tidemark").rglob("*.py"))
    faults = [f for p in files for f in check(p)] + [f for p in native for f in check_native(p)] + [f for p in package for f in check_package(p)]
    faults += check_unit_folders()
    faults += [f"tools/check_layers.py: a ring: {' -> '.join(r)}" for rooms in (MAY, *ROOMS.values()) if (r := cycle(rooms))]
    faults += unused_excuses([str(p.relative_to(SRC)) for p in files])
    print("\n".join(faults) if faults else f"{len(files) + len(native) + len(package)} files keep the layers")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
