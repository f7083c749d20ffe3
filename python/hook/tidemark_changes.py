# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The changes that a plan can make: a row for each kind, with a function that applies it from outside.

A row also says whether the program's results stay the same, and has the lines that do the same inside the script.
"""
from __future__ import annotations

import functools
import importlib
import re
import types
from typing import Any, Callable, NamedTuple

OFFLOADED = 1 << 16  # least bytes of a saved tensor that is moved to the host


class Row(NamedTuple):
    apply: Callable[[Any, Any, dict[str, Any]], None]
    same: str  # "" = the program's results are the same; else what differs
    title: Callable[[dict[str, Any]], str]
    lines: Callable[[dict[str, Any]], str]  # to add to a script
    lacks: Callable[[dict[str, Any]], str]  # why it cannot help a program with this survey (tidemark_cost.py); "" = it may


def _error(text: str) -> Exception:
    import tidemark_plan

    return tidemark_plan.PlanError(text)


# ---- activations ----


def _trains(torch: Any, args: Any) -> bool:
    return bool(torch.is_grad_enabled())


def _checkpoint(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Keeps only the inputs of the modules; the backward pass runs their forward pass again."""
    run: Any = importlib.import_module("torch.utils.checkpoint")
    saved = change.get("save_ops")

    def policy(context: Any, op: Any, *args: Any, **kw: Any) -> Any:
        keep = op._schema.name.partition("::")[2] in saved
        return run.CheckpointPolicy.MUST_SAVE if keep else run.CheckpointPolicy.PREFER_RECOMPUTE

    more = {"context_fn": functools.partial(run.create_selective_checkpoint_contexts, policy)} if saved else {}

    def wrapper(module: Any, forward: Any, args: Any, kw: Any) -> Any:
        if not _trains(torch, args):
            return forward(*args, **kw)
        return run.checkpoint(forward, *args, use_reentrant=False, **more, **kw)

    for path in _names(change):
        modules.wrap(path, wrapper)


def _names(change: dict[str, Any]) -> list[str]:
    names = change.get("modules")
    if not isinstance(names, list) or not names:
        raise _error(f"{change['kind']}: modules = [\"NAME\", ...] is missing")
    return names


def _offload(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Moves what the modules save for the backward pass to the host, and back when it is needed. Weights stay."""

    def pack(x: Any) -> Any:
        if not x.is_cuda or isinstance(x, torch.nn.Parameter) or isinstance(x._base, torch.nn.Parameter) or x.numel() * x.element_size() < OFFLOADED:
            return x
        host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
        host.copy_(x)
        return x.device, host

    def unpack(packed: Any) -> Any:
        return packed[1].to(packed[0], non_blocking=True) if isinstance(packed, tuple) else packed

    def wrapper(module: Any, forward: Any, args: Any, kw: Any) -> Any:
        if not _trains(torch, args):
            return forward(*args, **kw)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return forward(*args, **kw)

    for path in _names(change):
        modules.wrap(path, wrapper)


def _chunked_loss(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Computes cross_entropy in parts, whose probabilities are computed again in the backward pass."""
    n = _number(change, "chunks")
    functional, checkpoint = torch.nn.functional, importlib.import_module("torch.utils.checkpoint").checkpoint
    inner = functional.cross_entropy

    def cross_entropy(input: Any, target: Any, *args: Any, **kw: Any) -> Any:
        reduction = kw.get("reduction", "mean")
        weighted = args or kw.get("weight") is not None or kw.get("label_smoothing") or reduction not in ("mean", "sum")
        if input.dim() != 2 or weighted or not torch.is_grad_enabled() or input.shape[0] < n or target.dim() != 1:
            return inner(input, target, *args, **kw)
        kw.pop("reduction", None)
        ignored = kw.get("ignore_index", -100)
        part = functools.partial(inner, reduction="sum", **kw)
        total = None
        for x, y in zip(input.chunk(n), target.chunk(n)):
            loss = checkpoint(part, x, y, use_reentrant=False)
            total = loss if total is None else total + loss
        return total if reduction == "sum" else total / (target != ignored).sum()

    functional.cross_entropy = cross_entropy


# ---- types ----


def _autocast(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Runs the outermost modules in bfloat16 where PyTorch thinks that this is safe; weights stay in float32."""

    def wrapper(module: Any, forward: Any, args: Any, kw: Any) -> Any:
        first = next(module.parameters(), None)
        with torch.autocast(first.device.type if first is not None else "cuda", dtype=torch.bfloat16):
            return forward(*args, **kw)

    modules.around_roots.append(wrapper)


def _bf16(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Keeps weights, gradients, states and activations in bfloat16."""

    def cast(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(torch.bfloat16) if value.dtype is torch.float32 else value
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(cast(v) for v in value)
        return value

    def wrapper(module: Any, forward: Any, args: Any, kw: Any) -> Any:
        return forward(*cast(args), **{k: cast(v) for k, v in kw.items()})

    modules.roots.append(lambda root: root.to(torch.bfloat16))
    modules.around_roots.append(wrapper)


# ---- optimizers ----


def _optimizer(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Chooses the implementation of the optimizer's step: fused (no temporaries), or foreach = false (those of one parameter)."""
    fused, foreach = change.get("fused"), change.get("foreach")
    if not isinstance(fused, bool) and not isinstance(foreach, bool):
        raise _error("optimizer: fused = true or foreach = false is missing")
    names = ("Adam", "AdamW", "SGD", "Adagrad") if fused else ("Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "Rprop", "ASGD")
    for name in names:
        cls = getattr(torch.optim, name)

        def init(this: Any, *args: Any, _inner: Any = cls.__init__, **kw: Any) -> None:
            if fused:
                kw["fused"], kw["foreach"] = True, None
            else:
                kw["foreach"] = foreach
                kw.pop("fused", None)
            _inner(this, *args, **kw)

        cls.__init__ = functools.wraps(cls.__init__)(init)


def _replace_steps(torch: Any, make: Callable[[Any], Callable[[], None]]) -> None:
    """Replaces the step of Adam and AdamW by make(optimizer)()."""
    Adam = torch.optim.Adam
    for cls in Adam, torch.optim.AdamW:

        def step(this: Any, closure: Any = None) -> Any:
            loss = closure() if closure is not None else None
            own = this.__dict__.get("_tidemark_step")
            if own is None:
                own = this.__dict__["_tidemark_step"] = make(this)
            with torch.no_grad():
                own()
            return loss

        cls.step = step


def _adam8(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Adam whose two states have 8 bits an element and one float32 for 256 of them."""
    BLOCK = 256

    def encode(x: Any) -> Any:
        flat = torch.nn.functional.pad(x.flatten(), (0, -x.numel() % BLOCK)).view(-1, BLOCK)
        scale = flat.abs().amax(1, keepdim=True).clamp_(min=1e-30)
        flat.div_(scale)
        return (flat.sign() * flat.abs().sqrt_().mul_(127)).round_().to(torch.int8), scale

    def decode(packed: Any, like: Any) -> Any:
        codes, scale = packed
        x = codes.to(torch.float32).div_(127)
        return x.mul_(x.abs()).mul_(scale).flatten()[: like.numel()].view(like.shape)

    def make(this: Any) -> Callable[[], None]:
        decoupled = type(this).__name__ == "AdamW"

        def update(p: Any, group: Any) -> None:
            state, grad = this.state[p], p.grad.float()
            state["step"] = n = state.get("step", 0) + 1
            (b1, b2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
            if decay and decoupled:
                p.mul_(1 - lr * decay)
            elif decay:
                grad = grad.add(p, alpha=decay)
            m = decode((state["m"], state["m_scale"]), p) if n > 1 else torch.zeros_like(grad)
            m.lerp_(grad, 1 - b1)
            state["m"], state["m_scale"] = encode(m.clone())
            v = decode((state["v"], state["v_scale"]), p) if n > 1 else torch.zeros_like(grad)
            v.mul_(b2).addcmul_(grad, grad, value=1 - b2)
            state["v"], state["v_scale"] = encode(v.clone())
            p.addcdiv_(m, v.sqrt_().div_((1 - b2**n) ** 0.5).add_(group["eps"]), value=-lr / (1 - b1**n))

        def step() -> None:
            for group in this.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        update(p, group)

        return step

    _replace_steps(torch, make)


def _adafactor(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Adafactor in place of Adam: the second moment of a matrix is a row and a column, and there is no first one."""
    if not hasattr(torch.optim, "Adafactor"):
        raise _error(f"adafactor: torch {torch.__version__} has no Adafactor; it came with 2.5")

    def make(this: Any) -> Callable[[], None]:
        groups = [{"params": g["params"], "lr": g["lr"], "weight_decay": g["weight_decay"]} for g in this.param_groups]
        inner = torch.optim.Adafactor(groups, foreach=False)
        this.state = inner.state

        def step() -> None:
            for own, group in zip(inner.param_groups, this.param_groups):
                own["lr"] = group["lr"]
            inner.step()

        return step

    _replace_steps(torch, make)


def _offload_optimizer(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Keeps the optimizer's states on the host between its steps."""
    hooks: Any = importlib.import_module("torch.optim.optimizer")

    def before(optimizer: Any, *rest: Any) -> None:
        for p, state in optimizer.state.items():
            for name, value in state.items():
                if isinstance(value, torch.Tensor) and value.dim() and value.device != p.device:
                    state[name] = value.to(p.device, non_blocking=True)

    def after(optimizer: Any, *rest: Any) -> None:
        for state in optimizer.state.values():
            for name, value in state.items():
                if isinstance(value, torch.Tensor) and value.dim() and value.is_cuda:
                    host = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
                    state[name] = host.copy_(value)

    hooks.register_optimizer_step_pre_hook(before)
    hooks.register_optimizer_step_post_hook(after)


def _set_to_none(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Frees gradients instead of filling them with zeros."""
    for cls in torch.optim.Optimizer, torch.nn.Module:

        def zero(this: Any, set_to_none: bool = True, _inner: Any = cls.zero_grad) -> None:
            _inner(this, set_to_none=True)

        cls.zero_grad = zero


# ---- the batch ----


def _number(change: dict[str, Any], name: str) -> int:
    n = change.get(name)
    if not isinstance(n, int) or isinstance(n, bool) or not 2 <= n <= 4096:
        raise _error(f"{change['kind']}: {name} = 2 or more is missing")
    return n


class _Accumulation:
    """Steps of each optimizer: only every n-th call is one; gradients of the others are kept."""

    def __init__(self, torch: Any, n: int) -> None:
        self.torch, self.n = torch, n
        self.calls: dict[int, int] = {}

    def is_last(self, key: int) -> bool:
        return (self.calls.get(key, 0) + 1) % self.n == 0

    def was_last(self, key: int) -> bool:
        return self.calls.get(key, 0) % self.n == 0

    def any_last(self) -> bool:
        return all(self.is_last(key) for key in self.calls) if self.calls else True

    def replace(self, optimizer: Any) -> None:
        """Replaces step and zero_grad of an optimizer."""
        key = id(optimizer)
        self.calls[key] = 0
        step, zero = optimizer.step.__func__, optimizer.zero_grad

        def own_step(this: Any, *args: Any, **kw: Any) -> Any:
            last = self.is_last(key)
            self.calls[key] += 1
            return step(this, *args, **kw) if last else None

        def own_zero(*args: Any, **kw: Any) -> None:
            if self.was_last(key):
                zero(*args, **kw)

        optimizer.step, optimizer.zero_grad = types.MethodType(own_step, optimizer), own_zero


def _split_batches(torch: Any, n: int) -> None:
    data: Any = importlib.import_module("torch.utils.data")
    make = data.DataLoader.__init__

    def init(self: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kw: Any) -> None:
        if batch_size and batch_size % n == 0:
            batch_size //= n
        elif batch_size and batch_size > 1:
            raise _error(f"microbatch: a batch of {batch_size} cannot be split into {n} equal parts")
        make(self, dataset, batch_size, *args, **kw)

    data.DataLoader.__init__ = init


def _microbatch(torch: Any, modules: Any, change: dict[str, Any]) -> None:
    """Splits the batches of data loaders into n parts (or the script's argument is smaller: split = false), and steps after n of them."""
    n = _number(change, "parts")
    state = _Accumulation(torch, n)
    if change.get("split", True):
        _split_batches(torch, n)
    make = torch.optim.Optimizer.__init__

    def init(this: Any, *args: Any, **kw: Any) -> None:
        make(this, *args, **kw)
        state.replace(this)

    torch.optim.Optimizer.__init__ = init
    backward = torch.autograd.backward

    def scaled(tensors: Any, *args: Any, **kw: Any) -> Any:
        several = not isinstance(tensors, torch.Tensor)
        parts = tuple(t / n for t in tensors) if several else tensors / n
        return backward(parts, *args, **kw)

    torch.autograd.backward = scaled
    clip = torch.nn.utils.clip_grad_norm_

    def clip_last(parameters: Any, max_norm: Any, *args: Any, **kw: Any) -> Any:
        return clip(parameters, max_norm if state.any_last() else float("inf"), *args, **kw)

    torch.nn.utils.clip_grad_norm_ = clip_last
    schedulers: Any = importlib.import_module("torch.optim.lr_scheduler")
    tick = schedulers.LRScheduler.step

    def step(this: Any, *args: Any, **kw: Any) -> None:
        if state.was_last(id(this.optimizer)):
            tick(this, *args, **kw)

    schedulers.LRScheduler.step = step
    scaler: Any = importlib.import_module("torch.amp.grad_scaler").GradScaler
    scale = scaler.step

    def refuse(this: Any, *args: Any, **kw: Any) -> Any:
        if this.is_enabled():
            raise _error("microbatch: GradScaler counts every part of a batch as a step")
        return scale(this, *args, **kw)

    scaler.step = refuse


# ---- the table ----


def _few(names: list[str]) -> str:
    """The names in brief: numbers of equal paths as ranges, "GPT.blocks.3-9"."""
    groups: dict[tuple[str, str], list[int]] = {}
    for name in names:
        found = re.fullmatch(r"(.*?\.)(\d+)(\..*)?", name)
        groups.setdefault((found[1], found[3] or "") if found else (name, ""), []).append(int(found[2]) if found else -1)
    texts = []
    for (before, after), numbers in groups.items():
        ranges: list[list[int]] = []
        for n in sorted(numbers):
            if ranges and n == ranges[-1][1] + 1:
                ranges[-1][1] = n
            else:
                ranges.append([n, n])
        texts.append(before + ",".join(f"{x}-{y}" if y > x else str(x) for x, y in ranges if x >= 0) + after)
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def _in_script(names: list[str]) -> str:
    """Lines that put the modules of the outermost class into `chosen`."""
    below = [name.partition(".")[2] for name in names]
    if any(not name for name in below):
        return "chosen = [model]"
    return "chosen = [model.get_submodule(name) for name in (" + ", ".join(f'"{name}"' for name in below) + ",)]"


def _checkpoint_lines(change: dict[str, Any]) -> str:
    saved = change.get("save_ops")
    more = ", context_fn=keep" if saved else ""
    policy = ("from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts\n"
              f"saved = {set(saved)!r}\n"
              "policy = lambda context, op, *a, **k: CheckpointPolicy.MUST_SAVE if op._schema.name[6:] in saved else CheckpointPolicy.PREFER_RECOMPUTE\n"
              "keep = functools.partial(create_selective_checkpoint_contexts, policy)\n") if saved else ""
    return (f"import functools\nfrom torch.utils.checkpoint import checkpoint\n{policy}{_in_script(change['modules'])}\n"
            f"for m in chosen:\n    m.forward = functools.partial(checkpoint, m.forward, use_reentrant=False{more})")


def _offload_lines(change: dict[str, Any]) -> str:
    return (f"import functools\nfrom torch.autograd.graph import save_on_cpu\n{_in_script(change['modules'])}\n"
            "def on_host(forward, *args, **kw):\n    with save_on_cpu(pin_memory=True):\n        return forward(*args, **kw)\n"
            "for m in chosen:\n    m.forward = functools.partial(on_host, m.forward)")


def _has_optimizer(names: str, unless: str) -> Callable[[dict[str, Any]], str]:
    def lacks(survey: dict[str, Any]) -> str:
        rows = survey["optimizers"]
        if not rows:
            return "the program makes no optimizer"
        if not any(row.split()[0] in names.split() for row in rows):
            return f"the optimizer is {rows[0].split()[0]}"
        return "" if not unless or any(unless not in row for row in rows) else f"the optimizer has {unless} already"

    return lacks


def _called(names: str, reason: str) -> Callable[[dict[str, Any]], str]:
    return lambda survey: "" if any(name in survey["called"] for name in names.split()) else reason


def _has_modules(survey: dict[str, Any]) -> str:
    return "" if any(row["kept"] for row in survey["modules"]) else "no module keeps memory for a backward pass"


def _is_f32(survey: dict[str, Any]) -> str:
    return "" if survey["f32_products"] else "no matrix product or convolution is in float32"


def _has_loader(survey: dict[str, Any]) -> str:
    if not survey["steps"]:
        return "the program makes no optimizer step"
    return "" if survey["loaders"] else "the program has no DataLoader with a batch: write {} where the batch goes among its arguments"


FUSED, FOREACH = "Adam AdamW SGD Adagrad", "Adam AdamW SGD Adagrad RMSprop NAdam RAdam Adamax Adadelta Rprop ASGD"
OTHER_OPTIMIZER = "another optimizer: the training differs"
OTHER_TYPE = "bfloat16: the training differs"
CHANGES: dict[str, Row] = {
    "set_to_none": Row(_set_to_none, "", lambda c: "zero_grad(set_to_none=True)", lambda c: "optimizer.zero_grad(set_to_none=True)", _called("_foreach_zero_", "the program frees its gradients already")),
    "optimizer": Row(_optimizer, "", lambda c: f"optimizer with {'fused=True' if c.get('fused') else 'foreach=False'}",
                     lambda c: f"optimizer = torch.optim.NAME(..., {'fused=True' if c.get('fused') else 'foreach=False'})", _has_optimizer(FOREACH, "fused=True")),
    "chunked_loss": Row(_chunked_loss, "", lambda c: f"cross_entropy in {c['chunks']} parts",
                        lambda c: f"loss = sum(checkpoint(functools.partial(F.cross_entropy, reduction='sum'), x, y, use_reentrant=False)\n"
                                  f"           for x, y in zip(logits.chunk({c['chunks']}), target.chunk({c['chunks']}))) / (target != -100).sum()", _called("nll_loss_forward nll_loss_nd", "the program does not call cross_entropy")),
    "microbatch": Row(_microbatch, "", lambda c: f"{c['parts']} micro-batches with accumulation",
                      lambda c: f"# batches of 1/{c['parts']}; for i, batch in enumerate(loader, 1):\n    (loss / {c['parts']}).backward()\n"
                                f"    if i % {c['parts']} == 0:\n        optimizer.step()\n        optimizer.zero_grad()", _has_loader),
    "checkpoint": Row(_checkpoint, "", lambda c: ("checkpoint, matrix products kept, " if c.get("save_ops") else "checkpoint ") + _few(c["modules"]), _checkpoint_lines, _has_modules),
    "offload": Row(_offload, "", lambda c: f"saved tensors of {_few(c['modules'])} on the host", _offload_lines, _has_modules),
    "offload_optimizer": Row(_offload_optimizer, "", lambda c: "states of the optimizer on the host between steps",
                             lambda c: "# after optimizer.step(): move the tensors of optimizer.state to pinned host memory, and back before it", _has_optimizer(FOREACH, "")),
    "autocast": Row(_autocast, OTHER_TYPE, lambda c: "autocast to bfloat16", lambda c: "with torch.autocast('cuda', dtype=torch.bfloat16):\n    output = model(...)", _is_f32),
    "bf16": Row(_bf16, OTHER_TYPE, lambda c: "weights in bfloat16", lambda c: "model.to(torch.bfloat16)", _is_f32),
    "adam8": Row(_adam8, OTHER_OPTIMIZER, lambda c: "Adam with states of 8 bits", lambda c: "optimizer = bitsandbytes.optim.AdamW8bit(...)", _has_optimizer("Adam AdamW", "")),
    "adafactor": Row(_adafactor, OTHER_OPTIMIZER, lambda c: "Adafactor in place of Adam", lambda c: "optimizer = torch.optim.Adafactor(...)", _has_optimizer("Adam AdamW", "")),
}
