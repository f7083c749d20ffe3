# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The profile's JSON writer against the standard library, on random values."""
import io
import json
import random
import unittest

from tidemark import _profile


def value(r: random.Random, depth: int) -> object:
    kind = r.randrange(7 if depth < 9 else 5)
    if kind < 5:
        return [None, r.random() < 0.5, r.randrange(-9, 2**60), r.random(), r.choice(["", "a\n\"b", "é", "\ud83d"])][kind]
    n = r.randrange(4)
    return [value(r, depth + 1) for _ in range(n)] if kind == 5 else {f"k{i}\t": value(r, depth + 1) for i in range(n)}


class Write(unittest.TestCase):
    def test_same_as_the_standard_library(self):
        for seed in range(2000):
            v = value(random.Random(seed), 0)
            out = io.StringIO()
            _profile.write(v, out.write)
            self.assertEqual(json.loads(out.getvalue()), json.loads(json.dumps(v)), f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
