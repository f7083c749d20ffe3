# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The scripts of examples/slurm and examples/kubernetes work and name ranks right: a Slurm of its own (one machine) runs the
batch scripts, and the command of the Kubernetes job runs once for each pod. Both need PyTorch for torchrun."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

source, tidemark = pathlib.Path(os.environ["TIDE_SOURCE"]), os.environ["TIDEMARK"]
sys.path.insert(0, str(source / "tests" / "support"))
from torch_python import lacks_torch  # noqa: E402

VENV = source / ".venv" / "bin"
TRAIN = "import os, torch\ntorch.ones(1000 * (1 + int(os.environ['RANK']))).sum()\n"
PLAIN = "data = [bytearray(1000) for _ in range(100)]\n"
CONF = """ClusterName=test
SlurmctldHost=localhost
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmdPort={port2}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=localhost CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def environment(**more: str) -> dict:
    """Returns an environment where `tidemark`, `python` and `torchrun` are those of the test; no launcher's variable is in it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_", "PMI", "SLURM_", "MASTER_"))}
    return {**kept, "PATH": f"{VENV}:{pathlib.Path(tidemark).parent}:{os.environ['PATH']}", **more}


def ranks(folder: pathlib.Path, pattern: str) -> dict:
    """Returns the rank that each recording knows, by name."""
    found = {}
    for file in sorted(folder.glob(pattern)):
        if re.search(r"rank\d+\.tide$", file.name):
            said = subprocess.run([tidemark, "info", str(file)], capture_output=True, text=True, check=False).stdout
            match = re.search(r"process\.rank +(\d+)", said)
            found[file.name] = match[1] if match else said[-300:]
    return found


def answers(folder: pathlib.Path) -> bool:
    """Waits until the private Slurm has an idle machine."""
    for _ in range(300):
        done = subprocess.run(["sinfo", "-h", "-o", "%t"], cwd=folder, env={**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}, capture_output=True, text=True, check=False)
        if done.stdout.startswith("idle"):
            return True
        time.sleep(0.2)
    return False


def batch(folder: pathlib.Path, script: str, **env: str) -> str:
    """Runs a script of examples/slurm as a job on one machine with 2 tasks or 2 processes. Returns its output."""
    work = folder / script
    work.mkdir()
    (work / "train.py").write_text(TRAIN if "torchrun" in script else PLAIN)
    text = (source / "examples/slurm" / script).read_text()
    text = re.sub(r"(?m)^#SBATCH --gpus.*\n", "", text).replace("--nodes=2", "--nodes=1").replace("--ntasks-per-node=8", "--ntasks-per-node=2")
    (work / "job.sbatch").write_text(text)
    subprocess.run(["sbatch", "--wait", "--output=log", "job.sbatch"], cwd=work, capture_output=True, text=True, check=False,
                   env=environment(SLURM_CONF=f"{folder}/slurm.conf", **env))
    return (work / "log").read_text() if (work / "log").exists() else "no output"


def slurm(folder: pathlib.Path) -> str:
    if os.getuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch"))):
        return "slurmctld and slurmd are not installed, or this is not root"
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    port = 20000 + os.getpid() % 20000
    (folder / "slurm.conf").write_text(CONF.format(folder=folder, port=port, port2=port + 1))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}}
    with subprocess.Popen(["slurmctld", "-D", "-f", folder / "slurm.conf"], **quiet) as control:
        with subprocess.Popen(["slurmd", "-D", "-f", folder / "slurm.conf", "-N", "localhost"], **quiet) as machine:
            try:
                if not answers(folder):
                    return "Slurm does not start here"
                log = batch(folder, "ranks.sbatch", TIDEMARK_RUN_HEAP="full")
                got = ranks(folder / "ranks.sbatch/out", "*.tide")
                assert got == {"run.rank0.tide": "0", "run.rank1.tide": "1"}, (got, log)
                assert re.search(r"(?m)^ +0 .*run\.rank0\.tide\n +1 .*run\.rank1\.tide", log), log
                if why := lacks_torch(str(VENV / "python")):
                    return f"torchrun: {why}"
                log = batch(folder, "torchrun.sbatch", GPUS="2")
                got = ranks(folder / "torchrun.sbatch/out", "*.tide")
                assert got == {"node0.rank0.tide": "0", "node0.rank1.tide": "1"}, (got, log)
            finally:
                machine.terminate()
                control.terminate()
    return ""


def pods(folder: pathlib.Path) -> str:
    """Runs the command of the job once for each pod, with the variable that Kubernetes sets."""
    if why := lacks_torch(str(VENV / "python")):
        return why
    text = (source / "examples/kubernetes/job.yaml").read_text()
    command = re.search(r"(?s)args:\n\s+- >-\n(.*?)\n\s+resources:", text)[1]
    command = " ".join(line.strip() for line in command.splitlines()).replace("/out/", f"{folder}/out/").replace("29500", str(20000 + os.getpid() % 20000))
    (folder / "out").mkdir()
    (folder / "train.py").write_text(TRAIN)
    started = [subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment(JOB_COMPLETION_INDEX=str(pod), GPUS="1", FIRST="127.0.0.1"),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for pod in (0, 1)]
    logs = [p.communicate(timeout=400)[0] for p in started]
    got = ranks(folder / "out", "*.tide")
    assert got == {"node0.rank0.tide": "0", "node1.rank1.tide": "1"}, (got, logs)
    return ""


with tempfile.TemporaryDirectory() as temporary:
    tried = 0
    for row in (slurm, pods):
        place = pathlib.Path(temporary, row.__name__)
        place.mkdir()
        reason = row(place)
        tried += not reason
        print(f"{row.__name__}: {'skipped: ' + reason if reason else 'ok'}")
sys.exit(0 if tried else 77)
