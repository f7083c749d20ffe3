# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Checks that continue after a failure, for tests that look at many figures of one run."""
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
