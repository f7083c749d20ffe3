#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Device time by op and arguments, module, kind of work and stack, and the ops table by arguments, against the
definitions of docs/analyses/kernels.md, categories.md and ops.md: the random traces of figures.py, whose ops get
shapes, dtypes and strides here, some of them shapes that no tensor has.

    arguments.py [TRACES [FIRST]]      with TIDEMARK set
"""
import json
import random
import sys
import tempfile

from figures import Maker, Trace, ask, written

SHAPES = [[[8, 16], [16, 4]], [[8, 16], []], [], [[[2, 3], [4]], []], [[0]], [[2**63 - 1]]]
NO_SHAPES = [[[8, -1]], [[2**63]], [[1] * 33], ["mm"], "(12345 bytes)", 7, [[1.5]], [[[[2]]]], {"a": 1}, [8]]
TYPES = [["float", "c10::BFloat16"], ["TensorList", "Scalar"], ["\u00e9\""]]
# what docs/analyses/categories.md says of the names in these traces
OF_OP = {"aten::mm": "gemm", "aten::add": "elementwise", "aten::mul": "elementwise", "nccl:all_reduce": "communication", "AddmmBackward0": "elementwise",
         "aten::_flash_attention_forward": "attention", "aten::_foreach_add_": "optimizer"}
WHOLE = "aten::_flash_attention_forward", "aten::_foreach_add_"
OF_KERNEL = {"gemm": "gemm", "multimem_all_reduce": "communication"}
MORE = "aten::_flash_attention_forward", "aten::_foreach_add_", "autograd::engine::evaluate_function: AddmmBackward0"


def decorate(events, r):
    """Gives ops arguments and sometimes another name."""
    for e in events:
        if e.get("cat") == "cpu_op" and "args" in e:
            e["name"] = r.choice(MORE) if r.random() < 0.15 else e["name"]
            for key, good, odds in (("Input Dims", SHAPES, 0.8), ("Input Strides", SHAPES, 0.5)):
                if r.random() < odds:
                    e["args"][key] = r.choice(good if r.random() < 0.8 else NO_SHAPES)
            if r.random() < 0.8:
                e["args"]["Input type"] = r.choice(TYPES)


def tensor_shapes(value, depth=0):
    """True for a list of shapes, or of lists of shapes, that tensors can have."""
    if isinstance(value, list):
        numbers = [v for v in value if not isinstance(v, list)]
        return depth < 3 and len(numbers) <= 32 and (not numbers or depth > 0) and all(tensor_shapes(v, depth + 1) for v in value)
    return isinstance(value, int) and 0 <= value < 2**63


def arguments(op):
    def shapes(key):
        value = op.args.get(key)
        return json.dumps(value) if isinstance(value, list) and tensor_shapes(value) else None
    types = op.args.get("Input type")
    return op.name, shapes("Input Dims"), None if types is None else json.dumps(types), shapes("Input Strides")


def add(table, key, ns, **more):
    row = table.setdefault(key, {"count": 0, "sum_ns": 0})
    row["count"] += 1
    row["sum_ns"] += ns
    for k, v in more.items():
        row[k] = row.get(k, 0) + v


class Arguments(Trace):
    def ops_around(self, op):
        """An op and those around it: each is the innermost op around the beginning of the next."""
        while op:
            yield op
            op = self.around_op(op)

    def around_op(self, s):
        """Ops that are open on a lane form a stack: one that is over is removed when an op begins or a launch is looked up, from the top on."""
        stack = []
        for x in self.lanes[s.lane]:
            while stack and (stack[-1].t1 < x.t0 or stack[-1].t1 == x.t0 > stack[-1].t0):
                stack.pop()
            if x is s:
                return stack[-1] if stack else None
            if x.cat == "op":
                stack.append(x)
        return None

    def way(self, span):
        """forward, backward or recompute."""
        parts = list(span.around())[::-1] if span else []
        now = "forward"
        for s in parts:
            if s.name.startswith("autograd::engine::"):
                now = "backward"
            elif s.name.startswith("nn.Module: ") and now == "backward":
                now = "recompute"
        return now

    def category(self, s):
        if self.type(s) == "communication":
            return "communication"
        if self.type(s) == "memory":
            return "copy"
        ops = list(self.ops_around(self.around_op(s.launch))) if s.launch else []
        whole = [o.name for o in ops if o.name in WHOLE]
        known = [o.name for o in ops if o.name in OF_OP]
        if whole or known:
            return OF_OP[(whole[::-1] + known)[0]]
        return OF_KERNEL.get(s.name, "other" if s.name != "foo_ncclKernel_x" else "communication")

    def tables(self):
        shapes, modules, categories, stacks = {}, {}, {}, {}
        for s in self.gpu:
            ns, call = s.ns(), s.launch
            op = self.around_op(call) if call else None
            passes = {self.way(call) + "_ns": ns}
            add(shapes, arguments(op) if op else ("(outside any op)" if call else "(launch not in the trace)", None, None, None), ns)
            inside = [x.name.removeprefix("nn.Module: ") for x in (call.around() if call else ()) if x.name.startswith("nn.Module: ")]
            add(modules, inside[0] if inside else "(outside any module)" if call else "(launch not in the trace)", ns, **passes)
            add(categories, self.category(s), ns, **passes)
            path = call.parent.path() if call and call.parent else ()
            add(stacks, ";".join(path) or ("(no stack)" if call else "(launch not in the trace)"), ns)
        return {"shape": shapes, "module": modules, "category": categories, "stack": stacks}

    def op_shapes(self):
        out = {}
        for op in [s for s in self.host if s.cat == "op"]:
            if arguments(op) in [arguments(x) for x in list(self.ops_around(op))[1:]]:
                continue
            row = out.setdefault(arguments(op), {"calls": 0, "wall_ns": 0, "rows": 0, "device_self_ns": 0, "device_ns": 0})
            row["calls"] += 1
            row["wall_ns"] += op.ns()
            row["device_ns"] += sum(s.ns() for s in self.gpu if s.launch and op in self.ops_around(self.around_op(s.launch)))
        for s in self.gpu:
            op = self.around_op(s.launch) if s.launch else None
            if op:
                out[arguments(op)]["rows"] += 1
                out[arguments(op)]["device_self_ns"] += s.ns()
        return out


KEYS = {"shape": ("shapes", ("op", "shapes", "dtypes", "strides")), "module": ("modules", ("module",)), "category": ("categories", ("category",)), "stack": ("stacks", ("stack",))}


def answers(file, t):
    want = t.tables()
    for by, (table, keys) in KEYS.items():
        got = ask("kernels", file, "--by", by)
        rows = {tuple(r[k] for k in keys): r for r in got[table]}
        rows = {k if len(k) > 1 else k[0]: {f: v for f, v in r.items() if f in ("count", "sum_ns", "forward_ns", "backward_ns", "recompute_ns") and (v or f in ("count", "sum_ns"))} for k, r in rows.items()}
        yield "kernels --by " + by, rows, {k: {f: v for f, v in r.items() if v or f in ("count", "sum_ns")} for k, r in want[by].items()}
        yield "sum of " + by, [got["sum_ns"], got["rows"]], [sum(s.ns() for s in t.gpu), len(t.gpu)]
        yield "order of " + by, [r["sum_ns"] for r in got[table]], sorted((r["sum_ns"] for r in got[table]), reverse=True)
    got = ask("ops", file, "--by", "shape")
    rows = {tuple(r[k] for k in KEYS["shape"][1]): {f: r[f] for f in ("calls", "wall_ns", "rows", "device_self_ns", "device_ns")} for r in got["ops"]}
    ours = t.op_shapes()
    for r in ours.values() if not t.gpu else ():
        r.update(rows=None, device_self_ns=None, device_ns=None)
    yield "ops --by shape", rows, ours
    if t.gpu:
        yield "all of it", sum(r["device_self_ns"] for r in rows.values()) + got["outside_ns"], sum(s.ns() for s in t.gpu)


def main():
    traces, first = int(sys.argv[1]) if len(sys.argv) > 1 else 20, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count, wrong = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + traces):
            events, file = Maker(seed).trace(), f"{folder}/trace{seed}.json"
            decorate(events, random.Random(seed))
            with open(file, "w", encoding="utf-8") as f:
                f.write(written(events))
            for what, got, want in answers(file, Arguments(events)):
                count += 1
                if got != want:
                    wrong += 1
                    if isinstance(got, dict):
                        got, want = ({k: v for k, v in x.items() if y.get(k) != v} for x, y in ((got, want), (want, got)))
                    print(f"trace {seed}, {what}: {got}, not {want}"[:1500])
    print(f"{traces} traces, {count} answers compared, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
