# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Trace.sql(): rows, Arrow, errors, limits, Ctrl-C."""
import gc
import os
import pathlib
import signal
import threading
import unittest

import tidemark

DATA = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"
KINETO, SNAPSHOT = DATA / "kineto_gpt_train.json.gz", DATA / "torchsnap" / "snapshot_oom.pickle.gz"
ENDLESS = "with recursive x(n) as (select 1 union all select n + 1 from x) select count(*) from x"


class Sql(unittest.TestCase):
    def test_rows(self) -> None:
        t = tidemark.open(KINETO)
        found = t.sql("select name, t0, dur, 0.5 as half, null as none from spans where cat = 'kernel' order by t0, id limit 3")
        self.assertEqual(found.columns, ["name", "t0", "dur", "half", "none"])
        spans = {k: t.native.column("spans", k) for k in ("name", "t0", "t1")}
        at = {(n, a): b - a for n, a, b in zip(spans["name"], spans["t0"], spans["t1"])}
        self.assertEqual([r[3:] for r in found], [(0.5, None)] * 3)
        self.assertTrue(all(at[r[0], r[1]] == r[2] for r in found))

    def test_report_tables(self) -> None:
        t = tidemark.open(SNAPSHOT)
        groups = t.peak(group_by="stack")["groups"]
        self.assertEqual(t.sql("select key, bytes from peak where with_group_by = 'stack'").rows(), [(g["key"], g["bytes"]) for g in groups])

    def test_two_traces(self) -> None:
        self.assertEqual(tidemark.open(KINETO).sql("select trace_id, count(*) > 0 from spans group by 1 order by 1", KINETO).rows(), [(1, 1), (2, 1)])

    def test_arrow(self) -> None:
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not installed")
        t = tidemark.open(KINETO)
        found = t.sql("select name, dur, dur / 3.0 as third, nullif(cat, 'op') as other from spans")
        rows = found.rows()
        table = pyarrow.table(found)
        del t, found
        gc.collect()
        self.assertEqual([str(f) for f in table.schema.types], ["large_string", "int64", "double", "large_string"])
        self.assertEqual(list(zip(*(c.to_pylist() for c in table.columns))), rows)
        table.validate(full=True)
        self.assertEqual(pyarrow.table(tidemark.open(KINETO).sql("select name from spans where id < 0")).num_rows, 0)

    def test_errors(self) -> None:
        t = tidemark.open(KINETO)
        for query, text in (("select wrong", "no such column"), ("attach 'x' as y", "only read"), ("", "empty"), ("select * from peak where with_at = 'x'", "needs a time")):
            with self.assertRaisesRegex(tidemark.Error, text):
                t.sql(query)
        with self.assertRaisesRegex(tidemark.Error, "limit"):
            t.sql(ENDLESS, limit=0.05)
        with self.assertRaises(tidemark.Error):
            t.sql("select 1", "no such file")

    def test_interrupt(self) -> None:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            tidemark.open(KINETO).sql(ENDLESS)


if __name__ == "__main__":
    unittest.main()
