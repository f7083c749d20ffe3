# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Applies a plan to a program from outside: its modules, optimizers and losses are wrapped, the script is unchanged.

A plan is a TOML file of changes, as `tidemark fit` writes it:

    [[change]]
    kind = "checkpoint"
    modules = ["GPT.blocks.0", "GPT.blocks.1"]

    [[change]]
    kind = "set_to_none"

`tidemark run --plan FILE` and `tidemark predict --plan FILE` set TIDEMARK_PLAN. tidemark_changes.py has one function per kind.
Modules are named as in reports: the class of the outermost module that the program calls, and the path below it.
"""
from __future__ import annotations

import ast
import importlib
import os
import weakref
from typing import Any, Callable

WORDS = {"true": "True", "false": "False"}


class PlanError(Exception):
    """The plan cannot be read, or does not apply to this program. Its text is for the user."""


def parse(text: str, name: str) -> list[dict[str, Any]]:
    """Returns the changes. A subset of TOML: comments, [[change]], and on one line each KEY = a string, number, true, false or a list of strings."""
    changes: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line == "[[change]]":
            changes.append({})
            continue
        key, equal, value = (part.strip() for part in line.partition("="))
        if not equal or not key.replace("_", "").isalnum() or not changes:
            raise PlanError(f"{name}:{number}: {line[:60]!r}: expected [[change]], or after it KEY = VALUE")
        try:
            found = ast.literal_eval(WORDS.get(value, value))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise PlanError(f"{name}:{number}: {value[:60]!r}: expected a string in quotes, a number, true, false or a list of strings") from None
        if not isinstance(found, (str, int, float, list)) or isinstance(found, list) and not all(isinstance(v, str) for v in found):
            raise PlanError(f"{name}:{number}: {value[:60]!r}: expected a string, a number, true, false or a list of strings")
        changes[-1][key] = found
    for change in changes:
        if not isinstance(change.get("kind"), str):
            raise PlanError(f"{name}: a [[change]] has no kind")
    return changes


def text_of(changes: list[dict[str, Any]]) -> str:
    """Returns the plan as TOML that parse() reads."""
    lines = []
    for change in changes:
        lines.append("[[change]]")
        for key, value in change.items():
            quoted = [f'"{v}"' for v in value] if isinstance(value, list) else value
            shown = ("true" if value else "false") if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else f"[{', '.join(quoted)}]" if isinstance(value, list) else repr(value)
            lines.append(f"{key} = {shown}")
        lines.append("")
    return "\n".join(lines)


class Modules:
    """Wraps chosen modules when the program first calls the model that has them."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.seen: Any = weakref.WeakSet()
        self.wanted: dict[str, list[Callable[..., Any]]] = {}  # path -> wrappers, outermost first
        self.roots: list[Callable[[Any], None]] = []  # called once with each outermost module
        self.around_roots: list[Callable[..., Any]] = []
        self.chosen: Any = weakref.WeakKeyDictionary()  # module -> wrappers
        self.classes: set[Any] = set()
        self.found: set[str] = set()
        self.inside: set[int] = set()  # ids of chosen modules whose forward pass runs

    def wrap(self, path: str, wrapper: Callable[..., Any]) -> None:
        """wrapper(module, forward, args, kwargs) is called in place of the forward pass."""
        self.wanted.setdefault(path, []).append(wrapper)

    def install(self) -> None:
        Module = self.torch.nn.Module
        inner = Module.__call__
        seen = self.seen

        def call(module: Any, *args: Any, **kw: Any) -> Any:
            if module not in seen:
                self.look(module)
            return inner(module, *args, **kw)

        Module.__call__ = call

    def look(self, root: Any) -> None:
        name = type(root).__name__
        for hook in self.roots:
            hook(root)
        if self.around_roots:
            self.choose(root, list(self.around_roots))
        for path, module in root.named_modules():
            self.seen.add(module)
            full = f"{name}.{path}" if path else name
            if full in self.wanted:
                self.found.add(full)
                self.choose(module, self.wanted[full])

    def choose(self, module: Any, wrappers: list[Callable[..., Any]]) -> None:
        self.chosen[module] = self.chosen.get(module, []) + wrappers
        if type(module) not in self.classes:
            self.classes.add(type(module))
            self.replace(type(module))

    def replace(self, cls: Any) -> None:
        """Replaces forward of the class, not of the module: copies of a module then call their own."""
        forward = cls.forward

        def run(module: Any, *args: Any, **kw: Any) -> Any:
            wrappers = self.chosen.get(module)
            if not wrappers or id(module) in self.inside:
                return forward(module, *args, **kw)

            def plain(*args: Any, **kw: Any) -> Any:
                self.inside.add(id(module))  # forward of a base class, which this one may call, is replaced, too
                try:
                    return forward(module, *args, **kw)
                finally:
                    self.inside.discard(id(module))

            then = plain
            for wrapper in reversed(wrappers):
                then = _around(wrapper, module, then)
            return then(*args, **kw)

        run.__wrapped__ = forward  # type: ignore[attr-defined]
        cls.forward = run

    def missing(self) -> list[str]:
        return [path for path in self.wanted if path not in self.found]


def _around(wrapper: Any, module: Any, then: Any) -> Any:
    return lambda *args, **kw: wrapper(module, then, args, kw)


def changes_module() -> Any:
    spec: Any = importlib.util.spec_from_file_location("tidemark_changes", os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidemark_changes.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as f:
            return parse(f.read(1 << 20), os.path.basename(path))
    except (OSError, UnicodeDecodeError) as why:
        raise PlanError(f"{path}: {why}") from None


def apply(torch: Any, changes: list[dict[str, Any]]) -> Modules:
    """Applies the changes; torch has been imported, the script's own code has not used it yet."""
    table = changes_module()
    modules = Modules(torch)
    for change in changes:
        row = table.CHANGES.get(change["kind"])
        if row is None:
            raise PlanError(f"there is no change {change['kind']!r}; there are: {', '.join(table.CHANGES)}")
        row.apply(torch, modules, change)
    modules.install()
    return modules


def install(say: Any) -> None:
    """Under `tidemark run --plan`: waits for torch, then applies the plan of TIDEMARK_PLAN. A plan that cannot be applied ends the program:
    a run without it would be another run."""
    import atexit

    import tidemark_watch

    try:
        changes = read(os.environ["TIDEMARK_PLAN"])
    except PlanError as why:
        say(f"--plan: {why}")
        os._exit(2)

    def imported() -> None:
        import torch

        try:
            modules = apply(torch, changes)
        except PlanError as why:
            say(f"--plan: {why}")
            os._exit(2)

        def end() -> None:
            for path in modules.missing():
                say(f"--plan: the program called no module {path}")

        atexit.register(end)

    tidemark_watch.Watch(imported)
