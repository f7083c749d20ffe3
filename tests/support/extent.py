# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""How many rows of a test run: `make test` runs a short row of everything, `make check-all` (TIDE_TESTS=all) every row.

A row that is left out is a variant: another version, more rounds, a larger size. A shorter row of the same thing stays in `make test`.
"""
import os
import unittest
from collections.abc import Callable

ALL = os.environ.get("TIDE_TESTS") == "all"
SYSTEM = bool(os.environ.get("TIDE_SYSTEM_TORCH"))  # the second torch: tests/python/main.py --system
LARGE = 1_000_000  # bytes of a trace that is left to `make check-all`


def rounds(n: int) -> int:
    """Returns how many of n rounds of a random test run: a quarter, or every round. (extent.h for tests in C)"""
    return n if ALL else n // 4


def only_all(row: Callable) -> Callable:
    """Leaves a unittest row to `make check-all`."""
    row.only_all = True
    return row


def alone(row: Callable) -> Callable:
    """Marks a unittest row that starts processes with PyTorch, seconds each; with the second torch they are left to `make check-all`."""
    return only_all(row) if SYSTEM else row


def chosen(suite: unittest.TestSuite) -> unittest.TestSuite:
    """Returns the rows of a suite that run now."""
    rows: list[unittest.TestCase] = []
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            rows += chosen(each)
        elif ALL or not getattr(getattr(each, each._testMethodName, None), "only_all", False):
            rows.append(each)
    return unittest.TestSuite(rows)
