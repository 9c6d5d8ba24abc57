"""How paths are printed, as text and as JSON: the path on a line, below it the sentence for every hop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..graph.hops import Evidence, Hop, Joined, Node
    from ..graph.paths import Path

__all__ = ["as_dict", "entity_dict", "print_path"]


def print_path(path: Path, number: int, note: str = "") -> None:
    """A path with its number, and for every hop the sentence and where it stands."""
    from ..graph.verbalize import also_text, arrow, path_text

    click.echo(f"{number:>2}. {click.style(path_text(path), bold=True)}" + (f"  ({note})" if note else ""))
    for place, hop in enumerate(path.hops):
        ends = [node.name for node in path.nodes[place : place + 2]]
        click.echo(f"    {arrow(hop.by.relation, hop.by.forward)}  {_sentence(hop.evidence, ends)}")
        if hop.also:
            click.echo(click.style(f"      also {also_text(hop.also)}", dim=True))


def _sentence(evidence: Evidence | None, ends: Sequence[str]) -> str:
    from ..routes.snippets import piece_naming, visible
    from ..text.shortened import shortened

    if evidence is None:
        return "no sentence is kept for it; llm graphrag check says more"
    under = f", under {visible(shortened(evidence.heading))}" if evidence.heading else ""
    place = f"({visible(evidence.uri)}:{evidence.line}{under})"
    return f"{piece_naming(evidence.quote, ends)}  {click.style(place, fg='cyan')}"


def as_dict(path: Path) -> dict[str, Any]:
    """A path as JSON: text for reading, the rows for programs."""
    from ..graph.verbalize import path_text

    return {
        "text": path_text(path),
        "length": path.length,
        "entities": [entity_dict(node) for node in path.nodes],
        "hops": [_hop(hop) for hop in path.hops],
    }


def entity_dict(node: Node) -> dict[str, Any]:
    written = {"written": node.written} if node.written else {}
    return {"id": node.id, "name": node.name, **written, "type": node.type}


def _hop(hop: Hop) -> dict[str, Any]:
    evidence = hop.evidence
    return {
        **_joined(hop.by),
        "evidence": evidence and {
            "quote": evidence.quote, "uri": evidence.uri, "line": evidence.line,
            "chunk": evidence.chunk, "document": evidence.document, "origin": evidence.origin,
            **({"heading": evidence.heading} if evidence.heading else {}),
        },
        "also": [_joined(other) for other in hop.also],
    }  # fmt: skip


def _joined(by: Joined) -> dict[str, Any]:
    return {"triple": by.triple or None, "relation": by.relation, "forward": by.forward, "statements": by.statements}
