"""The part of ``llm graphrag export`` that writes the graph as one file or folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..sources.files import printable
from ..text.counted import held
from .options import open_knowledge_base, print_json

__all__ = ["export_graph"]


def export_graph(
    database: Path, out: Path, format: str, overwrite: bool, private: bool, scope: Mapping[str, Any], as_json: bool
) -> None:
    """Write the graph to ``out`` and say what was written, apart from it if it is a pipe or standard output."""
    from ..share.exports.formats import is_stream

    apart = is_stream(out)
    with open_knowledge_base(database) as kb:
        done = kb.export_graph(out, format, overwrite=overwrite, private=private, **scope)
    if as_json:
        print_json(asdict(done))
        return
    written = held({"entities": done.entities, "triples": done.triples, "attributes": done.attributes})
    click.echo(f"{printable(str(out))}: {written}, as {done.format}.", err=apart)
    if done.hint:
        click.echo(printable(done.hint), err=apart)
