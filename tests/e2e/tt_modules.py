#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tenstorrent logs with several modules: prefill and decode of one model share its weights.

Logs come from tests/support/tt_emitter.py --decode (constructed lines): two programs with the same weights whose
arguments are in another order, run in turns. It knows the weights that each operation loads."""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tt import emit, files_of, kept, run  # noqa: E402

BYTES = 3 * (256 * 256 + 256) * 2  # three layers of 256, bf16


def analyze(log: pathlib.Path) -> tuple[dict, list, dict, str]:
    """The report, the operations, the registry, the console."""
    name = log.stem.removesuffix("_profile")
    r = run("tt", "--analyze", str(log), "--force")
    assert r.returncode == 0, r.stderr
    registry = json.loads((log.parent / f"{name}_inputs_registry.json").read_text())
    return json.loads(run("tt", "--analyze", str(log), "--json").stdout), files_of(log.parent, name)[1], registry, r.stdout


def names(ops: list) -> list:
    return [[w["name"] for w in o["weights"]] for o in ops if o["mlir_op"] == "ttcore.load_cached"]


def once(d: pathlib.Path) -> None:
    """A weight of two modules is one weight, in every output."""
    log, _ = emit(d, "two", "--decode")
    report, _, registry, console = analyze(log)
    assert report["modules"] == 2 and report["weight_bytes"] == BYTES, report["weight_bytes"]
    assert len(report["weights"]) == 6 and sum(w["bytes"] for w in report["weights"]) == BYTES, report["weights"]
    assert {w["modules"] for w in report["weights"]} == {2}
    meta = registry["metadata"]
    assert meta["total_entries"] == 14 and meta["total_weights"] == 6 and meta["total_weight_bytes"] == BYTES, meta
    again = [e for e in registry["entries"] if "same_as" in e]
    assert len(again) == 6 and all(registry["entries"][e["same_as"]]["name"] == e["name"] for e in again), again
    assert f"Total weight size: {BYTES / 2**20:.2f} MB" in console, console
    md = run("tt", "--analyze", str(log), "--markdown").stdout
    assert f"Weights: {BYTES / 2**20:.1f} MB" in md and f"Model Weights ({BYTES / 2**20:.1f} MB total)" in md, md
    assert "weights of 2 modules, each counted once: 385.50 KiB" in run("tt", "--analyze", str(log), "--text").stdout


def apart(d: pathlib.Path) -> None:
    """Const-eval programs of two modules with one name are two programs; equal modules of two ranks are one."""
    log, _ = emit(d, "evals", "--decode", "--runs", "2")
    report, _, _, console = analyze(log)
    rows = [(g["graph"], g["module"], g["loads"], g["runs"], g["operations"]) for g in report["const_eval"]]
    assert rows == [(f"main_const_eval_{i}", module, 2, 1, 2) for i in range(6) for module in (1, 2)], rows
    assert "main_const_eval_5 of module 2: 2 ops (cache miss)" in console, console
    log, _ = emit(d, "ranked", "--ranks", "2", "--runs", "2")
    rows = [(g["graph"], g["module"], g["loads"], g["runs"], g["operations"]) for g in analyze(log)[0]["const_eval"]]
    assert rows == [(f"main_const_eval_{i}", None, 4, 2, 4) for i in range(6)], rows


def matched(d: pathlib.Path) -> None:
    """Each run has the names of its own module, also after another module was dumped, and in the recording."""
    for name, args in (("turns", ()), ("ranks", ("--ranks", "2")), ("alias", ("--types", "alias"))):
        log, truth = emit(d, name, "--decode", "--runs", "3", *args)
        _, ops, _, console = analyze(log)
        for rank in truth:
            mine = [o for o in ops if o.get("rank", "1,0") == f"1,{rank['rank']}"]
            want = [o["weights"] for o in kept(rank["ops"]) if "weights" in o]
            assert names(mine) == want, (name, names(mine), want)
        assert "ambiguous" not in console, console
        tide = json.loads(run("tt", "--analyze", str(d / f"{name}.tide"), "--json").stdout)
        assert tide["weights"] == json.loads(run("tt", "--analyze", str(log), "--json").stdout)["weights"]


def before(d: pathlib.Path) -> None:
    """Both modules are dumped before the first run."""
    log, truth = emit(d, "early", "--decode", "--runs", "2")
    dumps = re.findall(r"^.*MLIR Module (?:.|\n)*?END OF MLIR MODULE -+\n", log.read_text(encoding="utf-8"), re.M)
    text = log.read_text(encoding="utf-8")
    for dump in dumps:
        text = text.replace(dump, "", 1)
    log.write_text("".join(dumps) + text, encoding="utf-8")
    assert len(dumps) == 6, len(dumps)
    assert names(analyze(log)[1]) == [o["weights"] for o in kept(truth[0]["ops"]) if "weights" in o]


def different(d: pathlib.Path) -> None:
    """Weights without a name, or of another shape, are not taken for the same."""
    log, _ = emit(d, "unnamed", "--decode")
    text = log.read_text(encoding="utf-8")
    log.write_text(re.sub(r', ttir.name = "layer[^"]*"', "", text), encoding="utf-8")
    report = analyze(log)[0]
    assert report["weight_bytes"] == 2 * BYTES and len(report["weights"]) == 12
    assert "note: 12 weights have no name" in run("tt", "--analyze", str(log), "--text").stdout
    log.write_text(text.replace('ttir.name = "layer1.bias"', 'ttir.name = "layer0.bias"'), encoding="utf-8")
    assert len(analyze(log)[0]["weights"]) == 6, "two arguments of one module are two weights"
    head, tail = text.rsplit("MLIR Module shlo_frontend:", 1)
    log.write_text(head + "MLIR Module shlo_frontend:" + tail.replace("tensor<256x256xbf16>", "tensor<128x256xbf16>", 1), encoding="utf-8")
    assert len(analyze(log)[0]["weights"]) == 7, "another shape is another weight"


def main() -> int:
    with tempfile.TemporaryDirectory() as tmp:
        for test in (once, apart, matched, before, different):
            (pathlib.Path(tmp) / test.__name__).mkdir()
            test(pathlib.Path(tmp) / test.__name__)
            print(f"ok {test.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
