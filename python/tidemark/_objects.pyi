# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
from collections.abc import Callable
from typing import Any

def walk(owners: list[Any], classify: Callable[[type], Any], /) -> dict[str, Any]: ...
