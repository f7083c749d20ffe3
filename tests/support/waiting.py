# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Waits for what other processes and threads do: a test looks again until it is there, however slow the machine is."""
import time
from collections.abc import Callable
from typing import Any


def wait_for(what: str, condition: Callable[[], Any], seconds: float = 300) -> Any:
    """Returns the first true value of `condition`; fails after `seconds`, so that a test does not hang."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)
    return value
