# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A planted file of tags does nothing: one that the dashboard did not write is set aside with one line, a new one takes its
place, and notes are texts."""
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import tempfile
import urllib.parse

from serving import SOURCE, Server, skip_unless_built, wait_for

DATA = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"
STORE = ".tidemark-runs.sqlite"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i, i, i, i, i FROM n"
TABLE = ("CREATE TABLE runs (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, version INTEGER, figures BLOB, "
         "tags TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')")
COLUMNS = "path, size, mtime_ns, version, figures, tags, note"


def script(path, text):
    with sqlite3.connect(path) as db:
        db.executescript(text)
    db.close()


def rows(path, n, value="''"):
    script(path, f"{TABLE}; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {n}) "
                 f"INSERT INTO runs(path, tags) SELECT 'p' || i, {value} FROM n")


def with_log(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(TABLE)
    db.commit()
    db.close()


def log_beside(path):
    script(path, TABLE)
    pathlib.Path(f"{path}-wal").write_bytes(b"")


def names_a_file(path):
    """A journal whose end names a second journal, which SQLite deletes."""
    script(path, TABLE)
    name = bytes(path.parent / "victim")
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 0, 0, 1, 512, 4096)
    end = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">2I", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    pathlib.Path(f"{path}-journal").write_bytes(head.ljust(512, b"\0") + end)


def pipe_beside(path):
    script(path, TABLE)
    os.mkfifo(f"{path}-journal")


def changed_schema(path, of, to):
    script(path, TABLE)
    data = path.read_bytes()
    assert data.count(of) == 1 and len(of) == len(to)
    path.write_bytes(data.replace(of, to))


FOREIGN = {
    "a view": lambda p: script(p, f"CREATE VIEW runs({COLUMNS}) AS {ENDLESS}"),
    "a trigger": lambda p: script(p, f"{TABLE}; CREATE TRIGGER t BEFORE INSERT ON runs BEGIN INSERT INTO runs({COLUMNS}) {ENDLESS}; END"),
    "a second table": lambda p: script(p, f"{TABLE}; CREATE TABLE other(a)"),
    "a virtual table": lambda p: script(p, f"CREATE VIRTUAL TABLE runs USING fts5({COLUMNS})"),
    "an index": lambda p: script(p, f"{TABLE}; CREATE INDEX i ON runs(tags) WHERE abs(size) > 1"),
    "another table": lambda p: script(p, TABLE.replace("note TEXT", "note TEXT CHECK (length(note) < 9)")),
    "a generated column": lambda p: script(p, TABLE.replace("figures BLOB", "figures AS (zeroblob(1000000000))")),
    "too many rows": lambda p: rows(p, 100001),
    "too long a value": lambda p: rows(p, 1, "hex(zeroblob(5000000))"),
    "a broken page": lambda p: (rows(p, 5000), p.write_bytes(p.read_bytes()[:8192] + b"\xff" * (p.stat().st_size - 8192))),
    "a broken schema": lambda p: changed_schema(p, b"CREATE TABLE runs (path", b"CREATE TABLE runs )path"),
    "a write-ahead log": with_log,
    "a log beside it": log_beside,
    "a journal that names a file": names_a_file,
    "a pipe as journal": pipe_beside,
    "no database": lambda p: p.write_bytes(b"x" * 3000),
    "a short file": lambda p: p.write_bytes(b"SQLite format 3\0"),
    "a hole of 2 GiB": lambda p: (script(p, TABLE), os.truncate(p, 2 << 30)),
}


def indexed(server):
    return wait_for("the index", lambda: (lambda v: v if not v["pending"] else None)(server.json("/api/runs")))


def write(server, run, query):
    status, _, body = server.ask(f"/api/runs/{run['id']}/note?{query}", method="POST")
    return status, json.loads(body)


def planted(folder, what, make):
    store, victim = folder / STORE, folder / "victim"
    victim.write_text("a file of the user")
    make(store)
    before = store.read_bytes() if store.stat().st_size < 1 << 30 else None
    with Server(folder) as s:
        v = indexed(s)
        line = s.process.stderr.readline()
        assert line.startswith(f"tidemark serve: {store.resolve()} was not written by tidemark"), (what, line)
        assert v["count"] == 1 and v["runs"][0]["peak_bytes"] and not v["runs"][0]["tags"], what
        assert v["notes_file"] == str(store.resolve()), (what, v["notes_file"])
        status, answer = write(s, v["runs"][0], "tags=mine")
        assert status == 200 and answer["kept"], (what, answer)
    aside = folder / (STORE + ".refused-1")
    assert before is None or aside.read_bytes() == before, what
    assert victim.read_text() == "a file of the user", what
    with Server(folder) as s:
        assert indexed(s)["runs"][0]["tags"] == ["mine"], what


def said(folder):
    """The line names the file, the reason and the new name; a second refused file keeps the first."""
    for number in (1, 2):
        (folder / STORE).write_bytes(b"%d" % number * 100)
        line = (f"tidemark serve: {folder.resolve()}/{STORE} was not written by tidemark and is not used: it is not a database; "
                f"it is now *.refused-{number}\n")
        with Server(folder, says=line) as s:
            indexed(s)
    assert [(folder / f"{STORE}.refused-{n}").read_bytes()[:1] for n in (1, 2)] == [b"1", b"2"]


def hostile_figures(folder):
    """Rows of our table with values that we never write are left out; the rest stays."""
    store = folder / STORE
    with Server(folder) as s:
        run = indexed(s)["runs"][0]
        assert write(s, run, "tags=kept")[1]["kept"]
    db = sqlite3.connect(store)
    figures = db.execute("SELECT figures FROM runs").fetchone()[0]
    for k in range(0, len(figures), 7):
        db.execute("INSERT INTO runs SELECT ?, size, mtime_ns, version, ?, tags, ? FROM runs WHERE tags = 'kept' LIMIT 1",
                   (f"/nowhere/{k}", figures[:k] + b"\xff" * 9 + figures[k + 9:], "\u202etxt"))
    db.execute("UPDATE runs SET figures = ?, note = ? WHERE path NOT LIKE '/nowhere%'", (b"\xff" * len(figures), b"\xff\xfe"))
    db.commit()
    db.close()
    with Server(folder) as s:
        again = indexed(s)["runs"][0]
        assert again["tags"] == ["kept"] and again["note"] is None and again["peak_bytes"] == run["peak_bytes"]


def texts(folder):
    """Notes and tags are valid UTF-8 in which every character is visible."""
    good = ["plain", "Grüße, 日本語 👩‍🔬", "two\nlines", "é" * 255, "שלום"]
    bad = [b"\xff", b"a\xc0\xafb", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82",
           "\x85".encode(), "\x9b31m".encode(), b"\x1b[31m", b"\x7f", b"\t", "\u202e".encode(), "\u2066".encode(), "\u200f".encode(),
           "\u061c".encode(), "\ufeff".encode(), "\u2028".encode(), b"x" * 512, "é".encode() * 256]
    with Server(folder) as s:
        run = indexed(s)["runs"][0]
        for text in good:
            status, answer = write(s, run, "note=" + urllib.parse.quote(text))
            assert status == 200 and answer["kept"], (text, answer)
            assert indexed(s)["runs"][0]["note"] == text
        for text in bad:
            for field in ("note", "tags"):
                status, answer = write(s, run, f"{field}=" + urllib.parse.quote_from_bytes(text))
                assert status == 400, (field, text, answer)
        now = indexed(s)["runs"][0]
        assert now["note"] == good[-1] and not now["tags"]


def main():
    skip_unless_built()
    root = pathlib.Path(tempfile.mkdtemp())
    try:
        cases = [(lambda f, what=what, make=make: planted(f, what, make)) for what, make in FOREIGN.items()]
        for k, case in enumerate([*cases, said, hostile_figures, texts]):
            folder = root / str(k)
            folder.mkdir()
            shutil.copy(DATA, folder)
            case(folder)
    finally:
        shutil.rmtree(root)


main()
