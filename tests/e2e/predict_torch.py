#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict` on real PyTorch: training runs recorded at batches of 8 and 32 are predicted to the byte at 64, where they
are also recorded.

The trainings are those of bench/torch/predict.py. Skips where no Python with torch is found (TIDE_TORCH_PYTHON, or .venv of the checkout).
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TIDE_SOURCE"], "tests", "support"))
from extent import ALL  # noqa: E402
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK, SOURCE = os.environ["TIDEMARK"], os.environ["TIDE_SOURCE"]
PYTHON = os.environ.get("TIDE_TORCH_PYTHON") or os.path.join(SOURCE, ".venv", "bin", "python")
TRAININGS = os.path.join(SOURCE, "bench", "torch", "predict.py")
CASES = ["cnn loader, last batch", *(["gpt all"] if ALL else [])]
SIZES = (8, 32, 64)


def record(folder: str, case: str) -> dict[int, str]:
    files = {n: os.path.join(folder, f"{n}.tide") for n in SIZES}
    runs = [subprocess.Popen([TIDEMARK, "run", "-o", files[n], "--", PYTHON, "-W", "ignore", TRAININGS, "--train", case, "--batch", str(n)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for n in SIZES]
    for run in runs:
        _, said = run.communicate(timeout=600)
        if run.returncode:
            sys.exit(f"{case}: {said.decode()[-2000:]}")
    return files


def ask(*words: str) -> dict:
    return json.loads(subprocess.run([TIDEMARK, *words, "--device", "cpu", "--json"], check=True, capture_output=True).stdout)


def check(case: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = record(folder, case)
        real = ask("peak", files[64])["peak_bytes"]
        told = ask("predict", f"8={files[8]}", f"32={files[32]}", "--at", "64", "--capacity", f"{real}B")
        three = ask("predict", *(f"{n}={f}" for n, f in files.items()))
    row = told["sizes"][-1]
    parts = {by: sum(p["bytes"] for p in told["peak_at"][by]) for by in ("roles", "modules")}
    off = [r["off_bytes"] for r in three["sizes"] if r["recorded_bytes"] is not None]
    found = {"peak": row["peak_bytes"], "at most": row["most_bytes"], "by": row["by"], "fits": told["fits"], "roles": parts["roles"],
             "modules": parts["modules"], "alone": told["allocations"]["in_one_alone"], "off": off}
    want = {"peak": real, "at most": real, "by": "moment", "fits": 64, "roles": real, "modules": real, "alone": 0, "off": [0, 0, 0]}
    grows = {p["role"]: p["each_bytes"] for p in told["peak_at"]["roles"]}
    wrong = [f"{case}: {k} is {found[k]}, not {want[k]}" for k in want if found[k] != want[k]]
    if told["allocations"]["for_each"] == 0:
        wrong.append(f"{case}: the loader's allocations are not seen to be made for each sample")
    if grows.get("parameter") != 0 or grows.get("activation", 0) <= 0:
        wrong.append(f"{case}: parameters grow, or activations do not: {grows}")
    return wrong


def main() -> int:
    if why := lacks_torch(PYTHON):
        print(f"skipped: {why}")
        return 77
    build_hook(PYTHON)
    wrong = [w for case in CASES for w in check(case)]
    print(*wrong or [f"{len(CASES)} trainings told to the byte"], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
