# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`python -m tidemark.profiling {profile,memory,flame,timeline,hta,compile} ...` is `tidemark ...`."""
from __future__ import annotations

from ..__main__ import main

if __name__ == "__main__":
    main()
