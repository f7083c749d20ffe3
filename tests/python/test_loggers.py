# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.loggers with the packages themselves, offline: what each of them gives back is what the commands say."""
import importlib.util
import json
import os
import pathlib
import re
import tempfile
import unittest

import tidemark
from tidemark import loggers

DATA = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"
TRACE = DATA / "kineto_gpt_train.json.gz"


def needs(*names):
    """Skips a test without its packages, which `tools/setup check` installs: together they are 280 MB."""
    gone = [n for n in names if importlib.util.find_spec(n) is None]
    return unittest.skipIf(gone, f"not installed: {', '.join(gone)} (tools/setup check)")


class Figures(unittest.TestCase):
    def test_are_those_of_the_reports(self):
        t = tidemark.open(TRACE)
        got = loggers.figures(t)
        gpu = next(d for d in t.memory()["devices"] if d["device"] == "cuda:0")["totals"]
        self.assertEqual(got["tidemark/peak_bytes/cuda:0"], gpu["peak_bytes"])
        self.assertEqual(got["tidemark/reserved_peak_bytes/cuda:0"], gpu["reserved_peak_bytes"])
        found = t.advice()["findings"]
        self.assertEqual(sum(v for k, v in got.items() if k.startswith("tidemark/findings/")), len(found))
        self.assertEqual(loggers.figures(str(TRACE), prefix="a/b/"), {"a/b" + k[len("tidemark"):]: v for k, v in got.items()})

    def test_phases_are_those_of_the_report(self):
        path = DATA / "snapshots" / "expandable_oom.pickle.gz"
        t = tidemark.open(path)
        want = [(p["name"], m["highest_bytes"]) for p in t.phases()["phases"] for m in p["memory"] if m["scope"] == "device"]
        self.assertTrue(want)
        self.assertEqual([v for k, v in loggers.figures(t).items() if re.fullmatch(r"tidemark/phase/.*/highest_bytes/.*", k)], [v for _, v in want])

    def test_phases_that_repeat_and_odd_names_stay_apart(self):
        rows = [{"name": n, "device": "cuda:0", **{k: i for k in loggers._PHASE}} for i, n in enumerate(("FORWARD", "a+b", "a*b", "FORWARD", "a b"))]
        got = {k: v for k, v in loggers._numbers(tidemark.open(TRACE), rows, []).items() if "/highest_bytes/" in k}
        self.assertEqual(got, {f"phase/{n}/highest_bytes/cuda:0{more}": i for i, (n, more) in enumerate((("FORWARD", ""), ("a_b", ""), ("a_b", " 2"), ("FORWARD", " 2"), ("a b", "")))})

    def test_a_package_that_is_missing_is_named(self):
        with self.assertRaisesRegex(tidemark.Error, "no_such_package is not installed"):
            loggers._package("no_such_package")


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.want = loggers.figures(TRACE)

    @needs("torch", "tensorboard")
    def test_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(self.folder) as writer:
            loggers.tensorboard(TRACE, writer, step=7)
        events = EventAccumulator(self.folder, size_guidance={"tensors": 0, "scalars": 0}).Reload()
        got = {k: events.Scalars(k)[0] for k in events.Tags()["scalars"]}
        got = {k: (v.step, v.value) for k, v in got.items()} or {k: (e.step, e.tensor_proto.double_val[0]) for k in events.Tags()["tensors"] if "/text_summary" not in k for e in events.Tensors(k)}
        self.assertEqual(got, {k: (7, v) for k, v in self.want.items()}, "exactly, to the byte")
        text = events.Tensors("tidemark/findings/text_summary")[0].tensor_proto.string_val[0].decode()
        self.assertEqual(len(text.splitlines()), 2 + len(tidemark.open(TRACE).advice()["findings"]))

    @needs("mlflow")
    def test_mlflow(self):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        import mlflow

        mlflow.set_tracking_uri((pathlib.Path(self.folder) / "mlruns").as_uri())  # a new folder: MLflow makes its default experiment in it
        with mlflow.start_run() as run:
            loggers.mlflow(TRACE)
        self.assertEqual(mlflow.get_run(run.info.run_id).data.metrics, self.want)
        findings = json.loads(next(pathlib.Path(self.folder).rglob("findings.json")).read_text())["findings"]
        self.assertEqual([f["text"] for f in findings], [f["text"] for f in tidemark.open(TRACE).advice()["findings"]])
        with mlflow.start_run() as other:
            loggers.mlflow(TRACE, run_id=run.info.run_id, prefix="again")
        self.assertEqual(mlflow.get_run(other.info.run_id).data.metrics, {})
        self.assertEqual(len(mlflow.get_run(run.info.run_id).data.metrics), 2 * len(self.want))

    @needs("wandb")
    def test_wandb(self):
        import wandb

        with self.assertRaisesRegex(tidemark.Error, r"call wandb.init\(\) first"):
            loggers.wandb(TRACE)
        run = wandb.init(mode="offline", dir=self.folder, project="tidemark", settings=wandb.Settings(silent=True, console="off"))
        loggers.wandb(TRACE)
        self.assertEqual({k: run.summary[k] for k in self.want}, self.want)
        run.finish()
        tables = [json.loads(p.read_text()) for p in pathlib.Path(self.folder).rglob("*.table.json")]
        findings = next(t for t in tables if "severity" in t["columns"])
        self.assertEqual([r[findings["columns"].index("text")] for r in findings["data"]], [f["text"] for f in tidemark.open(TRACE).advice()["findings"]])
