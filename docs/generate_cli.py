"""Write docs/cli.md from the help texts of ``llm graphrag``; ``--check`` only says whether it is up to date.

The help texts are the one place where a command is described, so this page cannot
disagree with the program. Lines are 80 columns wide whatever the terminal is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from llm_graphrag import plugin

__all__ = ["commands", "main", "render"]

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 80

INTRODUCTION = """\
# Command reference

Every command of `llm graphrag`, as `--help` prints it. This page is written by
`make docs`; change the help texts, not this file.
"""


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Each command as (full name, command, context), groups before their members, as llm would show them."""
    root = click.Group("llm")
    plugin.register_commands(root)
    parent = click.Context(root, info_name="llm", terminal_width=WIDTH, max_content_width=WIDTH)
    yield from _walk(root.commands["graphrag"], "graphrag", parent)


def _walk(
    command: click.Command, name: str, parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(
        command, parent, name, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings
    )
    if command.hidden:
        return
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for member in command.list_commands(context):
            found = command.get_command(context, member)
            if found is not None:
                yield from _walk(found, member, context)


def render() -> str:
    """The whole page."""
    found = list(commands())
    contents = [f"- [`{path}`](#{anchor(path)})" for path, _, _ in found]
    sections = [
        f"## {path}\n\n```\n{click.unstyle(command.get_help(context))}\n```\n" for path, command, context in found
    ]
    return "\n".join([INTRODUCTION, *contents, "", *sections])


def anchor(path: str) -> str:
    """The fragment that a Markdown heading of this text gets."""
    return path.replace(" ", "-")


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` return 1 if it is not what would be written."""
    page = render()
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
            return 0
        print(f"{PAGE.name} is out of date. Run: make docs", file=sys.stderr)
        return 1
    if arguments:
        print("usage: python docs/generate_cli.py [--check]", file=sys.stderr)
        return 2
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
