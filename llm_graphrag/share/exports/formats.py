"""The formats of an export, and how one is written: aside first, then put in its place whole.

A symbolic link is followed. What is no regular file, as a pipe or a device, is written into and stays what it is.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pluggy

from ...hookspecs import Exporter

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["ExportError", "format_of", "is_stream", "register_exporters", "write"]

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


def is_stream(out: Path) -> bool:
    """Whether this is no place for a file: a pipe, a device, or what a process has open, as /dev/stdout."""
    return _descriptor(out) is not None or (out.exists() and not out.is_file() and not out.is_dir())


def _descriptor(out: Path) -> int | None:
    """The number of an open file, if that is what the path names."""
    name = str(out.absolute())
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(name) or name.removeprefix("/dev/fd/")
    return int(number) if number.isascii() and number.isdigit() else None


def _opened(out: Path) -> IO[bytes]:
    """A stream to write into. One that is open goes on where it is."""
    number = _descriptor(out)
    return out.open("wb") if number is None else os.fdopen(os.dup(number), "wb")


def _replace(made: Path, place: Path) -> None:
    """Put a file in its place; one that was there hands on its owner and its mode."""
    if place.is_file():
        before = place.stat()
        with suppress(PermissionError, AttributeError):  # only root may, and Windows has no such thing
            os.chown(made, before.st_uid, before.st_gid)
        made.chmod(before.st_mode & 0o7777)
    made.replace(place)


def _refuse_itself(connection: sqlite3.Connection, place: Path) -> None:
    """Raise ExportError if an export would replace the file that it is made of, or what SQLite keeps beside it."""
    own = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    for suffix in ("", "-wal", "-shm", "-journal") if own else ():
        path = Path(os.path.realpath(own) + suffix)
        if place == path or (place.exists() and path.exists() and place.samefile(path)):
            raise ExportError(f"{place} is the knowledge base itself, or a part of it; name another file")


def write(graph: Graph, out: Path, exporter: Exporter, overwrite: bool) -> str:
    """Write a file or a folder; returns what the format has to say. Raises ExportError if something is there."""
    if exporter.folder and (out.is_file() or is_stream(out)):
        raise ExportError(f"{out} is a file; name another place: this format writes a folder")
    if out.is_dir() and not exporter.folder:
        inside = out / f"graph{next(iter(exporter.extensions), '')}"
        raise ExportError(f"{out} is a folder; name a file in it, such as {inside}")
    stream = is_stream(out)
    place = out if stream else Path(os.path.realpath(out))
    _refuse_itself(graph.connection, place)
    if not overwrite and not stream and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ExportError(f"{out} is there already; --overwrite replaces it")
    if not place.parent.is_dir():
        raise ExportError(f"There is no folder {place.parent} to write to")
    aside = Path(tempfile.mkdtemp(prefix=".graphrag-", dir=None if stream else place.parent))
    try:
        made = aside / "out"
        if exporter.folder:
            made.mkdir()
        said = exporter.write(graph, made)
        if stream:
            with made.open("rb") as file, _opened(out) as into:
                shutil.copyfileobj(file, into)
        elif not exporter.folder:
            _replace(made, place)
        else:
            for path in sorted(made.iterdir()):
                _refuse_itself(graph.connection, place / path.name)
            place.mkdir(exist_ok=True)
            for path in sorted(made.iterdir()):
                _replace(path, place / path.name)
        return said.replace(str(made), str(out))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
