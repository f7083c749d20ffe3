#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What recording costs a training step: bare, Tidemark and PyTorch's own tools in turn, several rounds.

    compare.py LIBRARY_DIR PYTHON OUT [gpt_step.py options]

LIBRARY_DIR holds libtidemark-torch.so and finds libtidemark-rt.so; the recordings of the last round go to OUT.
"""
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def run(python: str, options: list[str], env: dict) -> dict:
    done = subprocess.run([python, "-W", "ignore", os.path.join(HERE, "gpt_step.py"), *options], env=os.environ | env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{options}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    libs, python, out, *options = sys.argv[1:]
    preload = {"LD_PRELOAD": os.path.join(libs, "libtidemark-torch.so")}
    hook = {"PYTHONPATH": os.path.join(ROOT, "python", "hook"), "TIDEMARK_INCLUDE": os.path.join(ROOT, "include"),
            "TIDEMARK_OPS_SOURCE": os.path.join(ROOT, "src", "capture", "torch", "ops.cpp")}
    modes = {
        "bare": ([], {}),
        "tidemark memory": ([], preload | {"TIDEMARK_RECORD": os.path.join(out, "memory.tide")}),
        "tidemark memory + ops": ([], preload | hook | {"TIDEMARK_RECORD": os.path.join(out, "ops.tide")}),
        "torch.profiler": (["--profiler"], {}),
        "TorchDispatchMode, empty": (["--dispatch"], {}),
    }
    if "--cpu" not in options:
        modes["_record_memory_history"] = (["--history"], {})
    options = [o for o in options if o != "--cpu"]
    rounds: dict[str, list[dict]] = {m: [] for m in modes}
    for _ in range(int(os.environ.get("ROUNDS", "3"))):
        for mode, (more, env) in modes.items():
            rounds[mode].append(run(python, options + more, env))
    bare = statistics.median(r["median_ms"] for r in rounds["bare"])
    for mode, results in rounds.items():
        medians = [r["median_ms"] for r in results]
        m = statistics.median(medians)
        print(f"{mode:26} {m:9.3f} ms  {100 * (m / bare - 1):+6.1f} %   rounds {' '.join(f'{x:.3f}' for x in medians)}")
    print(json.dumps(rounds["tidemark memory + ops"][-1]))


if __name__ == "__main__":
    main()
