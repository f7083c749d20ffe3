# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The callback (needs torch): in loops that call as Lightning and Transformers do, and in those themselves where they are there."""
import contextlib
import importlib.util
import io
import os
import pickle
import tempfile
import types
import unittest

import torch

import tidemark

STEP, CHECKPOINT, PHASE = 3, 2, 1


def marks(path, kind):
    t = tidemark.open(path).native
    return [(n, v) for k, n, v in zip(t.column("marks", "kind"), t.column("marks", "name"), t.column("marks", "value")) if k == kind]


def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(tempfile.mkdtemp(), "run.tide")

    def check(self, steps):
        self.assertEqual([v for _, v in marks(self.path, STEP)], list(range(steps)))
        t = tidemark.open(self.path).native
        named = set(t.column("tensors", "name"))
        self.assertLessEqual({"0.weight", "2.bias"}, {n.removeprefix("net.") for n in named}, named)
        self.assertFalse(tidemark.recording())

    def test_as_transformers_calls(self):
        model = net()
        optimizer = torch.optim.AdamW(model.parameters())
        args, state = types.SimpleNamespace(process_index=0, world_size=1), types.SimpleNamespace(global_step=0, epoch=0.0)
        control = types.SimpleNamespace(should_evaluate=False)
        handler = tidemark.Callback(self.path)

        def call(event):  # as CallbackHandler.call_event does
            getattr(handler, event)(args, state, control, model=model, optimizer=optimizer, train_dataloader=None, processing_class=None)

        call("on_init_end")
        call("on_train_begin")
        for epoch in range(2):
            state.epoch = float(epoch)
            call("on_epoch_begin")
            for batch in range(3):
                call("on_step_begin")
                control.should_evaluate = batch == 2  # as DefaultFlowCallback says before us
                step(model, optimizer)
                call("on_pre_optimizer_step")
                call("on_optimizer_step")
                state.global_step += 1
                call("on_step_end")
            call("on_evaluate")
            control.should_evaluate = False
            call("on_epoch_end")
        call("on_train_end")
        self.check(6)
        self.assertEqual([n for n, _ in marks(self.path, CHECKPOINT)], ["epoch 0", "epoch 1"])
        self.assertEqual([n for n, _ in marks(self.path, PHASE)], ["train", "evaluate"] * 2)

    def test_as_lightning_calls(self):
        model = net()
        optimizer = torch.optim.AdamW(model.parameters())
        trainer = types.SimpleNamespace(global_rank=0, world_size=1, global_step=0, current_epoch=0, optimizers=[optimizer])
        callback = tidemark.Callback(self.path)
        callback.on_fit_start(trainer, model)
        callback.on_train_start(trainer, model)
        callback.on_train_epoch_start(trainer, model)
        for i in range(4):
            callback.on_train_batch_start(trainer, model, object(), i)
            step(model, optimizer)
            trainer.global_step += 1
            callback.on_train_batch_end(trainer, model, None, object(), i)
        callback.on_validation_start(trainer, model)
        callback.on_validation_end(trainer, model)
        callback.on_train_end(trainer, model)
        self.check(4)
        self.assertEqual([n for n, _ in marks(self.path, CHECKPOINT)], ["epoch 0"])
        self.assertEqual([n for n, _ in marks(self.path, PHASE)], ["train", "validation"])

    def test_accumulated_batches_are_one_step(self):
        model = net()
        trainer = types.SimpleNamespace(global_rank=0, world_size=1, global_step=0, current_epoch=0, optimizers=[])
        callback = tidemark.Callback(self.path)
        for fit in range(2):
            callback.on_train_start(trainer, model)
            for batch in range(8):
                callback.on_train_batch_start(trainer, model, None, batch)
                trainer.global_step += batch % 4 == 3
            callback.on_train_end(trainer, model)
            self.assertEqual([v for _, v in marks(self.path, STEP)], [2 * fit, 2 * fit + 1])
        with tidemark.record(self.path):  # the program no longer says where its steps are
            p = torch.nn.Parameter(torch.ones(2))
            optimizer = torch.optim.SGD([p], 0.1)
            for _ in range(2):
                p.sum().backward()
                optimizer.step()
        self.assertEqual(len(marks(self.path, STEP)), 2)

    def test_ranks_exceptions_and_copies(self):
        model = net()
        trainer = types.SimpleNamespace(global_rank=3, world_size=8, global_step=0, current_epoch=0, optimizers=[])
        callback = pickle.loads(pickle.dumps(tidemark.Callback(self.path, ops=False)))
        callback.on_train_start(trainer, model)
        callback.on_exception(trainer, model, RuntimeError())
        self.assertFalse(tidemark.recording())
        self.assertTrue(os.path.exists(self.path.replace(".tide", ".rank3.tide")))
        with self.assertRaises(AttributeError):
            callback.other

    def test_what_is_wrong_is_told_at_once_or_not_at_all(self):
        with self.assertRaisesRegex(TypeError, "shpaes"):
            tidemark.Callback(self.path, shpaes=True)
        trainer = types.SimpleNamespace(global_rank=0, world_size=1, global_step=0, current_epoch=0, optimizers=[object()])
        callback = tidemark.Callback(self.path, ops=False)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            callback.on_train_start(trainer, net())  # an optimizer without a state
        self.assertIn("not every tensor", said.getvalue())
        callback.on_train_start(trainer, net())  # the first training failed without a word: its recording ends here
        callback.on_train_end(trainer, net())
        self.assertFalse(tidemark.recording())

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"), "transformers is not there")
    def test_transformers(self):
        from transformers import Trainer, TrainerCallback, TrainingArguments

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net()

            def forward(self, x=None, labels=None):
                return {"loss": (self.net(x) - labels).square().mean()}

        callback = tidemark.Callback(self.path)
        self.assertIsInstance(callback, TrainerCallback)
        data = [{"x": torch.randn(8), "labels": torch.randn(8)} for _ in range(16)]
        args = TrainingArguments(output_dir=os.path.dirname(self.path), num_train_epochs=2, per_device_train_batch_size=4, report_to=[],
                                 save_strategy="no", disable_tqdm=True, use_cpu=True)
        Trainer(model=Net(), args=args, train_dataset=data, callbacks=[callback]).train()
        self.check(8)

    @unittest.skipUnless(importlib.util.find_spec("pytorch_lightning"), "pytorch_lightning is not there")
    def test_lightning(self):
        import pytorch_lightning as pl

        class Net(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net()

            def training_step(self, batch, i):
                return self.net(batch[0]).square().mean()

            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters())

        callback = tidemark.Callback(self.path)
        self.assertIsInstance(callback, pl.Callback)
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 8)), batch_size=4)
        pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                   enable_model_summary=False, callbacks=[callback], default_root_dir=os.path.dirname(self.path)).fit(Net(), data)
        self.check(8)


if __name__ == "__main__":
    unittest.main()
