# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Checks that continue after a failure, for tests that look at many figures of one run."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from waiting import wait_for  # noqa: E402, F401

failures: list[str] = []


def check(what: str, ok: bool, more: object = "") -> None:
    """Prints a failure and counts it."""
    if not ok:
        failures.append(what)
        print(f"FAILED {what}: {str(more)[:1500]}")


def result(good: str) -> int:
    """Prints the result and returns the exit status."""
    print("failed" if failures else good)
    return 1 if failures else 0
