# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What people paste into issues: a text whose only line of the Tenstorrent runtime is the out-of-memory line."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
LINE = "Out of Memory: Not enough space to allocate 805306368 B {} buffer across {} banks, where each bank needs to store {} B"
TEXTS = [  # text, what the report says
    ("E   RuntimeError: TT_FATAL @ bank_manager.cpp:140\nE   info:\nE   " + LINE.format("DRAM", 12, 67110912) + "\n",
     {"pool": "DRAM", "banks": 12, "need_per_bank": 67110912, "bank": None, "free": None}),
    ("a report of somebody\n" + LINE.format("L1", 64, 12582912) + ", but bank size is only 1331936 B\n",
     {"pool": "L1", "banks": 64, "need_per_bank": 12582912, "bank": 1331936, "free": None}),
    (LINE.format("DRAM", 12, 67110912) + ", but bank size is 1073741792 B (allocated: 1043741792 B, free: 30000000 B, largest free block: 20000000 B)\n" * 2,
     {"pool": "DRAM", "banks": 12, "need_per_bank": 67110912, "bank": 1073741792, "free": 30000000}),
]


def main():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "pasted.txt"
        for text, want in TEXTS:
            path.write_text(text)
            p = subprocess.run([TIDEMARK, "oom", "--json", str(path)], capture_output=True, check=False)
            assert p.returncode == 4, p.stderr.decode()  # an out-of-memory event
            document = json.loads(p.stdout)
            flat = json.dumps(document)
            assert '"tt:0"' in flat, flat
            assert "805306368" in flat and str(want["need_per_bank"]) in flat and f'"banks": {want["banks"]}' in flat, flat
            for key in ("bank", "free"):
                assert want[key] is None or str(want[key]) in flat, (key, flat)
            said = subprocess.run([TIDEMARK, "oom", str(path)], capture_output=True, check=False, text=True)
            assert said.returncode == 4 and f"tt:0 {want['pool']} ran out of memory" in said.stdout and f"ach of {want['banks']} banks needs" in said.stdout, said.stdout
    print(f"{len(TEXTS)} pasted texts are explained")
    return 0


sys.exit(main())
