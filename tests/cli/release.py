#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A release agrees with itself: release.py TIDEMARK SOURCE.

All files and the program name one version and one date, and tools/release-check notices any one that differs. The name of the
distribution is the same everywhere, and no document tells users to install another one. The links of the long description
work outside the repository, and each leads to a file that is there."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import tomllib
except ImportError:
    print("skipped: this Python has no tomllib (3.11)")
    sys.exit(77)

program, source = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(source / "python" / "build"))
from tidemark_metadata import described, relinked  # noqa: E402

FILES = ("meson.build", "pyproject.toml", "CHANGELOG.md", "debian/changelog", "docs/openapi.json", "README.md")
WRONG = (  # (file, pattern, replacement, arguments, what the message names)
    ("meson.build", r"version: '[^']+'", "version: '9.9.9'", [], "CHANGELOG.md"),
    ("CHANGELOG.md", r"^## \d\S* \(", "## 9.9.9 (", [], "CHANGELOG.md"),
    ("CHANGELOG.md", r"^(## \S+) \(\d{4}", r"\1 (1999", [], "debian/changelog: date"),
    ("CHANGELOG.md", r"^## \d\S* \(.*\)", "## Unreleased", [], "missing"),
    ("debian/changelog", r"\(\d\S*\)", "(9.9.9)", [], "debian/changelog: version"),
    ("debian/changelog", r"^\S+ \(", "tidemark (", [], "debian/changelog: package"),
    ("debian/changelog", r"  \w+, .*$", "  yesterday", [], "debian/changelog: date"),
    ("docs/openapi.json", r'"version": "[^"]*"', '"version": "9.9.9"', [], "openapi.json"),
    ("pyproject.toml", r"^Issues = .*", 'Issues = "https://elsewhere.example/x"', [], "project URL"),
    ("CHANGELOG.md", r"^# Changes", "# Changes\n\n## Unreleased", ["TAG"], "Unreleased"),
)


def check(folder: pathlib.Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, source / "tools" / "release-check", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def copied(folder: pathlib.Path) -> None:
    for file in FILES:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, folder / file)


def versions() -> str:
    status, said = check(source, "--program", program)
    assert status == 0, said
    version = re.search(r"version: '([^']+)'", (source / "meson.build").read_text())[1]
    for file, pattern, new, words, named in WRONG:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copied(folder)
            old = (folder / file).read_text()
            (folder / file).write_text(re.sub(pattern, new, old, count=1, flags=re.M))
            assert (folder / file).read_text() != old, f"{pattern} is not in {file}"
            status, said = check(folder, *(f"v{version}" if w == "TAG" else w for w in words))
            assert status == 1 and named in said, f"{file} with {new}: {said}"
    assert "tag v9.9.9" in check(source, "v9.9.9")[1]
    with tempfile.TemporaryDirectory() as name:  # a placeholder is noticed, a real address is not
        folder = pathlib.Path(name)
        copied(folder)
        (folder / "pyproject.toml").write_text((folder / "pyproject.toml").read_text().replace("tidemark.example/", "real.example/"))
        assert "put the project's address" in check(folder, f"v{version}")[1]
        for file in ("pyproject.toml", "debian/changelog"):
            (folder / file).write_text((folder / file).read_text().replace(".example", ".org"))
        assert check(folder, f"v{version}")[0] == 0, check(folder, f"v{version}")
    return version


def names() -> None:
    """Nothing that users read asks pip for a distribution that is not ours."""
    wrong = []
    for file in (*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("docs/man/*.scd"), *source.glob("src/**/*.c"),
                 *source.glob("python/**/*.py"), *source.glob("web/src/**/*.ts*"), *source.glob("examples/**/*")):
        if file.is_file():
            wrong += [f"{file.relative_to(source)}: {m[0]}" for m in re.finditer(r"pip3? install (?:-\S+ )*tidemark(?![\w-])(?!-profiler)", file.read_text(encoding="utf-8"))]
    assert not wrong, f"the distribution is tidemark-profiler: {wrong}"


def description(version: str) -> None:
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    base = project["urls"]["Repository"]
    text = described(f"Project-URL: Repository, {base}\nVersion: {version}\n\n" + (source / project["readme"]).read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^()\s]+)\)", re.sub(r"(?ms)^```.*?^```", "", text))
    relative = [t for t in targets if not t.startswith(("https://", "#"))]
    assert not relative, f"links that lead nowhere outside the repository: {relative}"
    ours = [t.removeprefix(base).split("/", 3)[3].partition("#")[0] for t in targets if t.startswith(base)]
    assert len(ours) > 10 and all((source / path).exists() for path in ours), [p for p in ours if not (source / p).exists()]
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert pictures and all(p.startswith(f"{base}/raw/v{version}/") for p in pictures), pictures
    for given, want in (("[a\nb](c/d.md#e)", "[a\nb](B/blob/T/c/d.md#e)"), ("![p](q.png)", "![p](B/raw/T/q.png)"), ("[a](#b)", "[a](#b)"),
                        ("[a](mailto:b)", "[a](mailto:b)"), ("[a](https://c)", "[a](https://c)"), ("```sh\n[a](b)\n```\n[c](d)", "```sh\n[a](b)\n```\n[c](B/blob/T/d)")):
        assert relinked(given, "B", "T") == want, (given, relinked(given, "B", "T"))


number = versions()
names()
description(number)
print(f"version {number}; {len(WRONG)} differences are noticed")
