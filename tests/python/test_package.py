# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The package without torch: recording, reading, the program, Arrow, what goes wrong."""
import asyncio
import contextlib
import ctypes
import importlib.metadata
import inspect
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.dom.minidom
from unittest import mock

import tidemark
from tidemark import _home
from tidemark import _native as native

FOLDER = tempfile.mkdtemp()
DATA = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, cwd=FOLDER)


def heap() -> int:
    return native.pool(native.device(native.HOST, 0), native.HEAP, "heap")


class Recording(unittest.TestCase):
    def test_one_recorder_whoever_loads_it(self):
        """The extension and the capture library find the package's own recorder; with two of them nothing would be recorded."""
        done = run("import ctypes, os, tidemark\nfrom tidemark import _home, _native\n"
                   "ctypes.CDLL(os.path.join(_home.LIBRARIES, 'libtidemark-torch.so'))\n"
                   "maps = open('/proc/self/maps').read().split()\n"
                   "print(*sorted({os.path.realpath(p) for p in maps if 'libtidemark-rt' in p}), sep='\\n')")
        self.assertEqual(done.stdout.splitlines(), [os.path.realpath(os.path.join(_home.LIBRARIES, "libtidemark-rt.so.0"))], done.stderr)

    def test_totals_and_names(self):
        with tidemark.record(path("a.tide"), torch=False):
            pool = heap()
            with tidemark.op("outer"):
                native.alloc(pool, 0x1000, 100)
                with tidemark.op("inner"):
                    native.alloc(pool, 0x2000, 50)
            native.free(pool, 0x1000)
            tidemark.phase("LOAD")
            native.alloc(pool, 0x3000, 20)
            tidemark.phase("TRAIN")
        t = tidemark.open(path("a.tide"))
        peak = t.peak(group_by="op")
        self.assertEqual(peak["peak_bytes"], 150)
        self.assertEqual([(g["key"], g["bytes"]) for g in peak["groups"]], [("outer", 100), ("outer/inner", 50)])
        self.assertEqual([p["name"] for p in t.phases()["phases"]][:2], ["LOAD", "TRAIN"])
        self.assertEqual(t.memory()["devices"][0]["totals"]["live_bytes"], 70)
        self.assertEqual({o["op"]: o["count"] for o in t.ops(flat=True)["ops"]}, {"outer": 1, "inner": 1})
        self.assertEqual(t.native.column("allocs", "size"), [0, 100, 50, 20])
        self.assertEqual(len(t["allocs"]), 3)

    def test_tensors(self):
        shapes = [(), (7,), (3, 5, 2), tuple(range(1, 19))]
        with tidemark.record(path("tensors.tide"), torch=False):
            pool = heap()
            for i, shape in enumerate(shapes):
                native.alloc(pool, 0x1000 * (i + 1), 64)
                native.tensor(pool, 0x1000 * (i + 1), shape, 1, 2, 1, f"t{i}")
        t = tidemark.open(path("tensors.tide")).native
        alloc, dims, ndim, name, dtype, role = (t.column("tensors", c)[1:] for c in ("alloc", "dims", "ndim", "name", "dtype", "role"))
        self.assertEqual([t.dims(d, n) for d, n in zip(dims, ndim)], [list(s[:16]) for s in shapes])  # no more than 16
        self.assertEqual((alloc, name), ([1, 2, 3, 4], ["t0", "t1", "t2", "t3"]))
        self.assertEqual((set(dtype), set(role)), ({1}, {2}))

    def test_a_recording_read_while_it_grows_has_all_its_names(self):
        file, done = path("grows.tide"), threading.Event()

        def work():
            for i in range(20_000):
                if done.is_set():
                    break
                native.mark(native.CHECKPOINT, f"checkpoint {i}", i)

        with tidemark.record(file, torch=False):
            writer = threading.Thread(target=work)
            writer.start()
            for _ in range(5):
                t = native.Trace(file)
                names = t.view("marks", "name")
                self.assertNotIn("", [t.text(names[row]) for row in range(1, len(names))])
            done.set()
            writer.join()

    def test_an_op_that_several_threads_use(self):
        one, barrier = tidemark.op("one"), threading.Barrier(2)

        def work(before):
            for _ in range(before):
                with tidemark.op("before"):
                    pass
            for _ in range(50):
                barrier.wait()
                with one, tidemark.op("in"):
                    barrier.wait()

        tidemark.start(path("shared.tide"))
        threads = [threading.Thread(target=work, args=(n,)) for n in (0, 7)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        tidemark.stop()
        t = tidemark.open(path("shared.tide")).native
        names, parents = t.column("spans", "name"), t.column("spans", "parent")
        self.assertEqual({(names[p], n) for n, p in zip(names[1:], parents[1:])}, {("", "before"), ("", "one"), ("one", "in")})
        self.assertFalse(one._tokens)

    def test_decorators_and_exceptions(self):
        @tidemark.op("work")
        def work(n):
            if n:
                return work(n - 1)
            raise ValueError

        @tidemark.record(path("d.tide"), torch=False)
        def whole():
            try:
                work(3)
            except ValueError:
                pass
            with tidemark.op("after"):
                return 7

        self.assertEqual(whole(), 7)
        t = tidemark.open(path("d.tide"))
        self.assertEqual(t.native.column("spans", "name")[1:], ["work"] * 4 + ["after"])
        self.assertEqual(t.native.column("spans", "parent")[1:], [0, 1, 2, 3, 0])

    def test_decorated_coroutines_and_generators_last_as_long_as_they_do(self):
        @tidemark.op("coroutine")
        async def one():
            await asyncio.sleep(0)
            with tidemark.op("inside"):
                return 7

        @tidemark.op("generator")
        def many():
            got = yield 1
            with tidemark.op("inside too"):
                return got

        @tidemark.record(path("co.tide"), torch=False)
        async def whole():
            return await one()

        self.assertEqual(asyncio.run(whole()), 7)
        with tidemark.record(path("ge.tide"), torch=False), self.assertRaises(StopIteration) as end:
            g = many()
            next(g)
            g.send(5)
        self.assertEqual(end.exception.value, 5)
        parts = ["", "coroutine", "coroutine", "inside"]  # it waits once
        for name, spans, parents in (("co", parts, [0, 0, 0, 2]), ("ge", ["", "generator", "inside too"], [0, 0, 1])):
            t = tidemark.open(path(f"{name}.tide"))
            self.assertEqual((t.native.column("spans", "name"), t.native.column("spans", "parent")), (spans, parents))
            self.assertEqual({o["count"] for o in t.ops(flat=True)["ops"]}, {1})

    def test_a_decorated_asynchronous_generator_is_as_before(self):
        said = []

        @tidemark.op("stream")
        async def stream():
            try:
                said.append((yield 1))
                with tidemark.op("inside"):
                    yield 2
                yield 3
            except KeyError:
                said.append("thrown")
                yield 4
            finally:
                said.append("closed")

        async def use():
            s = stream()
            found = [await s.asend(None), await s.asend("sent"), await s.athrow(KeyError()), [x async for x in s]]
            s = stream()
            await s.asend(None)
            await s.aclose()
            return found, [x async for x in stream()]

        self.assertTrue(inspect.isasyncgenfunction(stream))
        with tidemark.record(path("as.tide"), torch=False):
            self.assertEqual(asyncio.run(use()), ([1, 2, 4, []], [1, 2, 3]))
        self.assertEqual(said, ["sent", "thrown", "closed", "closed", None, "closed"])
        c = tidemark.open(path("as.tide")).native.column
        self.assertEqual(c("spans", "name"), ["", "stream", "inside", "stream", "stream", "inside"])
        self.assertEqual(c("spans", "parent"), [0, 0, 1, 0, 0, 4])

    def test_a_decorator_without_its_brackets_is_told(self):
        for wrong in (tidemark.op, tidemark.record):
            self.assertRaises(TypeError, wrong, lambda: None)

    def test_wrong_words_are_told_where_they_stand(self):
        for wrong in ({"stack": True}, {"stacks": "yes"}, {"stacks": -1}):
            with self.subTest(wrong), self.assertRaises(TypeError) as raised:
                tidemark.record(path("wrong.tide"), **wrong)
            self.assertIn("stack", str(raised.exception))
        self.assertFalse(os.path.exists(path("wrong.tide")))

    def test_a_path_may_be_bytes(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), tidemark.record(os.fsencode(path("bytes.tide")), torch=False):
            pass
        self.assertEqual(said.getvalue(), "")
        self.assertTrue(os.path.exists(path("bytes.tide")))

    def test_a_block_ends_its_own_recording_alone(self):
        again = tidemark.record(path("outer.tide"), torch=False)
        with again:
            with again:
                pass
            self.assertTrue(tidemark.recording())  # entered twice: the outer end counts
            tidemark.stop()
            tidemark.start(path("other.tide"))
        self.assertTrue(tidemark.recording())
        tidemark.stop()
        with self.assertRaises(tidemark.Error):
            tidemark.record("/nonexistent/x.tide", torch=False).__enter__()

    def test_names_that_are_no_text_elsewhere(self):
        with tidemark.record(path("odd.tide"), torch=False):
            tidemark.phase("caf\udce9")
            tidemark.checkpoint("nul\0in")
            tidemark.annotate("key", "odd\udcff\0text")
        marks = tidemark.open(path("odd.tide")).native
        self.assertEqual([marks.text(n) for n in marks.view("marks", "name")][1:], ["caf\\udce9", "nul\u2400in", "key"])
        self.assertEqual(marks.text(marks.view("marks", "text")[3]), "odd\\udcff\u2400text")

    def test_a_forked_child_knows_its_own_file(self):
        done = run("import os, tidemark\nwith tidemark.record('fork.tide', torch=False):\n"
                   "  if os.fork() == 0:\n    tidemark.step(1); print(os.path.basename(tidemark.live().path), os.getpid(), flush=True); os._exit(0)\n"
                   "  os.wait()")
        name, pid = done.stdout.split()
        self.assertEqual(name, f"fork.{pid}.tide", done.stderr)

    def test_a_recording_that_is_removed_is_told_and_nothing_raised(self):
        folder = path("gone")
        said = io.StringIO()
        for ends in "with", "stop":
            os.mkdir(folder)
            with contextlib.redirect_stderr(said):
                one = tidemark.record(os.path.join(folder, "a.tide"), torch=False)
                one.__enter__()
                tidemark.step(1)
                self.assertNotIn("removed", repr(tidemark.live()))
                shutil.rmtree(folder)
                self.assertIn("(removed: what is recorded is lost)", repr(tidemark.live()))
                one.__exit__(None, None, None) if ends == "with" else self.assertIs(tidemark.stop(), False)
        line = f"tidemark: {folder}/a.tide: removed or replaced while recording: the recording is lost\n"
        self.assertEqual(said.getvalue(), 2 * line)
        self.assertIs(tidemark.stop(), True)
        for code in ("import os, tidemark; tidemark.start('e.tide'); tidemark.step(1); os.unlink('e.tide')",
                     "import os, tidemark; tidemark.start('e.tide'); os.rename('e.tide', 'f.tide')"):
            done = run(code)
            self.assertEqual("e.tide: removed or replaced" in done.stderr, "unlink" in code, done.stderr)

    def test_children_of_an_earlier_run_are_left_out(self):
        """They stay beside the new run's recording, under names like its own children's."""
        folder = path("family")
        code = ("import os, sys, tidemark\nwith tidemark.record('run.tide', torch=False):\n  tidemark.step(0)\n"
                "  for _ in range(int(sys.argv[1])):\n    if os.fork() == 0:\n"
                "      with tidemark.op('child'): pass\n      tidemark.stop(); os._exit(0)\n    os.wait()\n")

        def record(children: int) -> set:
            before = set(os.listdir(folder))
            subprocess.run([sys.executable, "-c", code, str(children)], cwd=folder, check=True)
            return set(os.listdir(folder)) - before

        def read(*what: str) -> tuple:
            done = subprocess.run([sys.executable, "-m", "tidemark", "hta", "--json", *what], cwd=folder, capture_output=True, text=True, check=True)
            return {os.path.basename(t["trace"]) for t in json.loads(done.stdout)["ranks"]}, done.stderr

        os.mkdir(folder)
        old = record(2) - {"run.tide"}
        self.assertEqual(len(old), 2)
        self.assertEqual(read("."), ({"run.tide"} | old, ""))  # of one run: all of it
        new = record(1)
        files, said = read(".")
        self.assertEqual(files, {"run.tide"} | new)
        self.assertTrue(said.startswith("tidemark: left out, of an earlier run than run.tide: "), said)
        self.assertTrue(all(name in said for name in old), said)
        self.assertEqual(read("run*.tide")[0], files)
        named = sorted(old)[0]
        self.assertEqual(read("run.tide", named), ({"run.tide", named}, f"tidemark: read though of an earlier run than run.tide: {named}\n"))
        with tidemark.record(os.path.join(folder, "run.2.tide"), torch=False):  # no process's number: nobody's child
            tidemark.step(0)
        self.assertIn("run.2.tide", read("run*.tide")[0])

    def test_without_a_recording_nothing_happens(self):
        self.assertFalse(tidemark.recording())
        with tidemark.op("nothing"):
            native.alloc(1, 1, 1)
        tidemark.stop()

    def test_second_recording_is_refused_and_harmless(self):
        with tidemark.record(path("one.tide"), torch=False):
            with self.assertRaises(tidemark.Error) as e:
                tidemark.start(path("two.tide"))
            self.assertEqual(e.exception.code, 8)
            with tidemark.record(path("three.tide"), torch=False):
                pass
            self.assertTrue(tidemark.recording())
        self.assertFalse(os.path.exists(path("two.tide")) or os.path.exists(path("three.tide")))

    def test_a_start_that_fails_is_one_line(self):
        with self.assertRaises(tidemark.Error) as e:
            tidemark.start("/no/such/folder/x.tide")
        self.assertEqual(str(e.exception), "/no/such/folder/x.tide: cannot record: No such file or directory")
        self.assertRaises(ValueError, tidemark.start, path("neg.tide"), ring_bytes=-5)
        self.assertFalse(tidemark.recording())

    def test_a_path_that_cannot_be_written_is_told_before_anything_runs(self):
        ran = []
        wrong = tidemark.record("/no/such/folder/x.tide", torch=False)
        for call in (wrong.__enter__, wrong(lambda: ran.append(1))):
            with self.assertRaisesRegex(tidemark.Error, "^/no/such/folder/x.tide: cannot record: No such file or directory$"):
                call()
        self.assertEqual((ran, tidemark.recording()), ([], False))

    def test_a_recording_inside_another_is_said_once(self):
        done = run("import tidemark\nfor i in range(3):\n  with tidemark.record('outer.tide', torch=False):\n"
                   "    with tidemark.record('inner.tide', torch=False): tidemark.step(i)\n    with tidemark.record(): pass")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, f"tidemark: inner.tide is not written: a recording is in progress, into {path('outer.tide')}\n")
        self.assertFalse(os.path.exists(path("inner.tide")))

    def test_ranks_that_were_told_one_name_each_keep_a_recording(self):
        code = ("import sys, tidemark\nwith tidemark.record('ranks.tide', torch=False):\n  tidemark.step(int(sys.argv[1]))\n"
                "  print(tidemark.live().path, flush=True); sys.stdin.read()")
        two = [subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for n in (7, 8)]
        files = [p.stdout.readline().strip() for p in two]
        said = [p.communicate("", timeout=300)[1] for p in two]
        self.assertEqual(len(set(files)), 2, said)
        self.assertIn(path("ranks.tide"), files)
        self.assertEqual(sorted(said)[0], "")
        self.assertRegex(sorted(said)[1], r"^tidemark: another process is recording into .*ranks\.tide: this one records into .*ranks\.\d+\.tide\n$")
        for n, file in zip((7, 8), files):
            self.assertEqual(tidemark.open(file).native.column("marks", "value")[1:], [n])

    def test_ranks_of_a_launcher_are_named_by_their_rank(self):
        code = ("import sys, tidemark\nwith tidemark.record('launched.tide', torch=False):\n  tidemark.step(1)\n"
                "  print(tidemark.live().path, flush=True); sys.stdin.read()")
        files, running = [], []
        for rank in ("0", "1", "1"):  # the last one is what rank 1 started
            running.append(subprocess.Popen([sys.executable, "-c", code], cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, env={**os.environ, "RANK": rank}))
            files.append(os.path.basename(running[-1].stdout.readline().strip()))
        said = [p.communicate("", timeout=300)[1] for p in running]
        self.assertEqual(files[:2], ["launched.tide", "launched.rank1.tide"])
        self.assertEqual(files[2], f"launched.{running[2].pid}.tide")
        self.assertIn("this one records into", said[1])

    def test_a_decorated_functions_calls_are_numbered(self):
        done = run("import tidemark\n@tidemark.record('dec.tide', torch=False)\ndef work(n):\n  tidemark.step(n)\n  if n == 7: work(8)\n"
                   "for n in (5, 6, 7): work(n)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))  # the call inside a call is of the same file: nothing to say
        steps = [tidemark.open(path(f"dec{n}.tide")).native.column("marks", "value")[1:] for n in ("", ".2", ".3")]
        self.assertEqual(steps, [[5], [6], [7, 8]])

    def test_records_of_several_threads_at_once(self):
        wrong, ready = [], threading.Barrier(4)

        @tidemark.record(path("many.tide"), torch=False)
        def decorated():
            tidemark.counter("n", 1)

        def work(i):
            try:
                for _ in range(25):
                    ready.wait()
                    if i % 2:
                        decorated()
                    else:
                        with tidemark.record(path(f"many{i}.tide"), torch=False):
                            tidemark.counter("n", 1)
            except BaseException as why:
                wrong.append(why)
                ready.abort()

        many = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                [x.start() for x in many]
                [x.join() for x in many]
        finally:
            sys.setswitchinterval(interval)
        self.assertEqual(wrong, [])
        self.assertFalse(tidemark.recording())

    def test_periodic_snapshots_from_many_threads(self):
        """They replace each other's; a child that was forked meanwhile has none, and may start some."""
        def work(k):
            for i in range(60):
                native.snapshots_every((0.0, 0.001, 0.002)[(i + k) % 3])

        threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(300)
        self.assertFalse(any(t.is_alive() for t in threads))
        with tidemark.record(path("ticks.tide"), torch=False):
            native.snapshots_every(0.001)
            child = os.fork()
            if child == 0:
                native.snapshots_every(0.001)
                native.snapshots_every(0)
                os._exit(7)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            native.snapshots_every(0)
        with self.assertRaises(ValueError):
            native.snapshots_every(float("nan"))

    def test_threads_that_python_ends_give_back_what_they_hold(self):
        """Before 3.14 Python ends a daemon thread where it wants the GIL back, in the middle of our functions. Every allocation that
        these make themselves is traced by the C library; the process waits for its threads (exit status 1: sleep(1)), longer on a loaded machine. Traces are opened by
        C code alone: a thread that ends in Python code, after a trace was opened, never gives back the object in its frame."""
        debug, log = "libc_malloc_debug.so.0", path("mtrace")
        try:
            ctypes.CDLL(debug)
        except OSError:
            self.skipTest(f"no {debug}")
        with tidemark.record(path("asked.tide"), torch=False):
            for i in range(3000):
                with tidemark.op(f"op{i % 50}"):
                    tidemark.checkpoint("c")
        code = """if True:
            import collections, ctypes, functools, sys, threading, time, tidemark
            opened = functools.partial(tidemark._native.Trace, sys.argv[1])
            t, c = tidemark.open(sys.argv[1]), ctypes.CDLL(None)
            positions = list(range(t.tables["memory_events"]))
            def loop(what):
                while True:
                    what()
            t.ops(flat=True)
            c.dlvsym.restype, c.dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
            ctypes.CFUNCTYPE(None)(c.dlvsym(ctypes.CDLL("libc_malloc_debug.so.0")._handle, b"mtrace", b"GLIBC_2.2.5"))()
            for what in (lambda: t.ops(flat=True), lambda: collections.deque(iter(opened, None), 0), lambda: t.native.totals(positions)) * 3:
                threading.Thread(target=loop, args=(what,), daemon=True).start()
            time.sleep(0.2)
            c.on_exit(c.sleep, None)
            sys.exit(int(sys.argv[2]))
        """
        env = {**os.environ, "LD_PRELOAD": debug, "MALLOC_TRACE": log}
        for seconds in 1, 30:
            done = subprocess.run([sys.executable, "-c", code, path("asked.tide"), str(seconds)], env=env, capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual((done.returncode, done.stderr), (seconds, ""))
            held: dict = {}
            seen = 0
            with open(log, encoding="utf-8") as f:
                for line in f:
                    word = line.split()
                    if len(word) < 4 or word[0] != "@":
                        continue
                    if word[2] in "+>":
                        held[word[3]] = word[1]
                        seen += "/tidemark/" in word[1]
                    elif word[2] in "-<":
                        held.pop(word[3], None)
            left = [at for at in held.values() if "/tidemark/_" in at]
            if seen > 9 and not left:
                break
        self.assertGreater(seen, 9)
        self.assertEqual(left, [])

    def test_wrong_arguments_raise(self):
        for call in (lambda: native.alloc(1), lambda: native.op_end("x"), lambda: native.free(1, -1), lambda: native.mark("a", "b"),
                     lambda: tidemark.phase(3), lambda: tidemark.checkpoint(None), lambda: tidemark.step(1, 2)):  # type: ignore[arg-type]
            self.assertRaises((TypeError, OverflowError), call)
        self.assertIsInstance(native.op_begin("\udc80"), int)  # no name rather than an exception

    def test_threads(self):
        def work():
            for _ in range(1000):
                with tidemark.op("t"):
                    pass

        with tidemark.record(path("t.tide"), torch=False):
            many = [threading.Thread(target=work) for _ in range(4)]
            [t.start() for t in many]
            [t.join() for t in many]
        t = tidemark.open(path("t.tide"))
        self.assertEqual(t.tables["spans"], 4000)
        self.assertEqual(set(t.native.column("spans", "parent")), {0})

    def test_threads_have_their_python_names(self):
        go, own = threading.Event(), threading.Thread._bootstrap_inner

        def work():
            go.wait()
            with tidemark.op("t"):
                pass

        many = [threading.Thread(target=work, name=n) for n in ("before", "prefetch", "ein sehr langer Näme")]
        many[0].start()
        with tidemark.record(path("names.tide"), torch=False):
            [t.start() for t in many[1:]]
            go.set()
            [t.join() for t in many]
        self.assertIs(threading.Thread._bootstrap_inner, own)
        names = tidemark.open(path("names.tide")).native.column("lanes", "name")
        self.assertEqual(sorted(n for n in names if n), ["before", "ein sehr langer", "prefetch"])

    def test_threads_that_run_on_the_main_one_do_not_rename_the_process(self):
        def work():
            with open("/proc/thread-self/comm", encoding="utf-8") as f:
                seen.append(f.read().strip())

        seen, hook = [], _home.hook("tidemark_threads")
        with tidemark.record(path("green.tide"), torch=False):
            for native_id in hook.get_native_id, os.getpid:  # gevent's threads
                with mock.patch.object(hook, "get_native_id", native_id):
                    t = threading.Thread(target=work, name="green")
                    t.start()
                    t.join()
        self.assertEqual([x == "green" for x in seen], [True, False] if sys.version_info < (3, 14) else [True, True])

    def test_survives_kill(self):
        done = run("import os, tidemark\ntidemark.start('k.tide')\nwith tidemark.op('last'): os.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(tidemark.open(path("k.tide")).native.column("spans", "name"), ["", "last"])

    def test_live(self):
        with tidemark.record(path("l.tide"), torch=False):
            native.alloc(heap(), 0x10, 5000)
            now = tidemark.live()
        self.assertTrue(now.recording)
        self.assertEqual(now.devices[0]["totals"]["live_bytes"], 5000)
        self.assertIn("4.88 KiB", repr(now))
        self.assertIn("<svg", now._repr_html_())


class Reading(unittest.TestCase):
    def test_a_compressed_recording_is_read_as_it_is(self):
        """And what a cut or damaged one still has, with where and why it ends."""
        import gzip

        with tidemark.record(path("z.tide"), torch=False):
            for i in range(60_000):
                native.alloc(1, 4096 + 64 * (i * i % 9973), 1 + i % 57)
        with open(path("z.tide"), "rb") as f:
            data = f.read()
        with gzip.open(path("z.tide.gz"), "wb", 6) as f:
            f.write(data)
        whole = tidemark.open(path("z.tide")).memory()
        self.assertEqual(tidemark.open(path("z.tide.gz")).memory(), whole)
        with open(path("z.tide.gz"), "rb") as f:
            packed = f.read()
        for name, cut, end in ("short.gz", packed[:len(packed) * 2 // 3], len(packed) * 2 // 3), ("zeros.gz", packed[:50_000] + bytes(2000), None):
            with open(path(name), "wb") as f:
                f.write(cut)
            t = tidemark.open(path(name))
            losses = t.memory()["losses"]
            self.assertEqual(losses["compressed_at"], end or losses["compressed_at"], name)
            self.assertTrue(0 < t.memory()["devices"][0]["totals"]["allocs"] < 60_000)
            done = subprocess.run([sys.executable, "-m", "tidemark", "memory", path(name)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 4)  # the input is cut off
            self.assertEqual(" ".join(done.stdout.split()).count("the compressed data cannot be read from byte"), 1)
            self.assertNotIn("cut off", done.stdout)

    def test_errors_are_one_line(self):
        with open(path("no.tide"), "wb") as f:
            f.write(b"no trace")
        with self.assertRaises(tidemark.Error) as e:
            tidemark.open(path("no.tide"))
        self.assertEqual(str(e.exception).count("\n"), 0)
        self.assertEqual(e.exception.code, 3)
        with self.assertRaises(tidemark.Error):
            tidemark.open(path("absent.tide"))

    def test_errors_name_any_file(self):
        with self.assertRaisesRegex(tidemark.Error, "cannot|No such"):
            native.start(os.path.join(os.fsencode(FOLDER), b"none", b"\xff.tide"))
        with self.assertRaisesRegex(tidemark.Error, "No such"):
            native.Trace(b"\xff.tide")
        with contextlib.chdir(FOLDER) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
            name = "-n.tide" if hasattr(contextlib, "chdir") else path("n.tide")
            with tidemark.record(name, torch=False):
                native.alloc(heap(), 0x1000, 100)
            self.assertEqual(tidemark.open(name).peak()["peak_bytes"], 100)

    def test_folders_are_compared_by_the_ranks_that_were_recorded(self):
        for name, size in (("before", 100), ("after", 150)):
            os.mkdir(path(name))
            for rank in range(2):
                code = (f"import tidemark\nfrom tidemark import _native as n\nwith tidemark.record('{name}/run.{rank + 7}.tide', torch=False):\n"
                        f"  p = n.pool(n.device(2, 0), 1)\n  n.alloc(p, 64, {size if rank else 100})")
                done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"},
                                      capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.stderr, "")
        done = subprocess.run([sys.executable, "-m", "tidemark", "diff", "before", "after", "--fail-if", "peak>+2%", "--json"], cwd=FOLDER,
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("rank 1", done.stderr)
        self.assertNotIn("rank 0", done.stderr)

    def test_a_table_that_is_not_there_is_told(self):
        with tidemark.record(path("tables.tide"), torch=False):
            pass
        with self.assertRaisesRegex(KeyError, "no table 'alocs': there are .*allocs"):
            tidemark.open(path("tables.tide"))["alocs"]

    def test_every_analysis_has_a_method(self):
        def ask(*words):
            return subprocess.run([_home.program(), *words], capture_output=True, text=True, check=True).stdout

        commands = re.findall(r"^  ([a-z-]+) {2,}\S", ask("help"), re.M)
        writers = {"pack", "recover", "config", "run", "profile", "tt", "serve", "dump", "objects", "schema", "redact", "bisect"}  # no answers about a trace; dump: many lines
        asked = [c for c in commands if c not in writers and "--json" in ask("help", c)]
        self.assertIn("whatif", asked)
        self.assertEqual([c for c in asked if not hasattr(tidemark.Trace, c.replace("-", "_"))], [])
        with tidemark.record(path("m.tide"), torch=False):
            native.alloc(heap(), 0x1000, 100)
        t = tidemark.open(path("m.tide"))
        for other in (t, t.path, pathlib.Path(t.path)):
            self.assertEqual(t.diff(other, fail_if=["peak>+2%", "allocs>+1"]), t.diff(t, fail_if=("peak>+2%", "allocs>+1")))
        self.assertEqual((t.modules(), t.whatif()), (t.ask("modules"), t.ask("whatif")))
        found = t.predict(1, {3: t.path}, at=[2], capacity=100)
        self.assertEqual([(r["size"], r["peak_bytes"]) for r in found["sizes"]], [(1, 100), (2, 100), (3, 100)])
        self.assertEqual((found["allocations"]["in_one_alone"], found["fits"]), (0, None))  # every size fits
        self.assertRaisesRegex(tidemark.Error, "no such analysis", t.ask, "dump")

    def test_a_trace_writes_pages_and_exports(self):
        with tidemark.record(path("w.tide"), torch=False):
            native.alloc(heap(), 0x1000, 100)
        with tidemark.open(path("w.tide")) as t:
            self.assertEqual(t.export(path("w.json.gz")), path("w.json.gz"))
            self.assertGreater(os.path.getsize(path("w.json.gz")), 20)
            with self.assertRaisesRegex(tidemark.Error, "tidemark"):
                t.export(path("w.nonsense"))
            try:
                t.report(path("w.html"))
            except tidemark.Error as why:  # a build without Node.js
                self.assertIn("no pages", str(why))
            else:
                self.assertGreater(os.path.getsize(path("w.html")), 10_000)

    def test_unknown_option_is_the_programs_line(self):
        with tidemark.record(path("o.tide"), torch=False):
            pass
        with self.assertRaisesRegex(tidemark.Error, "peak: unknown option --no-such"):
            tidemark.open(path("o.tide")).ask("peak", no_such="x")
        with self.assertRaises(TypeError):
            tidemark.open(path("o.tide")).peak(no_such="x")

    def test_arrow_by_hand(self):
        """Consumes the stream as the C data interface says, and releases in another order."""
        with tidemark.record(path("ar.tide"), torch=False):
            for i in range(10):
                native.alloc(heap(), 0x1000 + 64 * i, i + 1)
        t = tidemark.open(path("ar.tide"))
        capsule = t["allocs"].__arrow_c_stream__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        stream = ctypes.cast(pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(ctypes.c_void_p * 5)).contents
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        array = (ctypes.c_int64 * 10)()
        self.assertEqual(call(stream[1])(ctypes.addressof(stream), ctypes.addressof(array)), 0)
        self.assertEqual(array[0], 10)  # length
        columns = array[4]
        del t, capsule  # the array keeps the trace
        names = [c for c in range(columns)]
        children = ctypes.cast(array[6], ctypes.POINTER(ctypes.POINTER(ctypes.c_int64 * 10)))
        found = False
        for c in names:
            child = children[c].contents
            buffers = ctypes.cast(child[5], ctypes.POINTER(ctypes.c_void_p))
            values = ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_uint64))
            found |= child[9 - 1] != 0 and child[0] == 10 and not child[7] and [values[i] for i in range(2)] == [1, 2]
        self.assertTrue(found, "no column holds the sizes")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(array[8])(ctypes.addressof(array))
        self.assertEqual(array[8], 0)  # released

    def test_arrow_with_pyarrow(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not there")
        with tidemark.record(path("pa.tide"), torch=False), tidemark.op("x"):
            native.alloc(heap(), 0x1000, 77)
        t = tidemark.open(path("pa.tide"))
        allocs, spans = pyarrow.table(t["allocs"]), pyarrow.table(t["spans"])
        allocs.validate(full=True)
        spans.validate(full=True)
        self.assertEqual(allocs["size"].to_pylist(), [77])
        self.assertEqual(spans["name"].to_pylist(), ["x"])
        self.assertEqual(spans["cat"].to_pylist(), ["op"])  # enumerations have their names
        self.assertEqual(allocs["role"].to_pylist(), ["unknown"])
        self.assertEqual(pyarrow.table(t["memory_events"])["kind"].to_pylist(), ["alloc"])
        for name in t.tables:
            pyarrow.table(t[name]).validate(full=True)

    def test_arrow_with_others(self):
        """polars, pandas and duckdb read the same table."""
        with tidemark.record(path("ot.tide"), torch=False):
            for i in range(100):
                with tidemark.op(f"op{i % 3}"):
                    native.alloc(heap(), 0x1000 * (i + 1), i)
        t = tidemark.open(path("ot.tide"))
        ways = {
            "polars": lambda m: (int(m.DataFrame(t["allocs"])["size"].sum()), sorted(set(m.DataFrame(t["spans"])["name"])), sorted(set(m.DataFrame(t["spans"])["cat"]))),
            "pandas": lambda m: (int(m.DataFrame.from_arrow(t["allocs"])["size"].sum()), sorted(set(m.DataFrame.from_arrow(t["spans"])["name"])),
                                 sorted(set(m.DataFrame.from_arrow(t["spans"])["cat"]))),
            "duckdb": self.with_duckdb(t),
        }
        missing = []
        for name, way in ways.items():
            try:
                module = importlib.import_module(name)
            except ImportError:
                missing.append(name)
                continue
            with self.subTest(name):
                self.assertEqual(way(module), (4950, ["op0", "op1", "op2"], ["op"]))
        if missing:
            self.skipTest(f"not there: {', '.join(missing)}")

    @staticmethod
    def with_duckdb(t):
        def way(m):
            allocs, spans = t["allocs"], t["spans"]  # noqa: F841: duckdb finds them by name
            names, cats = m.sql("select distinct name from spans").fetchall(), m.sql("select distinct cat from spans").fetchall()
            total = m.sql("select sum(size) from allocs").fetchall()
            return int(total[0][0]), sorted(r[0] for r in names), sorted(r[0] for r in cats)

        return way

    def test_analyses_are_the_programs_own(self):
        """In this process, on the loaded trace, in threads at once: what the program prints. Of our recording and of a Kineto trace."""
        with tidemark.record(path("an.tide"), torch=False):
            for i in range(50):
                with tidemark.op("outer"), tidemark.op(f"op{i % 5}"):
                    native.alloc(heap(), 0x1000 * (i + 1), 10 + i)
            tidemark.step(1)
            native.free(heap(), 0x2000)
        self.assertRegex(tidemark.__version__, r"^\d+\.\d+")
        infer = DATA / "kineto_compiled_infer.json.gz"
        launch = tidemark.open(infer).kernels(top=1)["kernels"][0]
        self.assertEqual([len(launch[k]) for k in ("grid", "block")], [3, 3])
        self.assertTrue(launch["registers_per_thread"] > 0 and launch["shared_memory_bytes"] is not None)
        for t in (tidemark.open(path("an.tide")), tidemark.open(infer)):
            self.programs_own(t)
        for wrong, says in ((lambda: t.ask("nonsense"), "no such analysis"), (lambda: t.peak(group_by="x"), "group_by needs one of"),
                            (lambda: t.ask("peak", output="x"), "for the program itself"), (lambda: t.ask("run"), "no such analysis")):
            with self.assertRaisesRegex(tidemark.Error, says):
                wrong()

    def programs_own(self, t):
        names = [n for n in dir(t) if callable(getattr(t, n)) and not n.startswith("_") and n not in ("ask", "report", "export", "sql", "fit")]  # sql takes a query, fit a budget
        self.assertLessEqual({"peak", "ops", "memory", "hta", "leaks", "critical_path"}, set(names))

        def program(name):
            files = {"diff": [t.path] * 2, "predict": [f"1={t.path}", f"2={t.path}"]}.get(name, [t.path])
            done = subprocess.run([_home.program(), name.replace("_", "-"), *files, "--json"], capture_output=True, check=False)
            return json.loads(done.stdout) if done.returncode in (0, 3) else done.stderr.decode().splitlines()[0]

        def here(name):
            try:
                return t.diff(t) if name == "diff" else t.predict(1, {2: t}) if name == "predict" else getattr(t, name)()
            except tidemark.Error as why:
                return str(why)

        for name in names:
            with self.subTest(name, file=t.path):
                want, found = program(name), []
                many = [threading.Thread(target=lambda: found.append(here(name))) for _ in range(4)]
                [x.start() for x in many]
                [x.join() for x in many]
                self.assertEqual(found, [want] * 4)

    def test_analyses_outlive_the_trace_and_files(self):
        with tidemark.record(path("gone.tide"), torch=False):
            native.alloc(heap(), 0x1000, 77)
        t = tidemark.open(path("gone.tide"))
        os.unlink(path("gone.tide"))
        self.assertEqual(t.peak()["peak_bytes"], 77)


    def test_totals_after_moves(self):
        with tidemark.record(path("to.tide"), torch=False):
            pools = [native.pool(native.device(native.HOST, 0), native.HEAP, "heap"), native.pool(native.device(native.CUDA, 1), native.DRAM, "DRAM")]
            for i in range(200):
                native.alloc(pools[i % 2], 0x1000 * (i + 1), i + 1)
                if i % 3 == 0:
                    native.free(pools[i % 2], 0x1000 * (i + 1))
        t = tidemark.open(path("to.tide")).native
        device, size, pool = t.column("pools", "device"), t.column("allocs", "size"), t.column("allocs", "pool")
        now, want = {}, [{}]
        for row, kind in zip(t.view("memory_events", "row"), t.view("memory_events", "kind")):
            d = device[pool[row]]
            n, c = now.get(d, (0, 0))
            now[d] = (n + size[row], c + 1) if kind == 0 else (n - size[row], c - 1)
            want.append({k: v for k, v in now.items() if v != (0, 0)})
        self.assertEqual(t.totals(list(range(len(want)))), want)
        self.assertEqual(t.totals([10**9]), want[-1:])
        for wrong in ([2, 1], [-1], ["x"], (1, 2)):
            self.assertRaises((TypeError, ValueError, OverflowError), t.totals, wrong)


class Habits(unittest.TestCase):
    def test_one_wheel_for_every_python_from_3_10(self):
        site = pathlib.Path(tidemark.__file__).parents[1]
        (wheel,) = site.glob("tidemark_profiler-*.dist-info/WHEEL")
        self.assertRegex(wheel.read_text(encoding="utf-8"), r"(?m)^Tag: cp310-abi3-linux_")

    def test_metadata_of_a_public_release(self):
        about = importlib.metadata.metadata("tidemark-profiler")
        done = subprocess.run([sys.executable, "-m", "tidemark", "--version"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, f"tidemark {about['Version']}\n")
        self.assertEqual(tidemark.__version__, about["Version"])
        self.assertEqual((about["License-Expression"], about["License-File"]), ("Apache-2.0", "LICENSE"))
        urls = dict(row.split(", ") for row in about.get_all("Project-URL"))
        self.assertLessEqual({"Repository", "Documentation", "Changelog", "Issues"}, set(urls))
        links = re.findall(r"\]\(([^()\s]+)\)", about.get_payload())
        self.assertGreater(len(links), 10)
        self.assertFalse([u for u in links if not u.startswith(("https://", "#"))])
        self.assertIn(f"{urls['Repository']}/raw/v{about['Version']}/docs/guide/pictures/", about.get_payload())
        self.assertIn("Programming Language :: Python :: 3.10", about.get_all("Classifier"))

    def test_a_star_does_not_hide_pytorch(self):
        done = run("torch = 1\nfrom tidemark import *\nprint(torch, record.__name__, initialize_memory_tracker.__name__)")
        self.assertEqual(done.stdout.split(), ["1", "record", "initialize_memory_tracker"], done.stderr)
        self.assertLessEqual({"torch", "tracker", "__version__", *tidemark.__all__}, set(dir(tidemark)))

    def test_import_is_light(self):
        slow = ("torch", "numpy", "subprocess", "json", "ctypes", "inspect", "dataclasses")
        before = run("import sys; print(*sys.modules)").stdout.split()
        after = run("import sys, tidemark; print(*sys.modules)").stdout.split()
        self.assertFalse([m for m in slow if m in after and m not in before])

    def test_module_is_the_program(self):
        done = subprocess.run([sys.executable, "-m", "tidemark", "--version"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"^tidemark \d")
        self.assertEqual(subprocess.run([sys.executable, "-m", "tidemark", "nonsense"], capture_output=True, check=False).returncode, 2)

    def test_live_without_a_recording(self):
        self.assertEqual(run("import tidemark; print(tidemark.live())").stdout, "not recording: 0 events, 0 lost, 0 B\n")

    def test_live_numbers_and_curve(self):
        with tidemark.record(path("live.tide"), torch=False):
            pool = native.pool(native.device(native.CUDA, 0, "<b>"), native.DRAM, "DRAM")
            native.alloc(pool, 0x1000, 3 << 20)
            native.alloc(pool, 0x900000, 1 << 20)
            native.free(pool, 0x1000)
            now = tidemark.live()
        self.assertIn("cuda:0: 1.00 MiB in 1 allocation, peak 4.00 MiB", repr(now))
        page = now._repr_html_()
        drawing = xml.dom.minidom.parseString(page[page.index("<svg") : page.index("</svg>") + 6])
        points = [p.split(",") for p in drawing.getElementsByTagName("polyline")[0].getAttribute("points").split()]
        self.assertEqual(len(points), len(now.devices[0]["live_series_bytes"]))
        self.assertEqual(min(float(y) for _, y in points), 16.0)  # the peak touches the roof
        self.assertIn("4.00 MiB", drawing.toxml())
        self.assertNotIn("<b></b>", page.replace("<b>cuda:0</b>", ""))

    def test_promises_name_tests_that_exist(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        there = "".join(p.read_text(encoding="utf-8") for p in pathlib.Path(__file__).parent.glob("test_*.py"))
        gpu = (source / "tests" / "gpu" / "cases.py").read_text(encoding="utf-8")
        for line in (source / "docs" / "guide" / "tracker.md").read_text(encoding="utf-8").split("## Promises and their tests")[1].splitlines():
            held = line.split("|")[2] if line.count("|") == 3 else ""
            for name in re.findall(r"`(\w+)`", held.partition("GPU:")[0]):
                self.assertTrue(f"def {name}(" in there or (source / "tests" / "cli" / "cases" / f"{name}.cmd").exists(), name)
            for name in re.findall(r"`(\w+)`", held.partition("GPU:")[2]):
                self.assertIn(f"def {name}(", gpu)

    def test_typed(self):
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(tidemark.__file__), "py.typed")))


if __name__ == "__main__":
    unittest.main()
