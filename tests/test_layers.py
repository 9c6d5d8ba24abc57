"""Imports run one way, and the hooks of llm cost nothing until they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "llm_graphrag"

#: A folder may import what stands before it. facts holds pure rules and the words they are said in, so store uses it.
ORDER = (
    "text",
    "facts",
    "store",
    "index",
    "sources",
    "extract",
    "review",
    "graph",
    "concepts",
    "routes",
    "answer",
    "share",
    "cli",
)

#: Notes are described by values without behaviour, which the extractor of links reads.
ALLOWED = {("facts", "sources.note")}

#: Modules beside the folders, by the folders that they may use and that may use them.
BESIDE = {
    "hookspecs": "text",
    "static_model": "text",
    "plugins": "facts",
    "settings": "store",
    "models": "store",
    "calls": "store",
    "failures": "store",
    "ledger": "store",
    "prices": "store",
    "knowledge_base": "share",
    "plugin": "cli",
}

FILES = sorted(path for path in PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """(module as written from the root of the package or by name, line, at the top of the module)."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = ("llm_graphrag", *path.relative_to(PACKAGE).with_suffix("").parts)
    typing = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.dump(outer.test)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        top = node in tree.body
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                inner = PACKAGE.parent.joinpath(*module.split("."))
                submodule = (inner / alias.name).is_dir() or (inner / f"{alias.name}.py").is_file()
                yield (f"{module}.{alias.name}" if submodule else module), node.lineno, top


def rank(name: str) -> int:
    return ORDER.index(BESIDE.get(name, name))


def home(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_one_way(path: Path) -> None:
    own = home(path)
    if own == "__init__":
        assert list(imports(path)) == []
        return
    wrong = []
    for module, line, top in imports(path):
        if not module.startswith("llm_graphrag."):
            continue
        inner = module.removeprefix("llm_graphrag.")
        other = inner.split(".")[0]
        if other in (own, "templates", "hookspecs") or (own, inner) in ALLOWED:
            continue
        if own == "plugin" or (own == "knowledge_base" and not top):
            continue
        if rank(other) > rank(own) or (rank(other) == rank(own) and other not in BESIDE and own not in BESIDE):
            wrong.append(f"{path.name}:{line} imports {module}")
    assert wrong == []


@pytest.mark.parametrize("folder", ["text", "facts"])
def test_rules_are_pure(folder: str) -> None:
    for path in (PACKAGE / folder).rglob("*.py"):
        names = {module for module, _, _ in imports(path)}
        assert not {name for name in names if name.split(".")[0] in ("sqlite3", "sqlite_utils", "click", "llm")}, path
        assert not {name for name in names if name.startswith("llm_graphrag.store")}, path


def test_text_imports_nothing_else_of_ours() -> None:
    for path in (PACKAGE / "text").rglob("*.py"):
        ours = {module for module, _, _ in imports(path) if module.startswith("llm_graphrag")}
        assert all(module.startswith("llm_graphrag.text") for module in ours), path


def test_nothing_imports_the_commands() -> None:
    for path in [*FILES, *sorted((ROOT / "datasette_graphrag").rglob("*.py"))]:
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        if path.is_relative_to(PACKAGE):
            assert not any(module.startswith("llm_graphrag.cli") for module, _, _ in imports(path)), path
        else:
            assert "llm_graphrag.cli" not in path.read_text("utf-8"), path


def test_only_one_module_calls_models() -> None:
    for path in FILES:
        names = {module.split(".")[0] for module, _, _ in imports(path)}
        if "llm" in names:
            assert home(path) == "index" or path.relative_to(PACKAGE).as_posix() in (
                "models.py",
                "cli/options.py",  # where llm keeps its files
                "static_model/llm_model.py",  # is a model of llm's
            ), path


@pytest.mark.parametrize("module", ["llm_graphrag", "llm_graphrag.plugin"])
def test_the_plugin_is_cheap_to_import(module: str) -> None:
    script = f"import click, pluggy, sys; before = set(sys.modules); import {module}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("llm_graphrag")} <= {"llm_graphrag", "llm_graphrag.plugin"}
    heavy = {"markdown_it", "yaml", "sqlite_utils", "sqlite3", "numpy", "llm", "datasette", "pathspec", "networkx"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    assert len(loaded) < 20


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from llm_graphrag.plugin import graphrag\n"
        "result = CliRunner().invoke(graphrag, ['--help']); assert result.exit_code == 0\n"
        "print('llm_graphrag.knowledge_base' in sys.modules, 'add' in result.output)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
