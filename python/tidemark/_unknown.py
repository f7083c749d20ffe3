# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""UNKNOWN: the value of a figure that is not known, in every class that code for other profilers formats, adds and compares."""
from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

_SPEC = re.compile(r"(?:(.)?([<>=^]))?[-+ ]?z?#?0?(\d+)?")


class Unknown(float):
    """A number that is not known. There is one, UNKNOWN.

    Its text is "unknown" in every format, padded to the width; it is false; every comparison is false; arithmetic with it gives it
    again. It is a float (nan), so it can be passed to other code; data_of() replaces it by None for documents.
    """

    __slots__ = ()

    def __new__(cls, *given: object) -> Unknown:
        return UNKNOWN if "UNKNOWN" in globals() else super().__new__(cls, "nan")

    def __repr__(self) -> str:
        return "unknown"

    def __format__(self, spec: str) -> str:
        found = _SPEC.match(spec)
        assert found  # every part may be missing
        fill, align, width = found.groups()
        return format("unknown", f"{fill or ' '}{(align or '>').replace('=', '>')}{width or 0}")

    def __bool__(self) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = float.__hash__

    def __reduce__(self) -> str:  # copies and pickles are the same object
        return "UNKNOWN"

    def _again(self, *others: Any) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _again
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = __round__ = _again


UNKNOWN = Unknown()


def known(value: object) -> bool:
    """Returns whether a figure is known: neither UNKNOWN nor None."""
    return value is not None and value is not UNKNOWN


def figure(value: float | None) -> float:
    """Returns a figure of a report, in which null is unknown, as a number."""
    return UNKNOWN if value is None else value


def data_of(value: Any) -> Any:
    """Returns a value for a document: dataclasses as dicts, paths as text, UNKNOWN as None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: data_of(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: data_of(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [data_of(v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return None if value is UNKNOWN else value
