# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes torch.compile use the mode that TIDEMARK_COMPILE_MODE names, whatever mode the program asks for.

`tidemark compile --mode` sets it. "eager" turns the compiler off. Options given by the program win over a mode, as torch allows only
one of the two.
"""
from __future__ import annotations

import os
import sys
from typing import Any


def _force(torch: Any, mode: str) -> None:
    own = torch.compile

    def compile(model: Any = None, **kwargs: Any) -> Any:
        if mode == "eager":
            kwargs["disable"] = True
        elif not kwargs.get("options") and kwargs.get("backend", "inductor") == "inductor":
            kwargs["mode"] = mode
        return own(model, **kwargs)

    torch.compile = compile


def install(watch: Any) -> None:
    """`watch` is tidemark_watch.Watch."""
    mode = os.environ["TIDEMARK_COMPILE_MODE"]
    watch(lambda: _force(sys.modules["torch"], mode))
