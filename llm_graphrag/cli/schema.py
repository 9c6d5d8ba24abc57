"""``llm graphrag schema``: which types there are."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from ..facts.template import Template, list_templates, load_template
from ..facts.template_file import to_toml
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json


@click.group()
def schema() -> None:
    """List, show and choose the schema: entity types, relations, attributes.

    \b
    Examples:
      llm graphrag schema list
      llm graphrag schema use contacts
    """


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
@click.option("--note", default="", help="Why, for the version log.")
@click.option("--actor", default=getpass.getuser, show_default="your user name", help="Who, for the version log.")
@database_option
@json_option
@errors_in_one_line
def use(template: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Make a template, or a file of your own, the schema of the knowledge base.

    Frontmatter and inline fields are mapped by it when notes are next added, which
    reads them again. A file is a template's TOML, or JSON of three lists:
    {"Nodes": [], "Relations": [], "Attributes": []}.

    \b
    Examples:
      llm graphrag schema use research-papers
      llm graphrag schema use ./my-schema.toml --note "with instruments"
    """
    loaded = load_template(template)
    with open_knowledge_base(database, readonly=False, create=True) as kb:
        diff = kb.use_schema(loaded, actor, note)
    if as_json:
        print_json({"template": loaded.name, **diff})
        return
    if not any(diff.values()):
        click.echo(f"{loaded.name} is the schema already.")
        return
    for word in ("added", "retired", "changed"):
        if diff[word]:
            click.echo(f"{word}: " + ", ".join(name for _, name in diff[word]))
    click.echo(f"The schema is now {loaded.name}. Notes are read under it at the next: llm graphrag add FOLDER")


def _counted(template: Template) -> dict[str, object]:
    return {
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "entity_types": len(template.entity_types),
        "relations": len(template.relations),
        "attributes": len(template.attributes),
    }


def _listed(template: Template) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "name": template.name,
        "title": template.title,
        "entity_types": [asdict(item) for item in template.entity_types],
        "relations": [asdict(item) for item in template.relations],
        "attributes": [asdict(item) for item in template.attributes],
        "frontmatter": template.frontmatter,
    }
