"""``llm graphrag entity``: what is known of one thing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import database_option, errors_in_one_line, json_option, open_knowledge_base

if TYPE_CHECKING:
    from ..graph.entity import Card, Group

ARROWS = {"out": "{relation} →", "in": "← {relation}", "attribute": "{relation}:"}


@click.command()
@click.argument("name")
@database_option
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, help="Facts shown a relation; 0: all.")
@json_option
@errors_in_one_line
def entity(name: str, database: Path, limit: int, as_json: bool) -> None:
    """Show what is known of one entity: names, type, facts, each with its sentence.

    NAME is any of its names, or #ID; case and surrounding punctuation do not matter.
    If several entities share it, all are shown. Exit status 1 if there is none.

    \b
    Examples:
      llm graphrag entity "Heron telescope"
      llm graphrag entity heron --limit 0 --json
    """
    from ..graph.entity import cards
    from ..graph.linker import nearest_names
    from ..text.shortened import shortened

    with open_knowledge_base(database) as kb:
        found = cards(kb.connection, name, limit)
        near = [] if found else nearest_names(kb.connection, name)
    if not found:
        hint = f" Did you mean {' or '.join(map(shortened, near))}?" if near else ""
        raise click.ClickException(f"Nothing is called {shortened(name)}.{hint}")
    if as_json:
        from ..graph.written import spare
        from .search import dump

        click.echo(dump([asdict(card, dict_factory=spare) for card in found], indent=2))
        return
    for place, card in enumerate(found):
        if place:
            click.echo()
        _print(card)


def _print(card: Card) -> None:
    from ..routes.snippets import visible

    click.echo(click.style(visible(card.name), bold=True) + (f"  ({visible(card.type)})" if card.type else ""))
    if card.aliases:
        click.echo(f"Also called: {visible(', '.join(card.aliases))}")
    if card.notes:
        click.echo(f"Notes about it: {visible(', '.join(card.notes))}")
    passages = "passage" if card.chunks == 1 else "passages"
    click.echo(f"Mentioned in {card.chunks:,} {passages}.")
    for group in card.groups:
        print_group(group)


def print_group(group: Group) -> None:
    from ..routes.snippets import visible

    click.echo(ARROWS[group.direction].format(relation=visible(group.relation).replace("_", " ")))
    for fact in group.facts:
        click.echo(f"  {visible(fact.name)}")
        for quote in fact.quotes[:1]:
            click.echo(click.style(f"    {visible(quote.text)}  ({visible(quote.uri)}:{quote.line})", dim=True))
    if group.count > len(group.facts):
        click.echo(f"  … and {group.count - len(group.facts):,} more; --limit 0 shows all")
