#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark profile` on a real torch: ops, page, JSON, --memory; scripts that fail, hang, call sys.exit, need arguments or are not there."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ.get("TIDEMARK", str(ROOT / "build/src/tidemark"))
VENV = ROOT / ".venv/bin/python"
PYTHON = os.environ.get("TIDE_TORCH_PYTHON") or (str(VENV) if VENV.exists() else sys.executable)
WORKS = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
for _ in range(int(sys.argv[1])):
    model(torch.randn(32, 64)).sum().backward()
kept = torch.empty(5 << 20, dtype=torch.uint8)
print("done", sys.argv[1:])
"""
FAILS = "import torch\nx = torch.ones(1 << 20)\nraise ValueError('on purpose')\n"
HANGS = "import torch, time, sys\nx = torch.ones(1 << 20)\nprint('hangs', flush=True)\ntime.sleep(600)\n"
ARGS = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', required=True)\np.parse_args()\n"


def run(folder: str, *words: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "TIDEMARK_PYTHON": PYTHON, "PYTHONWARNINGS": "ignore"}
    return subprocess.run([TIDEMARK, "profile", *([] if "-r" in words else ["-r", "p.tide"]), *words], cwd=folder, env=env, capture_output=True, text=True, timeout=900)


def expect(done: subprocess.CompletedProcess, status: int, *said: str, never: str = "tidemark run") -> None:
    both = done.stdout + done.stderr
    assert done.returncode == status, (done.returncode, both[-1500:])
    for text in said:
        assert text in both, (text, both[-1500:])
    assert never not in both, both[-1500:]


def main() -> int:
    if why := lacks_torch(PYTHON):
        print(f"skipped: {why}")
        return 77
    build_hook(PYTHON)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("works", WORKS), ("fails", FAILS), ("hangs", HANGS), ("args", ARGS), ("exits", "import sys\nsys.exit(7)\n"), ("broken", "def f(:\n")):
            Path(folder, f"{name}.py").write_text(text)
        expect(run(folder, "--html", "p.html", "works.py", "3", "--json"), 0, "done ['3', '--json']", "aten::addmm", "At the peak", "Advice", "exit status 0")
        assert "<!doctype html>" in Path(folder, "p.html").read_text()[:200].lower()
        done = run(folder, "--memory", "--json", "-o", "p.json", "works.py", "2")
        expect(done, 0, "done ['2']")
        got = json.loads(Path(folder, "p.json").read_text())
        assert "ops" not in got and got["exit_status"] == 0 and got["runs"] == 1 and got["wall_ns"] > 0, list(got)
        peak = max(d["totals"]["peak_bytes"] for d in got["memory"]["devices"])
        assert 5 << 20 <= peak < 6 << 20, peak
        assert sum(g["bytes"] for g in got["peak"]["groups"]) == peak
        expect(run(folder, "fails.py"), 1, "ValueError: on purpose", "fails.py ended with status 1", "4.00 MiB")
        done = run(folder, "--timeout", "20", "hangs.py")
        expect(done, 143, "hangs.py was ended after 20 s")
        if "hangs\n" in done.stdout:  # torch was imported in time
            expect(done, 143, "4.00 MiB")
        expect(run(folder, "exits.py"), 7, "exits.py ended with status 7", "did not use PyTorch")
        expect(run(folder, "args.py"), 2, "the following arguments are required: --n", "args.py ended with status 2")
        expect(run(folder, "broken.py"), 1, "SyntaxError")
        expect(run(folder, "none.py"), 127, "tidemark profile: none.py: No such file or directory")
        expect(run(folder, "no-such-program"), 127, "No such file", never="did not use PyTorch")
        done = run(folder, "--json", "works.py", "1")  # a document alone on standard output
        assert json.loads(done.stdout)["exit_status"] == 0 and "done ['1']" in done.stderr, (done.stdout[:300], done.stderr[:300])
        script = Path(folder, "works.py").read_text()
        Path(folder, "p.tide").unlink()
        for words, why in ((("-r", "works.py"), "it exists and is not a recording"), (("-r", "none/x.tide"), "No such file or directory"), (("-r", "."), "Is a directory"),
                           (("-o", "none/x"), "No such file or directory"), (("--html", "none/x.html"), "No such file or directory")):
            expect(run(folder, *words, "works.py", "1"), 1, words[1], why, never="done [")  # before the program runs
            assert Path(folder, "works.py").read_text() == script
        Path(folder, "mine.tide").write_text(script)
        for name, status, why in (("mine.tide", 1, "is not a recording"), ("works.py", 2, "this command writes no .py file")):
            kept = subprocess.run([TIDEMARK, "run", "-o", name, "--", PYTHON, "works.py", "1"], cwd=folder, capture_output=True, text=True)
            assert kept.returncode == status and why in kept.stderr and Path(folder, name).read_text() == script, kept.stderr
        hint = subprocess.run([TIDEMARK, "memory", "works.py"], cwd=folder, capture_output=True, text=True)
        assert hint.returncode == 1 and "a Python script, not a trace; try: tidemark profile --memory works.py" in hint.stderr, hint.stderr
    print("as it should be")
    return 0


sys.exit(main())
