# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A recorded snapshot, rewritten as other versions of torch and other picklers would have written it.

What a version does not write cannot be told; the rest must come out the same: the peak and what is alive
then, what is reserved, what is alive at the end. Every command must answer.
"""
import copy, gzip, io, json, os, pickle, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from extent import ALL


def events(s):
    return (e for t in s["device_traces"] for e in t)


def blocks(s):
    return (b for g in s["segments"] for b in g["blocks"])


def drop(dicts, *keys):
    for d in dicts:
        for k in keys:
            d.pop(k, None)


def only(s, *keys):
    for k in list(s):
        if k not in keys:
            del s[k]


def torch_2_0(s):
    """No times, no settings; stacks of blocks in a history, newest first; addresses are signed."""
    only(s, "segments", "device_traces")
    drop(events(s), "time_us", "compile_context", "user_metadata")
    drop(s["segments"], "is_expandable", "frames")
    for b in blocks(s):
        if b["state"] != "inactive":
            b["history"] = [{"addr": b["address"], "real_size": b["requested_size"], "frames": b["frames"]}]
        drop([b], "address", "frames")
    return s


def torch_2_1(s):
    only(s, "segments", "device_traces")
    drop(events(s), "time_us", "compile_context", "user_metadata")
    for b in blocks(s):
        if b["state"] == "active_awaiting_free":
            b["state"] = "active_pending_free"
    return s


def torch_2_3(s):
    only(s, "segments", "device_traces", "allocator_settings")
    drop(events(s), "compile_context", "user_metadata")
    drop([s["allocator_settings"]], "graph_capture_record_stream_reuse")
    return s


def torch_2_4(s):
    """Ranges as events among the others, with their name in place of a file."""
    for n in s.pop("external_annotations"):
        e = {"action": "user_defined", "addr": 0, "size": 0, "stream": 0, "time_us": n["time_us"],
             "frames": [{"name": n["stage"], "filename": n["name"], "line": 0}]}
        t = s["device_traces"][0]
        at = next((i for i, x in enumerate(t) if x["time_us"] > n["time_us"]), len(t))
        t.insert(at, e)
    drop(events(s), "user_metadata")
    return s


def torch_2_6(s):
    drop(events(s), "user_metadata")
    return s


def newest(s):
    """A pool id in every event, more settings, keys nobody has heard of."""
    for e in events(s):
        e["pool_id"] = (0, 0)
        e["future"] = [1, {"a": None}]
    t = s["device_traces"][0]
    freed = {e["addr"] for e in t if e["action"] == "free_completed"}
    i = next(i for i, e in enumerate(t) if e["action"] == "alloc" and e["addr"] not in freed)
    t.insert(i + 1, {**t[i], "action": "annotate", "user_metadata": "weights of layer 1"})
    s["allocator_settings"].update(max_round_threshold=1, future={"x": (1, 2, 3)}, text="x")
    s["version"] = {"torch": "9.9"}
    return s


def one_of_eight(s):
    """Recorded on device 3 of eight."""
    s["device_traces"] = [s["device_traces"][0] if i == 3 else [] for i in range(8)]
    for g in s["segments"]:
        g["device"] = 3
    return s


def no_sharing(s):
    return json.loads(json.dumps(s))  # tuples become lists, every stack its own


def fx(s):
    """augment_with_fx_traces=True."""
    seen = set()
    for e in events(s):
        for f in e["frames"]:
            if id(f) not in seen and f["filename"].endswith(".py"):
                seen.add(id(f))
                f.update(fx_node_op="call_function", fx_node_name="linear", fx_original_trace="model.py:1", fx_node_info={})
    return s


def some_stacks(s):
    """Stacks of allocations only; None where the line is not known."""
    for e in events(s):
        if e["action"] != "alloc":
            e["frames"] = []
        if e["action"] == "snapshot":
            del e["frames"]
    for e in events(s):
        for f in e["frames"]:
            if not f["line"]:
                f["line"] = None
    return s


SAME = [torch_2_0, torch_2_1, torch_2_3, torch_2_4, torch_2_6, newest, one_of_eight, no_sharing, fx, some_stacks]


# ---- picklers ----


class Jit:
    """As torch's own C++ pickler writes: protocol 2, every object with its number, lists in one piece."""

    def __init__(self):
        self.out, self.memo, self.keep = io.BytesIO(), {}, []

    def put(self, key, obj):
        i = self.memo[key] = len(self.memo)
        self.keep.append(obj)
        self.out.write(b"q" + bytes([i]) if i < 256 else b"r" + struct.pack("<I", i))

    def get(self, key):
        i = self.memo[key]
        self.out.write(b"h" + bytes([i]) if i < 256 else b"j" + struct.pack("<I", i))

    def value(self, v):
        w = self.out.write
        if v is None or v is True or v is False:
            w({None: b"N", True: b"\x88", False: b"\x89"}[v])
        elif isinstance(v, int):
            if 0 <= v < 256:
                w(b"K" + bytes([v]))
            elif 0 <= v < 65536:
                w(b"M" + struct.pack("<H", v))
            elif -(1 << 31) <= v < 1 << 31:
                w(b"J" + struct.pack("<i", v))
            else:
                w(b"\x8a\x08" + struct.pack("<q", v))
        elif isinstance(v, float):
            w(b"G" + struct.pack(">d", v))
        elif isinstance(v, str):
            if v in self.memo:
                return self.get(v)
            w(b"X" + struct.pack("<I", len(v.encode())) + v.encode())
            self.put(v, v)
        elif id(v) in self.memo:
            self.get(id(v))
        elif isinstance(v, tuple):
            w(b"(")
            for x in v:
                self.value(x)
            w(b"t")
            self.put(id(v), v)
        elif isinstance(v, list):
            w(b"]")
            self.put(id(v), v)
            w(b"(")
            for x in v:
                self.value(x)
            w(b"e")
        else:
            w(b"}")
            self.put(id(v), v)
            w(b"(")
            for k, x in v.items():
                self.value(k)
                self.value(x)
            w(b"u")

    def dump(self, obj):
        self.out.write(b"\x80\x02")
        self.value(obj)
        self.out.write(b".")
        return self.out.getvalue()


def fast(obj):
    """Without a memo: every stack in full."""
    f = io.BytesIO()
    p = pickle.Pickler(f, 4)
    p.fast = True
    p.dump(obj)
    return f.getvalue()


PICKLERS = {f"protocol {p}": lambda o, p=p: pickle.dumps(o, p) for p in range(6)}
PICKLERS.update({"C++": lambda o: Jit().dump(o), "fast": fast, "gzip": lambda o: gzip.compress(pickle.dumps(o), 1)})


# ---- questions ----


class Asker:
    def __init__(self, tool, folder):
        self.tool, self.path, self.wrong = tool, os.path.join(folder, "x.pickle"), 0

    def ask(self, name, *args):
        p = subprocess.run([self.tool, args[0], self.path, *args[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=400)
        if p.returncode or p.stderr.partition("next, for ")[0]:  # what to ask next of a snapshot without an out-of-memory
            self.fail(name, f"{' '.join(args)}: exit {p.returncode} {p.stderr.strip()}")
            return None
        return json.loads(p.stdout) if "--json" in args else p.stdout

    def fail(self, name, text):
        self.wrong += 1
        print(f"{name}: {text}")

    def figures(self, name, data):
        with open(self.path, "wb") as f:
            f.write(data)
        peak, mem = self.ask(name, "peak", "--json", "--group-by", "size"), self.ask(name, "memory", "--json")
        if not peak or not mem:
            return None
        keys = ("peak_bytes", "reserved_bytes_at_peak", "alive_count", "requested_bytes", "groups")
        return {**{k: peak[k] for k in keys}, "losses": peak["losses"], "pools": [(p["live_bytes"], p["live_count"]) for d in mem["devices"] for p in d["pools"]]}

    def all_answer(self, name):
        """Asks every command; those of the larger snapshot in `make check-all`."""
        if not ALL and not name.startswith("snapshot_oom"):
            return
        for args in (["peak"], ["peak", "-g", "role"], ["memory"], ["allocator"], ["leaks"], ["oom"], ["whatif"], ["diff", self.path],
                     ["info"]):
            self.ask(name, *args)


def has_times(change):
    return change not in (torch_2_0, torch_2_1)


def strip(change, losses):
    """Without what the change itself takes away. Segments without stacks: nobody can tell that they were recorded."""
    gone = ("times_unknown",) + (("history_wrapped",) if change is torch_2_0 else ())
    return {k: v for k, v in losses.items() if k not in gone}


def check(a, name, base):
    want = a.figures(name, pickle.dumps(base))
    for change in SAME:
        got = a.figures(f"{name} {change.__name__}", pickle.dumps(change(copy.deepcopy(base))))
        a.all_answer(f"{name} {change.__name__}")
        if got and not has_times(change) and "times_unknown" not in got["losses"]:
            a.fail(f"{name} {change.__name__}", "does not say that there are no times")
        for k in want if got else ():
            is_, was = (strip(change, got[k]), strip(change, want[k])) if k == "losses" else (got[k], want[k])
            if is_ != was:
                a.fail(f"{name} {change.__name__}", f"{k} {str(is_)[:200]} is not {str(was)[:200]}")
    for how, dump in PICKLERS.items():
        got = a.figures(f"{name} {how}", dump(base))
        if got != want:
            a.fail(f"{name} {how}", f"{got} is not {want}"[:400])
    ranges(a, name, base)
    parts(a, name, base, want)


def ranges(a, name, base):
    """Ranges are the same in either form; an annotation names an allocation."""
    def ops(change):
        a.figures(name, pickle.dumps(change(copy.deepcopy(base))))
        return a.ask(name, "peak", "--json", "--group-by", "op")["groups"]
    if ops(lambda s: s) != ops(torch_2_4):
        a.fail(name, "ranges as events are other ranges")
    a.figures(name, pickle.dumps(newest(copy.deepcopy(base))))
    t = a.ask(name, "peak", "--json", "--group-by", "tensor")["groups"]
    if not any("weights of layer 1" in g["key"] for g in t):
        a.fail(name, f"the annotation names nothing: {t[:3]}")


def parts(a, name, base, want):
    """The end alone: no events, the last event, the list of segments."""
    live = sum(b["size"] for b in blocks(base) if b["state"] != "inactive")
    reserved = sum(g["total_size"] for g in base["segments"])
    for what, s in (("no events", {**base, "device_traces": [[]]}), ("no traces", {"segments": base["segments"]}),
                    ("a list", base["segments"]), ("one event", {**base, "device_traces": [base["device_traces"][0][-1:]]})):
        got = a.figures(f"{name} {what}", pickle.dumps(s))
        a.all_answer(f"{name} {what}")
        if got and (got["peak_bytes"], got["reserved_bytes_at_peak"]) != (live, reserved) and what != "one event":
            a.fail(f"{name} {what}", f"{got['peak_bytes']}, {got['reserved_bytes_at_peak']} reserved is not {live}, {reserved}")
        if got and "no_history" not in got["losses"]:
            a.fail(f"{name} {what}", f"does not say that there is no history: {got['losses']}")
        if got and sum(p[0] for p in got["pools"]) != live:
            a.fail(f"{name} {what}", f"{got['pools']} alive is not {live}")
    got = a.figures(f"{name} events only", pickle.dumps({"device_traces": base["device_traces"]}))
    a.all_answer(f"{name} events only")


def main():
    with tempfile.TemporaryDirectory() as folder:
        a = Asker(sys.argv[1], folder)
        for name in ("snapshot_gpt_train", "snapshot_oom") if ALL else ("snapshot_oom",):  # the larger one in `make check-all`
            with gzip.open(os.path.join(sys.argv[2], name + ".pickle.gz")) as f:
                check(a, name, pickle.load(f))
    print(f"{a.wrong} wrong")
    sys.exit(a.wrong > 0)


main()
