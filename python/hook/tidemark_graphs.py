# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""torch.compile in a prediction: graphs are captured and partitioned as for Inductor, then run op by op on virtual devices.

Dynamo captures the program, AOTAutograd makes a forward and a backward graph, and Inductor's partitioner chooses the tensors that
the forward pass keeps and those that the backward pass recomputes. Nothing is fused: the graphs are metered like eager code, so
temporaries inside a graph are an upper bound. Code that Dynamo cannot capture runs eagerly, as on a GPU.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from typing import Any


class Compiler:
    def __init__(self, torch: Any, watch: Any) -> None:
        self.torch, self.watch = torch, watch
        self.graphs = 0
        self.real: Any = torch.compile
        self.linear: Any = None  # torch.nn.functional.linear without the meter's wrapper

    def backend(self, graph: Any, inputs: Any, **kw: Any) -> Any:
        common: Any = importlib.import_module("torch._dynamo.backends.common")
        debugging: Any = importlib.import_module("torch._dynamo.backends.debugging")
        partition: Any = importlib.import_module("functorch.compile").min_cut_rematerialization_partition
        self.graphs += 1
        # Random states of a recomputed dropout come from a real generator; nothing is computed here.
        partitioners: Any = importlib.import_module("torch._functorch.partitioners")
        partitioners.functionalize_rng_ops = lambda joint, forward, backward, *rest: (forward, backward)

        def table() -> Any:
            return importlib.import_module("torch._inductor.compile_fx").select_decomp_table()

        return common.aot_autograd(fw_compiler=debugging.boxed_nop, bw_compiler=debugging.boxed_nop, decompositions=table,
                                   partition_fn=functools.partial(partition, compiler="inductor"))(graph, inputs)

    @contextlib.contextmanager
    def plain(self) -> Any:
        """Removes the hooks and wrappers of the prediction, because each of them would end a graph."""
        functional = self.torch.nn.functional
        wrapped = functional.linear
        functional.linear = self.linear
        with self.watch.without_hooks():
            try:
                yield
            finally:
                functional.linear = wrapped

    def compile(self, model: Any = None, **kw: Any) -> Any:
        """Replaces torch.compile, as a function or a decorator."""
        if model is None:
            return lambda m: self.compile(m, **kw)
        kw = {k: v for k, v in kw.items() if k in ("fullgraph", "dynamic")}
        importlib.import_module("torch._dynamo").config.suppress_errors = True
        run = self.real(model, backend=self.backend, **kw)
        inner = run.forward if isinstance(model, self.torch.nn.Module) else run

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.watch.hooked:  # a compiled part inside another
                return inner(*args, **kwargs)
            self.watch.begin()
            with self.plain():
                return inner(*args, **kwargs)

        if not isinstance(model, self.torch.nn.Module):
            return call
        warnings.filterwarnings("ignore", message=".*global hooks on modules.*")
        run.forward = call  # the module's own hooks run outside: it is one op for them
        return run

    def note(self) -> tuple[str, str] | None:
        if not self.graphs:
            return "predicted.eager", "torch.compile captured no graph: the program ran eagerly"
        breaks = sum(importlib.import_module("torch._dynamo.utils").counters["graph_break"].values())
        return "predicted.compiled", (f"torch.compile: {self.graphs} graphs, {breaks} graph breaks; activations as its partitioner keeps them, "
                                      "ops not fused: temporaries inside graphs are an upper bound")
