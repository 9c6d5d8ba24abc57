"""``llm graphrag extract``: have a model read the notes, within a schema and a budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from .model_options import ModelChoice, model_options
from .options import (
    EXIT_BUDGET,
    EXIT_INTERRUPTED,
    EXIT_SKIPPED,
    ProgressLine,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    print_json,
)

if TYPE_CHECKING:
    from ..extract.estimate import Estimate
    from ..extract.run import Options, Report

REASONS = 8  # reasons for dropping that are printed


@click.command()
@database_option
@model_options
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Calls at the same time: 4, or with --dask as many as the cluster has threads.",
)
@click.option("--dask", metavar="ADDRESS", help="Make the calls on a Dask cluster: the address of its scheduler.")
@click.option("--limit", type=click.IntRange(1), help="Ask about at most this many windows.")
@click.option("--document", "documents", multiple=True, metavar="URI", help="Only this document; may be repeated.")
@click.option("--where", metavar="SQL", help="Only documents that meet this SQL condition, as of search.")
@click.option("--tag", help="Only documents with this tag, or one nested in it.")
@click.option("--retry-failed", is_flag=True, help="Ask again about the windows that failed, and no others.")
@click.option("--again", is_flag=True, help="Ask again about what has been read: another model, another prompt.")
@click.option("--two-step", is_flag=True, help="Two calls a window: entities, then facts. For weak local models.")
@click.option("--from-replies", is_flag=True, help="Read the kept replies anew; no model is asked.")
@click.option(
    "--estimate", "only_estimate", is_flag=True, help="Print what would be asked and what it costs, and stop."
)
@click.option("--dry-run", is_flag=True, help="Print the first prompt, and stop.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before reading everything without a budget or a limit.")
@json_option
@errors_in_one_line
def extract(
    database: Path,
    model: ModelChoice,
    documents: tuple[str, ...],
    where: str | None,
    tag: str | None,
    from_replies: bool,
    only_estimate: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    two_step: bool,
    **chosen: Any,
) -> None:
    """Have a model read the notes: entities, facts and attributes within the schema.

    One call reads a window of about 2,000 tokens. Every fact is stored with the
    sentence that states it; what has none in the text is not stored. Only what is
    new or changed is read, and a run that was stopped goes on where it stopped.
    Without --budget and --limit the estimate is shown first, and you are asked.

    Exit status: 0 done, 3 done but for some windows, 4 stopped by the budget, 1
    stopped by errors, 130 interrupted.

    \b
    Examples:
      llm graphrag extract --estimate
      llm graphrag extract -m gpt-4o-mini --limit 5
      llm graphrag extract -m gpt-4o-mini --budget 0.50usd --workers 8
      llm graphrag extract -m qwen2.5 --two-step --yes
      llm graphrag extract --retry-failed
      llm graphrag extract --from-replies
    """
    with open_knowledge_base(database, readonly=False) as kb:
        if from_replies:
            _replay(kb, as_json)
            return
        options = _options(kb, documents, where, tag, **chosen)
        with model.caller(kb.path) as caller:
            reader = kb.extraction_reader(caller, two_step)
            if dry_run:
                _show_prompt(kb, options, reader)
                return
            if only_estimate or (not yes and not model.budget and options.limit is None):
                estimate = kb.extraction_estimate(reader, options)
                _print_estimate(estimate, reader, as_json and only_estimate, err=not only_estimate)
                if only_estimate or not estimate.windows:
                    return
                _confirm(estimate)
            report = _run(kb, caller, options, two_step, as_json)
    sys.exit(_exit_status(report))


def _options(
    kb: KnowledgeBase,
    documents: tuple[str, ...],
    where: str | None,
    tag: str | None,
    workers: int | None,
    dask: str | None,
    limit: int | None,
    retry_failed: bool,
    again: bool,
) -> Options:
    from ..extract.run import Options
    from ..routes.scope import scope

    chosen = scope(kb.connection, where, tag)
    if documents:
        named = {_document(kb, uri) for uri in documents}
        chosen = frozenset(named if chosen is None else named & chosen)
    return Options(
        workers=workers,
        dask=dask,
        limit=limit,
        window_tokens=kb.settings.window_tokens,
        documents=None if chosen is None else sorted(chosen),
        again=again,
        failed=retry_failed,
    )


def _document(kb: KnowledgeBase, uri: str) -> int:
    row = kb.connection.execute("SELECT id FROM kg_documents WHERE uri = ?", [uri]).fetchone()
    if row is None:
        raise click.UsageError(f"There is no document {uri!r}. Find it with: llm graphrag search WORDS")
    return int(row[0])


def _show_prompt(kb: KnowledgeBase, options: Options, reader: Any) -> None:
    from ..extract.estimate import windows_to_ask
    from ..facts.llm.prompt import window_prompt

    windows = windows_to_ask(kb.connection, options)
    if not windows:
        click.echo("There is nothing to ask about.")
        return
    click.echo(click.style(f"System prompt, the same for all {len(windows):,} windows:", bold=True), err=True)
    click.echo(_lines(reader.system))
    click.echo(click.style("First window:", bold=True), err=True)
    click.echo(_lines(window_prompt(windows[0])))


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def _print_estimate(estimate: Estimate, reader: Any, as_json: bool, err: bool) -> None:
    from dataclasses import asdict

    from ..prices import price_of

    price = price_of(reader.caller.model_id)
    cost = price.cost(estimate.prompt_tokens, estimate.output_tokens) if price else None
    most = price.cost(estimate.prompt_tokens, estimate.most_output_tokens) if price else None
    if as_json:
        print_json({"model": reader.caller.model_id, **asdict(estimate), "cost_usd": cost, "most_cost_usd": most})
        return
    click.echo(
        f"{estimate.windows:,} windows of {estimate.documents:,} documents, {estimate.text_tokens:,} tokens of text.\n"
        f"{reader.caller.model_id}: about {estimate.prompt_tokens:,} tokens of prompts and "
        f"{estimate.output_tokens:,} of replies{' (a guess, no reply is known yet)' if estimate.guessed else ''}; "
        + (
            f"about ${cost:.4f}, at most ${most:.4f}."
            if cost is not None
            else "its price is not known (llm graphrag prices set MODEL …)."
        ),
        err=err,
    )


def _confirm(estimate: Estimate) -> None:
    if not sys.stdin.isatty():
        click.echo(
            "Nothing was asked. Say how much it may be with --budget or --limit, or that it may be all with --yes.",
            err=True,
        )
        sys.exit(2)
    if not click.confirm(f"Read all {estimate.windows:,} windows?", err=True):
        sys.exit(0)


def _run(kb: KnowledgeBase, caller: Any, options: Options, two_step: bool, as_json: bool) -> Report:
    progress = ProgressLine()
    chosen = kb.schema.name
    try:
        report = kb.extract(caller, options, two_step, progress)
    finally:
        progress.close()
    if not chosen:
        click.echo(
            f"No schema had been chosen: {kb.schema.name} is now in force. Others: llm graphrag schema list", err=True
        )
    _print_report(kb, report, as_json)
    return report


def _print_report(kb: KnowledgeBase, report: Report, as_json: bool) -> None:
    totals = kb.totals()
    if as_json:
        from dataclasses import asdict

        print_json({**asdict(report), "totals": totals})
        return
    if not report.windows:
        click.echo("There is nothing new to read.")
        return
    click.echo(
        f"Windows: {report.done:,} read"
        + (f", {report.failed:,} failed" if report.failed else "")
        + (f", {report.left:,} left" if report.left else "")
        + f". Calls: {report.calls:,}; {report.input_tokens:,} tokens in, {report.output_tokens:,} out."
    )
    click.echo(
        f"Kept: {report.kept:,} statements with their sentences; {totals['triples']:,} triples and "
        f"{totals['attributes']:,} attributes in all."
    )
    _print_dropped(report.dropped, report.wishes)
    for error, number in report.errors.most_common(REASONS):
        click.echo(f"Failed, {number:,} ×: {printable(error)}", err=True)
    if report.halved:
        click.echo(f"{report.halved:,} windows were asked about again in halves: their replies did not fit.", err=True)
    if report.failed:
        click.echo("Asked again at the next run; llm graphrag status lists them.", err=True)
    for warning in report.warnings:
        click.echo(warning, err=True)
    if report.stopped:
        click.echo(f"Stopped: {printable(report.why)}", err=True)


def _print_dropped(dropped: Any, wishes: int) -> None:
    if dropped:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in dropped.most_common(REASONS))
        click.echo(f"Not kept: {reasons}.")
    if wishes:
        click.echo(f"Types the model would have liked to have: {wishes:,} times.")


def _replay(kb: KnowledgeBase, as_json: bool) -> None:
    from dataclasses import asdict

    progress = ProgressLine()
    try:
        report = kb.replay(progress)
    finally:
        progress.close()
    if as_json:
        print_json(asdict(report))
        return
    click.echo(f"Replies: {report.windows:,} read anew, {report.failed:,} of them unusable. Kept: {report.kept:,}.")
    _print_dropped(report.dropped, report.wishes)


def _exit_status(report: Report) -> int:
    ended = {"budget": EXIT_BUDGET, "interrupted": EXIT_INTERRUPTED, "errors": 1}
    return ended.get(report.stopped, EXIT_SKIPPED if report.failed else 0)
