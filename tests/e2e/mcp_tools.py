#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark mcp`: a reader with the official client answers twelve questions about recordings through the tools alone; answers are
short; files outside the folders stay closed; 10,000 hostile messages do not end the server."""
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import check, result

TIDEMARK = os.environ["TIDEMARK"]
SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests" / "data"
MOST = 20000  # bytes of an answer


# ---- recordings ----


def event(cat: str, name: str, ts: int, dur: int, **args: object) -> dict:
    gpu = cat == "kernel"
    return {"ph": "X", "cat": cat, "name": name, "pid": 0 if gpu else 1, "tid": args.get("stream", 7) if gpu else 1, "ts": ts, "dur": dur, "args": args}


def memory(ts: int, addr: int, size: int, total: int) -> dict:
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
            "args": {"Device Type": 1, "Device Id": 0, "Addr": addr, "Bytes": size, "Total Allocated": total, "Total Reserved": 1 << 30}}


def write(path: Path, events: list, **more: object) -> None:
    device = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150754820096}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [device], **more, "traceEvents": events}))


def training(leak: bool = False, slow: int = -1, graph: bool = False) -> list:
    """Six steps of four layers; relu's first allocation of a step stays if it leaks."""
    events, at, corr, total = [], 1000, 1, 0
    for step in range(6):
        wait = 4000 if step == slow else 100
        events += [event("user_annotation", f"ProfilerStep#{step}", at, 1000 + wait), event("cpu_op", "data.load" if wait > 100 else "aten::to", at, wait)]
        t = at + wait
        for layer in range(4):
            events += [event("cpu_op", "aten::mm" if layer % 2 else "aten::relu", t, 200),
                       event("cuda_runtime", "cudaGraphLaunch" if graph else "cudaLaunchKernel", t + 10, 20, correlation=corr)]
            for k in range(3 if graph else 1):
                events.append(event("kernel", "gemm" if layer % 2 else "relu", t + 60 + 40 * k, 30, correlation=corr, device=0, stream=7))
            corr += 1
            total += 1 << 20
            events.append(memory(t + 20, (step * 4 + layer + 1) << 24, 1 << 20, total))
            if not leak or layer:
                total -= 1 << 20
                events.append(memory(t + 150, (step * 4 + layer + 1) << 24, -(1 << 20), total))
            t += 220
        at += 1010 + wait
    return events


def rank(r: int, late: bool) -> list:
    events, at = [], 1000
    for step in range(4):
        start, corr = at + (3000 if late else 200), 10 * step
        events += [event("user_annotation", f"ProfilerStep#{step}", at, 5000), event("cpu_op", "aten::mm", at, 150),
                   event("cuda_runtime", "cudaLaunchKernel", at + 10, 10, correlation=corr + 1),
                   event("kernel", "gemm", at + 60, 2900 if late else 100, correlation=corr + 1, device=r, stream=7),
                   event("cuda_runtime", "cudaLaunchKernel", start - 20, 10, correlation=corr + 2),
                   event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start, at + 3400 - start, correlation=corr + 2, device=r, stream=20,
                         **{"Collective name": "allreduce", "In msg nelems": 1 << 20, "dtype": "Float", "Group size": 2, "Process Group Name": "0", "Seq": step})]
        at += 5010
    return events


def make(folder: Path) -> None:
    (folder / "job").mkdir(parents=True)
    write(folder / "leak.json", training(leak=True))
    write(folder / "slow.json", training(slow=3))
    write(folder / "graph.json", training(graph=True))
    for r in (0, 1):
        write(folder / "job" / f"rank{r}.json", rank(r, r == 1), distributedInfo={"backend": "nccl", "rank": r, "world_size": 2})
    shutil.copy(DATA / "snapshots" / "expandable_oom.pickle.gz", folder / "oom.pickle.gz")
    shutil.copy(SOURCE / "tests" / "fuzz" / "ttlog.corpus" / "plain", folder / "tt.log")
    (folder / "out.json").symlink_to(DATA / "kineto_gpt_train.json.gz")
    (folder / "up").symlink_to(DATA)


# ---- the reader ----


class Reader:
    """Asks tools, and sees nothing but their answers."""

    def __init__(self, session: object) -> None:
        self.session = session
        self.longest = 0

    async def text(self, tool: str, **arguments: object) -> tuple[str, bool]:
        answer = await self.session.call_tool(tool, arguments)  # with a schema the client checks the answer against it
        text = answer.content[0].text
        self.longest = max(self.longest, len(text.encode()))
        return text, bool(answer.is_error if hasattr(answer, "is_error") else answer.isError)

    async def ask(self, tool: str, **arguments: object) -> dict:
        text, failed = await self.text(tool, **arguments)
        check(f"{tool} {arguments}", not failed, text)
        return {} if failed else json.loads(text)

    async def query(self, file: str, query: str) -> list:
        return (await self.ask("sql", file=file, query=query)).get("rows", [])


async def twelve_questions(r: Reader) -> None:
    names = {x["file"] for x in (await r.ask("recordings"))["recordings"]}
    check("1. which recordings are there?", {"leak.json", "slow.json", "graph.json", "job/rank0.json", "job/rank1.json", "oom.pickle.gz"} <= names and
          "out.json" not in names, names)
    first = (await r.ask("oom", file="oom.pickle.gz"))
    asked = await r.query("oom.pickle.gz", "select value from marks where kind = 'oom' order by t limit 1")
    check("2. how much did the request that failed want?", [[first["ooms"][0]["requested_bytes"]]] == asked if "ooms" in first else json.dumps(asked[0][0]) in json.dumps(first),
          (list(first), asked))
    peak = await r.ask("peak", file="oom.pickle.gz", group_by="op", rows=3)
    check("3. what holds the memory at the peak?", peak["groups"][0]["bytes"] == max(g["bytes"] for g in peak["groups"]) > 0, peak)
    leaks = await r.ask("leaks", file="leak.json")
    grew = await r.query("leak.json", "select s.name, sum(a.size) from allocs a left join spans s on s.id = a.span where a.died is null group by 1 order by 2 desc")
    check("4. what leaks, and how much a step?", "1048576" in json.dumps(leaks) and "relu" in json.dumps(leaks["groups"][0] if "groups" in leaks else leaks), leaks)
    check("5. how much is never freed?", sum(g[1] for g in grew) == 6 << 20, grew)
    steps = await r.query("slow.json", "select name, dur from spans where name like 'ProfilerStep%' order by dur desc limit 1")
    check("6. which step is slow?", steps == [["ProfilerStep#3", 5000000]], steps)
    inside = await r.query("slow.json", "select o.name, sum(o.dur) as ns from spans s, spans(s.t0, s.t1) o where s.name = 'ProfilerStep#3' and o.cat = 'op' "
                           "group by 1 order by 2 desc limit 1")
    check("7. why?", inside == [["data.load", 4000000]], inside)
    graph = await r.query("graph.json", "select distinct n from (select count(*) as n from spans k join spans l on l.id = k.cause where l.name = 'cudaGraphLaunch' "
                          "group by l.id)")
    check("8. how many kernels does a graph replay start?", graph == [[3]], graph)
    job = await r.ask("hta", files=["job/rank0.json", "job/rank1.json"], table="stragglers")
    check("9. which rank is late, and by how much in all?", (job["stragglers"][0]["rank"], job["stragglers"][0]["late_ns"]) == (1, 11200000), job.get("stragglers"))
    tt = await r.ask("tt", file="tt.log", rows=5)
    check("10. how many operations has the Tenstorrent run?", tt["operations"] == 10, list(tt))
    change = await r.ask("diff", file="graph.json", other="leak.json")
    check("11. what changed?", change["report"] == "diff" and len(json.dumps(change)) > 200, change)
    meaning = await r.ask("describe", report="hta", match="idle_pct")
    check("12. what does idle_pct mean?", meaning["figures"]["ranks.idle_pct"].startswith("percent: "), meaning)


async def limits(r: Reader, tools: list) -> None:
    for tool in tools:
        if "file" in tool.input_schema["properties"] if hasattr(tool, "input_schema") else "file" in tool.inputSchema["properties"]:
            for file in ("leak.json", "oom.pickle.gz"):
                await r.text(tool.name, file=file, other="slow.json", rows=1000, query="select * from spans, spans", report="peak", full_texts=True)
                await r.text(tool.name, file=file, **({"other": "slow.json"} if tool.name == "diff" else {"query": "select 1 as one"} if tool.name == "sql" else {}))
    check("an answer is short", 0 < r.longest <= MOST, r.longest)
    page = await r.ask("ops", file="slow.json", rows=1)
    check("what is left out is counted", "of" in json.dumps(page.get("left_out")), page.get("left_out"))
    more = [await r.ask("leaks", file="leak.json", rows=1, offset=k) for k in (0, 1)]
    check("pages differ", more[0] != more[1])


async def refused(r: Reader, folder: Path) -> None:
    for file in ("/etc/passwd", "out.json", "up/hta_exact.json", "../x.json", "job/../../../etc/passwd", str(DATA / "hta_exact.json"), "", "a" * 5000, "none.json",
                 "/proc/self/fd/0", "/dev/stdin"):
        text, failed = await r.text("peak", file=file)
        check(f"refused: {file[:40]}", failed and "no recording" in text, text)
    for tool, arguments, word in (("peak", {}, "file is needed"), ("diff", {"file": "leak.json"}, "other"), ("peak", {"file": "leak.json", "colour": 1}, "no option"),
                                  ("peak", {"file": "leak.json", "group_by": "colour"}, "needs one of"), ("sql", {"file": "leak.json"}, "query"),
                                  ("sql", {"file": "leak.json", "query": "attach 'x' as y"}, "only read"), ("describe", {"report": "x"}, "no such report"),
                                  ("tables", {"file": "leak.json", "table": "x"}, "no such table"), ("peak", {"file": "leak.json", "table": "x"}, "no table"),
                                  ("sql", {"file": "leak.json", "query": "with recursive x(n) as (select 1 union all select n + 1 from x) select count(*) from x"}, "limit")):
        text, failed = await r.text(tool, **arguments)
        check(f"{tool} {arguments}", failed and word in text, text)
    before = sorted(folder.rglob("*"))
    await r.ask("overview", file="leak.json")
    check("nothing is written", sorted(folder.rglob("*")) == before)


async def pages(r: Reader, where: Path) -> None:
    text, failed = await r.text("page", file="job/rank0.json")
    check("a page", not failed and (where / "job_rank0.json.html").stat().st_size > 100000 or "no pages" in text, text)


async def with_client(folder: Path, where: Path) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    for more in (["--limit", "1"], ["--limit", "1", "--schemas", "--pages", str(where)]):
        async with stdio_client(StdioServerParameters(command=TIDEMARK, args=["mcp", str(folder), *more])) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            r = Reader(session)
            await twelve_questions(r)
            if "--pages" in more:
                await pages(r, where)
                check("page is offered", "page" in [t.name for t in tools])
            else:
                check("no page without --pages", "page" not in [t.name for t in tools])
                check("the list is short", len(json.dumps([t.model_dump(mode="json", exclude_none=True) for t in tools])) < 32000)
                await refused(r, folder)
            await limits(r, tools)
            await session.send_ping()


# ---- hostile messages ----


def hostile(folder: Path) -> None:
    rng = random.Random(11)
    good = [line for name in ("session", "sql", "wrong") for line in (SOURCE / "tests" / "fuzz" / "mcp.corpus" / name).read_bytes().replace(b"@", b"leak.json").split(b"\n")
            if b"recursive" not in line]
    messages = []
    for i in range(10000):
        line = bytearray(rng.choice(good))
        for _ in range(rng.choice((0, 1, 1, 2, 8, 40))):
            at = rng.randrange(len(line) + 1)
            action = rng.randrange(4)
            if action == 0:
                line[at:at] = bytes([rng.randrange(256)])
            elif action == 1:
                del line[at:at + rng.randrange(1, 9)]
            elif action == 2:
                line[at:at] = rng.choice((b'"', b"{", b"}", b"[", b"]", b"\\u0000", b"\\ud800", b"\x00", b"\xff", b"1e999", b"null", b'"file":'))
            else:
                other = rng.choice(good)
                line[at:at] = other[rng.randrange(len(other) + 1):][:30]
        messages.append(bytes(line).replace(b"\n", b" "))
    messages += [b"[" * 100000, b'{"a":' * 50000, b"x" * (3 << 20), b'"' + b"\\" * 999999, b"\r", b""]
    messages.append(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    done = subprocess.run([TIDEMARK, "mcp", str(folder), "--limit", "0.2"], input=b"\n".join(messages), capture_output=True, timeout=900, check=False)
    replies = done.stdout.split(b"\n")
    check("10,000 hostile messages do not end it", done.returncode == 0 and replies[-2] == b'{"jsonrpc":"2.0","id":"last","result":{}}', (done.returncode, replies[-2:], done.stderr[-300:]))
    check("every reply is a line of JSON", all(json.loads(line)["jsonrpc"] == "2.0" for line in replies[:-1]), len(replies))
    codes = {json.loads(line).get("error", {}).get("code") for line in replies[:-1]}
    check("the protocol's errors", {-32700, -32600, -32601, -32602} <= codes, codes)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        make(folder)
        hostile(folder)
        try:
            import mcp  # noqa: F401
        except ImportError:
            print("skipped the twelve questions: the client of the Model Context Protocol is not installed (tools/setup test)")
            return result("hostile messages do not end the server") or 77
        asyncio.run(with_client(folder, Path(name) / "pages"))
    return result("twelve questions are answered through the tools, answers are short, files outside stay closed")


if __name__ == "__main__":
    sys.exit(main())
