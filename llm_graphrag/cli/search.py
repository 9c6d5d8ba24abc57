"""``llm graphrag search``: passages for a question, or for a whole file of them."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from .options import EXIT_SKIPPED, database_option, errors_in_one_line, json_option, open_knowledge_base, refuse

if TYPE_CHECKING:
    from ..routes.hits import Hit


FACTS = 3  # shown of a passage


@click.command()
@click.argument("query", required=False)
@database_option
@click.option("-k", "--k", "k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many passages.")
@click.option(
    "--where", metavar="SQL", help="Only documents that meet this SQL condition, such as \"folder = 'work'\"."
)
@click.option("--tag", help="Only documents with this tag, or one nested in it.")
@click.option("--since", metavar="DATE", help="Only documents updated on this day or later.")
@click.option("--advanced", is_flag=True, help='AND, OR, NOT, parentheses, "phrases" and prefix* have a meaning.')
@click.option("--no-vectors", is_flag=True, help="Compare words and names only, not meaning.")
@click.option("--route", "routes", multiple=True, metavar="NAME", help="Ask only this route; repeatable.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="NAME",
    help="Only what is about this entity type, relation or attribute, where there is any; repeatable.",
)
@click.option("--no-type-filter", is_flag=True, help="Leave --type out, to compare.")
@click.option("--rerank", metavar="NAME", help="Have an installed reranker rate the facts of the route scoring.")
@click.option("--explain", is_flag=True, help="Show what each signal added to the score of each passage.")
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Read JSON lines {id, question} from a file or -, write one {id, hits} a line.",
)
@json_option
@errors_in_one_line
def search(
    query: str | None,
    database: Path,
    k: int,
    where: str | None,
    tag: str | None,
    since: str | None,
    advanced: bool,
    no_vectors: bool,
    routes: tuple[str, ...],
    types: tuple[str, ...],
    no_type_filter: bool,
    rerank: str | None,
    explain: bool,
    batch: Path | None,
    as_json: bool,
) -> None:
    """Find the passages that fit a question, or a few words, best.

    A question goes three ways: to the passages whose words fit it, to those near it
    in meaning, and through the graph from what it names. Punctuation is harmless;
    operators are words unless --advanced is given. The columns of --where are uri,
    title, folder, kind, added, updated and tag.

    With --route one way alone is taken, or several: passages (words), vectors
    (meaning), entities (names), ppr (PageRank), scoring (the facts around what is
    named that fit best), paths (what joins the things named), query (what the rows
    of a SELECT speak of), and those of plugins.

    \b
    Examples:
      llm graphrag search "Who repaired the harbour clock?"
      llm graphrag search boats --tag travel --since 2026-01-01 -k 3
      llm graphrag search '"silver coating" NOT lens*' --advanced
      llm graphrag search "budget" --where "folder like 'work/%'" --json
      llm graphrag search "Who repaired the harbour clock?" --explain -k 1
      llm graphrag search "Who pays for the dome?" --route scoring --type employer
      llm graphrag search --batch questions.jsonl > hits.jsonl
    """
    if (query is None) == (batch is None):
        raise click.UsageError("Give a query, or --batch FILE.")
    if explain and batch is not None:
        raise click.UsageError("--explain shows one query; leave --batch out.")
    options: dict[str, Any] = {"k": k, "where": where, "tag": tag, "since": since, "advanced": advanced}
    if not types:
        refuse("leaves --type out, and there is none.", "no_type_filter")
    if rerank is not None and "scoring" not in routes:
        raise click.UsageError("--rerank rates the facts of one route; add --route scoring.")
    if explain and routes:
        raise click.UsageError("--explain shows the usual ranking; leave --route out.")
    options |= {"vectors": not no_vectors, "routes": routes, "rerank": rerank}
    options["types"] = () if no_type_filter else types
    with open_knowledge_base(database) as kb:
        if batch is not None:
            sys.exit(_batch(kb.connection, batch, options))
        assert query is not None
        hits = kb.search(query, **options)
    if as_json:
        click.echo(dump([as_dict(hit) | (_explained(hit) if explain else {}) for hit in hits], indent=2))
    else:
        _print(query, hits, explain)
    for note in hits.notes:
        click.echo(note, err=True)


def as_dict(hit: Hit) -> dict[str, Any]:
    """A hit as JSON: the snippet as text, the marked words beside it."""
    return {
        "chunk": hit.chunk,
        "uri": hit.uri,
        "title": hit.title,
        "heading": hit.heading,
        "line": hit.line,
        "score": hit.score,
        "snippet": "".join(text for text, _ in hit.snippet),
        "matched": list(dict.fromkeys(text for text, marked in hit.snippet if marked)),
        "reasons": dict(hit.reasons),
        **({"facts": [asdict(fact) for fact in hit.facts]} if hit.facts else {}),
    }


def dump(value: object, indent: int | None = None) -> str:
    """JSON that keeps letters readable and escapes what a terminal would obey."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def _explained(hit: Hit) -> dict[str, Any]:
    """The parts of a score as JSON; ``added`` are value x weight and sum to the score."""
    return {"explain": [asdict(part) for part in hit.parts]}


def _print(query: str, hits: Sequence[Hit], explain: bool) -> None:
    from ..routes.search import HINT
    from ..routes.snippets import visible
    from ..text.fts import query_terms

    if not hits:
        click.echo("Nothing found." if query_terms(query) else HINT)
    for number, hit in enumerate(hits, 1):
        place = click.style(f"{visible(hit.uri)}:{hit.line}", fg="cyan")
        heading = f"  {visible(hit.heading)}" if hit.heading else ""
        click.echo(f"{number:>2}. {place}{heading}")
        click.echo("    " + "".join(click.style(text, bold=True) if marked else text for text, marked in hit.snippet))
        _print_facts(hit)
        if explain:
            _print_parts(hit)


def _print_facts(hit: Hit) -> None:
    """The facts that routes found in a passage; one more than ``FACTS`` is shown, not counted."""
    listed = hit.facts if len(hit.facts) <= FACTS + 1 else hit.facts[:FACTS]
    for fact in listed:
        click.echo(click.style(f"    {fact.text}", dim=True))
    if len(hit.facts) > len(listed):
        click.echo(click.style(f"    … and {len(hit.facts) - len(listed):,} more facts", dim=True))


def _print_parts(hit: Hit) -> None:
    """A line a signal: what it added, its value and weight, and what it says."""
    from ..routes.weights import SIGNALS

    click.echo(f"    score {hit.score:.2f}")
    for part in hit.parts:
        sum_ = f"{part.added:+7.2f} = {part.value:.2f} × {part.weight:.2f}"
        click.echo(click.style(f"    {sum_}  {part.signal:13} {SIGNALS[part.signal]}", dim=True))


def _batch(connection: sqlite3.Connection, path: Path, options: dict[str, Any]) -> int:
    """Answer every line; returns the exit status: 3 if a line was not a question. Vectors are read once for all."""
    from ..index.vectors import open_vectors
    from ..routes.search import search as find

    status = 0
    if options["vectors"]:
        options = options | {"vectors": open_vectors(connection) or False}
    with click.open_file(str(path), "r", encoding="utf-8", errors="replace") as lines:
        for number, item in _questions(lines):
            try:
                if isinstance(item, str):
                    raise ValueError(item)
                hits = find(connection, item["question"], **options)
            except ValueError as error:
                status = EXIT_SKIPPED
                click.echo(f"line {number}: {error}", err=True)
                click.echo(dump({"line": number, "error": str(error)}))
                continue
            found = [{"uri": hit.uri, "chunk": hit.chunk, "score": hit.score} for hit in hits]
            click.echo(dump({"id": item["id"], "hits": found} | ({"notes": hits.notes} if hits.notes else {})))
    return status


def _questions(lines: IO[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """(line number, question) for every line that is not blank; a message in place of what is no question."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"no JSON: {error}"
            continue
        if not isinstance(item, dict) or "id" not in item or not isinstance(item.get("question"), str):
            yield number, 'not of the form {"id": …, "question": "…"}'
            continue
        yield number, item
