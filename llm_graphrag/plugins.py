"""The plugin manager: our own parts, and those of installed packages, through one set of hooks."""

from __future__ import annotations

from functools import cache

import pluggy

from . import hookspecs
from .hookspecs import NameFinder


@cache
def manager() -> pluggy.PluginManager:
    """The manager with our hooks; packages with an entry point in the group ``llm_graphrag`` are loaded once."""
    from .facts import finders

    found = pluggy.PluginManager("llm_graphrag")
    found.add_hookspecs(hookspecs)
    found.register(finders)
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
