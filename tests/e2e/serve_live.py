# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A recording that is served while a real process writes it: its content grows, listeners are notified, and the end of its writer is noticed, whether it closed the recording or was killed.   serve_live.py WRITER"""
import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

from serving import SOURCE, Events, Server, faults, skip_unless_built, wait_for

DOC = json.loads((SOURCE / "docs" / "openapi.json").read_text())


class Writer:
    def __init__(self, path):
        self.p = subprocess.Popen([sys.argv[1], str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        assert self.p.stdout.readline() == "ok\n"

    def kill(self):
        self.p.kill()
        self.p.wait()


def listen(server):
    """Messages as they come, in a queue."""
    events, q = Events(server), queue.Queue()

    def run():
        try:
            for e in events:
                q.put(e)
        except (OSError, ValueError, AttributeError):
            pass

    threading.Thread(target=run, daemon=True).start()
    return q


def next_with(q, condition, what):
    seen, end = [], time.monotonic() + 300
    while True:
        try:
            name, data = q.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"never told: {what}; told {seen[-3:]}") from None
        seen.append((name, data))
        if name == "recording":
            found = faults(DOC, DOC["components"]["schemas"]["LiveRecording"], data)
            assert not found, found
            if condition(data):
                return data


def live(data):
    return data.get("devices", [{}])[0].get("live_bytes") if data.get("devices") else 0


def follow(folder, end):
    path = folder / f"{end}.tide"
    w = Writer(path)
    w.do("step 10")
    with Server(path) as s:
        rid = s.json("/api/recordings")["recordings"][0]["id"]
        q = listen(s)
        first = wait_for("the first events", lambda: s.json(f"/api/recordings/{rid}/curve?px=1")["live_bytes"][0])
        assert first == 10 * 1024
        assert s.json(f"/api/recordings/{rid}")["writer"] == "running"
        for n in (20, 1000, 5000):
            before = first
            w.do(f"step {n}")
            first += n * 1024
            told = next_with(q, lambda d: live(d) == first, f"{first} live bytes, after {before}")
            assert told["writer"] == "running" and told["allocations"] == first // 1024
            assert {o["name"] for o in told["ops"]} == {"even", "odd"}
            wait_for(f"a curve up to {first}", lambda: s.json(f"/api/recordings/{rid}/curve?px=1")["live_bytes"] == [first])
        w.do("drop")
        told = next_with(q, lambda d: live(d) == 0, "everything freed")
        assert told["devices"][0]["peak_bytes"] == first
        w.do("step 5")
        if end == "closed":
            w.do("stop")
        else:
            w.kill()
        told = next_with(q, lambda d: d["writer"] == end, f"the writer is {end}")
        assert live(told) == 5 * 1024 or next_with(q, lambda d: live(d) == 5 * 1024, "the last events")
        w.kill()
        assert s.json(f"/api/recordings/{rid}")["writer"] == end


def main():
    skip_unless_built()
    with tempfile.TemporaryDirectory() as folder:
        follow(pathlib.Path(folder), "closed")
        follow(pathlib.Path(folder), "killed")


main()
