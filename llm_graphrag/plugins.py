"""The plugin manager: our own parts, and those of installed packages, through one set of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

import pluggy

from . import hookspecs
from .hookspecs import Converter, Exporter, Linker, NameFinder, Reranker, Route

#: Our own implementations of the hooks. By name, because the folders they stand in build on this module.
OWN = ("facts.finders", "sources.converters", "routes.registry", "share.exports.formats")


@cache
def manager() -> pluggy.PluginManager:
    """The manager with our hooks; packages with an entry point in the group ``llm_graphrag`` are loaded once."""
    found = pluggy.PluginManager("llm_graphrag")
    found.add_hookspecs(hookspecs)
    for module in OWN:
        found.register(import_module(f".{module}", __package__))
    found.load_setuptools_entrypoints("llm_graphrag")
    return found


def name_finders() -> dict[str, NameFinder]:
    """All ways to find names, by name; of two with one name the first registered stays."""
    found: dict[str, NameFinder] = {}
    manager().hook.register_extractors(register=found.setdefault)
    return found


def name_finder(name: str) -> NameFinder:
    """The finder called ``name``. Raises ValueError listing those there are."""
    finders = name_finders()
    if name not in finders:
        raise ValueError(f"There is no way to find names called {name!r}. Installed are: {', '.join(sorted(finders))}")
    return finders[name]


def linkers() -> dict[str, Linker]:
    """Ways to link that plugins add, by name; of two with one name the last installed is taken."""
    found: dict[str, Linker] = {}
    manager().hook.register_linkers(register=found.setdefault)
    return found


def routes() -> dict[str, Route]:
    """Ways to find passages, by name; of two with one name the last installed is taken."""
    found: dict[str, Route] = {}
    manager().hook.register_routes(register=found.setdefault)
    return found


def reranker(name: str) -> Reranker:
    """The reranker called ``name``. Raises ValueError listing those there are."""
    found: dict[str, Reranker] = {}
    manager().hook.register_rerankers(register=found.setdefault)
    if name not in found:
        listed = f"Installed are: {', '.join(sorted(found))}" if found else "None is installed."
        raise ValueError(f"There is no reranker called {name!r}. {listed}")
    return found[name]


def converters() -> dict[str, Converter]:
    """Converters by extension, in lower case with the dot; of two for one extension the last installed is taken."""
    found: dict[str, Converter] = {}

    def register(extensions: Sequence[str], converter: Converter) -> None:
        for extension in extensions:
            found.setdefault(extension.lower(), converter)

    manager().hook.register_sources(register=register)
    return found


def exporters() -> dict[str, Exporter]:
    """Formats of an export, by name; of two with one name the last installed is taken."""
    found: dict[str, Exporter] = {}
    manager().hook.register_exporters(register=found.setdefault)
    return found
