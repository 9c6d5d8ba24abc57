"""``llm graphrag ask``: the evidence for a question, cited."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import database_option, errors_in_one_line, json_option, open_knowledge_base

if TYPE_CHECKING:
    from ..answer.ask import Answer, Citation
    from ..answer.facts import Fact


@click.command()
@click.argument("question")
@database_option
@click.option("-k", "--k", "k", type=click.IntRange(1, 100), default=5, show_default=True, help="How many passages.")
@click.option(
    "--where", metavar="SQL", help="Only documents that meet this SQL condition, such as \"folder = 'work'\"."
)
@click.option("--tag", help="Only documents with this tag, or one nested in it.")
@click.option("--since", metavar="DATE", help="Only documents updated on this day or later.")
@click.option("--strict", is_flag=True, help="Refuse if a note to be cited has changed or is gone since it was read.")
@click.option("--no-vectors", is_flag=True, help="Compare words and names only, not meaning.")
@click.option("--no-llm", is_flag=True, help="Show the evidence and ask no model; so far the only way.")
@click.option("--no-log", is_flag=True, help="Do not keep the question and its answer in the knowledge base.")
@json_option
@errors_in_one_line
def ask(
    question: str,
    database: Path,
    k: int,
    where: str | None,
    tag: str | None,
    since: str | None,
    strict: bool,
    no_vectors: bool,
    no_llm: bool,
    no_log: bool,
    as_json: bool,
) -> None:
    """Show the evidence for a question: cited passages, and the facts that join them.

    Each citation gives the document, the heading, the line and the sentence as it
    stands there. If the notes do not seem to hold an answer, that is said first, and
    what is nearest to the question is shown. A QUESTION of - is read from standard
    input. No model is asked.

    \b
    Examples:
      llm graphrag ask "Who repaired the harbour clock?"
      llm graphrag ask "What did we agree with the printer?" --tag work -k 3
      echo "Where is the Heron kept?" | llm graphrag ask - --json
    """
    if question == "-":
        question = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    log = not no_log and os.access(database, os.W_OK) and os.access(database.resolve().parent, os.W_OK)
    with open_knowledge_base(database, readonly=not log) as kb:
        answer = kb.ask(
            question, k=k, where=where, tag=tag, since=since, strict=strict, vectors=not no_vectors, log=log
        )
    if as_json:
        from .search import dump

        click.echo(dump(asdict(answer), indent=2))
    else:
        _print(answer)


def _print(answer: Answer) -> None:
    from ..routes.snippets import visible

    if answer.hint:
        click.echo(answer.hint)
    for citation in answer.citations:
        _citation(citation)
    if answer.facts:
        click.echo("How they are joined:")
    for fact in answer.facts:
        _fact(fact)
    searched = answer.searched
    said = f"Searched {searched.chunks:,} passages of {searched.documents:,} notes and {searched.entities:,} entities"
    if searched.words:
        said += f" for {visible(', '.join(searched.words))}"
    if searched.linked:
        said += f"; named: {visible(', '.join(searched.linked))}"
    if searched.unknown:
        said += f"; not known by name: {visible(', '.join(searched.unknown))}"
    click.echo(click.style(said + ".", dim=True))
    late = sorted({visible(c.uri) for c in answer.citations if c.stale})
    if late:
        click.echo(f"No longer as it was read: {', '.join(late)}. Bring it up to date with: llm graphrag add", err=True)


def _citation(citation: Citation) -> None:
    from ..routes.snippets import visible

    place = click.style(f"{visible(citation.uri)}:{citation.line}", fg="cyan")
    heading = f"  {visible(citation.heading)}" if citation.heading else ""
    stale = click.style(f"  ({citation.stale})", fg="red") if citation.stale else ""
    click.echo(f"[{citation.number}] {place}{heading}{stale}")
    click.echo(f"    {visible(citation.quote)}")


def _fact(fact: Fact) -> None:
    from ..routes.snippets import visible

    number = f"[{fact.number}]" if fact.number else f"({visible(fact.uri)}:{fact.line})"
    click.echo(f"  {visible(fact.head)} —{visible(fact.relation).replace('_', ' ')}→ {visible(fact.tail)} {number}")
    click.echo(click.style(f"    {visible(fact.quote)}", dim=True))
