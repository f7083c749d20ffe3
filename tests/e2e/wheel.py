# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The wheel that is published: equal content gives equal bytes, and every library in it has its licence beside it.

Always: the last two steps of its build (tidemark_archive.py, tools/notices) on small wheels. With `make check-all`, if auditwheel
is in .venv: `tools/wheel` twice, from two clones in different folders, byte for byte the same, without a TLS stack; then
tools/try-wheel on it. Tests read the last commit then."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

source = pathlib.Path(os.environ["TIDE_SOURCE"])
sys.path[:0] = [str(source / "python" / "build"), str(source / "tests" / "support")]
from extent import ALL  # noqa: E402
from tidemark_archive import read_wheel, rewrite_sdist, write_wheel  # noqa: E402

INFO = "thing-1.0.dist-info"
FILES = {"thing/__init__.py": (b"x = 1\n", 0o600), "thing/program": (b"\x7fELF", 0o700), f"{INFO}/METADATA": (b"Name: thing\nLicense-File: LICENSE\n\ntext\n", 0o644),
         f"{INFO}/WHEEL": (b"Wheel-Version: 1.0\n", 0o644), f"{INFO}/RECORD": (b"", 0o644)}


def zipped(path: pathlib.Path, files: dict, year: int) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, (year, 2, 3, 4, 5, 6))
            entry.external_attr = mode << 16
            wheel.writestr(entry, data)


def same_bytes(folder: pathlib.Path) -> None:
    """Wheels that differ in times, order and modes beyond "may be run" become one."""
    first, second = folder / "a.whl", folder / "b.whl"
    zipped(first, FILES, 2001)
    zipped(second, {name: (data, mode | 0o055 if mode & 0o100 else mode | 0o044) for name, (data, mode) in reversed(FILES.items())}, 2020)
    for path in (first, second):
        write_wheel(str(path), read_wheel(str(path)))
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as wheel:
        assert wheel.namelist()[-1] == f"{INFO}/RECORD"
        assert {e.filename: e.external_attr >> 16 & 0o777 for e in wheel.infolist()}["thing/program"] == 0o755
        record = wheel.read(f"{INFO}/RECORD").decode().splitlines()
    assert len(record) == len(FILES) and f"{INFO}/RECORD,," in record and record[3].startswith("thing/__init__.py,sha256="), record
    changed = dict(read_wheel(str(first)), **{"thing/__init__.py": (b"x = 2\n", 0o644)})
    write_wheel(str(second), changed)
    assert first.read_bytes() != second.read_bytes()


def same_sdist(folder: pathlib.Path) -> None:
    made = []
    for when in ("2001-01-01", "2020-01-01"):
        (folder / "t-1").mkdir(exist_ok=True)
        (folder / "t-1/PKG-INFO").write_text("Name: t\n")
        subprocess.run(["tar", "--mtime=2002-02-02", "-cf", "t.tar", "t-1/PKG-INFO"], cwd=folder, check=True)
        subprocess.run(["touch", "-d", when, "t.tar"], cwd=folder, check=True)
        subprocess.run(["gzip", "-f", "t.tar"], cwd=folder, check=True)  # keeps that time
        rewrite_sdist(str(folder / "t.tar.gz"), lambda text: text + "Version: 1\n")
        made.append((folder / "t.tar.gz").read_bytes())
    assert made[0] == made[1]
    assert b"Version: 1" in subprocess.run(["tar", "-xOzf", "t.tar.gz"], cwd=folder, capture_output=True, check=True).stdout


def script(name: str):
    """Returns a program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(source / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def noticed(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, source / "tools" / "notices", *words], capture_output=True, text=True, check=False)


def notices(folder: pathlib.Path) -> str:
    """Libraries of Debian's get their notices, a library of nobody is refused. Returns why this was skipped, or ""."""
    if not shutil.which("dpkg-query") or not pathlib.Path("/usr/share/doc/libxxhash-dev/copyright").exists():
        return "not a Debian system, or without its notices"
    if not (source / "web/node_modules/preact/LICENSE").exists():
        return "the packages of web/ are not installed"
    sys.dont_write_bytecode = True
    tool = script("notices")
    for name, want in (("libdw-0-f770356f.188.so", "libdw-0.188.so"), ("libzstd-37412b7a.so.1.5.4", "libzstd.so.1.5.4"), ("libisal.so.2", "libisal.so.2")):
        assert tool.original(name) == want, (name, tool.original(name))
    real = pathlib.Path(subprocess.run("readlink -f $(ldconfig -p | awk '/libzstd.so.1 /{print $NF; exit}')", shell=True, capture_output=True, text=True, check=True).stdout.strip())
    wheel = folder / "c.whl"
    zipped(wheel, {**FILES, f"thing.libs/{real.name.replace('libzstd.', 'libzstd-0123abcd.', 1)}": (b"", 0o644)}, 2001)
    done = noticed(wheel)
    assert done.returncode == 0, done.stderr
    files = {name: data for name, (data, _) in read_wheel(str(wheel)).items()}
    licences = {n.removeprefix(f"{INFO}/licenses/") for n in files if "/licenses/" in n}
    assert {"NOTICES.md", "bundled/libzstd1/copyright", "bundled/libxxhash-dev/copyright", "bundled/preact/LICENSE", "bundled/common-licenses/GPL-2"} <= licences, licences
    assert set(re.findall(r"(?m)^License-File: (.*)$", files[f"{INFO}/METADATA"].decode())) == licences | {"LICENSE"}
    assert b"BSD" in files[f"{INFO}/licenses/bundled/libzstd1/copyright"]
    once = wheel.read_bytes()
    zipped(wheel, {**FILES, f"thing.libs/{real.name.replace('libzstd.', 'libzstd-0123abcd.', 1)}": (b"", 0o644)}, 2011)
    noticed(wheel)
    assert wheel.read_bytes() == once
    zipped(wheel, {**FILES, "thing.libs/libnobody-0123abcd.so.1": (b"", 0o644)}, 2001)
    done = noticed(wheel)
    assert done.returncode == 1 and "libnobody.so.1" in done.stderr, done.stderr
    return ""


def built(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Returns the wheel that tools/wheel builds in a clone."""
    clone = folder / name
    subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", source, clone], check=True)
    (clone / ".venv").symlink_to(source / ".venv")
    (clone / "web/node_modules").symlink_to((source / "web/node_modules").resolve())
    done = subprocess.run([clone / "tools/wheel"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (clone / "dist").glob("*.whl")
    return wheel


def whole(folder: pathlib.Path) -> str:
    if not ALL:
        return "two builds are left to `make check-all`"
    if not (source / ".venv/bin/auditwheel").exists() or not shutil.which("dpkg-source"):
        return "auditwheel or dpkg-source is not there (tools/setup wheel)"
    first, second = built(folder, "a"), built(folder, "longer/name/b")
    assert first.name == second.name and first.read_bytes() == second.read_bytes(), "two builds of one commit differ"
    (sdist,), (again,) = (list(w.parent.glob("*.tar.gz")) for w in (first, second))
    assert sdist.read_bytes() == again.read_bytes(), "two sdists of one commit differ"
    files = read_wheel(str(first))
    libraries = [n.rpartition("/")[2] for n in files if ".libs/" in n]
    assert not [n for n in libraries if re.search("gnutls|nettle|p11|tasn|idn|unistring|gmp|hogweed", n)], libraries
    (table,) = (data.decode() for name, (data, _) in files.items() if name.endswith("licenses/NOTICES.md"))
    assert all(f"| {n} |" in table for n in libraries), table
    texts = re.findall(r"\| (\S+) \|$", table, re.M)[1:]
    assert len(texts) > len(libraries) and all(any(n.endswith(f"/bundled/{t}") for n in files) for t in texts if t != "---"), texts
    subprocess.run([sys.executable, source / "tools/try-wheel", first], check=True)
    print(f"{first.name}: {first.stat().st_size} bytes, {len(libraries)} libraries")
    return ""


with tempfile.TemporaryDirectory() as name:
    for row in (same_bytes, same_sdist, notices, whole):
        why = row(pathlib.Path(name))
        print(f"{row.__name__}: {'skipped: ' + why if why else 'ok'}")
