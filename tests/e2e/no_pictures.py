# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A program without cairo refuses pictures only: the text is still printed, and a page is written without the picture.
tidemark-mpi is such a program."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
LOG = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests/fuzz/phaselog.corpus/both.log"
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def phases(*words: str | pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run(["mpirun", "-n", "1", TIDEMARK + "-mpi", "phases", LOG, *words], capture_output=True, text=True, env=ENV, check=False)


def main() -> int:
    if not pathlib.Path(TIDEMARK + "-mpi").exists() or not shutil.which("mpirun"):
        print("skipped: no MPI here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        plain = phases()
        assert plain.returncode == 0 and "Analysis complete" in plain.stdout, plain
        for name in ("x.png", "x.svg"):
            refused = phases("-o", pathlib.Path(folder) / name)
            assert refused.returncode not in (0, 3), refused
            assert "cairo was not found" in refused.stderr, refused
            assert plain.stdout in refused.stdout, f"{name}: the text is lost:\n{refused.stdout}"
            assert not (pathlib.Path(folder) / name).exists(), "a refused picture leaves no file"
        page = pathlib.Path(folder) / "x.html"
        written = phases("-o", page)
        assert written.returncode == 0, written
        text = page.read_text(encoding="utf-8")
        assert "Analysis complete" in text and "<svg" not in text, text
    print("text and page without pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
