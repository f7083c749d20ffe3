#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Builds the wheel with pip into the build folder, then runs every test_*.py beside this file on it.

The Python is TIDE_TORCH_PYTHON, else .venv of the checkout (tools/setup torch), else python3.
"""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["TIDE_SOURCE"])
SITE = pathlib.Path(os.environ["TIDE_BUILD"]) / "python-site"
HERE = pathlib.Path(__file__).resolve().parent


def interpreter() -> str:
    named = os.environ.get("TIDE_TORCH_PYTHON")
    venv = SOURCE / ".venv" / "bin" / "python"
    return named or (str(venv) if venv.exists() else sys.executable)


def build(python: str) -> str:
    """"" or why it cannot be built. A failing compiler is a failure, not a reason to skip."""
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        return "pip is not there"
    subprocess.run(["rm", "-rf", str(SITE)], check=True)
    command = [python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "--target", str(SITE), str(SOURCE),
               f"-Cbuild-dir={os.environ['TIDE_BUILD']}/python-build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    if "No matching distribution" in done.stdout + done.stderr or "Could not find a version" in done.stdout + done.stderr:
        return "meson-python is not to be had"
    print(done.stdout[-4000:], done.stderr[-4000:])
    sys.exit(1)


def main() -> int:
    python = interpreter()
    if why := build(python):
        print(f"skipped: {why}")
        return 77
    env = {**os.environ, "PYTHONPATH": str(SITE), "XDG_CACHE_HOME": os.path.join(os.environ["TIDE_BUILD"], "cache"), "PYTHONWARNINGS": "ignore"}
    has_torch = subprocess.run([python, "-c", "import torch"], capture_output=True, env=env, check=False).returncode == 0
    bad = 0
    for test in sorted(HERE.glob("test_*.py")):
        if not has_torch and "needs torch" in test.read_text(encoding="utf-8"):
            print(f"{test.name}: skipped: no Python with torch (tools/setup torch makes one)")
            continue
        done = subprocess.run([python, str(test), "-q"], env=env, cwd=os.environ["TIDE_BUILD"], timeout=400, check=False)
        print(f"{test.name}: {'ok' if done.returncode == 0 else 'FAILED'}")
        bad |= done.returncode != 0
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
