#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark stale` accuses no clean program: ten public models with small configurations and random weights, trained for a few steps or
generating text. No row of more than 1 % of the peak may be named.

    stale_clean.py [MODEL...]
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
START = "import sys, torch, transformers as tf\ndev = 'cuda'\ntorch.manual_seed(0)\n"
SMALL = "vocab_size=800, hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4"
TEXT = "{'input_ids': torch.randint(0, 800, (4, 64), device=dev), 'labels': torch.randint(0, 800, (4, 64), device=dev)}"
TRAIN = """
model = {model}.to(dev).train()
opt = torch.optim.{optimizer}(model.parameters(), lr=1e-3)
for step in range(4):
    batch = {batch}
    loss = model(**batch).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    del batch, loss
"""
GENERATE = """
model = {model}.to(dev).eval()
with torch.no_grad():
    for i in range(3):
        ids = torch.randint(0, 800, (4, 24), device=dev)
        out = model.generate(ids, max_new_tokens=24, do_sample=False, eos_token_id=None, pad_token_id=0)
        del ids, out
"""


def train(model: str, batch: str = TEXT, optimizer: str = "AdamW") -> str:
    return START + TRAIN.format(model=model, batch=batch, optimizer=optimizer)


PIXELS = "{'pixel_values': torch.randn(4, 3, 64, 64, device=dev), 'labels': torch.randint(0, 10, (4,), device=dev)}"
MODELS = {
    "gpt2": train("tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=800, n_embd=128, n_layer=3, n_head=4))"),
    "llama": train(f"tf.LlamaForCausalLM(tf.LlamaConfig({SMALL}, num_key_value_heads=2))"),
    "bert": train(f"tf.BertForMaskedLM(tf.BertConfig({SMALL}))", optimizer="SGD"),
    "roberta": train(f"tf.RobertaForMaskedLM(tf.RobertaConfig({SMALL}, max_position_embeddings=80))"),
    "t5": train("tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=800, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0))"),
    "vit": train("tf.ViTForImageClassification(tf.ViTConfig(hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256, image_size=64, "
                 "patch_size=8, num_labels=10))", PIXELS),
    "resnet": train("tf.ResNetForImageClassification(tf.ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 1, 1], num_labels=10))", PIXELS,
                    "SGD"),
    "qwen_generates": START + GENERATE.format(model=f"tf.Qwen2ForCausalLM(tf.Qwen2Config({SMALL}, num_key_value_heads=2))"),
    "llama_generates": START + GENERATE.format(model=f"tf.LlamaForCausalLM(tf.LlamaConfig({SMALL}, num_key_value_heads=2))"),
    "opt_generates": START + GENERATE.format(model="tf.OPTForCausalLM(tf.OPTConfig(vocab_size=800, hidden_size=128, ffn_dim=256, num_hidden_layers=3, num_attention_heads=4, "
                                             "word_embed_proj_dim=128))"),
}


def judge(folder: Path, name: str) -> str:
    """Returns what is wrong with the report of a model, "" if nothing is."""
    program, file = folder / f"{name}.py", folder / f"{name}.tide"
    program.write_text(MODELS[name])
    done = subprocess.run([TIDEMARK, "predict", "--like", "h200", "--steps", "0", "--keep", str(file), "--", str(PYTHON), str(program)], capture_output=True, text=True,
                          timeout=900)
    if done.returncode:
        return f"{name}: {done.stderr[-600:]}"
    d = json.loads(subprocess.run([TIDEMARK, "stale", "--json", str(file)], capture_output=True, check=True, timeout=300).stdout)
    if not d["known"]:
        return f"{name}: nothing is known: {d['unknown_because']}"
    named = [r for r in d["stale"] if r["bytes"] > d["peak_bytes"] / 100]
    print(f"{name:16} peak {d['peak_bytes']:>12,}  never used again {d['stale_bytes']:>10,}  unknown {d['unknown_bytes']:>12,}", flush=True)
    return f"{name}: {named}" if named else ""


def main() -> int:
    if why := lacks_torch(str(PYTHON)):
        print(f"skipped: {why}")
        return 77
    if subprocess.run([str(PYTHON), "-c", "import transformers"], capture_output=True).returncode:
        print("skipped: transformers is not installed")
        return 77
    build_hook(str(PYTHON), predicts=True)
    with tempfile.TemporaryDirectory(prefix="clean-") as folder, ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda name: judge(Path(folder), name), sys.argv[1:] or MODELS) if w]
    print("\n".join(wrong) or "no clean model is accused")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
