# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""An installed copy, as its users see it: headers, pkg-config, CMake, the example compiled as C and C++,
the examples of the headers, and the symbols that are exported."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import header_examples

source, build = pathlib.Path(os.environ["TIDE_SOURCE"]), os.environ["TIDE_BUILD"]
trace = source / "tests/data/kineto_gpt_train.json.gz"


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def exported(library: pathlib.Path) -> dict[str, str]:
    """Name -> version of everything a library defines for others."""
    rows = re.findall(r"^\S+ [A-Zi] (\S+?)@@(\S+)$", run("nm", "-D", "--defined-only", library), re.M)
    return {name: version for name, version in rows if name != version}


def declared(header: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", (source / "include/tidemark" / header).read_text(), flags=re.S)
    return set(re.findall(r"TIDE_API[^;]*?\b(tide_\w+)\(", text))


def symbols(root: pathlib.Path, name: str, version: str, headers: list[str], private: str) -> None:
    """A library exports what its headers declare, and for parts of the same build what matches `private`; all of it has a version."""
    (library,) = root.rglob(f"{name}.so.*.*")
    found, every = exported(library), run("nm", "-D", "--defined-only", library)
    bare = re.findall(r"^\S+ [A-Zi] (tide_\w+)$", every, re.M)
    assert not bare, f"{name}: symbols without a version: {bare}"
    public = {n for n, v in found.items() if v == version + "_0"}
    named = set().union(*map(declared, headers))
    assert public == named, f"{name}: exported, in no header: {sorted(public - named)}; in a header, not exported: {sorted(named - public)}"
    odd = {n for n, v in found.items() if v != version + "_0" and not (v == version + "_PRIVATE" and re.fullmatch(private, n))}
    assert not odd, f"{name}: exported by accident: {sorted(odd)}"
    print(f"{name}: {len(public)} public symbols, {len(found) - len(public)} private ones")


def example(root: pathlib.Path, compiler: str, flags: list[str], to: pathlib.Path) -> str:
    program = to / f"report_{compiler}"
    run(compiler, *flags, source / "examples/report.c", *packaged(root, "--cflags", "--libs"), "-o", program)
    return run(program, trace, env=dict(os.environ, LD_LIBRARY_PATH=str(next(root.rglob("libtidemark.so")).parent)))


def packaged(root: pathlib.Path, *words: str) -> list[str]:
    env = dict(os.environ, PKG_CONFIG_LIBDIR=str(next(root.rglob("tidemark.pc")).parent), PKG_CONFIG_SYSROOT_DIR=str(root))
    return run("pkg-config", *words, "tidemark", env=env).split()


def cmake_example(root: pathlib.Path, folder: pathlib.Path) -> str | None:
    """Builds the example, and a program that records, by find_package(tidemark); None = there is no CMake."""
    if not shutil.which("cmake"):
        print("skipped: the CMake files: cmake is not installed")
        return None
    project = folder / "cmake"
    project.mkdir()
    (project / "rec.c").write_text('#include <tidemark/record.h>\nint main(void) { return tide_recording(); }\n')
    (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(tidemark 0.1 REQUIRED)
add_executable(report {source}/examples/report.c)
target_link_libraries(report tidemark::tidemark)
add_executable(rec rec.c)
target_link_libraries(rec tidemark::rt)
""")
    prefix = next(root.rglob("tidemarkConfig.cmake")).parents[3]
    run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", project / "build")
    run(project / "build/rec")
    return run(project / "build/report", trace)


def wanted() -> str:
    """Returns the output of the program."""
    program = os.environ["TIDEMARK"]
    peak = json.loads(run(program, "peak", trace, "--group-by", "module", "--json"))
    sums = json.loads(run(program, "hta", trace, "--json"))["summary"]
    rows = [f"{g['bytes']:12d}  {g['key']}" for g in peak["groups"]]
    return "\n".join([f"peak {peak['peak_bytes']} bytes", *rows, f"idle {sums['idle_ns']} ns of {sums['kernel_time_ns']} ns", ""])


def strangers(root: pathlib.Path) -> None:
    """Folders that are named as those of a checkout, and stand where it would, are not taken for one: /usr/include beside /usr/local/bin."""
    program = next(root.rglob("bin/tidemark"))
    tree = program.parents[2]
    for name in "include", "python/hook":
        (tree / name).mkdir(parents=True)
    (tree / "src/capture/torch").mkdir(parents=True)
    (tree / "src/capture/torch/ops.cpp").touch()
    (program.parent / "capture").symlink_to(f"{build}/src/capture")
    said = run(program, "run", "-o", tree / "r.tide", "--", "env", env=dict(os.environ, LD_LIBRARY_PATH=f"{build}/src"))
    taken = [line for line in said.splitlines() if re.match(r"(TIDEMARK_INCLUDE|TIDEMARK_OPS_SOURCE|PYTHONPATH)=", line) and str(tree) in line]
    assert "LD_PRELOAD=" in said and not taken, f"an installed program uses {taken}"


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder) / "root"
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
    symbols(root, "libtidemark", "TIDEMARK", ["error.h", "trace.h", "analyze.h"], r"tide__\w+|tide_\w+_desc")
    symbols(root, "libtidemark-rt", "TIDEMARK_RT", ["error.h", "record.h"], r"tide__\w+")
    header_examples.check(source, root, pathlib.Path(folder), packaged(root, "--cflags", "--libs"))
    for compiler, flags in (("cc", ["-std=c11", "-Wall", "-Werror"]), ("c++", ["-x", "c++", "-std=c++17", "-Wall", "-Werror"])):
        got = example(root, compiler, flags, pathlib.Path(folder))
        assert got == wanted(), f"{compiler}:\n{got}\nwanted:\n{wanted()}"
        print(f"examples/report.c compiled by {compiler} says what the program says")
    assert cmake_example(root, pathlib.Path(folder)) in (None, wanted()), "the example built by CMake"
    strangers(root)
