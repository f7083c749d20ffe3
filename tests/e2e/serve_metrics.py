# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""/metrics as Prometheus reads it (its own parser): figures of runs are those of /api/runs, and counters of a live run grow with it.   serve_metrics.py WRITER"""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

from serving import SOURCE, Server, skip_unless_built, wait_for

if importlib.util.find_spec("prometheus_client") is None:
    print("skipped: prometheus-client is not installed (tools/setup test)")
    sys.exit(77)
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

TRACE = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"
ODD = 'live "x\\y\n.tide'  # a name with everything that a label escapes


def scrape(server, query=""):
    status, headers, text = server.ask(f"/metrics{query}")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", (status, headers)
    families = list(text_string_to_metric_families(text.decode()))
    names = [f.name for f in families]
    assert len(set(names)) == len(names), "a family is written once"
    assert all(f.documentation and f.type in ("gauge", "counter") for f in families)
    return {f.name: [(s.labels, s.value) for s in f.samples] for f in families}


def of_file(samples, file):
    return [(labels, value) for labels, value in samples if labels["file"] == file]


def runs(server):
    rows = wait_for("all runs", lambda: (lambda a: a["runs"] if not a["pending"] else None)(server.json("/api/runs")))
    got = scrape(server)
    assert got["tidemark_recordings"] == [({}, len(rows))]
    members = {"peak_bytes": ("tidemark_run_peak_bytes", 1), "capacity_bytes": ("tidemark_run_capacity_bytes", 1), "duration_ns": ("tidemark_run_duration_seconds", 1e-9),
               "step_ns": ("tidemark_run_step_seconds", 1e-9), "steps": ("tidemark_run_steps", 1), "start_ns": ("tidemark_run_start_time_seconds", 1e-9), "losses": ("tidemark_run_losses", 1)}
    for r in rows:
        for member, (name, unit) in members.items():
            mine = [v for labels, v in got[name] if labels["recording"] == r["id"]]
            want = [] if r[member] is None else [r[member] * unit]
            assert len(mine) == len(want) and all(abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(mine, want)), (r["name"], name, mine, want)
    busy = of_file(got["tidemark_run_device_busy_ratio"], TRACE.name)
    [kineto] = [r for r in rows if r["name"] == TRACE.name]
    assert abs(busy[0][1] - kineto["gpu_busy_pct"] / 100) < 1e-4
    assert len(scrape(server, "?limit=1")["tidemark_run_live"]) == 1
    assert server.ask("/metrics?limit=0")[0] == 400 and server.ask("/metrics?x=1")[0] == 400


def live(server, do):
    def now():
        got = scrape(server)
        one = {k: of_file(v, ODD) for k, v in got.items() if k.startswith("tidemark_live_")}
        return {k: v[0][1] for k, v in one.items() if v}, one

    values, samples = wait_for("the live run", lambda: now() if of_file(scrape(server)["tidemark_live_allocated_bytes"], ODD) else None)
    assert samples["tidemark_live_allocated_bytes"][0][0]["device"] == "cuda:0"
    assert not of_file(scrape(server)["tidemark_live_allocated_bytes"], TRACE.name), "a recording that has ended is not live"
    assert "tidemark_live_reserved_bytes" not in values, "what is not recorded has no sample"
    made = 10
    for n in (1, 500):
        do(f"step {n}")
        made += n
        wait_for(f"{made} allocations", lambda: now()[0]["tidemark_live_allocations"] == made)
        values, _ = now()
        assert values["tidemark_live_allocated_bytes"] == values["tidemark_live_peak_bytes"] == made * 1024, values
        assert values["tidemark_live_allocations"] == values["tidemark_live_spans"] == made, values
    do("drop")
    wait_for("the frees", lambda: now()[0]["tidemark_live_allocated_bytes"] == 0)
    values, _ = now()
    assert values["tidemark_live_peak_bytes"] == made * 1024 and values["tidemark_live_free_events"] == made
    do("stop")
    wait_for("its end", lambda: not of_file(scrape(server)["tidemark_live_allocated_bytes"], ODD))


def main():
    skip_unless_built()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(TRACE, folder)
        writer = subprocess.Popen([sys.argv[1], str(folder / ODD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def do(line):
            writer.stdin.write(line + "\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "ok\n"

        do("step 10")
        with Server(folder) as server:
            live(server, do)
            runs(server)
        writer.kill()
        writer.wait()
        with Server(folder, token=True) as server:
            assert server.ask("/metrics")[0] == 401
            assert server.ask("/metrics", headers={"Authorization": f"Bearer {server.token}"})[0] == 200


main()
