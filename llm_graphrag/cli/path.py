"""``llm graphrag path``: how two things are connected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import database_option, errors_in_one_line, json_option, open_knowledge_base

if TYPE_CHECKING:
    from ..graph.paths import Paths

MOST_HOPS = 8


@click.command()
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@database_option
@click.option("--via", metavar="C", help="Only paths over this third thing.")
@click.option("-k", "--k", "k", type=click.IntRange(1, 100), default=3, show_default=True, help="How many paths.")
@click.option(
    "--max-hops",
    type=click.IntRange(1, MOST_HOPS),
    default=4,
    show_default=True,
    help="Longest path (of each part, with --via).",
)
@click.option(
    "--relation", "relations", multiple=True, metavar="NAME", help="Only over this relation; may be repeated."
)
@click.option("--mentions", is_flag=True, help="Where no facts connect them: over sentences that name two things.")
@json_option
@errors_in_one_line
def path(
    source: str,
    target: str,
    database: Path,
    via: str | None,
    k: int,
    max_hops: int,
    relations: tuple[str, ...],
    mentions: bool,
    as_json: bool,
) -> None:
    """Show how two things are connected: the best paths of facts, each hop with its sentence.

    A, B and C are names of entities, or #ID. Facts are followed in both directions;
    ←written by— is one against its own. Short paths come first, then those over things
    that few others are joined to: what joins everything, such as a change log, says
    little. Where none is so short, it is told how long the nearest one is. With
    --mentions, where there is no path of facts, sentences that name two things (or one,
    in the note about the other) may join them, over one thing at most; that proves
    less. Exit status 1 if a name is unknown or means several things.

    \b
    Examples:
      llm graphrag path "Heron telescope" "Ana Petrov"
      llm graphrag path "Heron telescope" "Ana Petrov" --via "Kestrel Works" -k 1
      llm graphrag path heron petrov --relation written_by --max-hops 6 --json
    """
    from .path_printer import as_dict, print_path

    if mentions and (via or relations):
        raise click.UsageError("--mentions takes any sentence; leave --via and --relation out.")
    with open_knowledge_base(database) as kb:
        found = kb.paths(
            source, target, via=via, k=k, max_hops=max_hops, relations=relations or None, mentions=mentions
        )
        looked_farther = not (found.paths or via or found.truncated)
        nearest = kb.nearest_path(source, target, relations or None) if looked_farther else None
    if as_json:
        from .search import dump

        shown: dict[str, Any] = {"paths": [as_dict(one) for one in found.paths], "truncated": found.truncated}
        if nearest:
            shown["nearest_hops"] = nearest.paths[0].length if nearest.paths else None
        click.echo(dump(shown, indent=2))
        return
    for number, one in enumerate(found.paths, 1):
        print_path(one, number)
    if not found.paths:
        click.echo(
            _none_found(
                max_hops, nearest, can_take_mentions=not (mentions or via or relations), tried_mentions=mentions
            )
        )
    if found.truncated:
        click.echo(
            "Not everything was looked at: there is more than is read for one question, so paths may be missing."
        )


def _none_found(max_hops: int, nearest: Paths | None, can_take_mentions: bool, tried_mentions: bool) -> str:
    """Says that there is no path so short, how long the nearest one is, and what else could be tried."""
    farther = "--max-hops looks farther" if max_hops < MOST_HOPS else ""
    text = f"No path of up to {max_hops} {'hop' if max_hops == 1 else 'hops'}"
    if nearest and nearest.paths:
        hops = nearest.paths[0].length
        text += f"; the nearest has {hops}"
        farther = f"--max-hops {hops} shows it" if hops <= MOST_HOPS else ""
    elif nearest and not nearest.truncated:
        text, farther = "No path, however long: no facts lead from one to the other", ""
    text += ", and no sentences that name things together" * tried_mentions
    ways = [farther] if farther else []
    if can_take_mentions:
        ways.append("--mentions looks over sentences that name two things")
    return f"{text}. {', '.join(ways)}." if ways else f"{text}."
