# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes the API reference of the site from the sources: a hook of mkdocs (mkdocs.yml), which adds pages that no file holds.

C: one page for each installed header, which is its own manual: comments become text, declarations become code, and each
function has a heading. Python: one page for each public module, with signatures, docstrings and public methods, read from the
source without importing it. tests/cli/docs_site.py checks that every public name has its heading.
"""
from __future__ import annotations

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = {  # header: what it is for; the order is that of the reference
    "record.h": "record from C and C++", "trace.h": "open traces", "analyze.h": "reports of traces", "usage.h": "the memory tracker", "error.h": "errors",
    "kinds.h": "kinds of devices, pools, roles and events", "tidemark.hpp": "record from C++", "usage.hpp": "the memory tracker in C++",
}
MODULES = {
    "tidemark": "record, open traces, settings", "tidemark.torch": "PyTorch in a running process", "tidemark.tracker": "the memory tracker",
    "tidemark.profiling": "profiles in one call", "tidemark.objects": "memory of Python objects",
    "tidemark.loggers": "figures for wandb, MLflow and TensorBoard",
}


# ---- C ----

def uncommented(comment: str) -> str:
    """Returns the text of a comment, without its marks."""
    lines = re.sub(r"^/\*+|\*+/$", "", comment).split("\n")
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() if i else line.strip() for i, line in enumerate(lines)).strip()


def escaped(text: str) -> str:
    """Returns a sentence as Markdown that shows it as it is; code in backticks stays code."""
    parts = text.split("`")
    return "`".join(part if i % 2 else re.sub(r"([\\*_<\[])", r"\\\1", part) for i, part in enumerate(parts))


def prose(text: str) -> str:
    """Returns a comment as Markdown: tables and code by hand stay as they are written, sentences become paragraphs."""
    out = []
    for part in re.split(r"\n\s*\n", text):
        lines = part.split("\n")
        plain = not any(re.match(r"\s{2,}\S", line) or re.search(r"\S {3,}\S", line) or re.match(r"\s*(@|-|\*) ?", line) for line in lines)
        out.append(escaped(" ".join(line.strip() for line in lines)) if plain else "```text\n" + part + "\n```")
    return "\n\n".join(out)


def functions(code: str) -> list[str]:
    """Returns the functions that a piece of a header declares."""
    return re.findall(r"(?m)^(?!static|typedef|#|\s)[^;{}()]*?\b(tide_\w+)\(", code)


def classes(code: str) -> list[str]:
    return re.findall(r"(?m)^(?:class|struct) (\w+)", code)


def header_page(name: str) -> str:
    text = (ROOT / "include" / "tidemark" / name).read_text(encoding="utf-8")
    text = re.sub(r"\A(//.*\n)+", "", text)
    text = re.sub(r'(?s)#ifdef __cplusplus\n(extern "C" \{|\})\n#endif\n', "", text)
    out = [f"# {name}", "", f"`#include <tidemark/{name}>`: {HEADERS[name]}. This page is the header itself.", ""]
    text = re.sub(r"(?m)^#(ifndef|define) TIDEMARK_\w+_HP*$|^#endif\s*\Z", "", text)
    said: list[str] = []  # a comment, until it is clear what it is about
    for part in re.split(r"((?<![^\n])/\*.*?\*/\n)", text, flags=re.S):  # comments at the beginning of a line
        code = part.strip("\n")
        if not code.strip():
            continue
        if code.startswith("/*"):
            if rule := re.fullmatch(r"/\* -{2,} (.*?) -+ \*/", code):
                out, said = [*out, *said, f"## {rule[1]}", ""], []
            else:
                said += [prose(uncommented(code)), ""]
        else:
            titles = functions(code) + (classes(code) if name.endswith("hpp") else [])
            out, said = [*out, *(line for title in titles for line in (f"### {title}", "")), *said], []
            out += ["```c" + ("pp" if name.endswith("hpp") else ""), code, "```", ""]
    return "\n".join(out + said)


# ---- Python ----

def parsed(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(module: str) -> pathlib.Path:
    """Returns the source of a module, or its types where it is compiled."""
    path = ROOT / "python" / module.replace(".", "/")
    return next(p for p in (path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyi")) if p.exists())


def public(module: str) -> dict[str, tuple[str, str]]:
    """Returns the public names of a module: name -> (module that defines it, name there)."""
    tree, found = parsed(place(module)), {}
    package = place(module).name.startswith("__init__")
    named: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join(module.split(".")[:len(module.split(".")) - node.level + package])
            source = f"{base}.{node.module}" if node.module else base
            found.update({a.asname or a.name: (source, a.name) for a in node.names})
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = (module, node.name)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            named = [e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name) and node.value.id in found:
            found[node.targets[0].id] = found[node.value.id]
    return {name: found[name] for name in named or sorted(found) if name in found and not name.startswith("_")}


def defined(module: str, name: str) -> ast.stmt | None:
    for node in parsed(place(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            return node
    again = public(module).get(name)
    return defined(*again) if again and again != (module, name) else None


def docstring(node: ast.stmt) -> str:
    """Returns a docstring as Markdown: indented examples are blocks of code there too."""
    return re.sub(r"(?m)^(\s*)>>> ", r"\1    ", ast.get_docstring(node) or "") if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""  # type: ignore[arg-type]


def signature(node: ast.FunctionDef, skip_self: bool = False) -> str:
    args = ast.unparse(node.args)
    if skip_self:
        args = re.sub(r"^(self|cls)(, /)?(, |$)", "", args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({args}){returns}"


def described(name: str, node: ast.stmt) -> list[str]:
    out = [f"## {name}", ""]
    if isinstance(node, ast.FunctionDef):
        return [*out, "```python", signature(node).replace(node.name, name, 1), "```", "", docstring(node), ""]
    assert isinstance(node, ast.ClassDef)
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    start = next((m for m in methods if m.name == "__init__"), None)
    shown = signature(start, True).replace("__init__", name, 1).removesuffix(" -> None") if start else name
    bases = ", ".join(map(ast.unparse, node.bases))
    fields = [ast.unparse(f) for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name) and not f.target.id.startswith("_")]
    out += ["```python", f"class {shown}" + (f"  # a {bases}" if bases else ""), *(f"    {f}" for f in fields), "```", "", docstring(node), ""]
    for m in methods:
        if not m.name.startswith("_"):
            quality = "" if not any(ast.unparse(d) == "property" for d in m.decorator_list) else "property "
            out += [f"### {name}.{m.name}", "", "```python", quality + signature(m, True), "```", "", docstring(m), ""]
    return out


def module_page(module: str) -> str:
    out = [f"# {module}", "", f"`import {module}`: {MODULES[module]}.", "", ast.get_docstring(parsed(place(module))) or "", ""]
    for name, (source, original) in public(module).items():
        node = defined(source, original) if source.startswith("tidemark") else None
        if node is not None:
            out += described(name, node)
        elif f"{module}.{name}" in MODULES:
            out += [f"## {name}", "", f"The module [{module}.{name}]({module}.{name}.md).", ""]
    return "\n".join(out)


# ---- the site ----

def pages() -> dict[str, str]:
    """Returns path -> Markdown of the reference."""
    index = ["# API reference", "", "Made from the sources of this version.", "", "| C and C++ | |", "|---|---|"]
    index += [f"| [{name}]({name.replace('.', '_')}.md) | {what} |" for name, what in HEADERS.items()]
    index += ["", "| Python | |", "|---|---|", *(f"| [{name}]({name}.md) | {what} |" for name, what in MODULES.items())]
    index += ["", "The dashboard's HTTP routes are in [openapi.json](../openapi.json); every member of `--json` is in [members](../analyses/members.md)."]
    return {"api/index.md": "\n".join(index) + "\n", **{f"api/{n.replace('.', '_')}.md": header_page(n) for n in HEADERS},
            **{f"api/{n}.md": module_page(n) for n in MODULES}}


def outside(page: str, text: str, base: str) -> str:
    """Returns a page of docs/ whose links to files outside docs/ lead to the project's address."""
    def absolute(m: re.Match[str]) -> str:
        path, mark, anchor = m[2].partition("#")
        there = (ROOT / "docs" / page).parent.joinpath(path).resolve()
        inside = (ROOT / "docs") in there.parents
        return m[0] if inside or not there.exists() else f"{m[1]}({base}/{there.relative_to(ROOT)}{mark}{anchor})"

    return re.sub(r"(\[[^\[\]]*\])\((\.\./[^()\s]+)\)", absolute, text)


def address() -> str:
    """Returns the project's address (pyproject.toml)."""
    found = re.search(r'(?m)^Repository = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return found[1].rstrip("/") if found else ""


def tag() -> str:
    found = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))
    return f"v{found[1]}" if found else "main"


def on_config(config):  # noqa: ANN001, ANN201: mkdocs calls it
    config["repo_url"] = address()
    config["repo_name"] = config["site_name"]
    return config


def on_page_markdown(markdown, page, **_):  # noqa: ANN001, ANN003, ANN201: mkdocs calls it
    return outside(page.file.src_uri, markdown, f"{address()}/blob/{tag()}")


def on_files(files, config):  # noqa: ANN001, ANN201: mkdocs calls it
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
