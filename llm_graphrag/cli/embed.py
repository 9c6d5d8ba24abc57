"""``llm graphrag embed``: vectors."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ..text.counted import counted
from .options import ProgressLine, database_option, errors_in_one_line, json_option, open_knowledge_base


@click.command()
@click.option("-m", "--model", help="Embedding model to change to, by llm's name or alias; graphrag-static is bundled.")
@click.option("--full", is_flag=True, help="Compare every passage and name, not only what the change log names.")
@click.option("--off", is_flag=True, help="Make no more vectors when notes are added; those there are stay.")
@database_option
@json_option
@errors_in_one_line
def embed(model: str | None, full: bool, off: bool, database: Path, as_json: bool) -> None:
    """Make vectors of what has none, or change the model that makes them.

    ``add`` does this by itself, with the small model that is bundled. With another
    model the old vectors stay in use until the new ones are complete; an interrupted
    change goes on where it stopped. ``llm similar graphrag-chunks`` works on the file.

    \b
    Examples:
      llm graphrag embed
      llm graphrag embed --model 3-small
      llm similar graphrag-chunks -c "boat repairs" -d graphrag.db
    """
    if off and (model or full):
        raise click.UsageError("--off stands alone")
    progress = ProgressLine()
    with open_knowledge_base(database, readonly=False) as kb:
        if off:
            kb.set(embedding_model="")
            click.echo("No vectors will be made from now on. Back on with: llm graphrag embed --model graphrag-static")
            return
        try:
            done = kb.embed(model, progress, full)
        finally:
            progress.close()
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
        return
    blank = f", {counted(done.nothing, 'passage holds', 'passages hold')} nothing to embed" if done.nothing else ""
    click.echo(f"{counted(done.made, 'vector')} made, {done.removed:,} removed{blank}.")
