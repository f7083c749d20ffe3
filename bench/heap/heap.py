#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares `tidemark run --heap` with heaptrack and memray: how long people wait, and bytes of the file.

    bench/heap/heap.py BUILD [--python PYTHON] [--rounds N] [--only TEXT] [--rows N]

Three figures a row, in seconds of the clock, least of N rounds in turns: "inside", as the program measures itself; "prompt", from
its last statement until the command has ended, so with its exit and all that a tool does after it; "first report", from the same
moment until the tool has shown its first report (`tidemark FILE`, `heaptrack_print`, `memray stats`). "CPU" is that of all
processes until the prompt: the figure to compare on a busy machine. A tool that is not installed has no row; "GPU" needs a GPU and
PyTorch. memray runs with native stacks, without tracing Python's own allocators, which no other tool here sees. Last rows:
instructions of the sampled mode (callgrind), and events a second of reports of the largest recording."""
import argparse
import glob
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

IMPORTS = """
import asyncio, email.mime.multipart, http.client, json, logging.config, multiprocessing.pool, sqlite3, unittest.mock, urllib.request, xml.etree.ElementTree
import numpy
"""
JSON = """
import json
rows = [{"id": i, "name": f"row {i}", "values": [i / 7, i / 3, None], "tags": {"even": i % 2 == 0, "deep": [[i], [str(i)]]}} for i in range(ROWS)]
rows = json.loads(json.dumps(rows))
"""
CHILDREN = """
import subprocess, sys
for p in [subprocess.Popen([sys.executable, "-c", "import json; json.loads(json.dumps(list(range(20000))))"]) for _ in range(8)]:
    p.wait()
"""
TRAIN = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(64, 64), torch.nn.GELU())]).to(DEVICE)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(32, 64, device=DEVICE)
for _ in range(150):
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
KILL = "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


@dataclass
class Program:
    title: str
    command: list[str]
    env: dict = field(default_factory=dict)
    torch: bool = False  # the recording is that of PyTorch's allocators, not of the heap


@dataclass
class Tool:
    title: str
    before: list[str]
    files: str = ""  # a pattern
    report: list[str] = field(default_factory=list)  # {file}: the largest file
    python: bool = False  # for Python programs only


@dataclass
class Figures:
    inside: float = float("inf")
    prompt: float = float("inf")
    report: float = float("inf")
    cpu: float = float("inf")
    size: int = 0


def script(folder: str, name: str, text: str, end: str = "") -> str:
    """Writes a program that prints how long its text took, and when that ended."""
    path = f"{folder}/run_{name}.py"  # not the name of a module
    times = 'import time\nstart = time.monotonic()\n{}\nprint(f"{{time.monotonic() - start:.4f}} {{time.monotonic():.4f}}", flush=True)\n{}'
    pathlib.Path(path).write_text(times.format(text, end), encoding="utf-8")
    return path


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_times(text: str) -> tuple[float, float]:
    """The last line of two numbers: seconds inside, and the clock at the end."""
    found = re.findall(r"^(\d+\.\d+) (\d+\.\d+)$", text, re.M)
    return (float(found[-1][0]), float(found[-1][1])) if found else (float("nan"), float("nan"))


def measure(program: Program, tool: Tool, had: Figures) -> None:
    for path in glob.glob(tool.files):
        os.unlink(path)
    rest = program.command[1:] if tool.title.startswith("memray") else program.command
    before = [word for word in tool.before if not (program.torch and word.startswith("--heap"))]
    cpu = cpu_of_children()
    done = subprocess.run([*before, *rest], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                          env={**os.environ, **program.env})
    back = time.monotonic()
    had.cpu = min(had.cpu, cpu_of_children() - cpu)
    inside, end = last_times(done.stdout)
    had.inside, had.prompt = min(had.inside, inside), min(had.prompt, back - end)
    files = sorted(glob.glob(tool.files), key=os.path.getsize)
    had.size = sum(map(os.path.getsize, files))
    if files:
        start = time.monotonic()
        shown = subprocess.run([word.format(file=files[-1]) for word in tool.report], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if not shown.returncode and shown.stdout:
            had.report = min(had.report, back - end + time.monotonic() - start)


def make_programs(folder: str, python: str, rows: int) -> list[Program]:
    pairs = f"{folder}/pairs"
    source = os.path.join(os.path.dirname(__file__), "pairs.c")
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", pairs, source], check=True)
    malloc = {"PYTHONMALLOC": "malloc"}  # so that every tool sees every object
    load = JSON.replace("ROWS", str(rows))
    programs = [Program("malloc and free, 5 M pairs", [pairs, "5000000", "0"]), Program("malloc and free, 2 M, a quarter kept", [pairs, "2000000", "4"]),
                Program("Python imports", [python, script(folder, "imports", IMPORTS)]),
                Program(f"JSON, {rows} rows", [python, script(folder, "json", load)], malloc),
                Program("JSON, then killed", [python, script(folder, "killed", JSON.replace("ROWS", "20000"), KILL)], malloc),
                Program("8 child processes", [python, script(folder, "children", CHILDREN)], malloc)]
    if not subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
        programs.append(Program("PyTorch on the CPU, 150 steps", [python, script(folder, "train", TRAIN.replace("DEVICE", "'cpu'"))]))
        if shutil.which("nvidia-smi"):
            programs.append(Program("PyTorch on a GPU", [python, script(folder, "gpu", TRAIN.replace("DEVICE", "'cuda'"))], torch=True))
    return programs


def make_tools(folder: str, python: str, tidemark: str) -> list[Tool]:
    def ours(title: str, name: str, *options: str) -> Tool:
        return Tool(title, [tidemark, "run", *options, "-o", f"{folder}/{name}.tide", "--"], f"{folder}/{name}*.tide", [tidemark, "{file}"])

    tools = [Tool("bare", []), ours("tidemark --heap", "sampled", "--heap", "--no-torch"),
             ours("tidemark --heap=full", "full", "--heap=full", "--no-torch"), ours("the same, Python stacks", "stacks", "--heap=full")]
    tools[3].python = True
    if shutil.which("heaptrack"):
        tools.append(Tool("heaptrack", ["heaptrack", "-o", f"{folder}/ht"], f"{folder}/ht*", ["heaptrack_print", "{file}"]))
    if not subprocess.run([python, "-c", "import memray"], stderr=subprocess.DEVNULL, check=False).returncode:
        tools.append(Tool("memray, native", [python, "-m", "memray", "run", "-q", "-f", "--native", "-o", f"{folder}/m.bin"],
                          f"{folder}/m.bin", [python, "-m", "memray", "stats", "{file}"], python=True))
    return tools


def shown(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 1e9 else ""


def compare(program: Program, tools: list[Tool], rounds: int) -> None:
    python = program.command[0].endswith("python") or "python3" in os.path.basename(program.command[0])
    here = {t.title: t for t in tools if python or not t.python}
    figures = {title: Figures() for title in here}
    for _ in range(rounds):
        for title, tool in here.items():
            measure(program, tool, figures[title])
    print(f"\n| {program.title} | inside | prompt | first report | CPU | file |\n|---|---|---|---|---|---|")
    for title, f in figures.items():
        print(f"| {title} | {shown(f.inside)} | {shown(f.prompt)} | {shown(f.report)} | {shown(f.cpu)} | {f.size / 1e6:.2f} MB |", flush=True)


def instructions(command: list) -> int:
    done = subprocess.run(["valgrind", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null", *command], capture_output=True, text=True, check=False)
    counts = re.findall(r"Collected : (\d+)", done.stderr)
    return int(counts[0]) if counts else 0


def load(tidemark: str, folder: str, python: str, rows: int) -> None:
    """Events a second of reports."""
    path = f"{folder}/load.tide"
    subprocess.run([tidemark, "run", "--heap=full", "--no-torch", "-o", path, "--", python, script(folder, "load", JSON.replace("ROWS", str(rows)))],
                   env={**os.environ, "PYTHONMALLOC": "malloc"}, capture_output=True, check=True)
    text = subprocess.run([tidemark, "info", path, "--json"], capture_output=True, text=True, check=True).stdout
    events = int(re.search(r'"memory_events": *(\d+)', text)[1])
    for report in "heap", "peak", "leaks":
        cpu, start = cpu_of_children(), time.monotonic()
        subprocess.run([tidemark, report, path], capture_output=True, check=True)
        wall, cpu = time.monotonic() - start, cpu_of_children() - cpu
        print(f"{report}: {events / 1e6:.1f} M events in {wall:.2f} s, CPU {cpu:.2f} s: {events / 1e6 / cpu:.1f} M events per second of CPU")


def main() -> int:
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--rows", type=int, default=300000, help="rows of the JSON program")
    p.add_argument("--only", default="", help="only programs whose title has this")
    p.add_argument("--python", default=sys.executable)
    a = p.parse_args()
    tidemark = os.path.join(os.path.abspath(a.build), "src", "tidemark")
    with tempfile.TemporaryDirectory() as folder:
        programs = make_programs(folder, a.python, a.rows)
        tools = make_tools(folder, a.python, tidemark)
        for program in programs:
            if a.only in program.title:
                compare(program, tools, a.rounds)
        print()
        if shutil.which("valgrind") and not a.only:
            few = [f"{folder}/pairs", "400000", "4"]
            bare, ours = instructions(few), instructions([*tools[1].before, *few])
            print(f"sampled, pairs: {bare / 4e5:.1f} instructions a pair bare, {(ours - bare) / 4e5:+.1f} under --heap ({(ours / bare - 1) * 100:+.1f} %, start included)")
        if a.only in "load":
            load(tidemark, folder, a.python, a.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
