#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict -- PROGRAM` with scripts of Hugging Face's Trainer and of Lightning, as users write them."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, predict  # noqa: E402

TRAINER = """
import sys, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=512, n_positions=64, bos_token_id=0, eos_token_id=1))
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        x = torch.randint(0, 512, (64,))
        return {"input_ids": x, "labels": x}
args = TrainingArguments(output_dir=sys.argv[1], per_device_train_batch_size=8, max_steps=4, report_to=[], save_strategy="no", logging_steps=1, bf16=True)
Trainer(model=model, args=args, train_dataset=Data()).train()
"""
LIGHTNING = """
import torch, torch.nn as nn
import pytorch_lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, 1024, bias=False), nn.BatchNorm1d(1024, affine=False), nn.ReLU(), nn.Linear(1024, 256, bias=False))
    def training_step(self, batch, i):
        return self.net(batch[0]).pow(2).mean()
    def validation_step(self, batch, i):
        self.log("loss", self.net(batch[0]).pow(2).mean(), prog_bar=True)  # a metric that is copied, in inference mode
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 256)), batch_size=8)
L.Trainer(accelerator="gpu", devices=1, max_steps=4, precision="16-mixed", logger=False, enable_checkpointing=False, enable_model_summary=False).fit(Net(), data, data)
"""
PHASES = ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "OPTIMIZER_STEP"]
SCRIPTS = {"transformers": (TRAINER, 4 * (2 * (12 * 128 * 128 + 13 * 128) + (512 + 64) * 128 + 2 * 128)), "pytorch_lightning": (LIGHTNING, 2 * 256 * 1024 * 4)}


def has(package: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None or u.find_spec({package!r}) is None)"], check=False).returncode == 0


def main() -> int:
    ran = 0
    for package, (script, parameters) in SCRIPTS.items():
        if not PYTHON.exists() or not has(package):
            print(f"skipped: no {package} in .venv (tools/setup test)")
            continue
        build_hook(str(PYTHON), predicts=True)
        with tempfile.TemporaryDirectory() as folder:
            d, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", folder, script=script, folder=Path(folder))
        names = [p["phase"] for p in d["phases"]]
        roles = {r["role"]: r["bytes"] for r in d["roles"]}
        rounding = 512 * 40  # of each tensor, as the caching allocator rounds
        assert names[:5] == PHASES and d["steps"] == 2, (package, names, err[-500:])
        assert parameters <= roles["parameter"] <= parameters + rounding, (package, roles, parameters)
        assert 2 * parameters <= roles["optimizer"] <= 2 * parameters + 3 * rounding, (package, roles, parameters)
        ran += 1
        print("ok", package, flush=True)
    return 0 if ran else 77


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
