# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every binary is hardened: no lazy binding, relocations read-only after start, no executable stack, stack protector, checked
string functions. hardening.py SOURCE LARGE... -- SMALL...: of small binaries no function may need the last two."""
import os
import subprocess
import sys

CHECKED = ("__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk", "__printf_chk", "__fprintf_chk", "__read_chk", "__strcpy_chk", "__memset_chk")


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def missing(path, large):
    """What this binary lacks."""
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


def main():
    at = sys.argv.index("--")
    faults = []
    binaries = [(p, True) for p in sys.argv[2:at]] + [(p, False) for p in sys.argv[at + 1:]]
    for path, large in binaries:
        faults += [f"{os.path.basename(path)}: no {what}" for what in missing(path, large)]
    print("\n".join(faults) or f"{len(binaries)} binaries are hardened")
    sys.exit(bool(faults))


main()
