#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Nothing is sent anywhere: no binary of this build can open a connection, and only the program can listen (`tidemark serve`).
no_network.py BINARY..., of which the first is the program."""
import shutil
import subprocess
import sys

LEAVES = {"connect", "send", "sendmmsg", "gethostbyname", "gethostbyname2", "res_query", "curl_easy_init"}  # sendto, sendmsg: a Unix socket of `run`
LISTENS = {"bind", "listen", "getaddrinfo", "accept", "accept4"}

if not shutil.which("nm"):
    print("skipped: nm is not installed")
    sys.exit(77)


def used(binary: str) -> set:
    done = subprocess.run(["nm", "-D", "--undefined-only", binary], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


wrong = []
for i, binary in enumerate(sys.argv[1:]):
    names = used(binary)
    assert names, f"{binary}: no symbols were found"
    wrong += [f"{binary}: {name}" for name in names & (LEAVES if i == 0 else LEAVES | LISTENS)]
assert "bind" in used(sys.argv[1]) or "MHD_start_daemon" not in used(sys.argv[1]), "the program's own server is not seen: this test sees nothing"
print(*sorted(wrong) or [f"{len(sys.argv) - 1} binaries open no connection"], sep="\n")
sys.exit(bool(wrong))
