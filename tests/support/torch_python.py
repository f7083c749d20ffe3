# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Asks a Python whether it has a PyTorch to test with, without importing it, which takes seconds."""
import os
import subprocess

ASK = """
import importlib.util, os, sys
spec = importlib.util.find_spec("torch")
headers = spec and os.path.join(os.path.dirname(spec.origin), "include", "ATen", "record_function.h")
sys.exit(3 if not spec else 0 if os.path.exists(headers) else 4)
"""


def lacks_torch(python: str, **env: str) -> str:
    """Returns "" if this Python has PyTorch with its headers, else what is missing and how to get it."""
    if not os.path.exists(python):
        return f"{python} does not exist (tools/setup test makes it)"
    status = subprocess.run([python, "-c", ASK], env={**os.environ, **env}, capture_output=True, check=False).returncode
    return {0: "", 4: f"the torch of {python} has no headers (Debian: libtorch-dev)"}.get(status, f"{python} has no torch (tools/setup test installs it)")
