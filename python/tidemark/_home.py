# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What lies beside the package: the program, the libraries, what the op hook builds."""
from __future__ import annotations

import os

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "home")
PROGRAM = os.path.join(HOME, "bin", "tidemark")
LIBRARIES = os.path.join(HOME, "lib")
SHARE = os.path.join(HOME, "share", "tidemark")
INCLUDE = os.path.join(HOME, "include")


def program() -> str:
    """Path of the program; pip keeps its mode, some unpackers do not."""
    if not os.access(PROGRAM, os.X_OK):
        os.chmod(PROGRAM, 0o755)
    return PROGRAM
