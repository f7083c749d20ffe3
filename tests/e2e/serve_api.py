# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The dashboard's API: every answer matches docs/openapi.json, figures are those of the commands, nothing is made up, and clients
without access get no answer."""
import gzip
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

from serving import SOURCE, TIDEMARK, Server, faults, skip_unless_built, wait_for

DOC = json.loads((SOURCE / "docs" / "openapi.json").read_text())
DATA = SOURCE / "tests" / "data"
SNAPSHOT = sorted((DATA / "torchsnap").glob("*.pickle*"))[0]
asked = set()


def tidemark(*args):
    return json.loads(subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, check=True).stdout)


def check(server, path, query="", status=200, **names):
    """Sends a request and checks the answer against the document."""
    operation = DOC["paths"][path]["get"]
    response = operation["responses"][str(status)]
    if "$ref" in response:
        response = DOC["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    allowed = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
    given = {q.split("=")[0] for q in query.split("&") if q}
    assert status == 400 or given <= allowed, f"{path}: {given - allowed} is not documented"
    value = server.json(path.format(**names) + ("?" + query if query else ""), status)
    found = faults(DOC, response["content"]["application/json"]["schema"], value)
    assert not found, f"{path}?{query}: " + "; ".join(found[:5])
    if path.startswith("/api/profiler/") and status == 200 and not value["has_real_data"]:
        assert value.get("message"), f"{path}?{query}: no data and no reason"
    asked.add(path)
    return value


def every_answer(server, rid):
    q = f"recording={rid}"
    for kind in ("cpu", "gpu", "memory"):
        check(server, "/api/profiler/flame", f"{q}&kind={kind}")
    check(server, "/api/profiler/flame", f"{q}&min_duration_us=10.5&max_depth=3&small_kernel_threshold_pct=1&merge=1")
    for name in ("memory", "timeline", "kernels", "hta", "compile", "torch", "bottlenecks", "optimization-score"):
        check(server, f"/api/profiler/{name}", q)
        check(server, f"/api/profiler/{name}")
    check(server, "/api/profiler/timeline", f"{q}&limit=5&min_duration_us=2&from=1000&to=5000000")
    check(server, "/api/recordings/{id}", id=rid)
    check(server, "/api/recordings/{id}/alive", id=rid)
    check(server, "/api/recordings/{id}/alive", "at=1000&limit=3", id=rid)
    spans = check(server, "/api/recordings/{id}/spans", "px=37", id=rid)
    for track in spans["tracks"]:
        assert all(len(row) <= 2 * 37 + 1 for row in track["rows"])
    if spans["spans"]:
        whole = [p for t in spans["tracks"] for row in t["rows"] for p in row]
        assert sum(p["count"] for p in whole) == spans["spans"], "every span is in a piece"
        one = check(server, "/api/recordings/{id}/span", f"n={whole[0]['n']}", id=rid)
        found = check(server, "/api/recordings/{id}/search", "q=" + one["span"]["name"][:3].replace(" ", "%20"), id=rid)
        assert found["total"] >= 1
        starts = [s["t0_ns"] for s in found["spans"]]
        assert starts == sorted(starts)
        areas(server, rid, spans, found)
    check(server, "/api/recordings/{id}/curve", "px=64", id=rid)
    check(server, "/api/recordings/{id}/curve", "from=10&to=2000&px=64", id=rid)
    for section in ("main", "tables", "spans", "memory", "flame"):
        status, headers, data = server.ask(f"/data/{rid}/{section}")
        assert status == 200 and headers["Content-Type"] == "application/octet-stream"
        raw = gzip.decompress(data)
        n_list, n_json = struct.unpack("<II", raw[:8])
        columns = json.loads(raw[8:8 + n_list])
        json.loads(raw[8 + n_list:8 + n_list + n_json])
        assert 8 + n_list + n_json + sum(c["bytes"] for c in columns) == len(raw)
    asked.update({"/data/{id}/{section}"})


def section(server, path):
    """Its JSON value and columns as bytes."""
    status, headers, data = server.ask(path)
    assert status == 200 and headers["Content-Type"] == "application/octet-stream", (path, status)
    raw = gzip.decompress(data)
    n_list, n_json = struct.unpack("<II", raw[:8])
    columns, at = {}, 8 + n_list + n_json
    for c in json.loads(raw[8:8 + n_list]):
        columns[c["name"]] = raw[at:at + c["bytes"]]
        at += c["bytes"]
    assert at == len(raw)
    return json.loads(raw[8 + n_list:8 + n_list + n_json]), columns


def areas(server, rid, spans, found):
    """Sums over an area, and matches one by one."""
    end = spans["to_ns"]
    whole = check(server, "/api/recordings/{id}/sums", "limit=20000", id=rid)
    assert whole["spans"] == sum(s["count"] for s in whole["sums"]) <= spans["spans"]
    assert whole["self_ns"] == sum(s["self_ns"] for s in whole["sums"])
    assert whole["names"] == len(whole["sums"])
    covered = sum(p["busy_ns"] for t in spans["tracks"] for p in t["rows"][0])
    if not spans["cut"]:
        assert whole["self_ns"] == covered, "the selfs are the time covered by the outermost"
    n = len(spans["tracks"])
    each = [check(server, "/api/recordings/{id}/sums", f"tracks={t}&limit=20000", id=rid)["spans"] for t in range(n)]
    assert sum(each) == whole["spans"]
    assert check(server, "/api/recordings/{id}/sums", f"tracks=0-{n - 1}&limit=1", id=rid)["spans"] == whole["spans"]
    halves = [check(server, "/api/recordings/{id}/sums", q, id=rid)["self_ns"] for q in (f"to={end // 2}", f"from={end // 2}")]
    assert sum(halves) == whole["self_ns"]
    q = "q=" + found["q"].replace(" ", "%20")
    for k in {0, found["total"] // 2, found["total"] - 1}:
        one = check(server, "/api/recordings/{id}/search", f"{q}&limit=1&skip={k}", id=rid)
        assert one["before"] == k and len(one["spans"]) == 1
        if k < len(found["spans"]):
            assert one["spans"][0] == found["spans"][k]
    s = one["spans"][0]
    if "%" not in s["name"] and "&" not in s["name"] and s["name"].isascii() and " " not in s["name"]:
        again = check(server, "/api/recordings/{id}/span", f"name={s['name']}&from={s['t0_ns']}&to={s['t1_ns']}", id=rid)
        assert again["span"]["name"] == s["name"] and again["span"]["t0_ns"] <= s["t0_ns"]
    for query in ("tracks=x", f"tracks={n}", "tracks=1-0", "tracks=0.", "tracks=-1", "tracks=0-", "limit=0", "from=9&to=9"):
        check(server, "/api/recordings/{id}/sums", query, 400, id=rid)


def places(folder):
    """Host events say where they are in the source, if the trace does."""
    path = folder / "places.json"
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 50}
    names = ["a b/train.py(12): step", "nn/module.py(): f", "x(12", "(5): f", "<built-in method f>", "t.py(99999999999999): f"]
    path.write_text(json.dumps({"traceEvents": [event | {"cat": "python_function", "name": n, "ts": 100 * i} for i, n in enumerate(names)]
                                + [event | {"cat": "cpu_op", "name": "op.py(3): x", "ts": 1000}]}))
    with Server(path) as s:
        got = {e["name"]: (e["file"], e["line"]) for e in check(s, "/api/profiler/timeline", "min_duration_us=0")["cpu"]}
    assert got == {n: ("a b/train.py", 12) if n == names[0] else (None, None) for n in [*names, "op.py(3): x"]}, got


def links(server, rid):
    """From a launch to its kernel and back."""
    found = check(server, "/api/recordings/{id}/search", "q=cudaLaunchKernel&limit=50", id=rid)
    for s in found["spans"]:
        d = check(server, "/api/recordings/{id}/span", f"n={s['n']}", id=rid)
        started = [k["span"] for k in d["links"] if k["kind"] == "launch" and k["starts"]]
        if not started:
            continue
        back = check(server, "/api/recordings/{id}/span", f"n={started[0]['n']}", id=rid)
        assert {k: v for k, v in back["cause"].items() if k != "parents"} == s
        assert back["cause"]["parents"] == d["parents"] and back["allocated_bytes"] is None
        assert [k["span"]["n"] for k in back["links"] if not k["starts"]] == [s["n"]]
        return
    raise AssertionError("no launch started anything")


def thinned(server, rid):
    """Fewer allocations, the same peaks; what is not right is refused."""
    whole, columns = section(server, f"/data/{rid}/memory")
    assert "left_out" not in whole
    for query in ("px=8", "px=1024", "px=8&from=1000&to=9000000", "px=8&at=5000000", "px=1&phases=1"):
        some, less = section(server, f"/data/{rid}/memory?{query}")
        assert some["left_out"] >= 0 and len(less["role"]) + some["left_out"] == len(columns["role"]), query
        assert ("phase_events" in some) == ("phases" in query)
    assert len(less["role"]) < len(columns["role"])
    for query in ("px=0", "px=9000", "px=8&from=9&to=9", "px=8&at=-1", "px=8&phases=2", "quick=2"):
        assert server.ask(f"/data/{rid}/memory?{query}")[0] == 400, query
    full, quick = (section(server, f"/data/{rid}/main{q}")[0] for q in ("", "?quick=1"))
    assert {k: v for k, v in full.items() if k != "findings"} == {k: v for k, v in quick.items() if k != "findings"}
    assert [f for f in full["findings"] if f in quick["findings"]] == quick["findings"] != full["findings"]


def critical(server, rid, trace):
    line = tidemark("critical-path", "--json", trace)
    for query in ("", "?all=1"):
        ours, columns = section(server, f"/data/{rid}/critical{query}")
        assert ours["found"] is True and ours["path_ns"] == line["path_ns"] and columns["t0"]
    assert server.ask(f"/data/{rid}/critical?all=2")[0] == 400


def pair(server, a, b, files):
    line = tidemark("diff", "--json", *files)
    page, _ = section(server, f"/pair/{a}/{b}/page")
    assert page["kind"] == "diff" and [t["file"] for t in page["traces"]] == [f.name for f in files]
    diff, _ = section(server, f"/pair/{a}/{b}/diff")
    assert {k: v["delta"] for k, v in diff["metrics"].items()} == {k: v["delta"] for k, v in line["metrics"].items()}
    _, columns = section(server, f"/pair/{a}/{b}/diffflame")
    assert columns
    for target in (f"/pair/{a}/{b}/nothing", f"/pair/{a}/0000000000000000/diff", f"/pair/{a}/{b}"):
        server.json(target, 404)
    asked.add("/pair/{a}/{b}/{section}")


# Options of reports that the test asks for; the document lists the reports.
WORDS = {"peak": ["--group-by", "role"], "kernels": ["--by", "type"], "flame": ["--kind", "memory"], "whatif": ["--capacity", "40GiB"], "ops": ["--depth", "2"], "fit": ["--budget", "1GiB"]}
REPORTS = [p.rsplit("/", 1)[1] for p in DOC["paths"] if p.startswith("/api/recordings/{id}/reports/")]


def reports(server, rid, trace):
    """Every report is the document that the command prints; the page's data have its figures."""
    for name in REPORTS:
        words = WORDS.get(name, [])
        done = subprocess.run([TIDEMARK, name, "--json", *words, str(trace)], capture_output=True, text=True, check=False)
        query = "&".join(f"{k[2:].replace('-', '_')}={v}" for k, v in zip(words[::2], words[1::2]))
        if done.returncode:
            assert server.ask(f"/api/recordings/{rid}/reports/{name}?{query}")[0] in (400, 404, 422), (name, done.stderr)
            asked.add(f"/api/recordings/{{id}}/reports/{name}")
            continue
        line, ours = json.loads(done.stdout), check(server, f"/api/recordings/{{id}}/reports/{name}", query, id=rid)
        for key in ("model_bytes", "tables") if name == "info" else ():
            line.pop(key), ours.pop(key)  # the server holds more of the trace
        assert line == ours, (name, *(k for k in line if line[k] != ours.get(k)))
    peak, main = tidemark("peak", "--json", trace), section(server, f"/data/{rid}/main")[0]
    assert main["devices"][main["device"]]["peak"] == peak["peak_bytes"]
    for by, key in ("role", "role"), ("op", "op"), ("module", "module"):
        groups = tidemark("peak", "--json", "--group-by", by, trace)["groups"]
        page = [(b, n) for _, b, n in main["peak_groups"][key]]
        if by == "role":
            assert [(g["bytes"], g["count"]) for g in groups][:len(page)] == page, by
        for b, n in page:  # a row may join layers of one name: JSON has whole paths
            assert sum(g["bytes"] for g in groups if g["bytes"] <= b) >= b and sum(g["count"] for g in groups) >= n, (by, b, n)
        assert sum(b for b, _ in page) <= peak["peak_bytes"], by
    for name, query in ("nothing", ""), ("peak", "group_by=x"), ("peak", "top=x"), ("peak", "limit=1"):
        assert server.ask(f"/api/recordings/{rid}/reports/{name}?{query}")[0] in (400, 404), (name, query)


def figures(server, rid, trace):
    """The same numbers as on the command line."""
    reports(server, rid, trace)
    q = f"recording={rid}"
    line, ours = tidemark("timeline", "--json", trace)["summary"], check(server, "/api/profiler/timeline", q)["summary"]
    assert line == ours
    line = tidemark("hta", "--json", trace)
    assert line["temporal_breakdown"] == check(server, "/api/profiler/hta", q)["temporal_breakdown"]
    ours = check(server, "/api/profiler/kernels", q + "&limit=10000")
    assert [(k["name"], k["sum_ns"], k["count"]) for k in line["kernels"]] == \
        [(k["name"], k["time_ns"], k["count"]) for k in ours["kernels"]]
    line = tidemark("memory", "--json", "--buckets", "500", trace)["devices"]
    ours = check(server, "/api/profiler/memory", q)
    mine = next(d for d in line if d["device"] == ours["device"])
    assert mine["totals"]["peak_bytes"] == ours["summary"]["peak_allocated_bytes"]
    assert mine["live_series_bytes"] == [p["allocated_bytes"] for p in ours["timeline"]]
    line, ours = tidemark("peak", "--json", trace), check(server, "/api/recordings/{id}/alive", "limit=100000", id=rid)
    assert (line["peak_bytes"], line["alive_count"]) == (ours["alive_bytes"], ours["alive_count"])
    assert sum(a["bytes"] for a in ours["allocations"]) == ours["alive_bytes"]
    curve = check(server, "/api/recordings/{id}/curve", "px=1", id=rid)
    assert curve["live_bytes"] == [line["peak_bytes"]], "no peak is lost at any zoom"
    flame = tidemark("flame", "--json", "--kind", "gpu", trace)
    ours = check(server, "/api/profiler/flame", q + "&kind=gpu&min_duration_us=0")
    assert (flame["value_ns"], len(flame["children"])) == (ours["value_ns"], len(ours["children"]))


def advice(server, rid, snapshot):
    """The page's findings about memory equal those of `tidemark allocator`, including tried settings."""
    ours, line = section(server, f"/data/{rid}/main")[0], tidemark("allocator", "--json", snapshot)
    assert [f["text"] for f in ours["findings"] if f["view"] == "memory" and "oom" not in f] == [a["text"] for a in line["advice"]] != []
    assert not ours["untried"]


def wrong(server, rid):
    for path, query in (("/api/profiler/flame", "kind=none"), ("/api/profiler/flame", "max_depth=0"),
                        ("/api/profiler/flame", "no_such=1"), ("/api/profiler/memory", "points=1e3"),
                        ("/api/profiler/memory", "device=cuda:99"), ("/api/profiler/memory", "points=1&points=2"),
                        ("/api/profiler/kernels", "limit=99999999999999999999"), ("/api/profiler/kernels", "limit=%"),
                        ("/api/profiler/kernels", "limit=%00"), ("/api/profiler/kernels", "limit=" + "1" * 600)):
        check(server, path, query, 400)
    for query in ("from=5&to=5", "px=0", "px=8193", "from=-1", "to=x"):
        check(server, "/api/recordings/{id}/spans", query, 400, id=rid)
    check(server, "/api/recordings/{id}/search", "", 400, id=rid)
    check(server, "/api/recordings/{id}/span", "n=99999999", 404, id=rid)
    check(server, "/api/diff", f"a={rid}", 400)
    check(server, "/api/diff", f"a={rid}&b=0000000000000000", 404)
    for target in ("/api/recordings/0000000000000000/alive", "/nothing", "/api", "/data/x/y", f"/data/{rid}/nothing",
                   "/api/profiler/flame?recording=../../etc/passwd", "/r", "/api/profiler/flame/x"):
        server.json(target, 404)
    for target in ("/../../../../etc/passwd", "/data/../../etc/passwd", f"/data/{rid}/..%2f..%2fetc", "/%2e%2e/",
                   "//etc/passwd", "/data/%00/x", "/" + "a/" * 20, "/" + "a" * 5000):
        status, _, data = server.ask(target)
        assert status in (400, 404, 414) and b"root:" not in data, (target, status)


def strangers(server):
    port = server.port
    for host, status in ((f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200), ("localhost", 200),
                         (f"[::1]:{port}", 200), ("192.168.1.7:8000", 200), ("evil.example", 403),
                         (f"evil.example:{port}", 403), ("127.0.0.1.evil.example", 403), ("", 403),
                         ("localhost:x", 403), ("[::1", 403), ("localhost@evil.example", 403)):
        assert server.ask("/api/recordings", headers={"Host": host})[0] == status, host
    here = f"127.0.0.1:{port}"
    for origin, status in ((f"http://{here}", 200), ("http://evil.example", 403), ("null", 403),
                           (f"http://{here}.evil.example", 403), ("http://localhost:1", 403), ("file://", 403)):
        assert server.ask("/api/recordings", headers={"Origin": origin})[0] == status, origin
    for site, mode, status in (("same-origin", "cors", 200), ("none", "navigate", 200), ("cross-site", "no-cors", 403),
                               ("same-site", "cors", 403), ("cross-site", "navigate", 200)):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        assert server.ask("/api/recordings", headers=headers)[0] == status, (site, mode)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
        status, headers, _ = server.ask("/api/recordings", method)
        assert status == 405 and headers["Allow"] == "GET, HEAD", method
    assert server.ask("/api/recordings", "GET", body=b"x" * 100)[0] == 400
    status, headers, data = server.ask("/api/recordings", "HEAD")
    assert status == 200 and not data and int(headers["Content-Length"]) > 10
    for target in ("/api/recordings", "/", "/nothing", "/api/profiler/hta"):
        _, headers, _ = server.ask(target)
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers and "Server" not in headers


def the_users_token(folder):
    """Without options: another user of this machine is not answered; the token is this user's, in a file of its own, and stays."""
    state = folder / "state"
    with Server(DATA, token=True, state=str(state)) as s:
        file = state / "tidemark" / "serve-token"
        first = s.token
        assert first and file.read_text().strip() == first
        assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
        for path in "/", "/api/recordings", "/api/events":
            assert s.ask(path)[0] == 401, path
        s.json("/api/recordings", headers={"Authorization": f"Bearer {s.token}"})
        assert s.ask(f"/?token={s.token}")[0] == 303
    with Server(DATA, token=True, state=str(state)) as s:
        assert s.token == first, "kept over a restart"
    file.chmod(0o644)
    for why in "others can read", "not a token", "cannot read the token":
        bad = subprocess.run([TIDEMARK, "serve", DATA, "--port", "0"], capture_output=True, text=True, timeout=300, env={**os.environ, "XDG_STATE_HOME": str(state)})
        assert bad.returncode == 1 and why in bad.stderr and str(file) in bad.stderr, bad.stderr
        if why == "others can read":
            file.write_text("short")
            file.chmod(0o600)
        else:
            file.unlink()
            file.symlink_to("/etc/hostname")
    with Server(DATA, token=True, state="/proc/none") as s:  # nowhere to keep it: one for this run
        assert len(s.token) == 32 and s.ask("/")[0] == 401
    for args, why in (["--no-token", "--bind", "0.0.0.0"], "--no-token is for"), (["--no-token", "--token", "x" * 20], "exclude"):
        bad = subprocess.run([TIDEMARK, "serve", "--port", "0", *args], capture_output=True, text=True, timeout=300)
        assert bad.returncode == 2 and why in bad.stderr, bad.stderr


def tokens():
    with Server(DATA, "--bind", "0.0.0.0") as s:
        assert s.token and len(s.token) == 32
        assert s.json("/api/recordings", 401)["has_real_data"] is False
        assert s.ask("/")[0] == 401
        assert s.ask("/?token=" + "0" * 32)[0] == 401
        assert s.ask("/api/recordings", headers={"Authorization": "Bearer " + s.token[:-1]})[0] == 401
        s.json("/api/recordings", headers={"Authorization": f"Bearer {s.token}"})
        status, headers, _ = s.ask(f"/?token={s.token}")
        assert status == 303 and headers["Location"] == "/"
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        s.json("/api/recordings", headers={"Cookie": "a=b; " + cookie.split(";")[0]})
        assert s.ask("/api/recordings", headers={"Cookie": cookie.split("=")[0] + "="})[0] == 401
    bad = subprocess.run([TIDEMARK, "serve", "--token", "short"], capture_output=True, text=True)
    assert bad.returncode == 2 and "--token needs" in bad.stderr
    with Server(DATA, "--token", "a-token-of-ours-1") as s:
        s.json("/api/recordings", 401)
        s.json("/api/recordings", headers={"Authorization": "Bearer a-token-of-ours-1"})


def taken_port(server):
    p = subprocess.run([TIDEMARK, "serve", "--port", str(server.port)], capture_output=True, text=True)
    assert p.returncode == 1 and p.stderr.count("\n") == 1 and "is taken" in p.stderr, p.stderr


def nothing_to_serve(folder):
    with Server(folder) as s:
        assert check(s, "/api/recordings")["has_real_data"] is False
        assert check(s, "/api/runs")["runs"] == []
        for name in ("flame", "memory", "timeline", "kernels", "hta", "compile", "torch", "bottlenecks", "optimization-score"):
            v = check(s, f"/api/profiler/{name}")
            assert v["has_real_data"] is False and v["message"]
            numbers = [x for k, x in v.items() if isinstance(x, (int, float)) and not isinstance(x, bool)]
            assert not numbers, f"{name} invents {numbers}"


def links_lead_nowhere(folder):
    """A file in a folder may be a link that stays inside it; a file given as an argument may be any link."""
    here, there = folder / "here", folder / "there"
    (here / "below").mkdir(parents=True)
    there.mkdir()
    for path in (here / "below" / "in.json.gz", there / "out.json.gz"):
        path.write_bytes((DATA / "kineto_compiled_infer.json.gz").read_bytes())
    (here / "link.json.gz").symlink_to(there / "out.json.gz")
    (here / "inner.json.gz").symlink_to(here / "below" / "in.json.gz")
    (here / "passwd.json").symlink_to("/etc/passwd")
    (here / "way").symlink_to(there)
    with Server(here, says=f"tidemark serve: {here}: 2 files are not served: links that lead out of the folder (--follow-links serves them)\n") as s:
        paths = {r["path"] for r in s.json("/api/recordings")["recordings"]}
        assert paths and all(p.startswith(str(here.resolve())) for p in paths), paths
    with Server(here, "--follow-links") as s:  # the same files as `hta DIR` reads
        paths = {r["path"] for r in s.json("/api/recordings")["recordings"]}
        assert str((there / "out.json.gz").resolve()) in paths and str((here / "below" / "in.json.gz").resolve()) in paths, paths
    read = json.loads(subprocess.run([TIDEMARK, "hta", here, "--json"], capture_output=True, text=True, timeout=300).stdout)
    assert sorted(os.path.realpath(here / r["trace"]) for r in read["ranks"]) == sorted(p for p in paths if p.endswith(".gz")), (read["ranks"], paths)
    with Server(here / "link.json.gz") as s:
        paths = {r["path"] for r in s.json("/api/recordings")["recordings"]}
        assert paths == {str((there / "out.json.gz").resolve())}, paths


def torn(folder):
    """A file is truncated, replaced by garbage, or removed while it is served: the loaded data stay, then the error is reported."""
    path = folder / "t.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    path.write_text(json.dumps({"traceEvents": [event] * 1000}))
    with Server(folder) as s:
        rid = s.json("/api/recordings")["recordings"][0]["id"]
        assert check(s, "/api/recordings/{id}/search", "q=first", id=rid)["total"] == 1000
        text = path.read_text()
        path.write_text(text[:len(text) // 2])
        wait_for("a cut file", lambda: check(s, "/api/recordings/{id}/search", "q=first", id=rid)["total"] < 600)
        path.write_bytes(b"\0" * 4096)
        wait_for("the garbage", lambda: s.json(f"/api/recordings/{rid}")["size_bytes"] == 4096)
        check(s, "/api/recordings/{id}/search", "q=first", id=rid)
        path.unlink()
        wait_for("a file gone", lambda: s.ask(f"/api/recordings/{rid}/sums")[0] == 404)


def files_change(folder):
    """Files appear, change, are not recordings, and disappear."""
    path = folder / "a.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    with Server(folder) as s:
        path.write_text(json.dumps({"traceEvents": [event]}))
        listed = wait_for("a new file", lambda: s.json("/api/recordings")["recordings"])
        rid = listed[0]["id"]
        wait_for("the whole file", lambda: s.ask(f"/api/recordings/{rid}/search?q=first")[0] == 200)  # the first look may be in the middle of its writing
        assert check(s, "/api/recordings/{id}/search", "q=first", id=rid)["total"] == 1
        path.write_text(json.dumps({"traceEvents": [event | {"name": "second"}]}))
        wait_for("a changed file", lambda: check(s, "/api/recordings/{id}/search", "q=second", id=rid)["total"])
        (folder / "broken.json").write_text("{broken")
        wait_for("two files", lambda: len(s.json("/api/recordings")["recordings"]) == 2)
        broken = next(r["id"] for r in s.json("/api/recordings")["recordings"] if r["name"] == "broken.json")
        check(s, "/api/recordings/{id}/alive", "", 422, id=broken)
        assert check(s, "/api/recordings/{id}", id=broken)["state"] == "failed"
        assert check(s, "/api/profiler/timeline")["trace_file"] == "a.json", "what cannot be read is passed over"
        path.unlink()
        wait_for("a file gone", lambda: s.ask(f"/api/recordings/{rid}")[0] == 404)


def run_trace(path, start_us, peak, step_us, device="Some GPU", args_="--lr 1"):
    """Two steps of train.py that allocate `peak` bytes on a device."""
    memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "s": "t"}
    args = {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Total Reserved": peak}
    events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": f"python3 /home/ml/train.py {args_}"}}]
    events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 7, "tid": 7, "ts": start_us + i * step_us, "dur": step_us} for i in (0, 1)]
    events.append(memory | {"ts": start_us + 5, "args": args | {"Bytes": peak, "Total Allocated": peak}})
    events.append(memory | {"ts": start_us + 50, "args": args | {"Bytes": -peak, "Total Allocated": 0}})
    path.write_text(json.dumps({"traceEvents": events, "deviceProperties": [{"id": 0, "name": device, "totalGlobalMem": 1 << 34}]}))


def runs(folder):
    """The table of runs: figures of each, compared with the previous run; tags and notes survive a restart of the server."""
    mib = 1 << 20
    for i, (peak, step) in enumerate([(100, 1000), (102, 1000), (120, 1300)]):
        run_trace(folder / f"r{i}.json", 1_700_000_000_000_000 + i * 1_000_000, peak * mib, step)
    (folder / "bad.json").write_text("{bad")
    (folder / "config.json").write_text('{"model_type": "gpt2"}\n')  # another program's: neither a recording nor a damaged one
    (folder / "vocab.json").write_text('["a", "b"]')
    with Server(folder) as s:
        ready = lambda: (lambda v: v if not v["pending"] else None)(check(s, "/api/runs"))
        v = wait_for("the index", ready)
        rows = {r["name"]: r for r in v["runs"]}
        assert v["other_files"] == 2 and not rows.keys() & {"config.json", "vocab.json"}, v
        assert [r["name"] for r in v["runs"] if r["program"]] == ["r2.json", "r1.json", "r0.json"], "newest first"
        last = rows["r2.json"]
        assert (last["program"], last["device"], last["peak_bytes"], last["step_ns"]) == ("train.py", "Some GPU", 120 * mib, 1_300_000), last
        assert last["before"] == rows["r1.json"]["id"] and last["peak_change_pct"] == 17.65 and last["step_change_pct"] == 30.0
        assert [rows[f"r{i}.json"]["regression"] for i in range(3)] == [False, False, True]
        assert len(last["spark"]) == 48 and rows["bad.json"]["unreadable"] and rows["bad.json"]["peak_bytes"] is None
        g = v["groups"]
        assert [(x["program"], x["count"], x["regressions"]) for x in g] == [(None, 1, 0), ("train.py", 3, 1)], g  # bad.json is the newest file
        assert g[0]["trend"] == [], "runs of unknown programs have nothing in common"
        assert g[1]["latest"] == last["id"] and g[1]["peak_bytes"] == 120 * mib and g[1]["step_change_pct"] == 30.0 and g[1]["latest_ns"] == last["start_ns"]
        assert [(t["peak_bytes"] // mib, t["step_ns"], t["peak_regression"], t["step_regression"]) for t in g[1]["trend"]] == [
            (100, 1_000_000, False, False), (102, 1_000_000, False, False), (120, 1_300_000, True, True)]
        only = check(s, "/api/runs", "fail_if=peak%3E%2B5%25")["groups"][1]["trend"][2]
        assert (only["peak_regression"], only["step_regression"]) == (True, False), "a mark is of its own figure"
        assert [r["name"] for r in check(s, "/api/runs", "program=train.py&limit=2")["runs"]] == ["r2.json", "r1.json"]
        assert [r["name"] for r in check(s, "/api/runs", "program=")["runs"]] == ["bad.json"]
        assert check(s, "/api/runs", "program=no%20such")["runs"] == []
        limited = check(s, "/api/runs", "limit=2")
        assert (len(limited["runs"]), limited["count"]) == (2, 4)
        assert (v["fail_if"], last["failed"]) == (["peak>+5%", "step_time>+5%"],) * 2, (v["fail_if"], last["failed"])
        assert not any(r["regression"] for r in check(s, "/api/runs", "fail_if=peak%3E%2B20%25,step_time%3E%2B40%25")["runs"])
        rows = {r["name"]: r["failed"] for r in check(s, "/api/runs", "fail_if=peak%3E+1MiB,step_time%3E1.2ms,time%3C0ms")["runs"]}  # '+' is a blank in an address
        assert (rows["r2.json"], rows["r1.json"], rows["r0.json"]) == (["peak>+1MiB", "step_time>1.2ms"], ["peak>+1MiB"], []), rows
        for wrong in ("peek%3E%2B5%25", "gpu_time%3E%2B5%25", "count(a)%3E%2B5", "peak%3E5%25", "peak"):
            assert s.ask(f"/api/runs?fail_if={wrong}")[0] == 400, wrong
        cut = folder / "cut.json"  # of a run between r1 and r2 the end is missing: its figures are lower bounds
        run_trace(cut, 1_700_000_001_500_000, 10 * mib, 100)
        whole = cut.read_text()
        devices = whole[whole.index('"deviceProperties"'):-1]
        cut.write_text("{" + devices + ", " + whole[1:whole.index(', "deviceProperties"') - 40])
        # its whole text was there before, and may be indexed first
        rows = wait_for("the truncated run", lambda: (lambda r: r if r.get("cut.json", {}).get("partial") else None)({r["name"]: r for r in s.json("/api/runs")["runs"]}))
        part = rows["cut.json"]
        assert (part["partial"], part["peak_bytes"], part["before"], part["peak_change_pct"], part["regression"]) == (True, 10 * mib, None, None, False), part
        assert rows["r2.json"]["before"] == rows["r1.json"]["id"] and not rows["r2.json"]["partial"], "no run is compared with a part of one"
        run_trace(cut, 1_700_000_003_000_000, 10 * mib, 100, "Other GPU")  # the newest one: its trend has no run of another device
        groups = wait_for("another device", lambda: (lambda g: g if [x["peak_bytes"] for x in g] == [None, 10 * mib] else None)(s.json("/api/runs")["groups"]))
        assert groups[1]["count"] == 4 and [t["peak_bytes"] for t in groups[1]["trend"]] == [10 * mib], groups[1]
        cut.unlink()
        wait_for("the file gone", lambda: "cut.json" not in {r["name"] for r in s.json("/api/runs")["runs"]})
        plain, wrap = s.json("/api/profiler/hta"), s.json("/api/profiler/hta?wrap=1")
        assert wrap["result"] == plain and (wrap["tool"], wrap["status"], wrap["success"], wrap["arguments"]) == ("profiler.hta", "ok", True, {}), wrap
        assert wrap["duration_ms"] >= 0 and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", wrap["timestamp"]) and "error" not in wrap
        status, _, body = s.ask("/api/profile/flame?wrap=1&recording=0123456789abcdef")
        wrap = json.loads(body)
        assert (status, wrap["success"], wrap["status"], wrap["result"], wrap["arguments"]) == (404, False, "error", None, {"recording": "0123456789abcdef"}), wrap
        assert wrap["error"] and wrap["error_type"], wrap
        assert s.ask(f"/api/runs/{last['id']}/note?tags=x")[0] == 400, "only a POST writes"
        answer = s.ask(f"/api/runs/{last['id']}/note?tags=slow,fp8&note=a%20note", method="POST")
        assert answer[0] == 200 and json.loads(answer[2])["kept"] is True, answer
        assert s.ask("/api/runs/0123456789abcdef/note?tags=x", method="POST")[0] == 404
        assert s.ask(f"/api/runs/{last['id']}/note?tags=" + "x" * 300, method="POST")[0] == 400
        assert s.ask(f"/api/runs/{last['id']}/note?tags=y", headers={"Origin": "http://elsewhere.example"}, method="POST")[0] == 403
        assert s.json("/api/profile/hta") == s.json("/api/profiler/hta"), "the other name"
    with Server(folder) as s:
        tagged = lambda: next((r for r in check(s, "/api/runs")["runs"] if r["name"] == "r2.json" and r["tags"]), None)
        last = wait_for("what was kept", tagged)  # the file is opened beside the first answers
        assert (last["tags"], last["note"]) == (["slow", "fp8"], "a note")
        assert last["indexed"], "figures are kept with the file's identity"
    with Server(folder) as s, Server(folder) as other:  # two servers of one folder keep each other's words
        for one, words in ((s, "tags=theirs"), (other, "note=ours")):
            wait_for("the index", lambda: not one.json("/api/runs")["pending"])
            assert json.loads(one.ask(f"/api/runs/{last['id']}/note?{words}", method="POST")[2])["kept"] is True
    with Server(folder) as s:
        last = wait_for("both", lambda: next((r for r in check(s, "/api/runs")["runs"] if r["name"] == "r2.json" and r["tags"]), None))
        assert (last["tags"], last["note"]) == (["theirs"], "ours"), last
    asked.add("/api/runs/{id}/note")
    foreign_notes(folder)


def arguments(folder):
    """Only runs with equal arguments are compared; the name of the recording in them does not count, the end of long ones does."""
    mib = 1 << 20
    folder.mkdir()
    long = " ".join(f"--option{i} value" for i in range(40))
    ways = ["--batch 1 -o x/a0.json", "--batch 9 -o x/a1.json", "--batch 1 -o y/a2.json", f"{long} 1", f"{long} 2", f"{long} 1"]
    for i, words in enumerate(ways):
        run_trace(folder / f"a{i}.json", 1_700_000_000_000_000 + i * 1_000_000, (100 + 50 * i) * mib, 1000, args_=words)
    with Server(folder) as s:
        v = wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(check(s, "/api/runs")))
        rows = {r["name"]: r for r in v["runs"]}
        before = {n: next((b["name"] for b in rows.values() if b["id"] == r["before"]), None) for n, r in rows.items()}
        assert before == {"a0.json": None, "a1.json": None, "a2.json": "a0.json", "a3.json": None, "a4.json": None, "a5.json": "a3.json"}, before
        assert [rows[f"a{i}.json"]["regression"] for i in range(6)] == [False, False, True, False, False, True]
        assert rows["a0.json"]["arguments"] == "--batch 1 -o" and rows["a1.json"]["arguments"] == "--batch 9 -o"
        texts = [rows[f"a{i}.json"]["arguments"] for i in (3, 4, 5)]
        assert texts[0] == texts[2] != texts[1] and all(t.startswith(long[:200]) and len(t) < 256 for t in texts), texts
        assert [t["id"] for t in v["groups"][0]["trend"]] == [rows["a3.json"]["id"], rows["a5.json"]["id"]]


def foreign_notes(folder):
    """A link or a folder in the place of the file of tags stays as it is; the answer says what it is. (Files: serve_store.py.)"""
    notes, other = folder / ".tidemark-runs.sqlite", folder / "secret.txt"
    other.write_text("secret")
    for what, make in (("a link", lambda: notes.symlink_to(other)), ("a folder", notes.mkdir)):
        for old in (notes, folder / ".tidemark-runs.sqlite-journal"):
            old.unlink(missing_ok=True) if not old.is_dir() else old.rmdir()
        make()
        with Server(folder) as s:
            v = wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(s.json("/api/runs")))
            assert v["notes_file"] is None and any(r["peak_bytes"] for r in v["runs"]), what
            answer = json.loads(s.ask(f"/api/runs/{v['runs'][0]['id']}/note?tags=mine", method="POST")[2])
            assert not answer["kept"] and what in answer["message"], answer
            assert s.json("/api/runs")["runs"][0]["tags"] == ["mine"], "until the server ends"
    assert other.read_text() == "secret"
    notes.rmdir()
    other.unlink()


def sessions_are_one_row(folder):
    """A session's recording, its Chrome trace and its snapshot are one run; others that are named alike are not."""
    folder.mkdir()
    subprocess.run([TIDEMARK, "run", "--heap", "-o", folder / "s_1.tide", "--", "true"], check=True, capture_output=True)
    subprocess.run([TIDEMARK, "export", folder / "s_1.tide", "--to", "chrome", "-o", folder / "s_1.json"], check=True, capture_output=True)
    (folder / "s_1_memory.pickle").write_bytes(SNAPSHOT.read_bytes())
    (folder / "s_1_copy.json").write_bytes((folder / "s_1.json").read_bytes())
    (folder / "below").mkdir()
    (folder / "below" / "s_1.json").write_bytes((folder / "s_1.json").read_bytes())
    with Server(folder) as s:
        v = wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(check(s, "/api/runs")))
        rows = {r["path"][len(str(folder.resolve())) + 1:]: [e["name"] for e in r["exports"]] for r in v["runs"]}
        assert rows == {"s_1.tide": ["s_1.json", "s_1_memory.pickle"], "s_1_copy.json": [], "below/s_1.json": []}, rows
        assert v["count"] == 3 and sum(g["count"] for g in v["groups"]) == 3
        assert len(s.json("/api/recordings")["recordings"]) == 5, "each can still be opened"
        (folder / "s_1.tide").unlink()
        gone = wait_for("the exports alone", lambda: (lambda v: v if v["count"] == 4 else None)(s.json("/api/runs")))
        assert all(not r["exports"] for r in gone["runs"])


def compile_logs(folder):
    """Logs of TORCH_TRACE in a folder are recordings."""
    folder.mkdir()
    log = DATA / "torchtrace/job/dedicated_log_torch_trace_rank_0_a.log"
    (folder / log.name).write_bytes(log.read_bytes())
    (folder / "other.log").write_text("a log of something else")
    with Server(folder) as s:
        v = wait_for("the index", lambda: (lambda v: v if v["count"] and not v["pending"] else None)(check(s, "/api/runs")))
        assert [r["name"] for r in v["runs"]] == [log.name] and v["runs"][0]["compile_ns"] > 0, v["runs"]
        assert check(s, "/api/profiler/compile")["has_real_data"] is True


def compiled_run(path, calls_us):
    """A recording of calls of a compiled function, the first of which is left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    events, t = [], 100
    for us in (9000, *calls_us):
        events.append({"ph": "X", "cat": "user_annotation", "name": "torch.compile call", "pid": 1, "tid": 1, "ts": t, "dur": us})
        t += us + 10
    path.write_text(json.dumps({"traceEvents": events}))


def compile_modes(folder):
    """The log of a mode has its speedup and the other modes, from the recordings that `compile --compare --keep-log` wrote beside it."""
    log = DATA / "torchtrace/job/dedicated_log_torch_trace_rank_0_a.log"
    calls = {"eager": (400, 410, 390), "default": (200, 190, 210), "max-autotune": (100, 101, 99)}
    for mode, us in calls.items():
        compiled_run(folder / mode / "run.tide", us)
        (folder / mode / "log").mkdir()
    at = folder / "default/log" / log.name
    at.write_bytes(log.read_bytes())
    with Server(folder) as s:
        ids = {r["path"]: r["id"] for r in s.json("/api/recordings")["recordings"]}
        v = check(s, "/api/profiler/compile", f"recording={ids[str(at.resolve())]}")
        assert v["speedup"] == 2 and v["graph_breaks"] is not None, v["speedup"]
        assert [(b["mode"], b["speedup"], b["calls"]) for b in v["compile_benchmarks"]] == [("eager", 1, 3), ("default", 2, 3), ("max-autotune", 4, 3)], v["compile_benchmarks"]
        assert v["mode_comparison"]["max-autotune"]["call_time"]["median_ns"] == 100_000
        assert check(s, "/api/profiler/compile")["speedup"] == 2, "the newest that is a log"
        (folder / "eager/run.tide").unlink()
        wait_for("eager gone", lambda: check(s, "/api/profiler/compile")["speedup"] is None)


def newest_that_can(folder):
    """Routes without `recording=` take the newest recording that can answer, not merely the newest."""
    folder.mkdir()
    names = ["kineto_gpt_train.json.gz", "torchsnap/snapshot_gpt_train.pickle.gz", "torchtrace/job/dedicated_log_torch_trace_rank_0_a.log"]
    for i, name in enumerate(names):
        to = folder / pathlib.Path(name).name
        to.write_bytes((DATA / name).read_bytes())
        os.utime(to, (1_700_000_000 + i, 1_700_000_000 + i))
    trace, snapshot, log = (pathlib.Path(n).name for n in names)
    want = {"memory": snapshot, "hta": trace, "kernels": trace, "compile": log, "flame?kind=memory": snapshot, "flame?kind=gpu": trace}
    with Server(folder) as s:
        for _ in range(2):
            for name, file in want.items():
                path, _, query = name.partition("?")
                v = check(s, f"/api/profiler/{path}", query)
                assert v["has_real_data"] is True and v["trace_file"] == file, (name, v["trace_file"], v.get("message"))
    (folder / trace).unlink()
    (folder / snapshot).unlink()
    with Server(folder) as s:
        v = check(s, "/api/profiler/hta")
        assert v["has_real_data"] is False and v["trace_file"] == log and v["message"], "none can: the newest says why"


MIB = 1 << 20
REPORTED = {
    "hta": {"temporal_breakdown": {"gpu_idle_pct": 12.5, "compute_pct": 80.0, "communication_pct": 7.5, "memory_pct": None},
            "kernel_analysis": {"top_kernels": [{"name": "a\u0007\n<b>", "time_us": 10.125, "duration_us": 10.125, "count": 3, "pct": 75.5}], "launch_stats": {}},
            "memory": {"bandwidth_gbps": None}, "recommendations": ["use fewer"], "bottlenecks": ["idle"], "why": None},
    "compile": {"compilation": {"compile_time_ms": 1500.5, "backend": "inductor", "mode": "reduce-overhead"}, "fusion": {"ratio": 3.5, "kernels": 4},
                "graph_breaks": {"total": 2, "breaks": [{"reason": "print", "location": "a.py", "line_number": 3, "count": 2}]},
                "performance": {"eager_time_ms": 4.0, "compiled_time_ms": 2.0, "speedup": 2.0, "spread": {}},
                "memory": {"peak_mb": 10.0, "eager_peak_mb": 12.0, "savings_mb": 2.0}, "recommendations": ["a"], "error": None},
    "memory": {"timeline": [{"timestamp_ms": 0.5, "allocated_mb": 1.5, "reserved_mb": None, "peak_allocated_mb": 2.0, "breakdown": None},
                            {"timestamp_ms": 2.0, "allocated_mb": 0.25, "reserved_mb": 4.0, "peak_allocated_mb": 1.0, "breakdown": None}],
               "peak_analysis": {"peak_allocated_mb": 2.0, "device": "cuda:0"}, "markers": {}},
    "session": {"name": "s", "timing": {"total_ms": 5.0}, "kernels": []},
}


def exported(path, kind, when, document=None):
    """What tidemark.profiling exports; the name of the file says nothing."""
    path.write_text(json.dumps({"format": "tidemark-profiling", "report": kind} | (REPORTED[kind] if document is None else document), indent=2))
    os.utime(path, (when, when))


def exported_reports(folder):
    """Reports that tidemark.profiling exported are recordings of their own kind; the routes of their kind answer with their figures."""
    folder.mkdir()
    when = 1_700_000_000
    trace = folder / "kineto_gpt_train.json.gz"
    trace.write_bytes((DATA / trace.name).read_bytes())
    os.utime(trace, (when, when))
    for i, kind in enumerate(REPORTED):
        exported(folder / f"x{i}.json", kind, when + 1 + i)
    (folder / "config.json").write_text('{"report": "hta"}')
    with Server(folder) as s:
        def newest():
            v = {k: check(s, f"/api/profiler/{k}") for k in ("hta", "compile", "memory")}
            assert {k: x["trace_file"] for k, x in v.items()} == {"hta": "x0.json", "compile": "x1.json", "memory": "x2.json"}, v
            return v
        v = newest()
        assert v["hta"]["temporal_breakdown"] == {"compute_pct": 80, "idle_pct": 12.5, "gpu_idle_pct": 12.5, "communication_pct": 7.5, "memory_pct": None}
        assert v["hta"]["top_kernels"] == [{"name": "a\u0007\n<b>", "time_us": 10.125, "time_ns": 10125, "count": 3, "category": None, "pct": 75.5}], v["hta"]
        assert (v["hta"]["recommendations"], v["hta"]["bottlenecks"]) == (["use fewer"], ["idle"])
        c = v["compile"]
        assert (c["speedup"], c["compile_time_ms"], c["graph_breaks"], c["fusion_ratio"], c["recommendations"]) == (2, 1500.5, 2, 3.5, ["a"])
        assert c["mode_comparison"] == {"eager": {"time_ms": 4, "peak_mb": 12, "speedup": None}, "reduce-overhead": {"time_ms": 2, "peak_mb": 10, "speedup": 2}}
        assert [b["mode"] for b in c["compile_benchmarks"]] == ["eager", "reduce-overhead"] and c["graph_breaks_list"][0]["reason"] == "print"
        m = v["memory"]
        assert (m["peak_mb"], m["device"], m["summary"]) == (2, "cuda:0", None)
        assert [(p["time_ns"], p["allocated_bytes"], p["reserved_mb"], p["peak_mb"]) for p in m["timeline"]] == [(500_000, 3 * MIB // 2, None, 2), (2_000_000, MIB // 4, 4, 2)]
        for route in ("kernels", "flame?kind=gpu", "torch", "timeline"):
            path, _, query = route.partition("?")
            v = check(s, f"/api/profiler/{path}", query)
            assert v["has_real_data"] and v["trace_file"] == trace.name, (route, v["trace_file"])
        rows = wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(check(s, "/api/runs")))
        assert rows["other_files"] == 1
        assert {r["name"]: r["format"] for r in rows["runs"]} == {f"x{i}.json": f"{k} report" for i, k in enumerate(REPORTED)} | {trace.name: "kineto"}
        newest()
        recs = {r["name"]: r for r in check(s, "/api/recordings")["recordings"]}
        wait_for("their kinds", lambda: {r["name"]: r["exported"] for r in check(s, "/api/recordings")["recordings"] if r["exported"]} == {f"x{i}.json": k for i, k in enumerate(REPORTED)})
        for i, kind in enumerate(REPORTED):
            rid = recs[f"x{i}.json"]["id"]
            one = check(s, "/api/recordings/{id}/exported", id=rid)
            assert one["exported"] == kind and one["document"] == json.loads((folder / f"x{i}.json").read_text()), one
            for other in ("hta", "compile", "memory"):
                answer = s.ask(f"/api/profiler/{other}?recording={rid}")
                assert answer[0] == (200 if other == kind else 422) and (other == kind or kind in json.loads(answer[2])["error"]), (kind, other, answer)
            assert s.ask(f"/api/profiler/kernels?recording={rid}")[0] == 422
            rec = check(s, "/api/recordings/{id}", id=rid)
            assert (rec["state"], rec["error"], rec["exported"]) == ("idle", None, kind), rec
        assert s.ask(f"/api/recordings/{recs[trace.name]['id']}/exported")[0] == 422
        assert check(s, "/api/profiler/hta", f"recording={recs[trace.name]['id']}")["trace_file"] == trace.name
        exported(folder / "empty.json", "memory", when + 40, {"timeline": [], "peak_analysis": {}, "markers": {}})  # nothing was tracked
        empty = wait_for("the empty one", lambda: next((r["id"] for r in check(s, "/api/recordings")["recordings"] if r["name"] == "empty.json" and r["exported"]), None))
        v = check(s, "/api/profiler/memory", f"recording={empty}")
        assert (v["has_real_data"], v["message"], v["timeline"], v["peak_mb"]) == (False, "the report has no figures", [], None), v
        newest()
        os.utime(trace, (when + 50, when + 50))  # now the newest
        wait_for("the trace", lambda: check(s, "/api/profiler/hta")["trace_file"] == trace.name)
        wait_for("what it has", lambda: check(s, "/api/profiler/compile")["trace_file"] == "x1.json")


def damaged_exports(folder):
    """Truncated, of wrong types, with figures that cannot be: a line that says so, and the next newest answers."""
    folder.mkdir()
    when = 1_700_000_000
    exported(folder / "good.json", "hta", when)
    hta = REPORTED["hta"]
    bad = {"truncated": None, "list": hta | {"temporal_breakdown": []}, "text": hta | {"temporal_breakdown": {"compute_pct": "9"}}, "gone": {"recommendations": []},
           "rows": hta | {"kernel_analysis": {"top_kernels": [5]}}, "advice": hta | {"recommendations": [5]}, "minus": hta | {"temporal_breakdown": {"compute_pct": -1}},
           "huge": hta | {"temporal_breakdown": {"compute_pct": 1e300}}, "deep": hta | {"x": json.loads("[" * 100 + "]" * 100)}}
    for i, (name, document) in enumerate(bad.items()):
        exported(folder / f"{name}.json", "hta", when + i + 1, document)
    whole = (folder / "good.json").read_text()
    texts = {"truncated": whole[:300], "over": whole.replace("80.0", "1e999"), "nan": whole.replace("80.0", "NaN"), "kind": whole.replace('"hta"', '"h"'), "digits": whole.replace("80.0", "8" * 200)}
    for i, (name, text) in enumerate(texts.items()):
        (folder / f"{name}.json").write_text(text)
        os.utime(folder / f"{name}.json", (when + 20 + i, when + 20 + i))
    with Server(folder) as s:
        for _ in range(2):
            assert check(s, "/api/profiler/hta")["trace_file"] == "good.json"
        recs = {r["name"].partition(".")[0]: r["id"] for r in check(s, "/api/recordings")["recordings"]}
        for name in {*bad, *texts}:
            for path in (f"/api/profiler/hta?recording={recs[name]}", f"/api/recordings/{recs[name]}/exported"):
                status, _, body = s.ask(path)
                assert status == 422 and json.loads(body)["error"], (name, path, status, body)
        rows = wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(check(s, "/api/runs")))
        assert {r["name"].partition(".")[0] for r in rows["runs"] if r["unreadable"]} == {*bad, *texts}, rows["runs"]


def memory_is_bounded():
    """With room for one recording at most, all of them can be asked for, again and again."""
    with Server(DATA, "--max-memory", "1MiB") as s:
        ids = [r["id"] for r in s.json("/api/recordings")["recordings"] if "kineto" in r["name"] and ".gz" in r["name"]]
        for _ in range(3):
            for rid in ids:
                check(s, "/api/recordings/{id}/curve", id=rid)
        wait_for("one recording in memory", lambda: sum(r["memory_bytes"] > 0 for r in s.json("/api/recordings")["recordings"]) == 1)
        check(s, "/api/diff", f"a={ids[0]}&b={ids[1]}")


def main():
    skip_unless_built()
    trained = DATA / "torchsnap" / "snapshot_gpt_train.pickle.gz"
    with Server(DATA, SNAPSHOT, trained) as s:
        all_ = check(s, "/api/recordings")["recordings"]
        ids = {pathlib.Path(r["path"]).name: r["id"] for r in all_}
        for name in ("kineto_gpt_train.json.gz", "kineto_compiled_infer.json.gz", SNAPSHOT.name):
            every_answer(s, ids[name])
        figures(s, ids["kineto_gpt_train.json.gz"], DATA / "kineto_gpt_train.json.gz")
        reports(s, ids[trained.name], trained)
        advice(s, ids[trained.name], trained)
        check(s, "/api/diff", f"a={ids['kineto_gpt_train.json.gz']}&b={ids['kineto_gpt_train_stack.json.gz']}&limit=5")
        rid = ids["kineto_gpt_train.json.gz"]
        links(s, rid)
        thinned(s, rid)
        critical(s, rid, DATA / "kineto_gpt_train.json.gz")
        two = ("kineto_gpt_train.json.gz", "kineto_gpt_train_stack.json.gz")
        pair(s, ids[two[0]], ids[two[1]], [DATA / n for n in two])
        status, headers, data = s.ask(f"/data/{rid}/perfetto")
        assert status == 200 and headers["Content-Disposition"].endswith('.pftrace"') and data[0] == 0x0A
        status, _, data = s.ask(f"/data/{rid}/pieces?px=100")
        assert status == 200 and gzip.decompress(data)
        assert s.ask("/metrics")[1]["Content-Type"].startswith("text/plain")  # serve_metrics.py reads it
        asked.update({"/metrics", "/data/{id}/perfetto", "/data/{id}/pieces", "/api/events"})
        wrong(s, rid)
        strangers(s)
        taken_port(s)
    the_users_token(pathlib.Path(tempfile.mkdtemp()))
    tokens()
    with tempfile.TemporaryDirectory() as folder:
        nothing_to_serve(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        files_change(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        links_lead_nowhere(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        torn(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        places(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        runs(pathlib.Path(folder))
        sessions_are_one_row(pathlib.Path(folder) / "sessions")
        compile_logs(pathlib.Path(folder) / "logs")
        arguments(pathlib.Path(folder) / "arguments")
        compile_modes(pathlib.Path(folder) / "modes")
        newest_that_can(pathlib.Path(folder) / "newest")
        exported_reports(pathlib.Path(folder) / "exported")
        damaged_exports(pathlib.Path(folder) / "damaged")
    memory_is_bounded()
    assert asked == set(DOC["paths"]), f"never asked: {set(DOC['paths']) - asked}"


main()
