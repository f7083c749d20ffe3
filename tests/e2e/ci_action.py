# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The GitHub Action: its steps run here as a runner would run them, with a real recording, a baseline that is kept, and a change
that crosses a threshold. Every action that the repository uses is pinned by the digest of a commit."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: PyYAML is not installed (tools/setup test)")
    sys.exit(77)

source, tidemark = pathlib.Path(os.environ["TIDE_SOURCE"]), os.environ["TIDEMARK"]
PROGRAM = "import sys\ndata = [bytearray(100_000) for _ in range(int(sys.argv[1]))]\nprint(sys.argv[2])\n"
TITLE = "heap | of `train`"  # nothing in a name is markup


def pinned() -> int:
    """Every `uses:` names 40 digits of a commit and says which version that is."""
    n = 0
    for file in (source / "action.yml", *sorted((source / ".github/workflows").glob("*.yml")), *sorted((source / "docs").glob("**/*.md"))):
        for line in re.findall(r"(?m)^\s*(?:- )?uses: .*$", file.read_text(encoding="utf-8")):
            ours = re.search(r"uses: (\./|OWNER/)", line)
            assert ours or re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)+$", line), f"{file.name}: not pinned: {line.strip()}"
            n += 1
    return n


class Runner:
    """Runs the action's own steps: the values of inputs replace ${{ inputs.NAME }}, outputs and the summary are files."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.action = yaml.safe_load((source / "action.yml").read_text(encoding="utf-8"))
        (self.step,) = (s for s in self.action["runs"]["steps"] if s.get("id") == "diff")
        assert self.action["runs"]["using"] == "composite"

    def value(self, text: str, given: dict) -> str:
        inputs = {name: str(row.get("default", "")) for name, row in self.action["inputs"].items()} | given
        if m := re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text):
            return inputs[m[1]]
        if "github.action_path" in text:
            return text.replace("${{ github.action_path }}", str(source))
        assert "inputs.keep" in text, text
        return "true" if inputs["keep"] == "true" else "false"

    def __call__(self, **given: str) -> tuple:
        env = {**os.environ, "PATH": f"{pathlib.Path(tidemark).parent}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(self.folder / "output"),
               "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        given = {name.replace("_", "-"): text for name, text in given.items()}
        env |= {name: self.value(text, given) for name, text in self.step["env"].items()}
        for name in ("output", "summary.md"):
            (self.folder / name).write_text("")
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.step["run"]], cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        outputs = dict(line.split("=", 1) for line in (self.folder / "output").read_text().splitlines())
        comment = (self.folder / outputs["comment"]).read_text()
        assert comment == (self.folder / "summary.md").read_text() and outputs["status"] == str(done.returncode)
        assert comment.startswith(f"<!-- tidemark: {given.get('name', 'memory and time')} -->\n"), comment
        return done.returncode, comment, done.stdout + done.stderr


def command(n: int) -> str:
    return f"{sys.executable} -S program.py {n} 'two words'"


def steps(folder: pathlib.Path) -> None:
    (folder / "program.py").write_text(PROGRAM)
    run = Runner(folder)
    common = {"options": "--heap=full", "name": TITLE, "fail_if": "peak>+5%\n\npeak>+1GiB"}
    status, comment, said = run(command=command(100), keep="false", **common)
    assert (status, "no baseline yet" in comment, "two words" in said) == (0, True, True), (status, comment, said)
    assert not (folder / ".tidemark/baseline").exists()
    status, comment, _ = run(command=command(100), keep="true", **common)
    assert status == 0 and "becomes it" in comment and list((folder / ".tidemark/baseline").glob("*.tide")), comment
    status, comment, _ = run(command=command(100), keep="auto", **common)  # a pull request
    assert status == 0 and "No threshold is crossed" in comment and re.search(r"(?m)^\| peak +\|", comment), comment
    assert r"heap \| of \`train\`" in comment and "| Figure | A | B | Change | % |" in comment, comment
    status, comment, said = run(command=command(200), keep="false", **common)
    assert status == 3 and "threshold is crossed" in comment and "`peak>+5%`" in comment, (status, comment, said)
    row = re.search(r"(?m)^\| peak \|.*$", comment)
    assert row and re.search(r"\| \+9\.\d\d MiB \| \+\d+\.\d % \|", row[0]), comment
    assert "'peak>+5%' crossed" in comment and "<details>" in comment and "tidemark diff" in comment, comment
    status, comment, _ = run(command="false", keep="true", **common)  # a failing command is no baseline
    assert status == 1 and "command failed" in comment, comment
    status, comment, _ = run(command=command(100), keep="false", **common)
    assert status == 0 and "No threshold" in comment, comment
    status, comment, _ = run(command=command(100), keep="false", **{**common, "fail_if": "nonsense>1"})
    assert status not in (0, 3) and "comparison failed" in comment, (status, comment)


with tempfile.TemporaryDirectory() as temporary:
    number = pinned()
    steps(pathlib.Path(temporary))
    print(f"{number} uses of actions are pinned")
