#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the dashboard under load, and the time until it shows a large trace.

    run.py BUILD [TRACE] [--requests 100000] [--clients 200]

TRACE is grown to 1 GB by bench/kineto/grow.py when not given. Figures: the first picture of its beginning while it is read, time to read it, the first picture of its
timeline in headless Chromium (first visit, which makes the levels of detail, and later ones), then wrk with many
clients: requests a second, latency, errors, memory of the server before and after."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import grown

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def rss(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def get(url):
    with urllib.request.urlopen(url, timeout=600) as r:
        return json.load(r)


def load(url, rid):
    """Returns the seconds until the recording is available, and its length in ns."""
    t = time.monotonic()
    curve = get(f"{url}api/recordings/{rid}/curve?px=1")
    read = time.monotonic() - t
    return read, curve["to_ns"]


def wrk(url, rid, end, clients, seconds, script):
    args = ["wrk", "-t2", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "--latency"]
    args += ["-s", str(HERE / "mixed.lua"), url] if script else [url + "api/recordings"]
    out = subprocess.run(args, capture_output=True, text=True, check=True,
                         env=os.environ | {"TIDE_ID": rid, "TIDE_END": str(end)}).stdout
    n = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    found = {p: re.search(rf"^ +{p}% +(\S+)\s*$", out, re.M) for p in (50, 99)}  # not the "+/- Stdev" above
    lat = {p: m[1] if m else "unknown" for p, m in found.items()}
    errors = re.search(r"Socket errors: (.*)", out)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    return n, rate, lat, (errors[1] if errors else "none"), (int(bad[1]) if bad else 0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("trace", nargs="?")
    p.add_argument("--requests", type=int, default=100000)
    p.add_argument("--clients", type=int, default=200)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = a.trace or grown(f"{folder}/big.json", 1000)
        s = subprocess.Popen([f"{a.build}/src/tidemark", "serve", trace, "--no-token", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            url = s.stdout.readline().split()[-1]
            measure(a, s.pid, url, trace)
        finally:
            s.terminate()
            s.wait()


def picture(url, rid, rounds):
    if not shutil.which("node") or not (SOURCE / "web/node_modules").exists():
        return "not measured: no node, or no web/node_modules"
    out = subprocess.run(["node", HERE / "picture.mjs", f"{url}r/{rid}#view=timeline", str(rounds)], capture_output=True, text=True)
    return out.stdout.strip() or out.stderr.strip()


def measure(a, pid, url, trace):
    rid = get(f"{url}api/recordings")["recordings"][0]["id"]
    print(f"first picture of a recording that nobody has read yet (its beginning), ms: {picture(url, rid, 1)}")
    read, end = load(url, rid)
    print(f"{os.path.getsize(trace) / 1e6:.0f} MB read in {read:.2f} s; server holds {rss(pid):.0f} MiB")
    print(f"first picture of the timeline after load, ms: {picture(url, rid, 5)}")
    if not shutil.which("wrk"):
        print("wrk is not here (tools/setup bench installs it): no load")
        return
    for script, what in ((False, "/api/recordings"), (True, "windows, sections, figures in turn")):
        wrk(url, rid, end, a.clients, 3, script)  # caches and heaps fill once
        before, total, seconds = rss(pid), 0, 0
        while total < a.requests and seconds < 300:
            n, rate, lat, errors, bad = wrk(url, rid, end, a.clients, 10, script)
            total, seconds = total + n, seconds + 10
        print(f"{what}: {a.clients} clients, {total} requests, {rate:.0f}/s, p50 {lat[50]}, p99 {lat[99]}, socket errors {errors}, "
              f"refused {bad}; memory {before:.0f} -> {rss(pid):.0f} MiB")


main()
