#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs one test_*.py on the package as pip builds it: main.py NAME [--system].

The wheel is built into the build folder when the sources have changed since; the next test finds it there. The Python is
TIDE_TORCH_PYTHON, else .venv of the checkout (tools/setup test), else python3; with --system the same wheel is tested in the
Python of the system, for which Debian has an old torch. Every test that was skipped is named with its
reason; when nothing ran at all the exit status is 77.
"""
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from extent import ALL  # noqa: E402
from torch_python import build_hook, lacks_torch  # noqa: E402

SOURCE = pathlib.Path(os.environ["TIDE_SOURCE"])
BUILD = pathlib.Path(os.environ["TIDE_BUILD"])
SITE = BUILD / "python-site"
SYSTEM = "/usr/bin/python3"
PLAIN = {"b_sanitize": "none", "buildtype": "debugoptimized"}  # options of a build whose objects the wheel's build can use
HERE = pathlib.Path(__file__).resolve().parent
RUN = """
import sys, unittest
path = sys.argv[1]
sys.path[:0] = path.rpartition("/")[0], sys.argv[2]
import extent
suite = unittest.defaultTestLoader.loadTestsFromName(path.rpartition("/")[2][:-3])
every = suite.countTestCases()
suite = extent.chosen(suite)
if suite.countTestCases() < every:
    print(every - suite.countTestCases(), "rows are left to `make check-all`")
result = unittest.TextTestRunner(verbosity=0).run(suite)
for test, why in result.skipped:
    print(f"skipped {test}: {why}")
if "torch" in sys.modules:
    print("with torch", sys.modules["torch"].__version__)
ran = result.testsRun - len(result.skipped)
sys.exit(1 if not result.wasSuccessful() else 0 if ran > 0 else 77)
"""


def interpreter() -> str:
    named = os.environ.get("TIDE_TORCH_PYTHON")
    venv = SOURCE / ".venv" / "bin" / "python"
    return named or (str(venv) if venv.exists() else sys.executable)


def fingerprint(python: str) -> str:
    """Returns names, times and sizes of everything that goes into the wheel."""
    h = hashlib.sha256(f"{python} {ALL}".encode())
    files = [SOURCE / "pyproject.toml", SOURCE / "meson.build"]
    for folder in ("src", "include", "python", "web/src"):
        files += (p for p in (SOURCE / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    for p in sorted(files):
        s = p.stat()
        h.update(f"{p}:{s.st_mtime_ns}:{s.st_size}\n".encode())
    return h.hexdigest()


def copy_objects() -> str:
    """Copies the build folder, without its tests, to one beside it, where paths in commands are the same: then the wheel's build compiles
    only what is different in it. Returns that folder, "" for other flags than those of a plain build."""
    options = json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text(encoding="utf-8"))
    if {o["name"]: o["value"] for o in options if o["name"] in PLAIN} != PLAIN:
        return ""
    to = BUILD.with_name(BUILD.name + "-python")
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in ("build.ninja", ".ninja_log", ".ninja_deps", "meson-private", "meson-info", "src", "web"):
        if (BUILD / name).is_dir():
            shutil.copytree(BUILD / name, to / name, symlinks=True)
        elif (BUILD / name).exists():
            shutil.copy2(BUILD / name, to / name)
    return str(to)


def build(python: str) -> str:
    """"" or why it cannot be built. A failing compiler is a failure, not a reason to skip."""
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        return "pip is not there"
    subprocess.run(["rm", "-rf", str(SITE)], check=True)
    command = [python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "--target", str(SITE), str(SOURCE)]
    copy = "" if ALL else copy_objects()  # `make check-all` has it as users do
    command.append(f"--config-settings=build-dir={copy or BUILD / 'python-build'}")
    env = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}  # pip keeps its downloads there
    if copy:
        command.append(f"--config-settings=setup-args=-Dbuildtype={PLAIN['buildtype']}")
        env["NINJA"] = shutil.which("ninja") or ""  # another one may not know this one's log, and would compile everything
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    if "No matching distribution" in done.stdout + done.stderr or "Could not find a version" in done.stdout + done.stderr:
        return "meson-python cannot be installed"
    print(done.stdout[-4000:], done.stderr[-4000:])
    sys.exit(1)


def built(python: str) -> str:
    """The wheel is there and of these sources; one process at a time."""
    stamp = BUILD / "python-site.stamp"
    with open(BUILD / "python-site.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = fingerprint(python)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == now and SITE.exists():
            return ""
        stamp.unlink(missing_ok=True)
        why = build(python)
        if not why:
            stamp.write_text(now, encoding="utf-8")
        return why


def main() -> int:
    python, test = interpreter(), HERE / f"test_{sys.argv[1]}.py"
    if why := built(python):
        print(f"skipped: {why}")
        return 77
    env = {**os.environ, "PYTHONPATH": str(SITE), "PYTHONWARNINGS": "ignore"}
    if "--system" in sys.argv:
        python, env["TIDE_SYSTEM_TORCH"] = SYSTEM, "1"
    needs = "needs torch" in test.read_text(encoding="utf-8")
    if needs and (why := lacks_torch(python)):
        print(f"skipped: {why}")
        return 77
    if needs:
        build_hook(python)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would its children
    return subprocess.run([python, "-c", RUN, str(test), str(HERE.parent / "support")], env=env, cwd=BUILD, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
