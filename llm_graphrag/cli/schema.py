"""``llm graphrag schema``: which types there are, and each version of them."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from ..facts.template import Template, list_templates, load_template
from ..facts.template_file import to_json, to_toml
from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from .decision_options import decision_options, progress_line
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json
from .schema_edit import COMMANDS, print_changed, print_doubts, words_of


@click.group()
def schema() -> None:
    """List, show, choose and change the schema: entity types, relations, attributes.

    Every change is a version with its time, who made it and why; none is lost.

    \b
    Examples:
      llm graphrag schema list
      llm graphrag schema use contacts
      llm graphrag schema add relation repaired_by --domain object --range person
      llm graphrag schema export > schema.toml
    """


for command in COMMANDS:
    schema.add_command(command)


@schema.command(name="list")
@json_option
@errors_in_one_line
def list_(as_json: bool) -> None:
    """List the templates that are shipped.

    \b
    Examples:
      llm graphrag schema list
    """
    templates = list_templates()
    if as_json:
        print_json([_counted(template) for template in templates])
        return
    for template in templates:
        click.echo(f"{template.name:18} {template.description}")


@schema.command()
@click.argument("template", required=False)
@database_option
@json_option
@errors_in_one_line
def show(template: str | None, database: Path, as_json: bool) -> None:
    """Print the schema of the knowledge base, or a template, as TOML.

    \b
    Examples:
      llm graphrag schema show
      llm graphrag schema show research-papers > papers.toml
    """
    if template:
        found = load_template(template)
    else:
        with open_knowledge_base(database) as kb:
            found = kb.schema
    if as_json:
        print_json(_listed(found))
    elif not found.name:
        click.echo(
            "No schema yet: keys of notes keep their own names. Choose one with: llm graphrag schema use general"
        )
    else:
        click.echo(to_toml(found), nl=False)


@schema.command()
@click.argument("template")
@decision_options
def use(template: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Make a template, or a file of your own, the schema of the knowledge base.

    Frontmatter and inline fields are mapped by it when notes are next added, which
    reads them again; what models have said is read again at once. A file is a
    template's TOML, or JSON of three lists: {"Nodes": [], "Relations": [],
    "Attributes": []}.

    \b
    Examples:
      llm graphrag schema use research-papers
      llm graphrag schema use ./my-schema.toml --note "with instruments"
    """
    from ..review import schema as review

    loaded = load_template(template)
    with open_knowledge_base(database, readonly=False, create=True) as kb:
        with progress_line() as progress:
            done = review.use(kb.connection, kb.settings, loaded, actor, note, progress)
        if as_json:
            print_json({"template": loaded.name, "version": done.version, "facts": done.facts, **done.diff})
        elif not done.any:
            click.echo(f"{loaded.name} is the schema already.")
        else:
            print_changed(kb, done, f"The schema is now {printable(loaded.name)}, version {done.version}.")


@schema.command()
@click.option("--limit", type=click.IntRange(1), help="How many, the newest first.")
@database_option
@json_option
@errors_in_one_line
def log(limit: int | None, database: Path, as_json: bool) -> None:
    """List the versions of the schema: when, by whom, why, and what changed.

    \b
    Examples:
      llm graphrag schema log
      llm graphrag schema log --json
    """
    from ..store.schema import versions

    with open_knowledge_base(database) as kb:
        rows = [{**dict(row), "diff": json.loads(row["diff"])} for row in versions(kb.connection)[:limit]]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        note = f": {printable(row['note'])}" if row["note"] else ""
        click.echo(f"{row['version']:>4}  {row['at']}  {printable(row['actor'])}  {printable(row['template'])}{note}")
        for line in words_of(row["diff"]):
            click.echo(f"      {line}")
    if not rows:
        click.echo("No schema yet. Choose one with: llm graphrag schema use general")


@schema.command()
@click.option("--version", type=click.IntRange(1), metavar="N", help="As it was in this version.")
@click.option(
    "--format", "form", type=click.Choice(["toml", "json"]), default="toml", show_default=True, help="How to write it."
)
@database_option
@errors_in_one_line
def export(version: int | None, form: str, database: Path) -> None:
    """Print the schema whole, to be kept in a file, committed, and used again.

    schema use of what was printed changes nothing. A file for JSON has to end in
    .json.

    \b
    Examples:
      llm graphrag schema export > schema.toml
      llm graphrag schema export --version 3 --format json > third.json
    """
    from ..store.schema import at

    with open_knowledge_base(database) as kb:
        found = at(kb.connection, version or _latest(kb))
    print_doubts(found.doubts)
    click.echo((to_json if form == "json" else to_toml)(found.template), nl=False)


@schema.command()
@click.argument("a", required=False)
@click.argument("b", required=False)
@database_option
@json_option
@errors_in_one_line
def diff(a: str | None, b: str | None, database: Path, as_json: bool) -> None:
    """Print what differs from A to B as a unified diff of the TOML.

    A and B are numbers of versions, files, templates, or "current". Without B it is
    from A to the schema in force, without both it is what the last change did. A diff
    from an exported file brings it up to date: see the last example.

    \b
    Examples:
      llm graphrag schema diff
      llm graphrag schema diff 2 5
      llm graphrag schema diff current contacts
      llm graphrag schema diff schema.toml | patch schema.toml
    """
    with open_knowledge_base(database) as kb:
        latest = _latest(kb)
        sides = [_side(kb, a or str(latest - 1)), _side(kb, b or "current")]
    file = next((side.file for side in sides if side.file), "schema.toml")
    one, other = (side.text.splitlines(keepends=True) for side in sides)
    names = [f"{file}\t{side.label}" for side in sides]
    text = "".join(difflib.unified_diff(one, other, names[0], names[1]))
    if as_json:
        print_json({"from": sides[0].label, "to": sides[1].label, "diff": text})
        return
    click.echo(text, nl=False)
    if not text:
        click.echo(f"{sides[0].label} and {sides[1].label} do not differ.", err=True)


class _Side:
    """One of two schemas to compare: its TOML, what to call it, and the file if it is one."""

    def __init__(self, template: Template | None, label: str, file: str = "") -> None:
        self.text = to_toml(template) if template else ""
        self.label, self.file = printable(label), printable(file)


def _side(kb: KnowledgeBase, written: str) -> _Side:
    from ..store.schema import at, version

    if written == "0":
        return _Side(None, "version 0")
    if written == "current" or (written.isascii() and written.isdigit() and not Path(written).exists()):
        number = version(kb.connection) if written == "current" else int(written[:18])
        found = at(kb.connection, number)
        print_doubts(found.doubts)
        return _Side(found.template, f"version {number}")
    return _Side(load_template(written), f"template {written}", written if Path(written).is_file() else "")


def _latest(kb: KnowledgeBase) -> int:
    from ..store.schema import version

    number = version(kb.connection)
    if not number:
        raise click.ClickException("No schema yet. Choose one with: llm graphrag schema use general")
    return number


def _counted(template: Template) -> dict[str, object]:
    return {
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "entity_types": len(template.entity_types),
        "relations": len(template.relations),
        "attributes": len(template.attributes),
    }


def _listed(template: Template) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "entity_types": [asdict(item) for item in template.entity_types],
        "relations": [asdict(item) for item in template.relations],
        "attributes": [asdict(item) for item in template.attributes],
        "frontmatter": template.frontmatter,
    }
