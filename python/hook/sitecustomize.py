# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every Python that `tidemark run` starts imports this: it waits for torch, then turns op recording on. `tidemark compile --mode`
and `tidemark objects` also use it.

Python imports only the first sitecustomize on its path, so this one runs the next one itself.
"""
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _next_sitecustomize() -> None:
    import importlib.machinery
    import importlib.util

    rest = [p for p in sys.path if os.path.abspath(p or ".") != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module  # other modules may import it by that name
        spec.loader.exec_module(module)


def _install() -> None:
    try:
        if os.environ.get("TIDEMARK_PREDICT"):
            import tidemark_predict

            tidemark_predict.install()
            return
    except Exception as why:
        print(f"tidemark predict: {why}", file=sys.stderr)
        os._exit(2)
    if os.environ.get("TIDEMARK_PLAN"):
        import tidemark_plan
        import tidemark_watch

        tidemark_plan.install(tidemark_watch.say)
    try:
        if os.environ.get("TIDEMARK_RECORD"):
            import tidemark_hook

            tidemark_hook.install()
        if os.environ.get("TIDEMARK_COMPILE_MODE"):
            import tidemark_compile
            import tidemark_watch

            tidemark_compile.install(tidemark_watch.Watch)
        if os.environ.get("TIDEMARK_OBJECTS"):
            import tidemark_objects

            tidemark_objects.install()
    except Exception as why:  # never fail the user's program
        try:
            os.write(2, f"tidemark: ops are not recorded: {why}\n".encode("utf-8", "replace"))  # bypasses Python's buffer, as tidemark_watch.put does
        except Exception:
            return


_install()
_next_sitecustomize()
