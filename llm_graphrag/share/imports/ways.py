"""How a file is read: as it is told now, else as it was read before, which is kept with it.

One option is enough to say anew how all of it is read, so that an option can also be taken back. What tables of nodes a
file was read with is a part of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ...sources.files import real_path, stored_path
from .options import NTRIPLES, TURTLE, ImportOptions, format_of
from .statements import folded

__all__ = ["NODES", "Kept", "Way", "refuse_no_file", "refuse_options_of_tables", "said", "way_of"]

NODES = "nodes"  # the format of a table of nodes
OF_NODES = ("delimiter", "encoding", "join_spellings")  # what is said of it

Kept = dict[str, Any]
"""A way as it is stored: the options that were given, by name; ``as`` says that it is a table of nodes."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a file is read; ``told`` is False if that is as it was read before."""

    path: Path
    format: str
    options: ImportOptions
    told: bool = True

    @property
    def place(self) -> str:
        """The file, as it is stored."""
        return stored_path(self.path.resolve())

    @property
    def kept(self) -> Kept:
        """What is stored of it."""
        kept = {name: list(value) if isinstance(value, tuple) else value
                for name, value in self.options.of_reading().items()}  # fmt: skip
        if self.options.attributes:
            kept["attributes"] = sorted({folded(name) or name for name in self.options.attributes})
        if self.options.nodes:
            kept["nodes"] = [stored_path(path.resolve()) for path in self.options.nodes]
        return kept | ({"as": NODES} if self.format == NODES else {})

    def table(self, path: Path) -> Way:
        """How a table of nodes is read that a person named with this file."""
        own = {name: getattr(self.options, name) for name in OF_NODES}
        return Way(path, NODES, ImportOptions(private=self.options.private, **own))


def way_of(path: Path, options: ImportOptions, kept: Kept | None) -> Way:
    """How to read a file of which ``kept`` is stored, None if it is new. Raises ValueError if no format is told."""
    if kept is None or options.nodes or options.of_reading():
        format = format_of(path, options)
        rdf = format in (NTRIPLES, TURTLE)
        return Way(path, format, replace(options, nodes=()) if rdf else options)
    own: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in kept.items() if name != "as"
    }
    own["nodes"] = tuple(map(real_path, kept.get("nodes", ())))
    before = ImportOptions(**own, schema=options.schema, private=options.private)
    return Way(path, kept.get("as") or format_of(path, before), before, told=False)


def said(kept: Mapping[str, Any]) -> str:
    """A way as a person says it.

    >>> said({"attributes": ["age"], "header": False, "nodes": ["/a/n.csv"]}), said({})
    ("with --attribute 'age' --no-header --nodes 'n.csv'", 'without options')
    """
    parts = []
    for name, value in kept.items():
        option = "--" + name.replace("_", "-").removesuffix("s" if name == "attributes" else "")
        if name == "as":
            continue
        elif isinstance(value, bool):
            parts.append(option if value else f"--no-{name}")
        elif name == "nodes":
            parts += [f"{option} {PurePosixPath(item).name!r}" for item in value]
        else:
            parts += [f"{option} {item!r}" for item in (value if isinstance(value, list) else [value])]
    shown = "with " + " ".join(parts) if parts else "without options"
    return f"as a table of nodes, {shown}" if kept.get("as") else shown


def refuse_no_file(path: Path) -> None:
    """Raise FileNotFoundError, for a folder with how to read it."""
    if path.is_dir():
        for nodes, edges in (("nodes.csv", "relationships.csv"), ("entities.csv", "relations.csv")):
            if (path / nodes).is_file() and (path / edges).is_file():
                raise FileNotFoundError(f"{path} is a folder; read it with: {path / edges} --nodes {path / nodes}")
        raise FileNotFoundError(f"{path} is a folder; name the files in it")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, or no file")


def refuse_options_of_tables(options: ImportOptions, formats: Collection[str]) -> None:
    """Raise ValueError for what is said of columns and relations if nothing is read that has them."""
    given = {name: getattr(options, name) for name in ("head", "relation", "tail")} | {"attribute": options.attributes}
    if not {*formats} - {NTRIPLES, TURTLE, NODES}:
        for name, value in given.items():
            if value:
                raise ValueError(f"--{name} is about tables and JSON lines of triples, and none is to be read")
