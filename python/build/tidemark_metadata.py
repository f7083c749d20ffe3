# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The long description of the package: README.md with links that work outside the repository.

An index of packages shows the README without the files beside it, so a relative link or picture leads nowhere. Here both become
addresses below the project's URL `Repository`, at the tag of the version.
"""
from __future__ import annotations

import re

LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?![a-z][a-z0-9+.-]*:|#)([^()\s]+)\)")
CODE = re.compile(r"(?ms)^(```.*?^```)")


def relinked(text: str, repository: str, tag: str) -> str:
    """Returns Markdown whose relative links and pictures are absolute. Blocks of code stay as they are."""
    def absolute(m: re.Match[str]) -> str:
        return f"{m[1]}[{m[2]}]({repository}/{'raw' if m[1] else 'blob'}/{tag}/{m[3]})"

    parts = CODE.split(text)  # every second one is a block of code
    return "".join(part if i % 2 else LINK.sub(absolute, part) for i, part in enumerate(parts))


def described(metadata: str) -> str:
    """Returns METADATA or PKG-INFO with its long description relinked."""
    head, gap, body = metadata.partition("\n\n")
    repository = re.search(r"(?m)^Project-URL: Repository, (\S+)$", head)
    version = re.search(r"(?m)^Version: (\S+)$", head)
    if not repository or not version:
        raise SystemExit("tidemark: the metadata has no version or no project URL Repository (pyproject.toml)")
    return head + gap + relinked(body, repository[1].rstrip("/"), "v" + version[1])
