#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict -- PROGRAM`: values that follow from constants, loops that wait for values, and programs that do not end."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, lacks_torch, predict  # noqa: E402

KNOWN = """
import torch
mask = torch.ones(3, 8, dtype=torch.long, device="cuda")
row = mask[1]
row[:5] = 0  # a write to a view is a write to all of its memory
mask[2].mul_(0)
assert mask.sum().item() == 11 and row.tolist() == [0] * 5 + [1] * 3 and not mask.all()
assert mask.nonzero().shape == (11, 2) and torch.zeros(3, 8, 4, device="cuda")[mask.bool()].shape == (11, 4)
assert torch.zeros(3, 8, device="cuda").masked_select(mask.bool()).shape == (11,)
row[0] = torch.rand(9, device="cuda").argmax()
assert mask.sum().item() == 0  # unknown now, in every view
tokens = torch.rand(4, 100, device="cuda").argmax(-1)
left = torch.ones(4, dtype=torch.long, device="cuda")
for n in range(5):  # how transformers decides whether sequences are finished
    done = torch.full((4,), False, device="cuda") | torch.full((4,), n >= 4, device="cuda") | torch.isin(tokens, torch.tensor([2], device="cuda"))
    left = left & ~done
    assert (left.max() == 0).item() == (n == 4), n
scores = torch.full((4, 3), -1e9, device="cuda")
finished = torch.zeros(4, 3, dtype=torch.bool, device="cuda")
order = torch.rand(4, 3, device="cuda").topk(2).indices
assert not torch.gather(finished, 1, order).any() and torch.any(torch.rand(4, 1, device="cuda") > torch.where(finished, scores.min(), -1e9))
assert (tokens != 2).any() and not (tokens == 2).any()
scores[:, 1:] = torch.rand(4, 2, device="cuda")
assert scores[0, 0].item() == 0.0  # not -1e9: it was written to
kept = torch.zeros(4, dtype=torch.bool, device="cuda")
kept |= torch.rand(4, device="cuda") > 0.5
assert not kept.any()
"""
GENERATE = """
import sys, torch, transformers as tf
device, new, same = sys.argv[1], 12, dict(vocab_size=1000, pad_token_id=0)
llama = tf.LlamaForCausalLM(tf.LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, eos_token_id=2, bos_token_id=1, **same))
t5 = tf.T5ForConditionalGeneration(tf.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0, eos_token_id=1, **same))
for model, how in (llama, {}), (llama, dict(num_beams=3)), (llama, dict(do_sample=True)), (t5, {}), (t5, dict(num_beams=3)):
    model, steps = model.to(device).eval(), []
    hook = model.register_forward_hook(lambda *a: steps.append(1))
    ids = torch.randint(3, 1000, (4, 16), device=device)
    model.generate(ids, attention_mask=torch.ones_like(ids), **{"do_sample": False, "min_new_tokens": new, "max_new_tokens": new, **how})
    hook.remove()
    print("forwards", type(model).__name__, how, len(steps), file=sys.stderr)
"""
LOOP = """
import torch
x, rounds = torch.zeros(4, 4, device="cuda"), 0
while not (torch.rand(3, device="cuda") > 0.5).all():
    x, rounds = torch.cat((x, x[:1])), rounds + 1
assert rounds == 1000, rounds
"""
ENDS = """
import torch
n, x = 0, torch.rand(3, device="cuda")
while n < 3000:  # it reads values, but does not wait for them
    n += 1 + int(x.max() > 3)
    if n % 2 and x.sum().item() > 2:
        n += 5000
assert 3000 <= n <= 3001, n  # the other values had their turn, in vain
"""


def check_known(folder: Path) -> None:
    predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=KNOWN, folder=folder)


def check_generate(folder: Path) -> None:
    """A prediction runs the model as often as the real program on the CPU does."""
    script = folder / "generate.py"
    script.write_text(GENERATE)
    real = subprocess.run([str(PYTHON), str(script), "cpu"], capture_output=True, text=True, check=True, timeout=300).stderr
    d, err = predict("--like", "h200", "--steps", 0, "--timeout", 200, "--", PYTHON, script, "cuda", folder=folder)
    real, told = ([x for x in text.splitlines() if x.startswith("forwards")] for text in (real, err))
    assert real == told and len(told) == 5 and all(x.endswith(" 12") for x in told), (real, told)
    assert d["ended"] and any("greatest length" in u for u in d["unknown"]), d


def check_loops(folder: Path) -> None:
    """A loop that only unknown values can end is ended and named: its memory is no prediction."""
    d, _ = predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=LOOP, folder=folder, fails=True)
    assert not d["ended"] and "after 1000 rounds: " in d["unended"] and ".py:4" in d["unended"], d
    assert d["fits"] is d["least_reserved_bytes"] is d["most_reserved_bytes"] is d["runs_out_in"] is None, d
    kept = folder / "kept.tide"
    for script, why in (("import torch; x = torch.zeros(9, device='cuda'); y = 1 // 0 if x.shape else 0", "ZeroDivisionError"),
                        ("import os, torch; x = torch.zeros(9, device='cuda').clone(); os.kill(os.getpid(), 15)", "signal 15")):
        program = folder / "program.py"
        program.write_text(script)
        words = [os.environ["TIDEMARK"], "predict", "--like", "h200", "--steps", "0", "--keep", str(kept), "--", str(PYTHON), str(program)]
        for run in words, [*words[:4], str(kept)]:  # its recording says so, too
            got = subprocess.run(run, capture_output=True, text=True, timeout=300)
            first = got.stdout.splitlines()[0]
            assert got.returncode and first.startswith("no prediction: the program did not end by itself (") and why in first, (run, got)
            assert "at least" not in got.stdout and "unknown: the program did not end by itself" in got.stdout, got.stdout


def check_ends(folder: Path) -> None:
    d, _ = predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=ENDS, folder=folder)
    assert d["ended"] and d["unended"] is None, d


def main() -> int:
    if why := lacks_torch(str(PYTHON)):
        print(f"skipped: {why}")
        return 77
    build_hook(str(PYTHON), predicts=True)
    generates = subprocess.run([str(PYTHON), "-c", "import transformers"], capture_output=True, check=False).returncode == 0
    for check in check_known, check_loops, check_ends, *([check_generate] if generates else []):
        with tempfile.TemporaryDirectory(prefix="predict-") as folder:
            check(Path(folder))
    print("values that follow from constants, loops that wait for values, programs that do not end" + ("" if generates else "; skipped: no transformers, so nothing is generated"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
