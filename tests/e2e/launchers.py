# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Ranks of every launcher are named right: `tidemark run -o run.tide -- LAUNCHER PROGRAM` writes run.rankN.tide for rank N, and
each recording knows its rank, its rank on the machine and the size of the job."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
KNOWN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_", "PMI", "MPI_", "SLURM_")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(KNOWN)}
LAUNCHERS = {  # variables of rank 0 and 1, as the launchers set them; {} is the rank
    "torchrun": {"RANK": "{}", "LOCAL_RANK": "{}", "WORLD_SIZE": "2"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "{}", "OMPI_COMM_WORLD_LOCAL_RANK": "{}", "OMPI_COMM_WORLD_SIZE": "2"},
    "MPICH, Intel MPI": {"PMI_RANK": "{}", "MPI_LOCALRANKID": "{}", "PMI_SIZE": "2"},
    "PMIx": {"PMIX_RANK": "{}", "SLURM_LOCALID": "{}", "SLURM_NTASKS": "2"},
    "srun": {"SLURM_PROCID": "{}", "SLURM_LOCALID": "{}", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0"},
    "torchrun in srun": {"SLURM_PROCID": "7", "SLURM_NTASKS": "8", "SLURM_STEP_ID": "0", "RANK": "{}", "LOCAL_RANK": "{}", "WORLD_SIZE": "2"},
}
BATCH = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "2"}  # what a script of sbatch has, before srun
failed = 0


def expect(what: str, got: object, want: object) -> None:
    global failed
    if got != want:
        failed += 1
        print(f"{what}: {got}, not {want}")


def quoted(variables: dict, rank: int) -> str:
    return " ".join(f"{name}={text.format(rank)}" for name, text in variables.items())


def recorded(folder: pathlib.Path, command: list, env: dict) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = subprocess.run([TIDEMARK, "run", "--heap=full", "-o", "run.tide", "--", *command], cwd=folder, env={**CLEAN, **env}, capture_output=True, text=True, check=False)
    return f"{done.stdout[-1000:]}{done.stderr[-1000:]}" if done.returncode else ""


def facts(file: pathlib.Path) -> list:
    done = subprocess.run([TIDEMARK, "info", "--json", str(file)], capture_output=True, text=True, check=False)
    named = json.loads(done.stdout).get("facts", {}) if done.returncode == 0 else {}
    return [named.get(f"process.{key}") for key in ("rank", "local_rank", "world_size")]


def files(folder: pathlib.Path) -> list:
    return sorted(p.name for p in folder.glob("run.rank*.tide"))


def rows(folder: pathlib.Path) -> None:
    for name, variables in LAUNCHERS.items():
        for start in ({}, BATCH) if name.endswith("srun") else ({},):
            script = " & ".join(f"{quoted(variables, rank)} ls" for rank in (0, 1)) + " & wait"
            expect(f"{name}: exit", recorded(folder, ["sh", "-c", script], start), "")
            expect(f"{name}: files", files(folder), ["run.rank0.tide", "run.rank1.tide"])
            for rank in (0, 1):
                expect(f"{name}: rank {rank}", facts(folder / f"run.rank{rank}.tide"), [rank, rank, 2])
    # A number that is none is not a rank, and the next variable counts.
    script = "RANK=three SLURM_PROCID=1 SLURM_STEP_ID=0 ls; true"
    expect("RANK=three", (recorded(folder, ["sh", "-c", script], {}), files(folder)), ("", ["run.rank1.tide"]))
    # `tidemark run` inside each rank: the name is the user's, the rank is known.
    expect("run in a rank", (recorded(folder, ["ls"], {"RANK": "1", "WORLD_SIZE": "2"}), files(folder)), ("", []))
    expect("run in a rank", facts(folder / "run.tide"), [1, None, 2])


def real_mpirun(folder: pathlib.Path) -> str:
    if not shutil.which("mpirun"):
        return "mpirun is not installed"
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    expect("mpirun: exit", recorded(folder, ["mpirun", "--oversubscribe", "-n", "2", "ls"], env), "")
    expect("mpirun: files", files(folder), ["run.rank0.tide", "run.rank1.tide"])
    for rank in (0, 1):
        expect(f"mpirun: rank {rank}", facts(folder / f"run.rank{rank}.tide"), [rank, rank, 2])
    return ""


with tempfile.TemporaryDirectory() as temporary:
    rows(pathlib.Path(temporary, "rows"))
    why = real_mpirun(pathlib.Path(temporary, "mpi"))
    print(f"mpirun: {'skipped: ' + why if why else 'tried'}; {len(LAUNCHERS)} launchers")
sys.exit(failed > 0)
