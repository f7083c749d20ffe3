#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark-mpi prints the same bytes as tidemark, for any number of processes; an unreadable rank is reported and does not stop
the others; a wrong command line ends all processes."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
DATA = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"
MPI = TIDEMARK + "-mpi"
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")


def run(command: list[str]) -> tuple[int, bytes, bytes]:
    done = subprocess.run(command, capture_output=True, env=ENV, timeout=400, check=False)
    return done.returncode, done.stdout, done.stderr


def spread(processes: int, *args: str) -> tuple[int, bytes, bytes]:
    return run(["mpirun", "-n", str(processes), MPI, *args])


def ranks(folder: pathlib.Path) -> None:
    traces = sorted(DATA.glob("kineto_*.json.gz"))
    for i in range(7):
        shutil.copy(traces[i % len(traces)], folder / f"rank-{i * 3}.json.gz")
    whole = traces[0].read_bytes()
    (folder / "rank-4.json.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "rank-5.json").write_text("not a trace")
    (folder / "rank-6.json").write_text("")


def main() -> int:
    if not pathlib.Path(MPI).exists() or not shutil.which("mpirun"):
        print("skipped: no MPI here")
        return 77
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        ranks(pathlib.Path(name))
        for args in (["hta", "--json"], ["hta"], ["kernels", "--by", "op", "--json"], ["collectives", "--json"]):
            rc, out, err = run([TIDEMARK, *args, name])
            if rc != 4 or b"rank-5.json" not in err or not out:  # 4: rank 4 is cut off
                print(f"{args}: exit {rc}, stderr {err!r}")
                faults += 1
            for n in (1, 2, 3):
                rc_n, out_n, err_n = spread(n, *args, name)
                said = err_n.partition(b"-" * 58)[0]  # mpirun explains the status
                if (rc_n, out_n, said) != (rc, out, err):
                    print(f"{args} with {n} processes differs: exit {rc_n}, {len(out_n)} bytes, stderr {err_n!r}")
                    faults += 1
        file = pathlib.Path(name) / "out.txt"
        spread(2, "hta", "--json", "-o", str(file), name)
        if file.read_bytes() != run([TIDEMARK, "hta", "--json", name])[1]:
            print("-o FILE differs")
            faults += 1
    for args, want in ((["hta"], 2), (["nonsense"], 2), (["hta", "/nowhere/*.json"], 1), (["--version"], 0)):
        rc, *_ = spread(2, *args)
        if rc != want:
            print(f"{args}: exit {rc}, not {want}")
            faults += 1
    print(f"{faults} faults")
    return faults > 0


sys.exit(main())
