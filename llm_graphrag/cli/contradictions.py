"""``llm graphrag contradictions``: what notes say of one thing that cannot all be so."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from ..text.counted import counted
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json

if TYPE_CHECKING:
    from ..review.contradictions import Contradiction, Value

QUOTES = 3  # of a value that are printed


@click.command()
@click.option("--entity", metavar="NAME", help="Only about this entity, by any of its names.")
@database_option
@json_option
@errors_in_one_line
def contradictions(entity: str | None, database: Path, as_json: bool) -> None:
    """Show where notes give one thing several values of what can have one only.

    The schema says what that is: attributes and relations that it does not mark as
    lists. Each value comes with its sentences, newest first, by the date that a note
    gives itself. Dates and numbers in another notation are the same value, and so
    are merged entities. The most certain contradictions come first.

    \b
    Examples:
      llm graphrag contradictions
      llm graphrag contradictions --entity "Petr Vaněk"
      llm graphrag contradictions --json
    """
    from ..review import contradictions as review

    with open_knowledge_base(database) as kb:
        found = review.contradictions(kb.connection, None if entity is None else _entities(kb, entity))
        single = bool(review.single_valued(kb.connection))
    if as_json:
        print_json([asdict(item) for item in found])
        return
    for item in found:
        _print(item)
    if found:
        click.echo(f"{counted(len(found), 'contradiction')}.")
    elif single:
        click.echo("No contradictions.")
    else:
        click.echo(
            "The schema does not say what has one value only, so nothing contradicts anything. "
            "Choose one with: llm graphrag schema use general"
        )


def _entities(kb: KnowledgeBase, name: str) -> list[int]:
    from ..graph.entity import cards
    from ..graph.linker import nearest_names
    from ..text.shortened import shortened

    found = [card.id for card in cards(kb.connection, name, 1)]
    if not found:
        near = nearest_names(kb.connection, name)
        hint = f" Did you mean {' or '.join(map(shortened, near))}?" if near else ""
        raise click.ClickException(f"Nothing is called {shortened(name)}.{hint}")
    return found


def _print(item: Contradiction) -> None:
    named = f"{item.entity} ({item.type})" if item.type else item.entity
    click.echo(
        click.style(f"{printable(named)}: {printable(item.name).replace('_', ' ')}", bold=True)
        + f"  {len(item.values)} values, certain to {item.certainty:g}"
    )
    for value in item.values:
        _print_value(value)


def _print_value(value: Value) -> None:
    click.echo(f"  {printable(value.value)}" + (f" ({printable(value.type)})" if value.type else ""))
    for statement in value.statements[:QUOTES]:
        when = statement.dated or f"read {statement.updated[:10]}"
        place = f"{statement.uri}:{statement.line}, {when}"
        quote = " ".join(statement.quote.split())
        click.echo(click.style(f"    {printable(quote)}  ({printable(place)})", dim=True))
    if len(value.statements) > QUOTES:
        click.echo(f"    … and {len(value.statements) - QUOTES:,} more; --json lists all")
