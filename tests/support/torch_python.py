# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Asks a Python whether it has a PyTorch to test with, without importing it, which takes seconds; builds the op hook for it once."""
import fcntl
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

ASK = """
import importlib.util, os, re, sys
spec = importlib.util.find_spec("torch")
headers = spec and os.path.join(os.path.dirname(spec.origin), "include", "ATen", "record_function.h")
version = os.path.join(os.path.dirname(spec.origin), "version.py") if spec else ""
number = re.search(r"__version__ = '(\\d+)\\.(\\d+)", open(version).read()) if os.path.exists(version) else None
old = number and (int(number[1]), int(number[2])) < (1, 13)
sys.exit(3 if not spec else 5 if old else 0 if os.path.exists(headers) else 4)
"""


def lacks_torch(python: str, **env: str) -> str:
    """Returns "" if this Python has PyTorch 1.13 or newer with its headers, else what is missing and how to get it."""
    if not os.path.exists(python):
        return f"{python} does not exist (tools/setup test makes it)"
    status = subprocess.run([python, "-c", ASK], env={**os.environ, **env}, capture_output=True, check=False).returncode
    why = {0: "", 4: f"the torch of {python} has no headers (Debian: libtorch-dev)", 5: f"the torch of {python} is older than 1.13"}
    return why.get(status, f"{python} has no torch (tools/setup test installs it)")


def build_hook(python: str, predicts: bool = False) -> None:
    """Builds the op hook for the PyTorch of this Python in the cache that all tests share; the stand-in for CUDA if the test `predicts`.
    Tests that begin together wait for one compiler instead of starting one each. test_build.py tests an empty cache, and what fails
    here fails in the test that needs it."""
    source, cache = Path(os.environ["TIDE_SOURCE"]), Path(os.environ["XDG_CACHE_HOME"])
    key = hashlib.sha256(f"{python} {predicts}".encode())
    for file in [*sorted((source / "src/capture/torch").glob("*.cpp")), *sorted((source / "include/tidemark").rglob("*.h"))]:
        key.update(file.read_bytes())
    stamp = cache / f"hook-{key.hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"hook-{predicts}.lock", "w", encoding="utf-8") as lock, tempfile.TemporaryDirectory() as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            words = ["predict", "--like", "h200"] if predicts else ["run", "-o", f"{folder}/run.tide"]
            code = f"import torch; torch.ones(1, device='{'cuda' if predicts else 'cpu'}')"
            if subprocess.run([os.environ["TIDEMARK"], *words, "--", python, "-c", code], capture_output=True, check=False).returncode == 0:
                stamp.touch()
