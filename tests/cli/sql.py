#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark sql`: sql.py TIDEMARK SAMPLE SOURCE.

Every query of the cookbook and of the README runs; results equal those of slow queries that no index can serve, and of reports;
hostile queries are refused and end."""
import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
from checks import check, result  # noqa: E402

TIDEMARK, SAMPLE, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
DATA = SOURCE / "tests" / "data"


def sql(file: object, query: str, *options: str, **kw: object) -> subprocess.CompletedProcess:
    files = [str(f) for f in file] if isinstance(file, list) else [str(file)]
    return subprocess.run([TIDEMARK, "sql", *files, "--query", query, *options], capture_output=True, text=True, errors="replace", timeout=300, **kw)


def rows(file: object, query: str) -> list:
    done = sql(file, query, "--json")
    check(f"runs: {query[:200]}", done.returncode == 0, done.stderr)
    return [list(r.values()) for r in json.loads(done.stdout)["rows"]] if done.returncode == 0 else []


def pairs(file: object, list_of: list) -> None:
    """Compares results of pairs of queries, in one process."""
    done = sql(file, ";\n".join(q for _, a, b in list_of for q in (a, b)), "--json")
    check("all run", done.returncode == 0, done.stderr)
    found, at, decoder = [], 0, json.JSONDecoder()
    while at < len(done.stdout.rstrip()):
        document, at = decoder.raw_decode(done.stdout, at + len(done.stdout[at:]) - len(done.stdout[at:].lstrip()))
        found.append(document["rows"])
    for (name, _, _), a, b in zip(list_of, found[::2], found[1::2]):
        check(name, a == b, (len(a), len(b), a[:3], b[:3]))
    check("all compared", len(found) == 2 * len(list_of), len(found))


def value(file: object, query: str) -> object:
    return (rows(file, query) or [[None]])[0][0]


def blocks(document: str) -> list:
    text = (SOURCE / document).read_text(encoding="utf-8")
    return [q.strip() for block in re.findall(r"```sql\n(.*?)```", text, re.S) for q in block.split(";\n") if q.strip()]


def cookbook(files: list) -> None:
    queries = blocks("docs/guide/sql.md")
    check("20 queries", len(queries) == 20, len(queries))
    for query in [*queries, *blocks("README.md")]:
        found = [rows(f, query) for f in files]
        name = query.splitlines()[0]
        check(f"some rows: {name}", any(found) or "memcpy" in query or "layers.3" in query, query)


def indexes(file: Path, rng: random.Random) -> None:
    """A condition on an expression cannot be pushed down: both must agree."""
    every = []
    for table, numbers in (("spans", ["id", "t0", "t1", "lane", "parent", "cause", "dur"]), ("allocs", ["id", "born", "died", "size", "span", "pool"]),
                           ("memory_events", ["id", "t", "alloc", "row"])):
        values = rows(file, f"select {', '.join(numbers)} from {table}")
        for _ in range(6 if values else 0):
            k = rng.randrange(len(numbers))
            c = numbers[k]
            a, b = sorted(rng.choice(values)[k] or 0 for _ in range(2))
            for condition in (f"= {a}", f"> {a}", f"<= {b}.5", f"between {a} and {b}", f"= '{a}'", "< 'x'", "= null", "is null", f">= {a} and id % 3 = 1",
                              f"in ({a}, {b}, 7)", f"> {a} and {c} < {b}.25", f"= {a}.0", f"= {a}.5"):
                query = f"select count(*), sum(id) from {table} where "
                every.append((f"{table}: {c} {condition}", f"{query}{c} {condition}", f"{query}cast({c} as integer) {condition}"))
    for c in ("name", "cat", "device", "lane", "parent", "flags", "dur"):
        every.append((f"group by {c}", f"select {c} as k, count(*), sum(dur) from spans group by {c} order by k || '', count(*)",
                      f"select {c} as k, count(*), sum(dur) from spans group by {c} || '' order by k || '', count(*)"))
        every.append((f"distinct {c}", f"select count(*) as n from (select distinct {c} from spans)", f"select count(*) as n from (select {c} from spans group by +{c} || '')"))
    for order in ("t0", "t0 desc", "id", "id desc", "name, id", "cause, id"):
        first = order.split(",")[0].split(" ")[0]
        every.append((f"order by {order}", f"select {first} as k from spans order by {order}", f"select {first} as k from spans order by +{order}"))
    for name in ("'forward'", "'no such name'", "null", "1", "''"):
        every.append((f"name = {name}", f"select id from spans where name = {name} order by id", f"select id from spans where name || '' = {name} order by id"))
    every.append(("a join", "select count(*), sum(s.id) from allocs a join spans s on s.id = a.span",
                  "select count(*), sum(s.id) from allocs a join spans s on +s.id = a.span + 0"))
    every.append(("children", "select count(*), sum(c.id) from spans p join spans c on c.parent = p.id",
                  "select count(*), sum(c.id) from spans p join spans c on c.parent + 0 = p.id"))
    pairs(file, every)


def intervals(file: Path, rng: random.Random) -> None:
    end = value(file, "select max(coalesce(died, born)) from allocs") or value(file, "select max(t1) from spans") or 0
    every = []
    for table, start, stop in (("allocs", "born", "died"), ("spans", "t0", "t1"), ("segments", "born", "died")):
        for _ in range(8):
            a, b = sorted(rng.randint(-5, end + 5) for _ in range(2))
            b = rng.choice([a, b])
            every.append((f"{table}({a}, {b})", f"select id from {table}({a}, {b}) order by +id",
                          f"select id from {table} where ({start} < {b} or {start} <= {a}) and coalesce({stop}, {2**62}) > {a} order by +id"))
    pairs(file, every)
    moments = [rng.randint(0, end) for _ in range(3)]
    devices = [r[0] for r in rows(file, "select distinct device from allocs where device is not null")]
    for t in moments:
        for device in devices:
            done = subprocess.run([TIDEMARK, "memory", "--json", "--at", f"{t}ns", str(file)], capture_output=True, text=True)
            live = {d["device"]: d["totals"]["live_bytes"] for d in json.loads(done.stdout)["devices"]} if done.returncode == 0 else {device: None}
            check(f"live_at({t}, {device})", live[device] in (None, value(file, f"select live_at({t}, '{device}')")), (live, done.stderr))
        check(f"live_at({t}) adds up", value(file, f"select live_at({t})") ==
              value(file, f"select coalesce(sum(bytes), 0) from memory_events where t <= {t}") if devices else True)


def functions(kineto: Path, snapshot: Path) -> None:
    check("path", value(kineto, "select count(*) from spans where parent is not null and path(id) not like '%' || path(parent) || '%' and length(path(id)) < 4000") == 0)
    check("overlap", value(kineto, "select count(*) from (select a.id as x, b.id as y, max(0, min(a.t1, b.t1) - max(a.t0, b.t0)) as ns from spans a, spans b "
                           "where a.id < 40 and b.id % 97 = 3) where ns <> overlap(x, y)") == 0)
    check("stack", value(snapshot, "select stack(stack) from allocs where stack is not null limit 1").count(" < ") > 0)
    check("none", rows(kineto, "select stack(0), path(0), path('x'), overlap(0, 1), live_at(null)") == [[None] * 5])
    check("wrong trace", sql(kineto, "select path(1, 2)").returncode == 2)


def reports(snapshot: Path, two: list) -> None:
    document = json.loads(subprocess.run([TIDEMARK, "peak", "--json", "--at", "50%", str(snapshot)], capture_output=True, text=True).stdout)
    check("peak", rows(snapshot, "select key, bytes from peak where with_at = '50%'") == [[g["key"], g["bytes"]] for g in document["groups"]])
    for name in [r[0] for r in rows(snapshot, "select name from sqlite_master order by name")]:
        done = sql(snapshot, f"select * from {name} limit 3", "--json")
        fits = not name.startswith(("compile", "critical_path", "fit", "tt"))  # of other inputs
        check(f"table {name}", done.returncode == 0 if fits else done.returncode == 2 and "tidemark sql: " in done.stderr, done.stderr)
    check("wrong option", "needs one of" in sql(snapshot, "select * from peak where with_group_by = 'colour'").stderr)
    check("wrong moment", sql(snapshot, "select * from peak where with_at = 'x'").returncode == 2)
    check("two files", rows(two, "select trace_id, count(*) > 0 from spans group by trace_id order by 1") in ([[1, 1], [2, 1]], [[1, 1]]))
    check("one of two", value(two, "select count(*) from allocs where trace_id = 2") + value(two, "select count(*) from allocs where trace_id = 1") ==
          value(two, "select count(*) from allocs"))
    check("diff", sql(two, "select * from diff_values").returncode == 0)


HOSTILE = [
    "attach ':memory:' as x", "attach '/etc/passwd' as x", "detach main", "select load_extension('x')", "pragma journal_mode = off", "pragma writable_schema = 1",
    "pragma temp_store_directory = '/tmp'", "pragma database_list", "create table x(a)", "create temp table x(a)", "create view v as select 1",
    "create virtual table x using spans", "drop table spans", "delete from spans", "insert into spans(id) values (1)", "update allocs set size = 0", "vacuum",
    "vacuum into '/tmp/x'", "begin", "savepoint a", "reindex", "analyze", "explain insert into spans(id) values (1)", "select * from pragma_database_list",
    "select", "select from", "select * from nothing", "select * from spans where nothing = 1", "select * from spans(1)", ";", "", "-- only this", "select '",
    "select * from peak where with_at = char(0)", "select " + "(" * 500 + "1" + ")" * 500, "select " + ",".join(["1"] * 500),
    "select zeroblob(2000000000)", "select hex(randomblob(2000000000))",
]
ENDLESS = ["with recursive x(n) as (select 1 union all select n + 1 from x) select count(*) from x",
           "with recursive x(n) as (select 1 union all select n + 1 from x) select n from x",
           "with recursive x(n) as (select 1 union all select n + 1 from x limit 1000000) select count(*) from x a, x b where a.n = -b.n - 1"]


def hostile(file: Path) -> None:
    for query in HOSTILE:
        done = sql(file, query)
        check(f"refused: {query[:60]}", done.returncode in (1, 2) and done.stderr.startswith("tidemark") and not done.stdout.strip(), (done.returncode, done.stderr))
    for query in ENDLESS:
        done = sql(file, query, "--limit", "0.3", "--max-memory", "300MiB")
        check(f"ends: {query[:60]}", done.returncode == 1 and ("limit" in done.stderr or "memory" in done.stderr), done.stderr)
    with subprocess.Popen([TIDEMARK, "sql", str(file), "--query", ENDLESS[0]], stderr=subprocess.PIPE, text=True) as p:
        while p.poll() is None:  # until the handler is there and the query runs
            time.sleep(0.2)
            p.send_signal(signal.SIGINT)
        check("Ctrl-C", p.returncode in (1, -signal.SIGINT), p.returncode)


def formats(file: Path, folder: Path) -> None:
    query = "select id, name, 1.5 as x, null as none, 'a\"b,c' as t, 1 as id from spans limit 2"
    done = sql(file, query, "--csv")
    table = list(csv.reader(io.StringIO(done.stdout)))
    check("csv", table[0] == ["id", "name", "x", "none", "t", "id_2"] and table[1][2:5] == ["1.5", "", 'a"b,c'], table)
    document = json.loads(sql(file, query, "--json").stdout)
    check("json", document["report"] == "sql" and document["rows"][0]["x"] == 1.5 and document["left_out"] == 0)
    check("text", sql(file, "select 1 as one, 'x' as t, 0.1 as r").stdout == "one  t  r\n  1  x  0.1\n", sql(file, "select 1 as one, 'x' as t, 0.1 as r").stdout)
    check("file", sql(file, query, "-o", str(folder / "x.csv")).returncode == 0 and (folder / "x.csv").read_text().startswith("id,name"))
    check("arrow", sql(file, query, "-o", str(folder / "x.arrow")).returncode == 0 and (folder / "x.arrow").read_bytes().startswith(b"ARROW1"))
    try:
        import pyarrow.ipc
    except ImportError:
        return
    arrow = pyarrow.ipc.open_file(folder / "x.arrow").read_all()
    check("arrow columns", arrow.column_names == ["id", "name", "x", "none", "t", "id_2"] and arrow["x"].to_pylist() == [1.5, 1.5])


def shell(file: Path) -> None:
    text = ".tables\n.schema spans\n.mode csv\nselect count(*)\n as n from spans;\n.mode what\nselect wrong;\n.mode json\nselect 1 as one;\n.quit\nselect 2;\n"
    done = subprocess.run([TIDEMARK, "sql", str(file)], input=text, capture_output=True, text=True)
    check("shell", "CREATE TABLE spans" in done.stdout and "\nn\n" in done.stdout.replace("\r", "") and '"one": 1' in done.stdout, done.stdout[-300:])
    check("shell errors", "no such column" in done.stderr and ".mode needs" in done.stderr and "2" not in done.stdout[-8:], done.stderr)
    check("words", subprocess.run([TIDEMARK, "sql", str(file), ".tables"], capture_output=True, text=True).stdout.startswith("Tables of the trace"))


def main() -> int:
    rng = random.Random(int(os.environ.get("TIDE_SEED", "7")))
    kineto, snapshot = DATA / "kineto_gpt_train.json.gz", DATA / "torchsnap" / "snapshot_oom.pickle.gz"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([SAMPLE, str(folder)], check=True, stdout=subprocess.DEVNULL)
        train = folder / "train.tide"
        cookbook([kineto, snapshot, train])
        indexes(train, rng)
        for file in (train, snapshot, kineto):
            intervals(file, rng)
        functions(kineto, snapshot)
        reports(snapshot, [train, snapshot])
        hostile(train)
        formats(train, folder)
        shell(train)
    return result("queries of the cookbook run, plans agree with scans, hostile queries are refused")


if __name__ == "__main__":
    sys.exit(main())
