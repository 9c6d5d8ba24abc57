"""The formats of an export, and how one is written: aside first, then put in its place whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

from ...hookspecs import Exporter

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["ExportError", "format_of", "register_exporters", "write"]

hookimpl = pluggy.HookimplMarker("llm_graphrag")


class ExportError(ValueError):
    """An export that cannot be written; the message says why and what to do."""


@hookimpl
def register_exporters(register: Callable[[str, Exporter], None]) -> None:
    for name, (module, function, extensions, folder) in OWN.items():
        register(name, Exporter(_lazy(module, function), extensions, folder))


#: format → module beside this one, function in it, extensions, whether it writes a folder
OWN = {
    "csv": ("rows", "to_csv", (".csv",), False),
    "jsonl": ("rows", "to_jsonl", (".jsonl", ".ndjson"), False),
    "graphml": ("graphml", "to_graphml", (".graphml",), False),
    "ntriples": ("rdf", "to_ntriples", (".nt",), False),
    "turtle": ("rdf", "to_turtle", (".ttl",), False),
    "parquet": ("rows", "to_parquet", (".parquet",), False),
    "neo4j": ("bulk", "to_neo4j", (), True),
    "ladybug": ("bulk", "to_ladybug", (), True),
}  # fmt: skip


def _lazy(module: str, function: str) -> Callable[[Graph, Path], str]:
    """A function whose module is imported when it is called."""

    def call(graph: Graph, out: Path) -> str:
        from importlib import import_module

        found: Callable[[Graph, Path], str] = getattr(import_module(f".{module}", __package__), function)
        return found(graph, out)

    return call


def format_of(out: Path, name: str, known: dict[str, Exporter]) -> str:
    """The format that was named, or that the name of the file says. Raises ExportError."""
    if name:
        if name not in known:
            raise ExportError(f"There is no format {name!r}. There are: {', '.join(sorted(known))}")
        return name
    found = next((format for format, exporter in known.items() if out.suffix.lower() in exporter.extensions), None)
    if found is None and out.is_dir():
        folders = " or ".join(sorted(format for format, exporter in known.items() if exporter.folder))
        raise ExportError(
            f"{out} is a folder: name a file in it, such as {out / 'graph.csv'}, or add --format {folders}"
        )
    if found is None:
        raise ExportError(f"{out.name!r} does not say its format; add --format ({', '.join(sorted(known))})")
    return found


def write(graph: Graph, out: Path, exporter: Exporter, overwrite: bool) -> str:
    """Write a file or a folder; returns what the format has to say. Raises ExportError if something is there."""
    if exporter.folder and out.is_file():
        raise ExportError(f"{out} is a file; name another place: this format writes a folder")
    if out.is_dir() and not exporter.folder:
        inside = out / f"graph{next(iter(exporter.extensions), '')}"
        raise ExportError(f"{out} is a folder; name a file in it, such as {inside}")
    if not overwrite and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ExportError(f"{out} is there already; --overwrite replaces it")
    if not out.parent.is_dir():
        raise ExportError(f"There is no folder {out.parent} to write to")
    aside = Path(tempfile.mkdtemp(prefix=".graphrag-", dir=out.parent))
    try:
        made = aside / "out"
        if exporter.folder:
            made.mkdir()
        said = exporter.write(graph, made)
        if not exporter.folder:
            made.replace(out)
        else:
            out.mkdir(exist_ok=True)
            for path in sorted(made.iterdir()):
                path.replace(out / path.name)
        return said.replace(str(made), str(out))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
