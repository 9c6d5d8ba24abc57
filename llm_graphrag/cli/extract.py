"""``llm graphrag extract``: have a model read the notes, within a schema and a budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from ..text.counted import counted
from . import extract_printer as printer
from .model_options import ModelChoice, model_options
from .options import (
    ProgressLine,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    print_json,
    refuse,
)
from .values import Address, NewFile

if TYPE_CHECKING:
    from ..extract.asking import Reader
    from ..extract.batch_export import Exported
    from ..extract.estimate import Estimate
    from ..extract.run import Options, Report

NOBODY = "Nothing was asked. Say how much it may be with --budget or --limit, or that it may be all with --yes."


@click.command()
@database_option
@model_options
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Calls at the same time: 4, or with --dask as many as the cluster has threads.",
)
@click.option(
    "--dask",
    type=Address(),
    metavar="ADDRESS",
    help="Make the calls on a Dask cluster: the address of its scheduler.",
)
@click.option("--limit", type=click.IntRange(1), help="Ask about at most this many windows.")
@click.option("--document", "documents", multiple=True, metavar="URI", help="Only this document; may be repeated.")
@click.option("--where", metavar="SQL", help="Only documents that meet this SQL condition, as of search.")
@click.option("--tag", help="Only documents with this tag, or one nested in it.")
@click.option("--retry-failed", is_flag=True, help="Ask again about the windows that failed, and no others.")
@click.option("--again", is_flag=True, help="Ask again about what has been read: another model, another prompt.")
@click.option("--two-step", is_flag=True, help="Two calls a window: entities, then facts. For weak local models.")
@click.option("--from-replies", is_flag=True, help="Read the kept replies anew; no model is asked.")
@click.option(
    "--export-requests",
    type=NewFile(),
    metavar="FILE",
    help="Ask nobody: write the requests for a provider's batch.",
)
@click.option(
    "--batch-format",
    type=click.Choice(["openai", "anthropic"]),
    default="openai",
    show_default=True,
    help="Whose batch --export-requests writes; replies are recognised.",
)
@click.option(
    "--import-replies",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Store what the replies of a batch say.",
)
@click.option("--any-model", is_flag=True, help="Import also what names another model than was asked: a deployment.")
@click.option("--forget-exported", is_flag=True, help="Take back what was exported: it can be asked about again.")
@click.option(
    "--estimate", "only_estimate", is_flag=True, help="Print what would be asked and what it costs, and stop."
)
@click.option("--dry-run", is_flag=True, help="Print the first prompt, and stop.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before reading everything without a budget or a limit.")
@json_option
@errors_in_one_line
def extract(database: Path, model: ModelChoice, as_json: bool, **chosen: Any) -> None:
    """Have a model read the notes: entities, facts and attributes within the schema.

    One call reads a window of about 2,000 tokens. Every fact is stored with the
    sentence that states it; what has none in the text is not stored. Only what is
    new or changed is read, and a run that was stopped goes on where it stopped.
    Without --budget and --limit the estimate is shown first, and you are asked.

    Exit status: 0 done, 3 done but for some windows, 4 stopped by the budget, 1
    stopped by errors, 2 wrong options or nobody there to be asked, 130 interrupted.

    \b
    Examples:
      llm graphrag extract --estimate
      llm graphrag extract -m gpt-4o-mini --limit 5
      llm graphrag extract -m gpt-4o-mini --budget 0.50usd --workers 8
      llm graphrag extract -m qwen2.5 --two-step --yes
      llm graphrag extract -m qwen2.5 --dask tcp://10.0.0.5:8786 --yes
      llm graphrag extract -m gpt-4o-mini --export-requests batch.jsonl --limit 500
      llm graphrag extract --import-replies batch_output.jsonl
      llm graphrag extract --retry-failed
      llm graphrag extract --from-replies
    """
    _refuse_together(chosen)
    with open_knowledge_base(database, readonly=False) as kb:
        if chosen["from_replies"]:
            _replay(kb, as_json)
        elif chosen["import_replies"] is not None:
            sys.exit(_import(kb, chosen["import_replies"], chosen["any_model"], as_json))
        elif (documents := _documents(kb, **_of(chosen, *CHOICE))) == []:
            printer.print_no_match({_option(name): chosen[name] for name in CHOICE if chosen[name]}, as_json)
        elif chosen["forget_exported"]:
            _forget(kb, documents, as_json)
        else:
            sys.exit(_ask(kb, model, documents, chosen, as_json))


WAYS = ("from_replies", "export_requests", "import_replies", "forget_exported", "dask")
CHOICE = ("documents", "where", "tag")  # which notes
HOW = ("limit", "again", "retry_failed", "two_step", "only_estimate", "dry_run")  # … and how they are asked about
FOR_CALLS = ("model", "model_option", "key", "budget", "soft_budget", "timeout", "workers")
TOGETHER = (
    ("again", "retry_failed"),
    ("only_estimate", "dry_run"),
    ("export_requests", "two_step"),
    *((way, other) for way in ("from_replies", "import_replies") for other in (*CHOICE, *HOW)),
    *(("forget_exported", other) for other in HOW),
)


def _refuse_together(chosen: dict[str, Any]) -> None:
    """One thing at a time, and each option where it means something."""
    ways = [name for name in WAYS if chosen[name]]
    for one, other in (*zip(ways, ways[1:], strict=False), *TOGETHER):
        if chosen[one] and chosen[other]:
            raise click.UsageError(f"{_option(one)} and {_option(other)} do not go together.")
    if chosen["export_requests"] is None:
        refuse("goes with --export-requests.", "batch_format")
    if way := next((name for name in ("from_replies", "import_replies", "forget_exported") if chosen[name]), None):
        refuse(f"is for calls, and {_option(way)} makes none.", *FOR_CALLS)
    if chosen["any_model"] and chosen["import_replies"] is None:
        raise click.UsageError("--any-model goes with --import-replies.")


def _option(name: str) -> str:
    """An option as it is written."""
    return "--document" if name == "documents" else f"--{name.removeprefix('only_').replace('_', '-')}"


def _ask(
    kb: KnowledgeBase, model: ModelChoice, documents: list[int] | None, chosen: dict[str, Any], as_json: bool
) -> int:
    """Ask a model, or write down what it would be asked; returns the exit status."""
    options, two_step, to = _options(kb, documents, chosen), chosen["two_step"], chosen["export_requests"]
    with model.caller(kb.path) as caller:
        reader = kb.extraction_reader(caller, two_step)
        if chosen["dry_run"]:
            _show_prompt(kb, options, reader, as_json)
            return 0
        only_estimate = chosen["only_estimate"]
        if only_estimate or (not chosen["yes"] and not model.budget and options.limit is None):
            estimate = kb.extraction_estimate(reader, options)
            if only_estimate:
                printer.print_estimate(estimate, reader, as_json)
                return 0
            if estimate.windows:  # where there is nothing to ask about, the run says so
                printer.print_estimate(estimate, reader, err=True)
                if (status := _agreed(estimate, reader, "Read" if to is None else "Export", as_json)) is not None:
                    return status
        if to is not None:
            return _export(kb, caller, to, chosen["batch_format"], options, two_step, as_json)
        return _run(kb, caller, options, two_step, as_json)


def _of(chosen: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: chosen[name] for name in names}


def _options(kb: KnowledgeBase, documents: list[int] | None, chosen: dict[str, Any]) -> Options:
    from ..extract.run import Options

    return Options(
        **_of(chosen, "workers", "dask", "limit", "again"),
        window_tokens=kb.settings.window_tokens,
        documents=documents,
        failed=chosen["retry_failed"],
    )


def _documents(kb: KnowledgeBase, documents: tuple[str, ...], where: str | None, tag: str | None) -> list[int] | None:
    """The documents that were chosen; None for all."""
    from ..routes.scope import scope

    found = scope(kb.connection, where, tag)
    if documents:
        named = {_document(kb, uri) for uri in documents}
        found = frozenset(named if found is None else named & found)
    return None if found is None else sorted(found)


def _document(kb: KnowledgeBase, uri: str) -> int:
    row = kb.connection.execute("SELECT id FROM kg_documents WHERE uri = ?", [uri]).fetchone()
    if row is None:
        raise click.BadParameter(
            f"There is no document {uri!r}. Find it with: llm graphrag search WORDS", param_hint="--document"
        )
    return int(row[0])


def _show_prompt(kb: KnowledgeBase, options: Options, reader: Reader, as_json: bool) -> None:
    from ..extract.estimate import windows_to_ask
    from ..facts.llm.prompt import window_prompt

    windows = windows_to_ask(kb.connection, options)
    if as_json:
        prompt = window_prompt(windows[0]) if windows else None
        print_json({"windows": len(windows), "system": reader.system, "prompt": prompt})
        return
    if not windows:
        click.echo("There is nothing to ask about.")
        return
    click.echo(
        click.style(f"System prompt, the same for each of {counted(len(windows), 'window')}:", bold=True), err=True
    )
    click.echo(_lines(reader.system))
    click.echo(click.style("First window:", bold=True), err=True)
    click.echo(_lines(window_prompt(windows[0])))


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def _agreed(estimate: Estimate, reader: Reader, what: str, as_json: bool) -> int | None:
    """Ask the person; the exit status where it is not to be done."""
    if not sys.stdin.isatty():
        why, status = NOBODY, 2
        click.echo(why, err=True)
    elif click.confirm(f"{what} {counted(estimate.windows, 'window')}?", err=True):
        return None
    else:
        why, status = "You said no.", 0
    if as_json:
        print_json({"error": why, "estimate": printer.estimate_as_dict(estimate, reader)})
    return status


def _run(kb: KnowledgeBase, caller: Any, options: Options, two_step: bool, as_json: bool) -> int:
    progress, chosen = ProgressLine(), kb.schema.name
    try:
        report: Report = kb.extract(caller, options, two_step, progress)
    finally:
        progress.close()
    _say_schema(kb, chosen)
    printer.print_report(kb, report, as_json, retried=options.failed)
    return printer.exit_status(report)


def _export(
    kb: KnowledgeBase, caller: Any, path: Path, format: str, options: Options, two_step: bool, as_json: bool
) -> int:
    progress, chosen = ProgressLine(), kb.schema.name
    try:
        report: Exported = kb.export_requests(caller, path, format, options, two_step, progress)
    finally:
        progress.close()
    _say_schema(kb, chosen)
    printer.print_exported(report, printable(str(path)), caller.model_id, as_json)
    return printer.exit_status_of_export(report)


def _say_schema(kb: KnowledgeBase, chosen: str) -> None:
    if not chosen:
        click.echo(
            f"No schema had been chosen: {kb.schema.name} is now in force. Others: llm graphrag schema list", err=True
        )


def _import(kb: KnowledgeBase, path: Path, any_model: bool, as_json: bool) -> int:
    progress = ProgressLine()
    try:
        report = kb.import_replies(path, any_model, progress)
    finally:
        progress.close()
    printer.print_imported(report, as_json)
    return printer.exit_status_of_import(report)


def _forget(kb: KnowledgeBase, documents: list[int] | None, as_json: bool) -> None:
    windows = kb.forget_exported(documents)
    if as_json:
        print_json({"windows": windows})
    else:
        click.echo(f"{counted(windows, 'window')} can be asked about again; what was set aside is free.")


def _replay(kb: KnowledgeBase, as_json: bool) -> None:
    progress = ProgressLine()
    try:
        report = kb.replay(progress)
    finally:
        progress.close()
    printer.print_replayed(report, as_json)
