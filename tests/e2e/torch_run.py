#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run` on real PyTorch: results unchanged, every tensor counted once, ops named, ends passed through.

The Python is TIDE_TORCH_PYTHON, else .venv of the checkout (tools/setup test); with --system the system's, for which Debian has an old torch.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import lru_cache

sys.path.insert(0, os.path.join(os.environ["TIDE_SOURCE"], "tests", "support"))
from extent import ALL  # noqa: E402
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = os.environ.get("TIDE_TORCH_PYTHON") or os.path.join(os.environ["TIDE_SOURCE"], ".venv", "bin", "python")

TRAIN = """
import torch
torch.manual_seed(0); torch.set_num_threads(1)
m = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
two = torch.optim.AdamW(m[0].parameters()), torch.optim.SGD(m[2].parameters(), 0.1)
for i in range(5):
    loss = m(torch.randn(16, 64)).square().mean(); loss.backward()
    for o in two:
        o.step(); o.zero_grad()
print(f"{loss.item():.9f}")
"""
VIEWS = """
import torch
a = torch.empty(1000, 1000)            # 4,000,000 bytes
b = a.view(-1); c = a[10:20]; d = a.t(); e = a.detach()
torch.ones(1)
"""
PROFILED = """
import sys, torch
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
    x = torch.empty(300, 300); y = x + 1; del x; z = torch.mm(y, y); del y
kept = sum(1 for e in p.events() if e.name == "[memory]" or e.cpu_memory_usage or e.self_cpu_memory_usage) > 0
with open(sys.argv[1], "w") as f: f.write(str(kept))
"""
FORKED = """
import os, torch
torch.ones(10)
pid = os.fork()
if pid == 0:
    x = torch.ones(1000); os._exit(0)
os.waitpid(pid, 0)
"""

faults: list[str] = []


def check(ok: bool, what: str) -> None:
    if not ok:
        faults.append(what)


def run(script: str, out: str, *more: str) -> subprocess.CompletedProcess:
    args = [TIDEMARK, "run", *more, "-o", out, "--", PYTHON, "-W", "ignore", "-c", script]
    return subprocess.run(args, capture_output=True, text=True, timeout=900, check=False)


def ask(*args: str) -> dict:
    return json.loads(subprocess.run([TIDEMARK, *args, "--json"], check=True, capture_output=True, timeout=300).stdout)


@lru_cache
def unrecorded() -> str:
    """Returns the training's own output."""
    return subprocess.run([PYTHON, "-W", "ignore", "-c", TRAIN], capture_output=True, text=True, timeout=900, check=True).stdout


def training(folder: str) -> None:
    out = os.path.join(folder, "train.tide")
    bare = unrecorded()
    done = run(TRAIN, out)
    check(done.returncode == 0, f"training: exit status {done.returncode}: {done.stderr[-300:]}")
    check("  tidemark peak " in done.stderr and "tidemark oom" not in done.stderr, f"training: what to ask next: {done.stderr[-300:]}")
    check(done.stdout == bare, f"training: results changed: {done.stdout!r} is not {bare!r}")
    ops = {o["op"]: o for o in ask("ops", out, "--flat")["ops"]}
    check(ops.get("aten::addmm", {}).get("count") == 10, f"training: aten::addmm counted {ops.get('aten::addmm', {}).get('count')} times, not 10")
    check(any("AddmmBackward0" in n for n in ops), "training: no backward op")
    check(any(n.startswith("Optimizer.step") for n in ops), "training: no optimizer step")
    names = [p["name"] for p in ask("phases", out)["phases"]]
    step = ["FORWARD_PASS", "BACKWARD_PASS", "OPTIMIZER_STEP", "OPTIMIZER_STEP"]  # a loop with two optimizers: three iterations are marked
    old = "OPTIMIZER_STEP" not in names and "1.13" in subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout
    check(old or names == ["MODEL_CREATION", "OPTIMIZER_CREATION", *step, *step, *step[:3], None], f"training: phases {names}")
    memory = ask("memory", out)
    check(not memory["losses"], f"training: losses {memory['losses']}")


def where_it_comes_from(folder: str) -> None:
    """Stacks, modules, backward joined to forward, from outside and in every torch."""
    out = os.path.join(folder, "whence.tide")
    bare = unrecorded()
    done = run(TRAIN, out, "--stacks", "--shapes")
    check(done.stdout == bare, f"whence: results changed: {done.stdout!r} is not {bare!r} {done.stderr[-300:]}")
    rows = {m["module"]: m for m in ask("modules", out)["modules"]}
    check({n: m["calls"] for n, m in rows.items()} == {"Sequential": 5, "Sequential.0": 5, "Sequential.1": 5, "Sequential.2": 5}, f"whence: modules {rows}")
    parts = sum(m["backward_alloc_bytes"] for n, m in rows.items() if "." in n)
    check(rows.get("Sequential", {}).get("backward_alloc_bytes") == parts > 0, f"whence: backward bytes {rows}")
    peak = ask("peak", out, "--group-by", "stack")
    check(any("[backward]" in g["key"] and "<string>" in g["key"] for g in peak["groups"]), "whence: no backward allocation has its forward's stack")
    roles = {g["key"]: g["bytes"] for g in ask("peak", out, "--group-by", "role")["groups"]}
    check(roles.get("parameter") == 4 * (64 * 128 + 128 + 128 * 10 + 10), f"whence: parameters {roles}")
    check(not peak["losses"], f"whence: losses {peak['losses']}")
    page = os.path.join(folder, "phases.html")
    subprocess.run([TIDEMARK, "phases", out, "--capacity", "1MiB", "-o", page], check=True, capture_output=True, timeout=300)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    part = text[text.index('id="b0-1"'):text.index('id="b0-0"')]  # parameters
    check([part.count(f"<td>{n}</td>") for n in ("0.weight", "0.bias", "2.weight", "2.bias")] == [1] * 4 and part.count("<tr>") == 5, f"whence: tensors of a part: {part}")


def light(folder: str) -> None:
    """Without ops, an allocation has its Python stack and its module, and the recording has phases."""
    out = os.path.join(folder, "light.tide")
    done = run(TRAIN, out, "--light")
    check(done.stdout == unrecorded(), f"light: results changed: {done.stdout!r} {done.stderr[-300:]}")
    rows = {m["module"]: m for m in ask("modules", out)["modules"]}
    check(set(rows) == {"Sequential", "Sequential.0", "Sequential.1", "Sequential.2"}, f"light: modules {rows}")
    check(all(r["forward_alloc_bytes"] and r["backward_ns"] is None and r["backward_alloc_bytes"] is None for r in rows.values()), f"light: backward is unknown: {rows}")
    check(rows["Sequential.0"]["forward_alloc_bytes"] == 5 * 4 * 16 * 128, f"light: {rows['Sequential.0']}")
    check(all(o["op"].startswith("nn.Module: ") for o in ask("ops", out, "--flat")["ops"]), "light: ops were recorded")
    stacks = [g["key"] for g in ask("peak", out, "--group-by", "stack")["groups"]]
    check(any("<string>:4" in k for k in stacks), f"light: stacks {stacks}")
    check("FORWARD_PASS" in [p["name"] for p in ask("phases", out)["phases"]], "light: no phases")


def profiler_keeps_its_events(folder: str) -> None:
    """In `tidemark profile`, which has the reports of the commands and writes the page."""
    out, page, seen = (os.path.join(folder, "profiled" + end) for end in (".tide", ".html", ".txt"))
    command = [TIDEMARK, "profile", "--memory", "--json", "-r", out, "--html", page, "--", PYTHON, "-W", "ignore", "-c", PROFILED, seen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    check(done.returncode == 0 or "no pages" in done.stderr, f"profile: {done.returncode} {done.stderr[-300:]}")
    found = json.loads(done.stdout)
    check(found["memory"] == ask("memory", out) and found["advice"] == ask("advice", out), "profile: another report than the commands'")
    check(os.path.exists(page) or "no pages" in done.stderr, "profile: no page")
    with open(seen, encoding="utf-8") as f:
        check(f.read() == "True", f"torch.profiler lost its memory events: {done.stderr[-300:]}")
    peak = ask("peak", out)  # y and z, 360,000 bytes each, are the most alive at once besides what x leaves
    check(720_000 <= peak["peak_bytes"] < 800_000, f"profiled: peak {peak['peak_bytes']}: counted twice or not at all")
    check(not peak["losses"], f"profiled: {peak['losses']}")


def ends(folder: str) -> None:
    out = os.path.join(folder, "ends.tide")
    done = run("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", out)
    check(done.returncode == -signal.SIGABRT, f"SIGABRT came out as {done.returncode}")
    check(subprocess.run([TIDEMARK, "run", "--", "/nonexistent/program"], capture_output=True, check=False).returncode == 127, "missing program: not 127")


def survives_kill(folder: str) -> None:
    out = os.path.join(folder, "killed.tide")
    script = "import time, torch\nkeep = [torch.ones(1000) for _ in range(500)]\nprint('ready', flush=True)\ntime.sleep(600)"
    with subprocess.Popen([TIDEMARK, "run", "-o", out, "--", PYTHON, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        children = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True, check=False).stdout.split()
        for c in children:
            os.kill(int(c), signal.SIGKILL)
        p.wait(timeout=600)
    check(p.returncode == -signal.SIGKILL, f"SIGKILL came out as {p.returncode}")
    peak = ask("peak", out)
    check(peak["alive_count"] >= 500, f"after kill -9: {peak['alive_count']} tensors alive, not 500")
    check(not peak["losses"], f"after kill -9: {peak['losses']}")
    check(not os.path.exists(out + "-rings"), "after kill -9 the ring file is left")


def interrupted(folder: str) -> None:
    """Ctrl-C: the terminal sends it to both; the recording is whole, also that of a child process. Sleeps are short: Python sleeps through a
    signal that comes just before."""
    out = os.path.join(folder, "interrupted.tide")
    script = ("import os, time, torch\nkeep = [torch.ones(1000) for _ in range(50)]\npid = os.fork()\nmore = torch.ones(77)\n"
              "print('ready', flush=True)\nfor _ in range(6000): time.sleep(0.1)")
    with subprocess.Popen([TIDEMARK, "run", "-o", out, "--", PYTHON, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as p:
        p.stdout.readline()
        p.stdout.readline()
        os.killpg(p.pid, signal.SIGINT)
        said = p.communicate(timeout=600)[1]
    check(p.returncode == -signal.SIGINT, f"SIGINT came out as {p.returncode}")
    peak = ask("peak", out)
    check(peak["alive_count"] >= 50 and not peak["losses"], f"after Ctrl-C: {peak['alive_count']} tensors alive, {peak['losses']}, {said[-300:]}")
    check("1 child process recorded" in said, f"after Ctrl-C the child's recording is not told: {said[-300:]}")
    check("tidemark oom " in said, f"after Ctrl-C: a program that failed may have run out of memory: {said[-300:]}")
    check(not os.path.exists(out + "-rings"), "after Ctrl-C the ring file is left")
    alone = "import time\ntry:\n print('ready', flush=True)\n for _ in range(6000): time.sleep(0.1)\nexcept KeyboardInterrupt:\n print('ended')"
    with subprocess.Popen([TIDEMARK, "run", "-o", out, "--", PYTHON, "-c", alone], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        p.send_signal(signal.SIGINT)  # to it alone: as a supervisor does
        said = p.communicate(timeout=600)[0]
    check(said == "ended\n" and p.returncode == 0, f"SIGINT was not handed on: {said!r}, {p.returncode}")


def forked(folder: str) -> None:
    """A shell's child, and its child."""
    out = os.path.join(folder, "forked.tide")
    args = [TIDEMARK, "run", "-o", out, "--", "sh", "-c", '"$0" -W ignore -c "$1"; true', PYTHON, FORKED]
    done = subprocess.run(args, capture_output=True, text=True, timeout=900, check=False)
    files = [f for f in os.listdir(folder) if f.startswith("forked.") and f.endswith(".tide")]
    check(len(files) == 2, f"forked: files {files}")
    check("nothing was recorded" not in done.stderr and "2 child processes recorded" in done.stderr, f"a shell's child: {done.stderr[-300:]}")


def together(folder: str) -> None:
    """Two runs with one name at the same moment (ranks that mpirun started): each keeps its recording and says where it is. Without ops,
    and with an exit status of their own."""
    out, gate = os.path.join(folder, "both.tide"), os.path.join(folder, "gate")
    os.mkfifo(gate)
    script = f"import sys, torch\na = torch.ones(%d)\nprint('ready', flush=True)\nopen({gate!r}).read()\nsys.exit(7)"
    two = [subprocess.Popen([TIDEMARK, "run", "--no-ops", "-o", out, PYTHON, "-c", script % n], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
           for n in (1000, 2000)]
    for p in two:
        p.stdout.readline()
    while any(p.poll() is None for p in two):  # a reader that comes late is let through by the next one
        fd = os.open(gate, os.O_RDWR)
        time.sleep(0.05)
        os.close(fd)
        time.sleep(0.05)
    said = [p.communicate(timeout=600)[1] for p in two]
    files = [line.split()[1] for text in said for line in text.splitlines() if line.endswith("the first answers")]
    check(len(set(files)) == 2 and out in files, f"two runs at once: {said}")
    sizes = [ask("peak", f)["peak_bytes"] for f in files]
    check(sizes == [4000, 8000], f"two runs at once: {files} hold {sizes}")
    check([p.returncode for p in two] == [7, 7], f"exit status 7 came out as {[p.returncode for p in two]}")
    check(not any(ask("ops", f, "--flat")["ops"] for f in files), "--no-ops records ops")
    check(sum("another process was recording into" in text for text in said) == 1, f"two runs at once: {said}")
    check(not any("child process" in text for text in said), f"two runs at once take the other's file for a child's: {said}")


REPLACED = """
import os, sys, torch
n = int(sys.argv[1])
keep = torch.ones(n * 1000)
if n < 3:
    os.execv(sys.executable, [sys.executable, "-c", os.environ["TEXT"], str(n + 1)])
"""
RANKS = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, path):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    m = torch.nn.Linear(3, 3); o = torch.optim.SGD(m.parameters(), 0.1)
    m(torch.ones(1, 3)).sum().backward(); o.step()
    dist.barrier()
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.start_processes(work, (sys.argv[1],), nprocs=2, start_method="fork")
"""


def replaced(folder: str) -> None:
    """A program that becomes another one, twice (exec): each keeps its recording."""
    out = os.path.join(folder, "exec.tide")
    args = [TIDEMARK, "run", "--no-ops", "-o", out, PYTHON, "-c", REPLACED, "1"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=900, check=False, env={**os.environ, "TEXT": REPLACED})
    line = next((x for x in done.stderr.splitlines() if "replaced itself (exec)" in x), "")
    check(line.endswith(" and others beside it") and "child process" not in done.stderr, f"exec: {done.stderr[-300:]}")
    largest = line.partition("recorded: ")[2].removesuffix(" and others beside it")
    stem = largest.removesuffix(".tide").removesuffix(".2")
    files = [out, f"{stem}.tide", f"{stem}.2.tide"]
    sizes = [ask("peak", f)["peak_bytes"] if os.path.exists(f) else None for f in files]
    check(sizes == [4000, 8000, 12000], f"exec: {files} hold {sizes}")
    check(not any(os.path.exists(f + "-rings") for f in files), "exec: ring files are left")


def ranks(folder: str) -> None:
    """Ranks without a launcher's variables get their rank from the process group."""
    script = os.path.join(folder, "ranks.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(RANKS)
    args = [TIDEMARK, "run", "-o", os.path.join(folder, "job.tide"), PYTHON, "-W", "ignore", script, os.path.join(folder, "meet")]
    done = subprocess.run(args, capture_output=True, text=True, timeout=900, check=False)
    check("2 child processes recorded" in done.stderr, f"ranks: {done.stderr[-300:]}")
    files = [os.path.join(folder, f) for f in os.listdir(folder) if f.startswith("job.") and f.endswith(".tide")]
    found = sorted((p["rank"], p["world"]) for f in files for p in ask("info", f)["processes"])
    check(found == [(0, 2), (1, 2)], f"ranks: {found}")


LAUNCHED = """
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    n = 1000 * (dist.get_rank() + 1)
    m = torch.nn.Linear(n, 10)
    for (x,) in DataLoader(TensorDataset(torch.ones(4, n)), batch_size=4, num_workers=1):
        m(x).sum().backward()
    dist.destroy_process_group()
"""


def launched(folder: str) -> None:
    """torchrun: files are named by rank, a worker of a rank by its process; reports have a row for each, ranks first."""
    script = os.path.join(folder, "launched.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(LAUNCHED)
    inside = os.path.join(folder, "launched")
    os.mkdir(inside)
    program = [PYTHON, "-W", "ignore", "-m", "torch.distributed.run", "--nproc_per_node", "2", "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0", script]
    if "--system" in sys.argv and subprocess.run(program, capture_output=True, timeout=900, check=False).returncode:
        print("skipped launched: torchrun fails without us, too (torch 1.13 on Python 3.11)")
        return
    args = [TIDEMARK, "run", "-o", os.path.join(inside, "run.tide"), *program]
    done = subprocess.run(args, capture_output=True, text=True, timeout=900, check=False, env={k: v for k, v in os.environ.items() if k != "RANK"})
    files = sorted(f for f in os.listdir(inside) if f.endswith(".tide"))
    check({"run.rank0.tide", "run.rank1.tide"} <= set(files), f"torchrun: {files} {done.stderr[-500:]}")
    check("ranks 0 to 1" in done.stderr and "the memory peak of every rank" in done.stderr, f"torchrun: {done.stderr[-500:]}")
    named = [os.path.basename(r["trace"]) for r in ask("peak", os.path.join(inside, "run.tide"))["ranks"]]
    check({"run.rank0.tide", "run.rank1.tide"} <= set(named), f"torchrun: the name of the run reads {named}")
    rows = ask("peak", inside)["ranks"]
    ranks_only = [r for r in rows if os.path.basename(r["trace"]) in ("run.rank0.tide", "run.rank1.tide")]
    check([r["rank"] for r in ranks_only] == [0, 1] and rows[0] == ranks_only[0], f"torchrun: rows {rows}")
    check(0 < ranks_only[0]["peak_bytes"] < ranks_only[1]["peak_bytes"], f"torchrun: peaks {rows}")
    workers = [f for f in files if f not in ("run.rank0.tide", "run.rank1.tide")]
    check(all(f.removesuffix(".tide").rpartition(".")[2].isdigit() for f in workers), f"torchrun: workers {workers}")


def programs_and_options(folder: str) -> None:
    script = os.path.join(folder, "script.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(VIEWS + "import sys; print(sys.argv[1:])")
    done = subprocess.run([TIDEMARK, "run", "script.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    check(done.returncode == 127 and done.stderr == "tidemark run: script.py: no such program in PATH; try: tidemark run -- python script.py\n",
          f"a script without Python: {done.returncode} {done.stderr!r}")
    done = subprocess.run([TIDEMARK, "run", "-o", "/proc/x.tide", PYTHON, script], capture_output=True, text=True, timeout=300, check=False)
    check(done.returncode == 1 and "/proc/x.tide: cannot write" in done.stderr and not done.stdout, f"a folder that takes no files: {done.stderr!r}")
    out = os.path.join(folder, "it's one.tide")
    args = [TIDEMARK, "run", "-o", out, PYTHON, script, "--epochs", "3", "-o", "x"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=900, check=False)
    check(done.stdout.strip() == "['--epochs', '3', '-o', 'x']", f"the program's options: {done.stdout!r} {done.stderr[-300:]}")
    check("it'\\''s one.tide' -o report.html" in done.stderr, f"a path to paste: {done.stderr!r}")
    peak = ask("peak", out)
    check(4_000_000 <= peak["peak_bytes"] < 4_000_000 + 4096, f"views: peak {peak['peak_bytes']}: a view was counted")


def main() -> int:
    global PYTHON
    if "--system" in sys.argv:
        PYTHON = "/usr/bin/python3"
    if why := lacks_torch(PYTHON):
        print(f"skipped: {why}")
        return 77
    build_hook(PYTHON)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would its children
    with tempfile.TemporaryDirectory() as folder:
        rows = (training, where_it_comes_from, profiler_keeps_its_events, ends, survives_kill, interrupted, forked, together, ranks, launched, programs_and_options, light)
        if ALL:
            rows += (replaced,)  # heap_run has a program that becomes another one, too
        elif "--system" in sys.argv:
            rows = rows[:3]
        for test in rows:
            test(folder)
    print("\n".join(faults) if faults else "tidemark run agrees with torch")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
