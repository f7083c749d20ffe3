# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The native capture of PyTorch (needs torch): stacks, forward and backward, modules, labels, steps, and that it does no harm."""
import faulthandler
import gc
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import torch
from torch import nn

import tidemark
import torch_fork
from extent import only_all

FOLDER = tempfile.mkdtemp()
NEVER = 2**63 - 1
COMPILES = importlib.util.find_spec("torch._inductor") is not None
torch.set_num_threads(1)


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


def place(tensor) -> int:
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).data_ptr()


def step_hooks() -> dict:
    import torch.optim.optimizer as o

    return getattr(o, "_global_optimizer_post_hooks", {})


# ---- programs of their own ----

PROGRAMS = {
    "steps": ("import torch, tidemark\n"
              f"with tidemark.record({path('es.tide')!r}, torch=True):\n"
              "  tidemark.step(10)\n  p = torch.nn.Parameter(torch.ones(2)); o = torch.optim.SGD([p], 0.1)\n"
              "  for i in range(3):\n    p.sum().backward(); o.step(); tidemark.step(11 + i)\n"),
    "compiled": ("import torch, tidemark\ntorch.set_num_threads(1)\ntorch.manual_seed(0)\n"
                 "m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())\nx = torch.randn(4, 8)\n"
                 "want = m(x)\nmade = torch.compile(m, fullgraph=True)\n"
                 f"with tidemark.record({path('tc.tide')!r}, stacks=True):\n  got = made(x)\n  got.sum().backward()\n  got = made(x)\n"
                 "print(torch.allclose(want, got))"),
    "keys": ("import ctypes, torch, tidemark, threading\n"
             f"tidemark.record({path('keys.tide')!r}, stacks=False).__enter__()\ntorch.ones(3)\n"
             "c = ctypes.CDLL(None); c.pthread_getspecific.restype = ctypes.c_void_p; key, last = ctypes.c_uint(), 0\n"
             "while c.pthread_key_create(ctypes.byref(key), None) == 0: last = key.value\n"
             "def work():\n  before = [c.pthread_getspecific(i) for i in range(last + 1)]\n"
             "  c.pthread_setspecific(last, ctypes.c_void_p(5))\n"
             "  tidemark.torch.attach(stacks=True); torch.ones(3) + 1\n"
             "  after = [c.pthread_getspecific(i) for i in range(last + 1)]\n"
             "  print(sum(a != b for a, b in zip(before[:1], after)), after[last])\n"
             "t = threading.Thread(target=work); t.start(); t.join()\n"),
    "forked": ("import os, torch, tidemark\n"
               f"tidemark.record({path('fk.tide')!r}, stacks=True).__enter__()\n"
               "torch.ones(10)\npid = os.fork()\n"
               "if pid == 0:\n  x = torch.nn.Linear(3, 3)(torch.ones(1000, 3)); tidemark.stop(); os._exit(0)\n"
               "os.waitpid(pid, 0)\nprint(pid)"),
    "exit": ("import threading, torch, tidemark, time\n"
             f"tidemark.record({path('ex.tide')!r}, stacks=True, shapes=True).__enter__()\n"
             "def run():\n  while True: torch.ones(10, 10).mm(torch.ones(10, 10))\n"
             "for _ in range(3): threading.Thread(target=run, daemon=True).start()\n"
             "time.sleep(0.3)"),
}
PROGRAMS["exit bare"] = PROGRAMS["exit"].replace("tidemark.record", "# ")


def setUpModule():
    with tidemark.record(path("first.tide"), stacks=True, shapes=True):  # builds what is built once, before others want it
        torch.ones(1)


def end_of(name: str) -> tuple:
    """Exit status, standard output and errors of a program."""
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": path("inductor")}
    done = torch_fork.run(PROGRAMS[name], env=env)
    return done.returncode, done.stdout.strip(), done.stderr


class Trace:
    """A recording's tables, with what the tests ask for."""

    def __init__(self, file: str):
        self.t = tidemark.open(file)
        c = self.t.native.column
        self.names, self.parents, self.stacks = c("spans", "name"), c("spans", "parent"), c("spans", "stack")
        self.frames = list(zip(c("frames", "function"), c("frames", "file"), c("frames", "line")))
        self.stack_parent, self.stack_frame = c("stacks", "parent"), c("stacks", "frame")
        self.args = dict(zip(c("attrs", "span"), c("attrs", "number")))
        self.allocs = list(zip(*(c("allocs", x) for x in ("addr", "size", "span", "stack", "role", "died"))))

    def stack(self, s: int) -> list:
        """Innermost first."""
        out = []
        while s:
            out.append(self.frames[self.stack_frame[s]])
            s = self.stack_parent[s]
        return out

    def own(self, s: int) -> list:
        return [(f, line) for f, file, line in self.stack(s) if file == __file__]

    def rows(self, name: str) -> list:
        return [i for i, n in enumerate(self.names) if n == name]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)
        self.register_buffer("scale", torch.ones(16))

    def forward(self, x):
        return self.down(torch.relu(self.up(x))) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def train(steps: int = 3):
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(steps):
        loss = net(torch.randn(8, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return net, optimizer, loss.item()


class Joins(unittest.TestCase):
    def test_modules_made_as_it_goes_are_forgotten(self):
        with tidemark.record(path("many.tide"), shapes=True):
            for i in range(3000):
                nn.Sequential(nn.Linear(2, 2))(torch.ones(1, 2))
            model = tidemark.torch._hook._model
            self.assertLess(len(model.roots) + len(model.names), 2500)
            kept = nn.Linear(2, 2)
            kept(torch.ones(1, 2))
            places = {place(p): 1 for p in kept.parameters()}
        c = tidemark.open(path("many.tide")).native.column
        found = {a: r for a, r, died in zip(c("allocs", "addr"), c("allocs", "role"), c("allocs", "died")) if a in places and died == NEVER}
        self.assertEqual(found, places)

    def test_every_backward_op_has_its_forwards_stack(self):
        """Autograd itself says which number each op's result has; we say where in this file each was."""
        want = {}
        if not hasattr(torch.ones(1, requires_grad=True).sin().grad_fn, "_sequence_nr"):
            self.skipTest("this torch does not tell the numbers")

        def note(result):
            want[result.grad_fn._sequence_nr() + 1] = sys._getframe(1).f_lineno
            return result

        with tidemark.record(path("join.tide"), stacks=True):
            x = torch.randn(8, 8, requires_grad=True)
            y = note(x.sin())
            for _ in range(3):
                y = note(y.mm(x))
                y = note(y.exp())
            y = note(y.sum())
            y.backward()
        t = Trace(path("join.tide"))
        found = {}
        for i, name in enumerate(t.names):
            if name and name.endswith("Backward0") and "::" not in name:
                self.assertEqual(t.stack(t.stacks[i])[0][0], "[backward]", name)
                found[t.args[i]] = t.own(t.stacks[i])[0][1]
        self.assertEqual(found, want)
        self.assertEqual(len(want), 8)

    def test_allocations_in_backward_too_from_another_thread(self):
        with tidemark.record(path("bt.tide"), stacks=True):
            x = torch.randn(321, 321, requires_grad=True)
            loss = x.exp().sum()
            line = sys._getframe().f_lineno - 1
            runner = threading.Thread(target=loss.backward)
            runner.start()
            runner.join()
        t = Trace(path("bt.tide"))
        mine = [a for a in t.allocs if a[1] == 321 * 321 * 4 and t.names[a[2]] == "aten::mul"]
        self.assertEqual(len(mine), 1)  # exp's backward: grad * result
        self.assertEqual(t.own(mine[0][3])[0][1], line)

    def test_calls_of_torchscript(self):
        """Scripted and traced functions and modules: their calls are ops around the ops that they run."""
        def scaled(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        def summed(x):
            return (x * 3).sum()

        scripted, traced = torch.jit.script(scaled), torch.jit.trace(summed, torch.ones(3))
        module = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(2, 4))
        with tidemark.record(path("script.tide")):
            for _ in range(3):
                scripted(torch.ones(5))
                traced(torch.ones(3))
                module(torch.ones(2, 4))
        t = Trace(path("script.tide"))
        self.assertEqual((len(t.rows("scaled")), len(t.rows("summed"))), (3, 3))
        self.assertEqual({t.names[t.parents[i]] for i in t.rows("aten::mul")} - {"aten::mul"}, {"scaled", "summed"})
        around = [t.parents[i] for i in t.rows("aten::linear")]
        self.assertEqual([t.names[i] for i in around], ["forward"] * 3)

    def test_stacks_are_pythons_own(self):
        lines = {}

        class Deep:
            def down(self, n):
                if n:
                    return self.down(n - 1)
                lines["deep"] = [f.f_lineno for f in frames()]
                return torch.zeros(777)

        def frames():
            f, out = sys._getframe(1), []
            while f:
                if f.f_code.co_filename == __file__:
                    out.append(f)
                f = f.f_back
            return out

        with tidemark.record(path("deep.tide"), stacks=True):
            Deep().down(40)
            list(torch.ones(3) for _ in range(1))
        t = Trace(path("deep.tide"))
        got = [line for _, line in t.own(t.stacks[t.rows("aten::zeros")[0]])]
        want = lines["deep"]
        want[0] += 1
        self.assertEqual(got, want)
        self.assertIn("<genexpr>", t.own(t.stacks[t.rows("aten::ones")[0]])[0][0])

    def test_deep_stacks_say_what_is_left_out(self):
        def deep(n):
            return deep(n - 1) if n else torch.zeros(3)

        with tidemark.record(path("deep.tide"), stacks=True):
            for n in 3, 400, 3, 500:
                deep(n)
        t = Trace(path("deep.tide"))
        c = t.t.native.column
        parents, frames, functions = c("stacks", "parent"), c("stacks", "frame"), c("frames", "function")

        def names(stack):
            return [functions[frames[stack]], *names(parents[stack])] if stack else []

        shown = [names(t.stacks[i]) for i in t.rows("aten::zeros")]
        self.assertEqual([x[-1] == "[outer frames left out]" for x in shown], [False, True, False, True])
        self.assertEqual([len(shown[1]), shown[1][0][-4:]], [193, "deep"])
        self.assertEqual(shown[0], shown[2])

    def test_made_up_code_in_the_place_of_other_code(self):
        """Each time it is freed, and the next one is where it was, under the same name."""
        want = []
        with tidemark.record(path("exec.tide"), stacks=True):
            for blank, file in (0, "<a>"), (3, "<a>"), (9, "<b>"), (3, "<b>"), (0, "<a>"):
                exec(compile("x = 1\n" + "\n" * blank + "torch.zeros(3)\n", "".join(file), "exec"), {"torch": torch})
                want.append(("<module>", file, blank + 2))
        t = Trace(path("exec.tide"))
        self.assertEqual([t.stack(t.stacks[i])[0] for i in t.rows("aten::zeros")], want)

    def test_every_nth(self):
        with tidemark.record(path("nth.tide"), stacks=5):
            for _ in range(50):
                torch.zeros(3)
        t = Trace(path("nth.tide"))
        self.assertEqual(sum(t.stacks[i] != 0 for i in t.rows("aten::zeros")), 10)


class Models(unittest.TestCase):
    def test_names_labels_steps(self):
        bare = train()[2]
        with tidemark.record(path("model.tide")):
            net, optimizer, loss = train()
            places = {place(p): 1 for p in net.parameters()}
            tidemark.torch.sweep()  # shapes: earlier descriptions stay
            places |= {place(b): 7 for b in net.buffers()}
            if hasattr(torch, "accelerator"):  # optimizers have had hooks since 2.0
                places |= {place(v): 3 for s in optimizer.state.values() for v in s.values()}
        self.assertEqual(loss, bare, "recording changed the result")
        t = Trace(path("model.tide"))
        self.assertEqual(len(t.rows("nn.Module: Net.layers.1.down")), 3)
        up = t.rows("nn.Module: Net.layers.0.up")[0]
        self.assertEqual(t.names[t.parents[up]], "nn.Module: Net.layers.0")
        self.assertEqual(t.names[t.parents[t.parents[up]]], "nn.Module: Net")
        roles = {a[0]: a[4] for a in t.allocs if a[5] == NEVER and a[0] in places}
        self.assertEqual(roles, places)
        if not hasattr(torch, "accelerator"):
            self.skipTest("no hooks of optimizers: gradients and steps are not known")
        grads = [a for a in t.allocs if a[4] == 2]
        self.assertEqual(sum(a[1] for a in grads), 3 * sum(p.nbytes for p in net.parameters()))
        marks = t.t.native.column
        steps = [v for k, v in zip(marks("marks", "kind"), marks("marks", "value")) if k == 3]
        self.assertEqual(steps, [0, 1, 2, 3])
        self.assertEqual(t.t.peak()["losses"], {})
        shown = {r["module"]: r for r in t.t.ask("modules")["modules"]}
        inner = [shown[f"Net.layers.{i}"] for i in range(2)]
        self.assertEqual(shown["Net"]["backward_alloc_bytes"], sum(r["backward_alloc_bytes"] for r in inner))
        self.assertGreater(shown["Net"]["backward_alloc_bytes"], 0)

    def test_modules_come_and_go(self):
        with tidemark.record(path("gone.tide")):
            for n in range(200):  # ids are used again
                (nn.Linear(2, 2) if n % 2 else nn.ReLU())(torch.ones(2))
        t = Trace(path("gone.tide"))
        self.assertEqual((len(t.rows("nn.Module: Linear")), len(t.rows("nn.Module: ReLU"))), (100, 100))
        relus = set(t.rows("nn.Module: ReLU"))
        self.assertTrue(all(t.parents[i] not in relus for i in t.rows("aten::linear")))

    def test_module_that_raises_and_keywords(self):
        class Bad(nn.Module):
            def forward(self, x, *, how="well"):
                if how == "badly":
                    raise KeyError(how)
                return x

        bad = Bad()
        with tidemark.record(path("raise.tide")):
            with self.assertRaises(KeyError):
                bad(torch.ones(1), how="badly")
            self.assertEqual(bad(x=torch.ones(1), how="well").item(), 1)
            with self.assertRaises(TypeError):
                bad()
            with tidemark.op("after"):
                pass
        t = Trace(path("raise.tide"))
        self.assertEqual(len(t.rows("nn.Module: Bad")), 3)
        self.assertEqual(t.parents[t.rows("after")[0]], 0)

    def test_an_interrupt_while_a_module_is_named_is_the_programs(self):
        class Slow(nn.Linear):
            def named_modules(self, *args, **kw):
                signal.raise_signal(signal.SIGINT)
                yield from super().named_modules(*args, **kw)

        slow, ran = Slow(2, 2), []
        slow.register_forward_hook(lambda *_: ran.append(1))
        with tidemark.record(path("interrupt.tide")):
            with self.assertRaises(KeyboardInterrupt):
                slow(torch.ones(2))
            self.assertEqual(ran, [])
            nn.ReLU()(torch.ones(2))
        self.assertIn("nn.Module: ReLU", tidemark.open(path("interrupt.tide")).native.column("spans", "name"))

    def test_threads_that_train_models_of_their_own(self):
        def work():
            net = nn.Sequential(*(nn.Linear(8, 8) for _ in range(20)))
            optimizer = torch.optim.Adam(net.parameters())
            for _ in range(40):  # one makes and drops gradients, without the GIL, while another labels its own
                net(torch.ones(4, 8)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            nets.append(net)

        nets = []
        with tidemark.record(path("own.tide")):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for t in threads:
                t.start()
            while any(t.is_alive() for t in threads):
                tidemark.torch.sweep()  # as a save does
                time.sleep(0.01)  # else threads that need the GIL for each op have to wait
            for t in threads:
                t.join()
        if not hasattr(torch, "accelerator"):
            self.skipTest("no hooks of optimizers: gradients and steps are not known")
        grads = [a for a in Trace(path("own.tide")).allocs if a[4] == 2]
        self.assertEqual(sum(a[1] for a in grads), 40 * sum(p.nbytes for net in nets for p in net.parameters()))

    def test_off_means_off(self):
        with tidemark.record(path("off.tide"), torch=False):
            for _ in range(3):
                tidemark.torch.attach(stacks=True, shapes=True)
                tidemark.torch.attach()
                tidemark.torch.detach()
                self.assertFalse(step_hooks())
            before = tidemark.stats()["events"]
            train(1)
            self.assertEqual(tidemark.stats()["events"], before)

    def test_explicit_steps(self):
        rc, _, err = end_of("steps")
        self.assertEqual(rc, 0, err)
        c = tidemark.open(path("es.tide")).native.column
        self.assertEqual([v for k, v in zip(c("marks", "kind"), c("marks", "value")) if k == 3], [10, 11, 12, 13])

    def test_steps_are_said_at_the_beginning_or_at_the_end(self):
        """As many as there are turns, whatever the habit, and under their numbers."""
        for habit in "nothing", "begin", "end":
            file = path(f"{habit}.tide")
            with self.subTest(habit=habit), tidemark.record(file):
                net = nn.Linear(4, 4)
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for i in range(5):
                    if habit == "begin":
                        tidemark.step(i)
                    optimizer.zero_grad()
                    net(torch.ones(2, 4)).sum().backward()
                    optimizer.step()
                    if habit == "end":
                        tidemark.step(i)
                del net, optimizer
            if habit == "nothing" and not hasattr(torch, "accelerator"):  # no hooks of optimizers
                continue
            with self.subTest(habit=habit):
                self.assertEqual(tidemark.open(file).leaks()["steps"], 4 if habit == "begin" else 5)  # how the last one ended is not said
                none = subprocess.run([sys.executable, "-m", "tidemark", "hta", file, "--steps", "99"], capture_output=True, text=True, check=False)
                self.assertIn("no step 99, only steps 0 to 4", none.stderr)


class Shapes(unittest.TestCase):
    def test_of_what_ops_return(self):
        with tidemark.record(path("sh.tide"), shapes=True):
            w = torch.ones(30, 20, requires_grad=True)
            x = torch.zeros(50, 30)
            y = x @ w
            views = y.t(), y.view(-1), y[3:5]
            z = torch.empty(7, dtype=torch.bool)
            places = {"y": y.data_ptr(), "z": z.data_ptr(), "x": x.data_ptr()}
        t = tidemark.open(path("sh.tide"))
        c = t.native.column
        addr = c("allocs", "addr")
        by = {addr[a]: i for i, a in enumerate(c("tensors", "alloc"))}
        dims, ndim, dtype, grad = (c("tensors", x) for x in ("dims", "ndim", "dtype", "requires_grad"))
        shape = {k: (t.native.dims(dims[by[p]], ndim[by[p]]), dtype[by[p]], grad[by[p]]) for k, p in places.items()}
        self.assertEqual(shape, {"y": ([50, 20], 1, 1), "z": ([7], 13, 0), "x": ([50, 30], 1, 0)})
        self.assertEqual(c("allocs", "size").count(50 * 20 * 4), 1)
        del views


    def test_of_memory_that_is_used_again(self):
        """An earlier tensor at an address does not affect the current one."""
        with tidemark.record(path("again.tide"), shapes=True):
            for n in range(40):
                torch.empty((1,) * (n % 5) + (1 << 18,), dtype=torch.uint8)
        c = tidemark.open(path("again.tide")).native.column
        ours = [a for a, n in enumerate(c("allocs", "size")) if n == 1 << 18]
        ndim = dict(zip(c("tensors", "alloc"), c("tensors", "ndim")))
        self.assertLess(len({c("allocs", "addr")[a] for a in ours}), 40)
        self.assertEqual([ndim.get(a) for a in ours], [1 + n % 5 for n in range(40)])


LITTLE_MEMORY = """
import resource, sys, threading, torch
torch.set_num_threads(1)
threading.stack_size(256 * 1024)
if len(sys.argv) > 2:
    import tidemark.torch
    tidemark.start(sys.argv[1], ring_bytes=int(sys.argv[2]))
    tidemark.torch.attach(shapes=True, stacks=True)
torch.ones(3)
with open("/proc/self/statm") as f:
    resource.setrlimit(resource.RLIMIT_AS, [int(f.read().split()[0]) * 4096 + (40 << 20)] * 2)

def work(k):
    for i in range(150):
        with torch.autograd.profiler.record_function(f"range {k}.{i} with a name that is not short at all"):
            pass

threads = [threading.Thread(target=work, args=(k,)) for k in range(24)]
for t in threads:
    t.start()
for t in threads:
    t.join()
torch.ones(4 << 20)  # 16 MiB of those 40
print("done")
"""


class NoHarm(unittest.TestCase):
    def test_threads_gc_and_ops_do_not_lock_up(self):
        """Ops give the GIL up and take it again while others collect garbage that frees tensors."""
        train(1)  # so that nothing is imported while others hold the GIL
        faulthandler.dump_traceback_later(900, exit=True)

        class Cycle:
            pass

        def churn():
            for _ in range(150):
                c = Cycle()
                c.me, c.t = c, torch.ones(50)
                torch.ones(40, 40).mm(torch.ones(40, 40))

        def collect():
            for _ in range(15):
                gc.collect()

        with tidemark.record(path("gil.tide"), stacks=True, shapes=True):
            threads = [threading.Thread(target=churn) for _ in range(4)] + [threading.Thread(target=collect)]
            for t in threads:
                t.start()
            churn()
            for t in threads:
                t.join()
        faulthandler.cancel_dump_traceback_later()
        self.assertEqual({k: v for k, v in tidemark.open(path("gil.tide")).peak()["losses"].items() if k != "events"}, {})

    def test_little_memory_left(self):
        """Threads that begin when the program may take hardly any more: what we want of it we do without."""
        def run(*how: str) -> subprocess.CompletedProcess:
            return torch_fork.run(LITTLE_MEMORY, path("little.tide"), *how)

        bare = run()
        if bare.returncode or "done" not in bare.stdout:
            self.skipTest(f"it does not run by itself: {bare.stderr[-200:]}")
        for ring in 1 << 18, 1 << 24:  # rings of 16 MiB: the second would take all but 8
            with self.subTest(ring=ring):
                done = run(str(ring))
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
                self.assertTrue(tidemark.open(path("little.tide")).ops(flat=True)["ops"])

    def test_no_keys_of_threads_left(self):
        """A program has 1,024 of them, which others may have taken: theirs keep what they are given."""
        rc, out, err = end_of("keys")
        self.assertEqual((rc, out.split()), (0, ["0", "5"]), err)
        self.assertTrue(tidemark.open(path("keys.tide")).ops(flat=True)["ops"])

    @only_all  # test_attach.py compiles, too, in `make test`
    def test_compiled_code(self):
        if not COMPILES:
            self.skipTest("this torch compiles nothing")
        rc, out, err = end_of("compiled")
        if "InvalidCxxCompiler" in err:
            self.skipTest("no C++ compiler")
        self.assertEqual((rc, out), (0, "True"), err[-1500:])
        t = Trace(path("tc.tide"))
        self.assertTrue(t.rows("nn.Module: OptimizedModule"))
        self.assertEqual(t.t.peak()["losses"], {})

    def test_forked_child_records_with_stacks(self):
        rc, out, err = end_of("forked")
        self.assertEqual(rc, 0, err)
        t = Trace(path(f"fk.{int(out)}.tide"))
        self.assertTrue(t.rows("nn.Module: Linear"))
        self.assertTrue(t.stack(t.stacks[t.rows("aten::ones")[0]]))

    def test_results_and_signature_are_as_before(self):
        import copy
        import inspect
        import pickle

        before = inspect.signature(nn.Module.__call__)
        with tidemark.record(path("same.tide")):
            self.assertEqual(list(inspect.signature(nn.Module.__call__).parameters), list(before.parameters))
            net = Net()
            other = pickle.loads(pickle.dumps(copy.deepcopy(net)))
            x = torch.randn(2, 16)
            self.assertTrue(torch.equal(net(x), other(x)))
            traced = torch.jit.trace(net, x, check_trace=False)
            self.assertTrue(torch.equal(traced(x), net(x)))
            self.assertIn("call_module", {n.op for n in torch.fx.symbolic_trace(net).graph.nodes})

    def test_threads_at_exit(self):
        bare, ours = end_of("exit bare"), end_of("exit")
        self.assertIn(ours[0], (0, bare[0]), ours[2])  # PyTorch itself aborts here, in some versions


if __name__ == "__main__":
    unittest.main()
