"""What a person says about a file of a graph, and which format it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .columns import Named

__all__ = ["FORMATS", "ImportOptions", "format_of"]

CSV, TSV, JSONL, NTRIPLES, TURTLE = FORMATS = ("csv", "tsv", "jsonl", "ntriples", "turtle")

EXTENSIONS = {
    ".csv": CSV, ".tsv": TSV, ".tab": TSV, ".txt": TSV, ".jsonl": JSONL, ".ndjson": JSONL, ".nt": NTRIPLES,
    ".ttl": TURTLE, ".turtle": TURTLE, ".n3": TURTLE,
}  # fmt: skip


WRITTEN_ONLY = {".graphml": "GraphML", ".parquet": "Parquet"}  # by export


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read.

    ``format`` empty goes by the file's name. ``head``, ``relation`` and ``tail`` are columns by name or number, from 1
    on. ``attributes`` are relations whose tails are values. ``header`` None finds out whether the first row is one.
    ``schema`` False leaves the schema as it is; ``private`` None leaves files as private as they were.
    ``join_spellings`` takes names of one file that differ in case, dashes or marks at their ends for one, and things
    with different ids and one name for one thing.
    """

    format: str = ""
    head: str = ""
    relation: str = ""
    tail: str = ""
    delimiter: str = ""
    header: bool | None = None
    attributes: tuple[str, ...] = ()
    encoding: str = ""
    nodes: tuple[Path, ...] = ()
    schema: bool = True
    private: bool | None = None
    join_spellings: bool = False

    @property
    def columns(self) -> Named:
        return Named(self.head, self.relation, self.tail)

    def of_reading(self) -> dict[str, Any]:
        """What decides what is read of a file."""
        said, plain = asdict(self), asdict(ImportOptions())
        left = ("nodes", "schema", "private")
        return {name: value for name, value in said.items() if value != plain[name] and name not in left}


def format_of(path: Path, options: ImportOptions) -> str:
    """The format of a file. Raises ValueError if neither the options nor its name say it."""
    if options.format:
        return options.format
    suffix = path.suffix.lower()
    if suffix in WRITTEN_ONLY:
        raise ValueError(
            f"{path.name}: {WRITTEN_ONLY[suffix]} is written by export, not read by import. Read are CSV, TSV, JSON"
            " lines, N-Triples and Turtle: export the graph as one of these"
        )
    if suffix not in EXTENSIONS:
        raise ValueError(f"{path.name}: its name does not say its format; add --format ({', '.join(FORMATS)})")
    return EXTENSIONS[suffix]
