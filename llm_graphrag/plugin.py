"""The plugin of the ``llm`` command line tool; nothing is imported until ``graphrag`` is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

hookimpl = pluggy.HookimplMarker("llm")

#: command → (module of llm_graphrag.cli, name in it, the line that --help shows)
COMMANDS = {
    "add": ("add", "add", "Read notes, files, tables and conversations."),
    "ask": ("ask", "ask", "Answer a question with cited passages."),
    "budget": ("budget", "budget", "Limit what models may cost."),
    "check": ("care", "check", "Verify every invariant of the file."),
    "contradictions": ("contradictions", "contradictions", "Show what notes say that cannot all be so."),
    "embed": ("embed", "embed", "Make vectors, or change the model that makes them."),
    "entity": ("entity", "entity", "Show what is known of one entity."),
    "export": ("export", "export", "Write the graph as a file, or facts beside the notes."),
    "extract": ("extract", "extract", "Have a model read the notes, within a schema and a budget."),
    "follow": ("follow", "follow", "Follow relations from one thing, step by step."),
    "forget": ("remove", "forget", "Delete an entity with its mentions and facts."),
    "history": ("history", "history", "Show what changed, when, and by whom."),
    "import": ("graph_import", "import_", "Read a graph: triples, nodes, or facts that export wrote."),
    "init": ("care", "init", "Make an empty knowledge base, or bring one up to date."),
    "link": ("link", "link", "Show which entities names mean."),
    "merges": ("merges", "merges", "Decide which entities are one."),
    "path": ("path", "path", "Show how two things are connected."),
    "prices": ("budget", "prices", "Show and set what models cost by the token."),
    "proposals": ("proposals", "proposals", "Decide on the types that models asked for."),
    "query": ("query", "query", "Ask the file in SQL, or have a model write the SQL."),
    "rebuild": ("care", "rebuild", "Make every derived table anew."),
    "remove": ("remove", "remove", "Remove documents or whole sources."),
    "schema": ("schema", "schema", "List, choose and change the schema."),
    "search": ("search", "search", "Find the passages that fit a question best."),
    "spend": ("budget", "spend", "Show what models have cost so far."),
    "status": ("care", "status", "Show what the file holds, and what is stale."),
}

HELP = """Turn notes into a knowledge graph in one SQLite file, and ask it.

\b
Examples:
  llm graphrag add ~/notes
  llm graphrag search "boat repairs"
  llm graphrag ask "Who repaired the Heron?"

The file is the one named by -d, else by $LLM_GRAPHRAG_DB, else graphrag.db in
llm's user directory.
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from importlib import import_module

        module, attribute, _ = COMMANDS[name]
        command: click.Command = getattr(import_module(f".cli.{module}", __package__), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows: Sequence[tuple[str, str]] = [(name, COMMANDS[name][2]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


# As llm has it: a command keeps the help option that it was first asked for, under llm or without it.
@click.group(name="graphrag", cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="llm-graphrag", prog_name="llm graphrag")
def graphrag() -> None:
    pass


@hookimpl
def register_embedding_models(register: Any) -> None:
    from .index.onnx import adapters
    from .static_model.llm_model import StaticEmbeddingModel

    register(StaticEmbeddingModel(), aliases=("graphrag-static",))
    for adapter in adapters():
        register(adapter)


@hookimpl
def register_commands(cli: Any) -> None:
    cli.add_command(graphrag)
