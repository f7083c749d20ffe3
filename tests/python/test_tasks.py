# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Ops of tasks that alternate on one thread: each belongs to its own task."""
import asyncio
import collections
import contextvars
import importlib.util
import os
import random
import sys
import tempfile
import threading
import unittest

import tidemark
from tidemark import _native, _tasks

FOLDER = tempfile.mkdtemp()
TORCH = importlib.util.find_spec("torch") is not None


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


class Work:
    """The program's allocations, each at a distinct address: the op that each should be in, and the op that it is in."""

    def __init__(self) -> None:
        self.pool = _native.pool(_native.device(_native.HOST, 0, "cpu"), _native.DRAM, "own")
        self.want: dict[int, str] = {}

    def here(self, *ops: str) -> None:
        at = 0x1000 + 64 * len(self.want)
        self.want[at] = "/".join(ops)
        _native.alloc(self.pool, at, 64)


def rows(name: str) -> tuple[tidemark.Trace, dict]:
    t = tidemark.open(path(name))
    return t, {k: t.native.column("spans", k) for k in ("name", "parent", "t0", "t1", "flags", "lane")}


def op_path(spans: dict, at: int) -> str:
    up: list = []
    while at:
        up.insert(0, spans["name"][at])
        at = spans["parent"][at]
    return "/".join(up)


class Own:
    """A loop that takes its turns itself."""

    def __init__(self) -> None:
        self.ready: collections.deque = collections.deque()
        self.get_debug = self.is_closed = lambda: False

    def call_soon(self, callback, *args, context=None):
        self.ready.append((context or contextvars.copy_context(), callback, args))

    def create_task(self, coro, **kw):
        return asyncio.Task(coro, loop=self, **kw)

    def create_future(self):
        return asyncio.Future(loop=self)

    def run(self, coro) -> None:
        task = self.create_task(coro)
        asyncio._set_running_loop(self)
        try:
            while self.ready:
                context, callback, args = self.ready.popleft()
                context.run(callback, *args)
        finally:
            asyncio._set_running_loop(None)
        task.result()


def at_once(loop, coro, **kw):
    """Does the same as asyncio.eager_task_factory, which is new in 3.12, for tasks that first wait by sleep(0)."""
    context = contextvars.copy_context()
    context.run(coro.send, None)
    return asyncio.Task(coro, loop=loop, context=context)


class Tasks(unittest.TestCase):
    def check(self, name: str, work: Work, counts: dict | None = None) -> None:
        t, spans = rows(name)
        self.assertEqual(t.memory()["losses"], {})
        found = {a: op_path(spans, s) for a, s in zip(t.native.column("allocs", "addr"), t.native.column("allocs", "span"))}
        self.assertEqual({a: found.get(a) for a in work.want}, work.want)
        self.assertTrue(all(t1 < 2**63 - 1 for t1 in spans["t1"]))
        for i, up in enumerate(spans["parent"]):  # no span ends outside of its parent
            self.assertTrue(not up or spans["t0"][up] <= spans["t0"][i] <= spans["t1"][i] <= spans["t1"][up])
        if counts is not None:
            self.assertEqual({o["op"]: o["count"] for o in t.ops(flat=True)["ops"]}, counts)

    def test_two_tasks_in_turns(self):
        work = Work()

        async def one(name: str) -> None:
            with tidemark.op(name):
                for _ in range(3):
                    work.here("all", name)
                    await asyncio.sleep(0)
                    with tidemark.op("inside"):
                        work.here("all", name, "inside")
                        await asyncio.sleep(0.001)
                        work.here("all", name, "inside")
                    work.here("all", name)
            work.here("all")

        async def whole() -> None:
            work.here()
            with tidemark.op("all"):
                await asyncio.gather(one("a"), one("b"))
                work.here("all")
            work.here()

        with tidemark.record(path("two.tide"), torch=False):
            asyncio.run(whole())
        self.check("two.tide", work, {"all": 1, "a": 1, "b": 1, "inside": 6})
        t, spans = rows("two.tide")
        parts = {n: [(spans["t0"][i], spans["t1"][i]) for i, m in enumerate(spans["name"]) if m == n] for n in "ab"}
        self.assertTrue(all(x[1] <= y[0] or y[1] <= x[0] for x in parts["a"] for y in parts["b"]))
        ops = {o["op"]: o for o in t.ops(flat=True)["ops"]}
        for n in "ab":  # the time of an op is that of its turns
            self.assertGreater(len(parts[n]), 3)
            self.assertEqual(ops[n]["wall_ns"], sum(t1 - t0 for t0, t1 in parts[n]))
            self.assertEqual(spans["flags"][spans["name"].index(n)] & 8, 0)
        tree = t.ops()["ops"]
        self.assertEqual([o["op"] for o in tree if not o.get("parent")][:1], ["all"])

    def test_any_tasks_with_exceptions_and_cancellations(self):
        """Random programs: tasks that begin others, wait, fail, are cancelled; each allocation is in the ops that were around it."""
        for seed in range(25):
            dice, work, counts = random.Random(seed), Work(), {}

            async def body(around: tuple, depth: int, dice=dice, work=work, counts=counts, body=None) -> None:
                made = []
                try:
                    for _ in range(dice.randrange(1, 5)):
                        what = dice.random()
                        work.here(*around)
                        if what < 0.35 and depth < 5:
                            name = f"op{dice.randrange(4)}"
                            counts[name] = counts.get(name, 0) + 1
                            with tidemark.op(name):
                                await body((*around, name), depth + 1, body=body)
                        elif what < 0.55 and depth < 5:
                            made.append(asyncio.ensure_future(body(around, depth + 1, body=body)))
                        elif what < 0.65:
                            raise KeyError(what)
                        elif what < 0.75 and made:
                            made[dice.randrange(len(made))].cancel()
                        else:
                            await asyncio.sleep(dice.choice((0, 0, 0.0005)))
                        work.here(*around)
                except KeyError:
                    work.here(*around)
                    if dice.random() < 0.5:
                        raise
                finally:
                    await asyncio.gather(*made, return_exceptions=True)
                    work.here(*around)

            async def whole(body=body) -> None:
                await asyncio.gather(*(body((), 0, body=body) for _ in range(4)), return_exceptions=True)

            with self.subTest(seed), tidemark.record(path(f"any{seed}.tide"), torch=False):
                asyncio.run(whole())
            with self.subTest(seed):
                self.check(f"any{seed}.tide", work, counts)

    def test_a_task_that_outlives_the_op_it_was_made_in(self):
        work = Work()

        async def later(begun: asyncio.Event) -> None:
            work.here("outer")
            await begun.wait()
            work.here()  # the op is over
            with tidemark.op("own"):
                work.here("own")

        async def whole() -> None:
            begun = asyncio.Event()
            with tidemark.op("outer"):
                task = asyncio.ensure_future(later(begun))
                await asyncio.sleep(0)
            begun.set()
            with tidemark.op("another"):
                await task
                work.here("another")

        with tidemark.record(path("later.tide"), torch=False):
            asyncio.run(whole())
        self.check("later.tide", work, {"outer": 1, "own": 1, "another": 1})

    def test_tasks_that_make_tasks_leave_no_endless_line(self):
        lengths = []

        async def link(left: int) -> None:
            with tidemark.op("link"):
                scope = _tasks._now.get()
                lengths.append(0)
                while scope is not None:
                    scope, lengths[-1] = scope.parent, lengths[-1] + 1
                task = asyncio.ensure_future(link(left - 1)) if left else None
                await asyncio.sleep(0)  # that begins its own inside this one, which then ends
            if task:
                await task

        with tidemark.record(path("line.tide"), torch=False):
            asyncio.run(link(50))
        self.assertEqual(len(lengths), 51)
        self.assertLessEqual(max(lengths), 2)

    def test_one_object_and_decorators(self):
        work, both = Work(), tidemark.op("both")

        @tidemark.op("coroutine")
        async def decorated(n: int) -> int:
            await asyncio.sleep(0)
            work.here("coroutine")
            with both:
                await asyncio.sleep(0.001 * n)
                work.here("coroutine", "both")
            work.here("coroutine")
            return n

        @tidemark.op("stream")
        async def stream():
            for i in range(2):
                work.here("user", "stream")
                yield i

        async def use() -> None:
            with tidemark.op("user"):
                async for _ in stream():
                    await asyncio.sleep(0)

        async def whole() -> list:
            return (await asyncio.gather(decorated(3), decorated(1), use()))[:2]

        with tidemark.record(path("both.tide"), torch=False):
            self.assertEqual(asyncio.run(whole()), [3, 1])
        self.check("both.tide", work, {"coroutine": 2, "both": 2, "user": 1, "stream": 1})

    def test_ends_in_any_order_and_in_other_contexts(self):
        work, outer, inner, other = Work(), tidemark.op("outer"), tidemark.op("inner"), tidemark.op("other")

        async def whole() -> None:
            outer.__enter__()
            inner.__enter__()
            work.here("outer", "inner")
            outer.__exit__(None, None, None)
            work.here("inner")
            await asyncio.sleep(0)
            work.here("inner")
            inner.__exit__(None, None, None)
            work.here()
            context = contextvars.copy_context()
            context.run(other.__enter__)
            await asyncio.sleep(0)
            work.here()
            other.__exit__(None, None, None)
            work.here()

        with tidemark.record(path("order.tide"), torch=False):
            asyncio.run(whole())
        self.check("order.tide", work, {"outer": 1, "inner": 1, "other": 1})

    def test_threads_and_loops_inside_a_plain_op(self):
        """An op of the thread's own holds the loop; threads that a task asks do not get its ops."""
        work = Work()

        def aside() -> None:
            with tidemark.op("aside"):
                work.here("aside")

        async def one(name: str) -> None:
            with tidemark.op(name):
                await asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, aside)
                work.here("thread", name)

        def loop() -> None:
            async def whole() -> None:
                await asyncio.gather(one("a"), one("b"))

            with tidemark.op("thread"):
                asyncio.run(whole())
                work.here("thread")

        with tidemark.record(path("threads.tide"), torch=False):
            many = [threading.Thread(target=loop) for _ in range(2)]
            [t.start() for t in many]
            [t.join() for t in many]
        self.check("threads.tide", work, {"thread": 2, "a": 2, "b": 2, "aside": 4})

    def test_recordings_that_begin_and_end_inside(self):
        own, works = asyncio.events.Handle._run, [Work(), Work()]

        async def one(work: Work, begun: asyncio.Event) -> None:
            with tidemark.op("before"):
                begun.set()
                await asyncio.sleep(0.01)
                work.here()
            with tidemark.op("after"):
                work.here("after")
                await asyncio.sleep(0)
                work.here("after")

        async def whole() -> None:
            for i, work in enumerate(works):
                begun = asyncio.Event()
                task = asyncio.ensure_future(one(work, begun))
                await begun.wait()
                with tidemark.record(path(f"inside{i}.tide"), torch=False):
                    await task
                    work.here()

        asyncio.run(whole())
        for i, work in enumerate(works):
            self.check(f"inside{i}.tide", work, {"after": 1})
        self.assertIs(asyncio.events.Handle._run, own)

    def test_a_loop_that_is_not_asyncios(self):
        """Its turns are not seen; ops are their tasks' all the same, from one that begins or ends on."""
        work, loop = Work(), type("Loop", (), {"call_soon": lambda *args, **kw: None})()
        steps: list = []

        def task(name: str):
            with tidemark.op(name):
                work.here(name)
                yield
                with tidemark.op("inside"):
                    work.here(name, "inside")
                    yield
                work.here(name)

        with tidemark.record(path("other.tide"), torch=False):
            asyncio._set_running_loop(loop)
            try:
                steps = [(contextvars.Context(), task(n)) for n in "abc"]
                for _ in range(3):
                    for context, its in steps:
                        context.run(next, its, None)
            finally:
                asyncio._set_running_loop(None)
        self.check("other.tide", work, {"a": 1, "b": 1, "c": 1, "inside": 3})

    def take_turns(self, name: str, run, factory=None) -> None:
        """Two tasks, one inside of ops and one of none, in a loop of any kind."""
        work = Work()

        async def one(n: str) -> None:
            with tidemark.op(n):
                work.here("all", n)
                await asyncio.sleep(0)
                work.here("all", n)
                with tidemark.op("inside"):
                    await asyncio.sleep(0)
                    work.here("all", n, "inside")

        async def none() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
                work.here()

        async def whole() -> None:
            if factory is not None:
                asyncio.get_running_loop().set_task_factory(factory)
            bare = asyncio.get_running_loop().create_task(none())
            with tidemark.op("all"):
                tasks = []
                for n in "ab":
                    tasks.append(asyncio.get_running_loop().create_task(one(n)))
                    work.here("all")  # not in what a task that began at once has open
                for t in tasks:
                    await t
                work.here("all")
            await bare
            if factory is not None:
                asyncio.get_running_loop().set_task_factory(None)  # the end makes tasks, too

        for i in range(2):  # the second recording finds the loop's class as it was
            work = Work()
            with tidemark.record(path(f"{name}{i}.tide"), torch=False):
                run(whole())
            self.check(f"{name}{i}.tide", work, {"all": 1, "a": 1, "b": 1, "inside": 2})

    def test_turns_of_other_loops(self):
        before = dict(vars(Own))
        self.take_turns("own", lambda coro: Own().run(coro))
        self.assertEqual(dict(vars(Own)), before)
        if importlib.util.find_spec("uvloop"):
            import uvloop

            before = dict(vars(uvloop.Loop))
            self.take_turns("uvloop", lambda coro: uvloop.new_event_loop().run_until_complete(coro))
            self.assertEqual(dict(vars(uvloop.Loop)), before)

    @unittest.skipUnless(sys.version_info >= (3, 11), "tasks have no context of their own")
    def test_tasks_that_begin_at_once(self):
        before = asyncio.BaseEventLoop.create_task
        self.take_turns("eager", asyncio.run, getattr(asyncio, "eager_task_factory", at_once))
        self.assertIs(asyncio.BaseEventLoop.create_task, before)

    @unittest.skipUnless(TORCH, "no torch")
    def test_of_pytorch(self):
        """Its ops are in the task's; a range of its own ends where its task waits, and takes nothing of others along."""
        import torch

        async def one(name: str, n: int) -> None:
            with torch.autograd.profiler.record_function(f"range {name}"), tidemark.op(name):
                keep = torch.empty(n, dtype=torch.uint8)
                await asyncio.sleep(0)
                more = torch.empty(n + 1, dtype=torch.uint8)
            del keep, more

        async def bare(n: int) -> None:
            await asyncio.sleep(0)
            torch.empty(n, dtype=torch.uint8)

        async def whole() -> None:
            await asyncio.gather(one("a", 1000), bare(5000), one("b", 2000), bare(6000))

        with tidemark.record(path("torch.tide"), torch=True):
            asyncio.run(whole())
        t, spans = rows("torch.tide")
        self.assertEqual(t.memory()["losses"], {})
        at = dict(zip(t.native.column("allocs", "size"), t.native.column("allocs", "span")))
        got = {n: op_path(spans, at[n]).replace("/aten::empty", "").replace("aten::empty", "") for n in (1000, 1001, 2000, 2001, 5000, 6000)}
        self.assertEqual(got, {1000: "range a/a", 1001: "a", 2000: "range b/b", 2001: "b", 5000: "", 6000: ""})

    @unittest.skipUnless(TORCH, "no torch")
    def test_operations_of_the_tracker(self):
        import torch

        tracker = tidemark.tracker.MemoryTracker(tempfile.mkdtemp(), True, 60)

        async def one(name: str, kept: list) -> None:
            with tracker.track_operation(name):
                for i in range(3):
                    kept.append(torch.empty(1 << 20, dtype=torch.uint8))
                    await asyncio.sleep(0)
                    with tracker.track_operation("part"):
                        await asyncio.sleep(0)
                if name == "b":
                    raise KeyError(name)

        async def whole() -> None:
            kept: list = []
            await asyncio.gather(one("a", kept), one("b", kept), return_exceptions=True)

        asyncio.run(whole())
        p = tidemark.tracker.profile(tracker.recording) if tracker.stop() else {}
        for name in "ab":
            (run,) = p["operation_allocations"][name]
            self.assertEqual((run["memory_delta_mb"], run["tensors_allocated"]), (3.0, 3), name)
            self.assertEqual(p["operation_graph"][name]["child_operations"], ["part"])
        self.assertEqual({n: s["invocation_count"] for n, s in p["operation_summary"].items()}, {"a": 1, "b": 1, "part": 6})


if __name__ == "__main__":
    unittest.main()
