"""Our own plugin hooks, on one screen. A plugin is any installed package with an entry point in ``llm_graphrag``.

    hookimpl = pluggy.HookimplMarker("llm_graphrag")

    @hookimpl
    def register_extractors(register):
        register("shouting", lambda text: [m.span() for m in re.finditer(r"[A-Z]{4,}", text)])

Our own parts register through the same hooks (see plugins.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from pathlib import Path
    from sqlite3 import Connection

    from .routes.hits import Plan, Proposal
    from .share.exports.graph import Graph

hookspec = HookspecMarker("llm_graphrag")

NameFinder = Callable[[str], Iterable[tuple[int, int]]]
"""Text in, spans of names out (code points, end exclusive). Code and links are blanked in the text it is given."""


@hookspec
def register_extractors(register: Callable[[str, NameFinder], None]) -> None:
    """Offer a way to find names in text; a knowledge base chooses one: ``llm graphrag init --names NAME``."""


Linker = Callable[["Connection", str], Iterable[tuple[int, float]]]
"""A knowledge base and a mention in, (id of an entity, score from 0 to 1) out, best first. It is asked for mentions
that no name fits, and read until enough entities have passed the filters of whoever asks."""


@hookspec
def register_linkers(register: Callable[[str, Linker], None]) -> None:
    """Offer a way to link mentions to entities, under the name that its candidates show as their method."""


Route = Callable[["Connection", "Plan", int, "Mapping[str, Sequence[Proposal]]"], "list[Proposal]"]
"""A knowledge base, a question taken apart, how many, and what other routes found; chunks out, best first."""


@hookspec
def register_routes(register: Callable[[str, Route], None]) -> None:
    """Offer a way to find passages: ``llm graphrag search --route NAME``. tests/route_compliance.py tests it."""


Reranker = Callable[[str, Sequence[str]], Sequence[float]]
"""A question and sentences in, a score from 0 to 1 for each out. It may be slow, and is asked for 100 at most."""


@hookspec
def register_rerankers(register: Callable[[str, Reranker], None]) -> None:
    """Offer to rate facts for the route scoring: ``llm graphrag search --route scoring --rerank NAME``."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as Markdown, and what of it could not be taken over.

    With ``parts_level`` 2 every heading of level 2 begins a part that citations name, such as a page.
    """

    text: str
    warnings: tuple[str, ...] = ()
    parts_level: int = 0


Converter = Callable[[bytes], Converted]
"""Bytes of a file in, Markdown out. It raises ValueError with the reason if there is no text to be had."""


@hookspec
def register_sources(register: Callable[[Sequence[str], Converter], None]) -> None:
    """Offer to read files by their extensions: ``register([".epub"], convert)``; a plugin comes before our own."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Writes a graph to a path that is not there yet (an empty folder if ``folder``); may return what is to be said.

    ``extensions`` are those of files that are taken for its format.
    """

    write: Callable[[Graph, Path], str]
    extensions: tuple[str, ...] = ()
    folder: bool = False


@hookspec
def register_exporters(register: Callable[[str, Exporter], None]) -> None:
    """Offer a format: ``llm graphrag export OUT --format NAME``. What a graph gives is in share/exports/graph.py."""
