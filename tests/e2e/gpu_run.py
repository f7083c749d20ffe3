#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --gpu` on a stand-in for CUPTI: what was told is in the recording, and the commands for Kineto traces read it.

gpu_run.py PROGRAM FAKE: gpu_prog.c and fake_cupti.c. Real devices: tests/gpu/inject.py."""
import json
import os
import subprocess
import sys
import tempfile

TIDEMARK, (PROG, FAKE) = os.environ["TIDEMARK"], sys.argv[1:3]
failed = 0


def check(what: str, ok: bool, more: object = "") -> None:
    global failed
    if not ok:
        failed += 1
        print(f"FAILED {what}: {str(more)[:1500]}")


def ask(*args: str) -> dict:
    done = subprocess.run([TIDEMARK, *args, "--json"], capture_output=True, text=True)
    check(" ".join(args[:1]), done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/g.tide"
        done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG], capture_output=True, text=True,
                              env={**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": "/nowhere"})
        check("run", done.returncode == 0, (done.returncode, done.stderr))
        rows = {r["name"]: r for r in ask("kernels", file).get("kernels", [])}
        check("kernels, demangled", {n: r.get("count") for n, r in rows.items()} == {"add(float*, float*, int)": 50, "gemm": 50, "Memcpy HtoD (Pageable -> Device)": 1}, rows)
        text = json.dumps(ask("timeline", file))
        check("timeline", "gpu" in text.lower(), text)
        hta = json.dumps(ask("hta", file))
        check("hta", "gemm" in hta or "busy" in hta or "compute" in hta, hta)
        flame = json.dumps(ask("flame", file, "--kind", "gpu"))
        check("flame of the GPU under the range and the launch", "step" in flame and "gemm" in flame, flame)
        ask("critical-path", file)
        memory = json.dumps(ask("memory", file))
        check("device memory", '"cuda"' in memory, memory)
        peak = ask("peak", file, "--device", "cuda:0")
        check("peak of 4 MiB", '"peak_bytes": 4194304' in json.dumps(peak) or "4194304" in json.dumps(peak), peak)
    print("failed" if failed else "as told")
    return 1 if failed else 0


sys.exit(main())
