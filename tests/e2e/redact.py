#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark redact`: every report of a redacted file is the same but for names; no planted word is left; equal keys give equal words.

    redact.py            a sample of the traces
    redact.py --all      all of them
"""
import gzip
import json
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = os.path.realpath(sys.executable)
TOP = Path(__file__).resolve().parent.parent.parent
DATA = TOP / "tests" / "data"
SHARED = Path(os.environ.get("TIDEMARK_SHARED", TOP.parent / "shared")) / "data"
ALL = "--all" in sys.argv
SAMPLE = {"kineto_gpt_train_stack.json.gz", "kineto_compiled_infer.json.gz", "streams.pickle.gz", "graph.pickle.gz", "decode_replay.json.gz",
          "nccl_trace_rank_1", "heap.tide", "tt.tide", "notes.tide", "triton_example.json.gz"}
# Reports of one trace. These read other inputs, write other things or take minutes.
# Reports that recognise the code of servers by its names, which are gone: docs/guide/redact.md says so.
NAMED = {"serving", "inference"}
OTHER = {"predict", "diff", "compile", "schema", "objects", "phases"}
KEY = b"0123456789abcdef0123456789abcdef"


def ask(*args, check=True, **more):
    done = subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, text=True, errors="replace", timeout=600, **more)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, args))}: {done.returncode}: {done.stderr[-800:]}")
    return done


def expanded(path):
    raw = Path(path).read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def shape(text):
    """A text with its words taken away: only their lengths, their case and what is between them stay."""
    text = re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", text)
    return re.sub(r"\d", "0", text)


def canonical(value):
    """The document without names. The order of rows that are equal in all but their names is not kept, so lists are sorted."""
    if isinstance(value, dict):
        value = {k: v for k, v in value.items() if k != "short_name"}  # its length depends on the name
        pairs = [(k if re.fullmatch(r"[a-z_0-9]+", k) else shape(k), canonical(v)) for k, v in value.items()]
        return {"{}": sorted(pairs, key=lambda p: (p[0], json.dumps(p[1], sort_keys=True)))}
    if isinstance(value, list):
        items = [canonical(v) for v in value]
        return sorted(items, key=lambda v: json.dumps(v, sort_keys=True)) if any(isinstance(v, dict) for v in items) else items
    return shape(value) if isinstance(value, str) else value


def first_difference(a, b, at=""):
    if type(a) is not type(b):
        return f"{at}: {str(a)[:200]} is now {str(b)[:200]}"
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{at}: {len(a)} rows are now {len(b)}: {str(a)[:300]} / {str(b)[:300]}"
        return next((d for i, (x, y) in enumerate(zip(a, b)) if (d := first_difference(x, y, f"{at}[{i}]"))), None)
    if isinstance(a, dict):
        return first_difference(a["{}"], b["{}"], at) if "{}" in a else None
    return None if a == b else f"{at}: {str(a)[:200]} is now {str(b)[:200]}"


def find_reports():
    schema = json.loads(ask("schema").stdout)
    names = [r["name"] for r in schema["reports"]]
    return [n for n in names if n not in OTHER and n not in NAMED]


def record_heap(folder):
    """A recording of the host heap, with stacks, facts of the process and its command."""
    ask("run", "--heap", "-o", folder / "heap.tide", "--", PYTHON, "-c", "x = [bytes(70000 + i) for i in range(60)]; print(len(x))")
    return folder / "heap.tide"


def record_notes(folder):
    """A recording by the Python package's program: phases, marks, notes."""
    program = ("import ctypes, os\nrt = ctypes.CDLL(os.environ['TIDEMARK_RT'])\n" if False else "print('nothing')")
    ask("run", "--heap", "-o", folder / "notes.tide", "--", PYTHON, "-c", program)
    return folder / "notes.tide"


def make_tables(folder):
    log = folder / "tt.log"
    emitter = TOP / "tests" / "support" / "tt_emitter.py"
    made = subprocess.run([sys.executable, emitter, log], capture_output=True, text=True)
    if made.returncode or not log.exists():
        return None
    ask("tt", "--analyze", log, "--text", check=False)
    found = sorted(folder.glob("**/*.tide"))
    found = [f for f in found if f.name not in ("heap.tide", "notes.tide")]
    if not found:
        return None
    found[0].rename(folder / "tt.tide")
    return folder / "tt.tide"


def find_traces(folder):
    found = []
    for top in (SHARED, DATA):
        for ending in ("*.json.gz", "*.json", "*.pickle.gz", "nccl_trace_rank_*"):
            found += sorted(p for p in top.glob(f"**/{ending}") if "expected" not in p.parts)
    found = [p for p in found if ALL or p.name in SAMPLE]
    seen, only = set(), []
    for p in found:  # the same trace is in both folders
        content = p.read_bytes()
        if content not in seen:
            seen.add(content)
            only.append(p)
    return only + [p for p in (record_heap(folder), record_notes(folder), make_tables(folder)) if p]


class Redact(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_of = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.folder_of.name)
        (cls.folder / "key").write_bytes(KEY)

    @classmethod
    def tearDownClass(cls):
        cls.folder_of.cleanup()

    def redact(self, path, out, *more):
        return ask("redact", path, "-o", out, "--key", self.folder / "key", *more)

    def out_for(self, path, stem="out"):
        ending = next((e for e in (".json.gz", ".pickle.gz", ".json", ".tide", ".pickle") if str(path).endswith(e)), ".pickle")
        return self.folder / f"{stem}{ending}"

    def test_reports_are_equal_but_for_names(self):
        reports = find_reports()
        self.assertGreater(len(reports), 20)
        traces = find_traces(self.folder)
        self.assertGreaterEqual(len(traces), 55 if ALL and SHARED.is_dir() else 5)
        answered = 0
        for trace in traces:
            out = self.folder / "redacted" / trace.name  # a rank may be in the name
            out.parent.mkdir(exist_ok=True)
            done = ask("redact", trace, "-o", out, "--key", self.folder / "key", check=False)
            self.assertEqual(done.returncode, 0, f"{trace}: {done.stderr}")
            for report in reports:
                with self.subTest(trace=trace.name, report=report):
                    before, after = (ask(report, p, "--json", "--full-names", check=False) for p in (trace, out))
                    self.assertEqual(before.returncode, after.returncode, f"{before.stderr[-300:]} / {after.stderr[-300:]}")
                    if before.returncode not in (0, 4) or not before.stdout.strip():
                        continue
                    a, b = (canonical(strip(json.loads(x.stdout), p)) for x, p in ((before, trace), (after, out)))
                    self.assertIsNone(first_difference(a, b), f"{trace.name}: {report}")
                    answered += 1
        print(f"{len(traces)} traces, {answered} documents compared", file=sys.stderr)
        self.assertGreater(answered, 10 * len(traces) // 2)

    # ---- planted words ----

    def check_left(self, out, words):
        text = expanded(out)
        if text[:8] == b"TIDEMARK":
            plain = self.folder / "plain.tide"
            ask("recover", out, "-o", plain)
            text += plain.read_bytes()
        low = text.lower()
        left = [w for w in words if w.lower().encode() in low]
        self.assertEqual(left, [], f"{len(left)} of {len(words)} are left in {out}")

    def test_no_planted_word_is_left_in_json(self):
        words = plant_words(500)
        left = iter(words)
        doc = json.loads(expanded(DATA / "kineto_gpt_train_stack.json.gz"))
        events = doc["traceEvents"]
        for e in random.Random(1).sample([e for e in events if e.get("ph") == "X"], 80):
            e["name"] = f"{next(left)}::{e['name']}" if len(e["name"]) % 2 else next(left)
            e.setdefault("args", {})[next(left)] = f"/home/{next(left)}/{next(left)}.py"
            e["args"]["Call stack"] = f"{next(left)}.py(12): f"
        doc.update({next(left): 1, "traceName": "/data/" + "x.json"})
        path = self.folder / "planted.json"
        path.write_text(json.dumps(doc)+ "  \n")
        out = self.folder / "planted.out.json"
        self.redact(path, out)
        used = words[:words.index(next(left))]
        self.assertGreater(len(used), 390)
        self.assertTrue(all(w in path.read_text() for w in used))
        self.check_left(out, used)
        json.loads(out.read_text())

    def test_json_escapes_hide_nothing(self):
        words = plant_words(60, seed=7)
        hidden = ["".join(f"\\u{ord(c):04x}" for c in w) for w in words[:30]] + [w[:3] + "\\u00" + f"{ord(w[3]):02x}" + w[4:] for w in words[30:]]
        path, out = self.folder / "escapes.json", self.folder / "escapes.out.json"
        path.write_text('{"traceEvents": [' + ",\n".join(f'{{"ph": "X", "name": "{h}", "ts": 1, "dur": 1}}' for h in hidden) + "]}")
        self.redact(path, out)
        self.check_left(out, words)
        names = {e["name"].lower() for e in json.loads(out.read_text())["traceEvents"]}
        self.assertEqual(len(names), 60)
        self.assertFalse(names & {w.lower() for w in words})

    def test_no_planted_word_is_left_in_a_pickle(self):
        words = plant_words(300, seed=2)
        left = iter(words)
        frames = [{"filename": f"/home/{next(left)}/{next(left)}.py", "line": 3, "name": next(left)} for _ in range(60)]
        doc = {"segments": [{"device": 0, "address": 1 << 20, "total_size": 2 << 20, "allocated_size": 512, "stream": 0, "segment_type": "small",
                             "blocks": [{"size": 512, "requested_size": 500, "address": 1 << 20, "state": "active_allocated", "frames": frames},
                                        {"size": (2 << 20) - 512, "address": (1 << 20) + 512, "state": "inactive", "frames": []}]}],
               "device_traces": [[{"action": "alloc", "addr": 1 << 20, "size": 512, "stream": 0, "frames": frames,
                                   "user_metadata": next(left), "compile_context": next(left)}]],
               next(left): {next(left): [next(left)] * 3}, "b": next(left).encode()}
        for protocol in (0, 2, 4, 5):
            path, out = self.folder / "planted.pickle", self.folder / "planted.out.pickle"
            path.write_bytes(pickle.dumps(doc, protocol) + b"behind: " + words[-1].encode())
            if protocol < 3 and b"_codecs" in path.read_bytes():  # bytes are a call there
                doc.pop("b")
                path.write_bytes(pickle.dumps(doc, protocol) + words[-1].encode())
            self.redact(path, out)
            self.check_left(out, words)
            again = pickle.loads(out.read_bytes())
            self.assertEqual(again["segments"][0]["blocks"][0]["size"], 512)

    def test_no_planted_word_is_left_in_a_recording(self):
        words = plant_words(400, seed=3)
        left = iter(words)
        host, user, argument, variable = (next(left) for _ in range(4))
        functions = [next(left) for _ in range(100)]
        folder = self.folder / next(left)
        folder.mkdir()
        script = folder / f"{next(left)}.py"
        script.write_text("".join(f"def {f}():\n    return bytes(300000)\n" for f in functions) +
                          f"class {user}: pass\nkept = [" + ", ".join(f"{f}()" for f in functions) + "]\n")
        recording = folder / "run.tide"
        ask("run", "--heap", "-o", recording, "--", PYTHON, script, argument,
            env={**os.environ, variable: host, "HF_TOKEN": "hf_abcdefGHIJKL0123456789"})
        raw = bytearray(recording.read_bytes())
        rest = [next(left) for _ in range(20)]
        raw[72:72 + 40] = rest[0].encode()[:40].ljust(40, b"\0")  # reserved bytes of the head
        path = folder / "more.tide"
        path.write_bytes(bytes(raw) + b"".join(b"\0" * 8 + w.encode() for w in rest[1:]))  # freed bytes behind the end
        for source in (recording, path):
            out = self.folder / "planted.out.tide"
            done = ask("redact", source, "-o", out, "--key", self.folder / "key", check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check_left(out, words + ["hf_abcdefGHIJKL0123456789"])

    # ---- secrets, keys, the map ----

    def test_secrets_are_dropped(self):
        lines = {"cmd": "train --api-key abcDEF99xyz --lr 0.1", "env": {"HF_TOKEN": "hf_AbCd0123456789EfGh", "num_tokens": "128", "DB_PASSWORD": "p4ss!w0rd"},
                 "url": "https://bob:hunter2@host.example/x", "auth": "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
                 "note": "AWS AKIAIOSFODNN7EXAMPLE and ghp_16C7e42F292c6912E7710c838347Ae178B4a", "host": "node 10.31.7.201 of gpu-a1b2c3d4"}
        path, out = self.folder / "secrets.json", self.folder / "secrets.out.json"
        path.write_text(json.dumps({"traceEvents": [], "what": lines}))
        self.redact(path, out)
        text = out.read_text()
        for secret in ("abcDEF99xyz", "AbCd0123456789EfGh", "p4ss", "hunter2", "eyJhb", "AKIA", "ghp_", "10.31.7.201", "a1b2c3d4", "16C7e42F"):
            self.assertNotIn(secret, text)
        self.assertIn('"128"', text)
        self.assertIn("0.1", text)
        self.assertGreater(json.loads(ask("redact", path, "-o", out, "--json").stdout)["secrets"], 5)

    def test_keys_and_the_map(self):
        trace = DATA / "kineto_gpt_train_stack.json.gz"
        first, second, third = (self.folder / f"{n}.json" for n in "abc")
        self.redact(trace, first)
        self.redact(trace, second)
        ask("redact", trace, "-o", third, "--map", self.folder / "map")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertNotEqual(first.read_bytes(), third.read_bytes())
        self.assertEqual(os.stat(self.folder / "map").st_mode & 0o777, 0o600)
        texts = {new: old for new, old in json.loads((self.folder / "map").read_text())["texts"]}
        self.assertEqual(len(texts), len(set(texts.values())), "two texts became the same")

        def restored(value):
            if isinstance(value, dict):
                return {texts.get(k, k): restored(v) for k, v in value.items()}
            if isinstance(value, list):
                return [restored(v) for v in value]
            return texts.get(value, value) if isinstance(value, str) else value
        self.assertEqual(restored(json.loads(third.read_text())), json.loads(expanded(trace)))
        again = ask("redact", trace, "-o", third, "--map", self.folder / "map", check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("never written over", again.stderr)

    def test_public_names(self):
        path, out = self.folder / "public.json", self.folder / "public.out.json"
        names = {"aten::cumsum": "aten", "aten::secret_op": None, "torch/nn/modules/linear.py(114): forward": "torch", "nn.Module: Linear_0": "torch",
                 "CumsumBackward0": "torch", "cudaLaunchKernel": "cuda", "ampere_sgemm_128x64_tn": "kernels", "ProfilerStep#3": "always",
                 "Memcpy HtoD (Pinned -> Device)": "always"}
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": n, "ts": 1, "dur": 2} for n in names]}))
        for keep in ("aten", "torch", "cuda", "kernels", "none", "aten,torch,cuda,kernels"):
            self.redact(path, out, "--keep", keep)
            left = {e["name"] for e in json.loads(out.read_text())["traceEvents"]}
            for name, group in names.items():
                with self.subTest(keep=keep, name=name):
                    self.assertEqual(name in left, group == "always" or group in keep.split(","))

    # ---- what is refused ----

    def test_hostile_inputs_are_refused(self):
        good = expanded(DATA / "kineto_gpt_train_stack.json.gz")
        snapshot = expanded(DATA / "snapshots" / "streams.pickle.gz")
        cases = {"cut.json": good[:5000], "words.json": b'{"a": hidden}', "bracket.json": b'{"a": [1}', "empty.json": b"", "deep.json": b"[" * 5000,
                 "sqlite.json": b"SQLite format 3\0" + b"\0" * 100, "call.pickle": pickle.dumps(Path("x")), "cut.pickle": snapshot[:-200],
                 "short.tide": b"TIDEMARK" + b"\0" * 20, "long.pickle": b"\x80\x04X\xff\xff\xff\x7f" + b"a" * 50, "string.json": b'{"a": "bcd'}
        for name, content in cases.items():
            with self.subTest(name=name):
                path, out = self.folder / name, self.folder / ("refused" + Path(name).suffix)
                path.write_bytes(content)
                done = ask("redact", path, "-o", out, check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("tidemark:", done.stderr)
                self.assertFalse(out.exists())
        path = self.folder / "same.json"
        path.write_text("{}")
        self.assertEqual(ask("redact", path, "-o", path, check=False).returncode, 2)
        self.assertEqual(ask("redact", path, check=False).returncode, 2)
        self.assertEqual(ask("redact", path, "-o", self.folder / "x.json", "--keep", "all", check=False).returncode, 2)


def strip(doc, path):
    """Names of the files themselves differ."""
    doc.pop("model_bytes", None)  # texts that were equal by chance
    return json.loads(json.dumps(doc).replace(json.dumps(str(path))[1:-1], "FILE").replace(path.name, "FILE"))


def plant_words(n, seed=0):
    """Words that no file has by chance: of one case, of both, with figures, with underscores, outside ASCII."""
    chance = random.Random(seed)
    words = []
    for i in range(n):
        base = "".join(chance.choice("bcdfghjkmnpqrstvwz") + chance.choice("aeiouy") for _ in range(4))
        words.append([base, base.upper(), base.capitalize() + "Q", f"{base}_{base[::-1]}", f"x{base}{i}", base + "zz"][i % 6])
    return list(dict.fromkeys(words))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *[a for a in sys.argv[1:] if a != "--all"]])
