# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Formats that Tidemark knows but does not read are named in one line, with what to do instead where there is something."""
import os
import pathlib
import subprocess
import tempfile

FILES = [("perf.data", b"PERFILE2" + bytes(200), "Linux perf"), ("r.jfr", b"FLR\0" + bytes(200), "Java's Flight Recorder"),
         ("h.hprof", b"JAVA PROFILE 1.0.2\0" + bytes(99), "heap dump of Java"), ("c.out", b"# callgrind format\nversion: 1\n", "Callgrind"),
         ("massif.out.1", b"desc: --massif\ncmd: ./a\n", "Massif"), ("k.ncu-rep", b"NVR\0" + bytes(99), "Nsight Compute"),
         ("n.nsys-rep", bytes(99), "nsys export"), ("rank0.et", b"\x08\x0a\x06" + bytes(20), "ExecutionTraceObserver"),
         ("a.otf2", b"OTF2" + bytes(40), "OTF2"), ("a.lz4", b"\x04\x22\x4d\x18" + bytes(60), "lz4 -dc"), ("a.zip", b"PK\3\4" + bytes(60), "unpack it")]


def main():
    with tempfile.TemporaryDirectory() as name:
        for file, data, words in FILES:
            path = pathlib.Path(name) / file
            path.write_bytes(data)
            p = subprocess.run([os.environ["TIDEMARK"], "info", str(path)], capture_output=True, check=False, text=True)
            assert p.returncode and words in p.stderr and p.stderr.count("\n") == 1, (file, p.stderr)
    print(f"{len(FILES)} formats are named")


main()
