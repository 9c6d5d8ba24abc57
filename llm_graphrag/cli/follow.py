"""``llm graphrag follow``: where a metapath leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import database_option, errors_in_one_line, json_option, open_knowledge_base

if TYPE_CHECKING:
    from ..graph.entity import Group
    from ..graph.metapath import Followed, Relation
    from ..graph.relations import Guess
    from ..knowledge_base import KnowledgeBase


LONGEST = 240  # letters of a metapath on a line


@click.command()
@click.argument("name")
@click.argument("metapath", required=False)
@database_option
@click.option("--question", metavar="TEXT", help="Follow what this question asks for, instead of a METAPATH.")
@click.option("--simple", is_flag=True, help="Visit nothing twice.")
@click.option("--prefixes", is_flag=True, help="Also show where each shorter beginning leads.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Ends shown; 0: all.")
@json_option
@errors_in_one_line
def follow(
    name: str,
    metapath: str | None,
    database: Path,
    question: str | None,
    simple: bool,
    prefixes: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Follow relations from one thing, step by step, and show where they lead.

    Steps are separated by /. A step is a relation, from the one that has it to the
    other end; ^relation goes the other way; * is any relation, either way; a|b is
    a choice. A relation with special letters stands in double quotes. Walks never
    return to where they began. Ends come by the number of walks that lead to them,
    each with one walk and the sentence for every hop. Exit status 1 if a name or
    relation is unknown.

    With --question the steps, one or two, are chosen by the words of a question
    among the relations that there are, without a model; they are shown, with the
    next best, and a step of which no word speaks is named. Where the question asks
    for a value of the thing itself, such as a date, that is shown. English questions
    are understood best.

    \b
    Examples:
      llm graphrag follow "Lena Holt" "^directed_by/starred_actors"
      llm graphrag follow "Heron telescope" "has_part|uses/*" --simple --limit 5
      llm graphrag follow "Night Train" directed_by/born_in --prefixes --json
      llm graphrag follow "Lena Holt" --question "Who starred in the films directed by Lena Holt?"
      llm graphrag follow "Wren Adeyemi" --question "When was Wren Adeyemi born?"
    """
    from ..graph.entity import Group
    from ..graph.metapath import written

    if (metapath is None) == (question is None):
        raise click.UsageError("Give a METAPATH, such as directed_by/born_in, or a --question, and not both.")
    with open_knowledge_base(database) as kb:
        guess = _asked_for(kb, name, question, quiet=as_json) if question is not None else None
        if isinstance(guess, Group):
            return _print_values(guess, limit, as_json)
        steps = written(guess.metapath) if guess is not None else metapath or ""
        found = kb.follow(name, steps, simple=simple, prefixes=prefixes, walks=limit or None, each=1)
    if as_json:
        _print_json(found, limit, guess.unasked if guess is not None else None)
    else:
        _print(found, limit)


def _asked_for(kb: KnowledgeBase, name: str, question: str, quiet: bool) -> Guess | Group:
    """What a question asks for most probably; it is shown, with those that come next, and what is not sure about it.

    An attribute, where no step is surely asked for and a word speaks of one.
    """
    from ..graph.metapath import written
    from ..text.shortened import listed, shortened

    guesses = kb.relations_asked_for(name, question)
    said = [written(guess.metapath) for guess in guesses]
    told = next((n for n, guess in enumerate(guesses) if guess.told), None)
    sure = told is not None and guesses[told].asked and not guesses[told].against
    if not sure and (values := kb.values_asked_for(name, question)) is not None:
        return values
    if told is None:
        there = f" From there lead: {listed(said)}." if said else " It is in no triple."
        raise ValueError(f"The question speaks of no relation that {shortened(name)} has.{there} Give a METAPATH.")
    guess, others = guesses[told], said[:told] + said[told + 1 :]
    if guess.against:
        step = guess.steps[0]
        way, back = (written(((one,),)) for one in (step, replace(step, forward=not step.forward)))
        raise ValueError(
            f"The question asks for {back}, which leads nowhere from {shortened(name)}. The other way, {way}, does: "
            "give it as the METAPATH to follow it."
        )
    if not quiet:
        next_best = f"  (else {listed(others[:2])})" if others else ""
        click.echo(click.style(f"{shortened(said[told], LONGEST)}{next_best}", dim=True))
    if guess.unasked:
        unsure = listed([written(((step,),)) for step in guess.unasked])
        click.echo(f"Not sure of {unsure}: no word of the question speaks of it.", err=True)
    return guess


def _print_values(group: Group, limit: int, as_json: bool) -> None:
    """The values of an attribute, with the sentences that state them."""
    from ..graph.written import spare
    from .entity import print_group
    from .search import dump

    facts = group.facts[: limit or None]
    if as_json:
        values = [asdict(fact, dict_factory=spare) for fact in facts]
        click.echo(dump({"attribute": group.relation, "found": group.count, "values": values}, indent=2))
    else:
        print_group(replace(group, facts=facts))


def _print_json(found: Followed, limit: int, unsure: Sequence[Relation] | None) -> None:
    from ..graph.metapath import written
    from .path_printer import as_dict, entity_dict
    from .search import dump

    ends = [{"steps": end.steps, "walks": end.walks, **entity_dict(end.node)} for end in found.ends[: limit or None]]
    value = {
        "metapath": written(found.metapath),
        **({} if unsure is None else {"unsure": [written(((step,),)) for step in unsure]}),
        "found": len(found.ends),
        "ends": ends,
        "walks": [as_dict(walk) for walk in found.walks],
        "truncated": found.truncated,
    }
    click.echo(dump(value, indent=2))


def _print(found: Followed, limit: int) -> None:
    from ..graph.metapath import written
    from ..text.shortened import shortened
    from .path_printer import print_path

    if not found.ends:
        click.echo(f"{shortened(written(found.metapath), LONGEST)} leads nowhere from there.")
    shown = found.ends[: limit or None]
    for number, (end, walk) in enumerate(zip(shown, found.walks, strict=True), 1):
        if number == 1 or end.steps != shown[number - 2].steps:
            _heading(found, end.steps)
        print_path(walk, number, f"{end.walks:,} walks lead there" if end.walks > 1 else "")
    if len(found.ends) > len(shown):
        click.echo(f"… and {len(found.ends) - len(shown):,} more; --limit 0 shows all")
    if found.truncated:
        click.echo("Not everything was looked at: there is more than can be read in the time, so ends may be missing.")


def _heading(found: Followed, steps: int) -> None:
    """What the ends below are of, where the metapath is shown with its beginnings."""
    from ..graph.metapath import written
    from ..text.shortened import shortened

    if len({end.steps for end in found.ends}) > 1:
        click.echo(f"{shortened(written(found.metapath[:steps]), LONGEST)}:")
