"""``llm graphrag link``: which entities names mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json
from .values import Number

if TYPE_CHECKING:
    from ..graph.candidates import Candidate, Linked
    from ..knowledge_base import KnowledgeBase


@click.command()
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@database_option
@click.option("-k", "--k", "k", type=click.IntRange(1, 100), default=3, show_default=True, help="Entities a name.")
@click.option(
    "--min-score",
    type=Number(0, 1),
    help="Leave out what is less likely.  [default: 0.6; names that stand in a question are all shown]",
)
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only entities of this type; may be repeated.")
@click.option("--best", is_flag=True, help="Only the likeliest entity of each name.")
@click.option("--question", is_flag=True, help="Each TEXT is a question, or other text: link the names in it.")
@click.option("--flat", is_flag=True, help="One list of entities, likeliest first, not one a name.")
@click.option("--no-vectors", is_flag=True, help="Compare names only, not meaning.")
@json_option
@errors_in_one_line
def link(
    texts: tuple[str, ...],
    database: Path,
    k: int,
    min_score: float | None,
    types: tuple[str, ...],
    best: bool,
    question: bool,
    flat: bool,
    no_vectors: bool,
    as_json: bool,
) -> None:
    """Show which entities names mean, also where they are misspelled or abbreviated.

    Each TEXT is a name; - reads one a line from standard input. Entities come with
    a score from 0 to 1, about the odds that they are meant, and how they were
    found: exact, alias, qualified, abbreviation, acronym, initials, trigram (words),
    edit (letters), vector (meaning). Exit status 1 if nothing is linked.

    \b
    Examples:
      llm graphrag link "Heron telescop" WHO "A. Petrov"
      llm graphrag link --question "Who grinds the mirror of the Heron telescope?"
      llm graphrag link --best --type person --json - < names.txt
    """
    names = _names(texts)
    if best and question:
        raise click.UsageError(
            "--best is for names; what a question names is never left out. For less, raise --min-score."
        )
    with open_knowledge_base(database) as kb:
        _check_types(kb, types)
        asked: dict[str, Any] = {"texts": names} if question else {"best": best}
        found = kb.link([] if question else names, k, min_score, types or None, vectors=not no_vectors, **asked)
    if as_json:
        _print_json(found, flat)
    else:
        _print(found, flat)
    if not any(mention.candidates for mention in found.mentions):
        raise click.exceptions.Exit(1)


def _names(texts: Sequence[str]) -> list[str]:
    names: list[str] = []
    for text in texts:
        if text == "-":
            with click.open_file("-", encoding="utf-8", errors="replace") as lines:
                names += [line.strip() for line in lines if line.strip()]
        else:
            names.append(text)
    return names


def _check_types(kb: KnowledgeBase, types: Sequence[str]) -> None:
    if not types:
        return
    from ..text.shortened import listed, shortened

    there = [
        row[0] for row in kb.connection.execute("SELECT DISTINCT type FROM kg_entities WHERE type <> '' ORDER BY 1")
    ]
    for type_ in types:
        if type_ not in there:
            known = f"Types here: {listed(there)}." if there else "Nothing here has a type."
            raise click.UsageError(f"Nothing is of the type {shortened(type_)!r}. {known}")


def _print_json(found: Linked, flat: bool) -> None:
    from ..graph.written import spare

    if flat:
        print_json([asdict(candidate, dict_factory=spare) for candidate in found.flat()])
    else:
        mentions = [asdict(mention, dict_factory=spare) for mention in found.mentions]
        print_json({"mentions": mentions, "unlinked": list(found.unlinked)})


def _print(found: Linked, flat: bool) -> None:
    from ..routes.snippets import visible

    if flat:
        for candidate in found.flat():
            _print_candidate(candidate, "")
        if found.unlinked:
            click.echo(f"Not linked: {', '.join(map(visible, found.unlinked))}")
        return
    for mention in found.mentions:
        click.echo(click.style(visible(mention.text), bold=True) + ("" if mention.candidates else "  not linked"))
        for candidate in mention.candidates:
            _print_candidate(candidate, "  ")
    if not found.mentions:
        click.echo("Nothing is named there.")


def _print_candidate(candidate: Candidate, indent: str) -> None:
    from ..routes.snippets import visible

    type_ = f" ({visible(candidate.type)})" if candidate.type else ""
    click.echo(
        f"{indent}{candidate.score:.2f}  {visible(candidate.name)}{type_}  {candidate.method}  #{candidate.entity}"
    )
