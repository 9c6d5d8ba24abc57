"""``llm graphrag schema add``, ``remove``, ``rename`` and ``revert``: change the schema by hand, a version a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..facts import schema_edit
from ..facts.template import KINDS, Template
from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from ..text.counted import counted
from .decision_options import decision_options, embed_names, progress_line
from .options import open_knowledge_base, print_json
from .proposals_printer import print_reread

if TYPE_CHECKING:
    from ..review.schema import Changed


KIND = click.Choice(sorted(schema_edit.KINDS))


@click.command()
@click.argument("type_kind", type=KIND, metavar="KIND")
@click.argument("name")
@click.option("--description", help="One line that says what it is; models read it.")
@click.option("--alias", "aliases", multiple=True, help="Another name for it; may be repeated.")
@click.option("--domain", multiple=True, metavar="TYPE", help="Entity type that may stand first; may be repeated.")
@click.option("--range", multiple=True, metavar="TYPE", help="Entity type that may stand last; may be repeated.")
@click.option("--symmetric", is_flag=True, default=None, help="A relation that holds both ways.")
@click.option("--inverse", help="How a relation reads from tail to head.")
@click.option("--kind", type=click.Choice(KINDS), help="What values of an attribute are [text].")
@click.option("--list", "is_list", is_flag=True, default=None, help='"a, b, c" in a note are three of it.')
@decision_options
def add(
    type_kind: str,
    name: str,
    description: str | None,
    note: str,
    actor: str,
    database: Path,
    as_json: bool,
    **more: Any,
) -> None:
    """Add a type. KIND is entity_type, relation or attribute.

    \b
    Examples:
      llm graphrag schema add entity_type boat --description "A vessel." --alias ship
      llm graphrag schema add relation sails --domain person --range boat
      llm graphrag schema add attribute length --domain boat --kind number
    """
    given = {key: value for key, value in more.items() if value not in (None, ())}

    def change(before: Template) -> Template:
        return schema_edit.add(before, type_kind, name, description or "", **given)

    _edit(database, change, note or f"added {_words(type_kind)} {name}", actor, as_json, (type_kind, name))


@click.command()
@click.argument("type_kind", type=KIND, metavar="KIND")
@click.argument("name")
@decision_options
def remove(type_kind: str, name: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Remove a type. KIND is entity_type, relation or attribute.

    What models said with it is dropped, and comes back if you revert. Domains and
    ranges that name it are freed of it.

    \b
    Examples:
      llm graphrag schema remove relation sails
    """

    def change(before: Template) -> Template:
        return schema_edit.remove(before, type_kind, name)

    _edit(database, change, note or f"removed {_words(type_kind)} {name}", actor, as_json)


@click.command()
@click.argument("type_kind", type=KIND, metavar="KIND")
@click.argument("old")
@click.argument("new")
@decision_options
def rename(type_kind: str, old: str, new: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Give a type another name. KIND is entity_type, relation or attribute.

    The old name stays as an alias, so that what was written with it is still read.

    \b
    Examples:
      llm graphrag schema rename relation sails skippers
    """

    def change(before: Template) -> Template:
        return schema_edit.rename(before, type_kind, old, new)

    _edit(database, change, note or f"renamed {_words(type_kind)} {old} to {new}", actor, as_json)


@click.command()
@click.argument("version", type=click.IntRange(1))
@decision_options
def revert(version: int, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Go back to an earlier version: a new one is made that equals it.

    \b
    Examples:
      llm graphrag schema revert 3
    """
    from ..review import schema as review

    with open_knowledge_base(database, readonly=False) as kb:
        with progress_line() as progress:
            done = review.revert(kb.connection, kb.settings, version, actor, note, progress)
        print_doubts(done.doubts)
        _print(kb, done, f"Version {version} is in force again, as version {done.version}.", as_json)


COMMANDS = (add, remove, rename, revert)


def _edit(
    database: Path,
    change: Callable[[Template], Template],
    note: str,
    actor: str,
    as_json: bool,
    added: tuple[str, str] | None = None,
) -> None:
    from ..review import schema as review

    with open_knowledge_base(database, readonly=False, create=added is not None) as kb:
        with progress_line() as progress:
            done = review.edit(kb.connection, kb.settings, change, actor, note, progress=progress)
        _print(kb, done, f"The schema is now version {done.version}.", as_json)
        if added and not as_json:
            _print_asking(kb, *added)


def _print(kb: KnowledgeBase, done: Changed, says: str, as_json: bool) -> None:
    if as_json:
        print_json({"version": done.version, "facts": done.facts, **done.diff})
    elif not done.any:
        click.echo(f"Nothing changes: the schema is so already (version {done.version}).")
    else:
        print_changed(kb, done, says)


def print_changed(kb: KnowledgeBase, done: Changed, says: str) -> None:
    """What a change of the schema did, and what follows it later."""
    for line in words_of(done.diff):
        click.echo(line)
    click.echo(says)
    if done.replayed.windows:
        embed_names(kb)
    print_reread(done.replayed.windows, done.facts)
    click.echo("Links and properties of notes follow at the next: llm graphrag add FOLDER")


def _print_asking(kb: KnowledgeBase, kind: str, name: str) -> None:
    """Say that models had asked for a type that was added: only approving it asks again."""
    from ..review.proposals import WAITING, cost
    from ..store.proposals import called

    for row in called(kb.connection, name):
        if row["kind"] == kind and row["status"] in WAITING and (asking := cost(kb.connection, row["id"]).windows):
            click.echo(
                f"Models had asked for it in {counted(asking, 'window')}. To ask there once more: "
                f"llm graphrag proposals approve {row['id']}"
            )


def words_of(diff: Mapping[str, Any]) -> Iterator[str]:
    """What a diff says, a line each."""
    for word in ("added", "retired", "changed"):
        if diff.get(word):
            yield f"{word}: " + ", ".join(printable(name) for _, name in diff[word])
    if diff.get("frontmatter"):
        yield "changed: what keys of notes mean"
    if diff.get("about"):
        yield "changed: name, title, description or order"


def print_doubts(doubts: Iterable[str]) -> None:
    """Say on standard error what is not known of an early version."""
    for doubt in doubts:
        click.echo(doubt, err=True)


def _words(kind: str) -> str:
    return kind.replace("_", " ")
