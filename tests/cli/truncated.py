#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every command that reads a trace tells by its exit status that the trace is cut off: 4 if it reported what is there, 1 if nothing
could be read; never 0, which scripts take for a whole trace. `recover` alone ends with 0: it was asked to mend the file.

    truncated.py TIDEMARK CLI_SAMPLE SOURCE
"""
import gzip
import os
import random
import subprocess
import sys
import tempfile

from mutate import commands, inputs

UNKNOWN = {"lines.json"}  # a cut between two lines leaves a whole file


def main():
    tidemark, sample, source = os.path.abspath(sys.argv[1]), *sys.argv[2:4]
    failed = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        kinds = inputs(sample, source, folder, tidemark)
        kinds["tide.gz"] = gzip.compress(kinds["tide"], mtime=0)
        for kind, data in kinds.items():
            if kind in UNKNOWN:
                continue
            with open(f"{folder}/good.json", "wb") as f:
                f.write(kinds["json"])
            some = [c for c in commands(f"cut.{kind}") if c[0] != "recover"]
            r = random.Random(kind)
            for part in (0.2, 0.55, 0.97):
                with open(f"{folder}/cut.{kind}", "wb") as f:
                    f.write(data[:int(len(data) * part) | 1])
                for words in [["info", f"cut.{kind}"], ["hta", f"cut.{kind}", "--json"], *r.sample(some, 8)]:
                    done = subprocess.run([tidemark, *words], cwd=folder, capture_output=True, text=True, errors="replace", timeout=400, check=False)
                    ran += 1
                    if done.returncode not in (1, 4) or not done.returncode == 4 and done.stderr.partition("next, for ")[0].count("\n") != 1:
                        failed += 1
                        print(f"{kind}, {part:.0%} of it: {' '.join(words)}: status {done.returncode}\n{done.stderr[:500]}")
                    if words[0] == "info" and "--json" not in words and done.returncode == 4 and "note: " not in done.stdout:
                        failed += 1
                        print(f"{kind}: {' '.join(words)} says nothing about it")
    print(f"{ran - failed} of {ran} runs pass")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
