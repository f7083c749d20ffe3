# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every binary is hardened: no lazy binding, relocations read-only after start, no executable stack, stack protector, checked
string functions. hardening.py SOURCE LARGE... -- SMALL...: of small binaries no function may need the last two. The op hook, which
Python builds on the user's machine, is built here against an empty torch."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

SOURCE = pathlib.Path(sys.argv[1])
CHECKED = ("__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk", "__printf_chk", "__fprintf_chk", "__read_chk", "__strcpy_chk", "__memset_chk")
HOOK = """#include <cstring>
#include <string>
extern "C" __attribute__((visibility("default"))) int hook(const char *a, int n) { char b[32]; memcpy(b, a, n); strcpy(b + 1, a); return b[n]; }
"""


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def missing(path, large):
    """Returns the protections that this binary lacks."""
    dynamic, heads, names = readelf("-d", path), readelf("-l", path), readelf("--dyn-syms", path)
    stack = next((x for x in heads.splitlines() if "GNU_STACK" in x), "")
    have = {
        "BIND_NOW": "BIND_NOW" in dynamic or "Flags: NOW" in dynamic,
        "GNU_RELRO": "GNU_RELRO" in heads,
        "a stack that is not executable": bool(stack) and "E" not in stack.split()[-2],
    }
    if large and "__asan" not in names and "__tsan" not in names and "__ubsan" not in names:
        have["__stack_chk_fail"] = "__stack_chk_fail" in names
        have["checked functions (_FORTIFY_SOURCE)"] = any(x in names for x in CHECKED)
    return [what for what, there in have.items() if not there]


def op_hook(folder):
    """Builds the hook as tidemark_build.py does. Returns None without a C++ compiler."""
    cc, cxx = shutil.which("cc"), shutil.which("c++") or shutil.which("g++")
    if not cc or not cxx:
        return None
    torch = types.SimpleNamespace(__file__=str(folder / "torch" / "__init__.py"), __version__="2.13.0", version=None,
                                  _C=types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=True))
    (folder / "torch" / "lib").mkdir(parents=True)
    for name in "c10", "torch_cpu":
        subprocess.run([cc, "-shared", "-x", "c", "/dev/null", "-o", folder / "torch" / "lib" / f"lib{name}.so"], check=True)
    (folder / "hook.cpp").write_text(HOOK)
    os.environ.update(TIDEMARK_INCLUDE=str(SOURCE / "include"), XDG_CACHE_HOME=str(folder / "cache"))
    os.environ.pop("CXX", None)
    spec = importlib.util.spec_from_file_location("tidemark_build", SOURCE / "python" / "hook" / "tidemark_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    with build.library(torch, str(folder / "hook.cpp"), lambda text: None) as made:
        shutil.copy(made, folder / "hook.so")
    return folder / "hook.so"


def main():
    at = sys.argv.index("--")
    faults, seen = [], 0
    binaries = [(p, True) for p in sys.argv[2:at]] + [(p, False) for p in sys.argv[at + 1:]]
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        hook = op_hook(folder)
        if hook:
            binaries.append((str(hook), True))
        else:
            print("no C++ compiler: the op hook was not built")
        for path, large in binaries:
            seen += 1
            faults += [f"{os.path.basename(path)}: no {what}" for what in missing(path, large)]
    finally:
        shutil.rmtree(folder)
    print("\n".join(faults) or f"{seen} binaries are hardened")
    sys.exit(bool(faults))


main()
