# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`python -m tidemark ...` is `tidemark ...`: this process becomes the program."""
from __future__ import annotations

import os
import sys

from ._home import program


def main() -> None:
    try:
        os.execv(program(), ["tidemark", *sys.argv[1:]])
    except OSError as why:
        sys.exit(f"tidemark: the program of this package cannot be started: {why}")


if __name__ == "__main__":
    main()
