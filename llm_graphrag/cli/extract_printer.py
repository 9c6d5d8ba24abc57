"""What ``llm graphrag extract`` prints: estimates, what a run did, what was exported and imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from ..store.batches import exported
from ..store.budgets import shown
from ..text.counted import counted
from .options import EXIT_BUDGET, EXIT_INTERRUPTED, EXIT_SKIPPED, print_json

if TYPE_CHECKING:
    from ..extract.asking import Reader
    from ..extract.batch_export import Exported
    from ..extract.batch_import import Imported
    from ..extract.estimate import Estimate
    from ..extract.extract import Replayed
    from ..extract.run import Report

REASONS = 8  # reasons for dropping that are printed
LINES = 10  # lines of a file that were skipped


def as_dict(report: Any) -> dict[str, Any]:
    """A report as JSON; ``dataclasses.asdict`` takes a Counter apart on some Pythons."""
    return {field.name: _plain(getattr(report, field.name)) for field in fields(report)}


def _plain(value: Any) -> Any:
    if isinstance(value, Counter):
        return dict(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return as_dict(value) if is_dataclass(value) else value


def estimate_as_dict(estimate: Estimate, reader: Reader) -> dict[str, Any]:
    from ..prices import price_of

    price = price_of(reader.caller.model_id)
    cost = price.cost(estimate.prompt_tokens, estimate.output_tokens) if price else None
    most = price.cost(estimate.most_prompt_tokens, estimate.most_output_tokens) if price else None
    return {"model": reader.caller.model_id, **asdict(estimate), "cost_usd": cost, "most_cost_usd": most}


def print_estimate(estimate: Estimate, reader: Reader, as_json: bool = False, err: bool = False) -> None:
    found = estimate_as_dict(estimate, reader)
    cost, most = found["cost_usd"], found["most_cost_usd"]
    if as_json:
        print_json(found)
        return
    if not estimate.windows:
        click.echo("There is nothing to ask about.", err=err)
        return
    click.echo(
        f"{counted(estimate.windows, 'window')} of {counted(estimate.documents, 'document')}, "
        f"{estimate.text_tokens:,} tokens of text.\n"
        f"{reader.caller.model_id}: about {estimate.prompt_tokens:,} tokens of prompts{_range(estimate)} and "
        f"{estimate.output_tokens:,} of replies{' (a guess, no reply is known yet)' if estimate.guessed else ''}; "
        + (
            f"about ${cost:.4f}; ${most:.4f} if every reply is as long as it may be. Replies that cannot be used or do "
            "not fit are asked for again; --budget is what holds in any case."
            if cost is not None
            else "its price is not known (llm graphrag prices set MODEL …)."
        ),
        err=err,
    )


def _range(estimate: Estimate) -> str:
    """What is not known before the first call."""
    least, most = estimate.least_prompt_tokens, estimate.most_prompt_tokens
    return f" ({least:,}, or {most:,} if it charges for JSON schemas)" if least < most else ""


def print_no_match(options: Mapping[str, str | tuple[str, ...]], as_json: bool) -> None:
    """The notes that were chosen are none."""
    said = [
        f"{name} {value}" for name, given in options.items() for value in ([given] if isinstance(given, str) else given)
    ]
    why = f"No note matches {printable(' and '.join(said))}, so nothing was done."
    if as_json:
        print_json({"windows": 0, "why": why})
    else:
        click.echo(why)


def _kept(statements: int) -> str:
    return f"Kept: {counted(statements, 'statement')}, each with its sentence"


def print_report(kb: KnowledgeBase, report: Report, as_json: bool, retried: bool = False) -> None:
    totals = kb.totals()
    if as_json:
        print_json({**as_dict(report), "totals": totals})
        return
    if not report.windows:
        click.echo("No window has failed." if retried else "There is nothing new to read.")
        _print_waiting(len(exported(kb.connection)))
        return
    click.echo(
        f"Windows: {report.done:,} read"
        + (f", {report.failed:,} failed" if report.failed else "")
        + (f", {report.left:,} left" if report.left else "")
        + f". Calls: {report.calls:,}; {report.input_tokens:,} tokens in, {report.output_tokens:,} out."
    )
    click.echo(
        f"{_kept(report.kept)}; {counted(totals['triples'], 'triple')} and "
        f"{counted(totals['attributes'], 'attribute')} in all."
    )
    _print_dropped(report.dropped, report.wishes)
    _print_errors(report.errors)
    if report.halved:
        click.echo(f"Replies that did not fit: {report.halved:,}; their windows are read in halves.", err=True)
    if report.cut:
        click.echo(f"Replies without their end: {report.cut:,}; what they had said until then is kept.", err=True)
    if report.lost_calls:
        click.echo(
            f"Broken off, counted in full: {counted(report.lost_calls, 'call')}, {report.lost_tokens:,} tokens.",
            err=True,
        )
    if report.failed:
        click.echo("Asked again at the next run; llm graphrag status lists them.", err=True)
    for warning in report.warnings:
        click.echo(printable(warning), err=True)
    if report.stopped:
        click.echo(f"Stopped: {printable(report.why)}", err=True)


def print_replayed(report: Replayed, as_json: bool) -> None:
    if as_json:
        print_json(as_dict(report))
        return
    click.echo(f"Replies: {report.windows:,} read anew, {report.failed:,} of them unusable. Kept: {report.kept:,}.")
    _print_dropped(report.dropped, report.wishes)


def print_exported(report: Exported, path: str, model: str, as_json: bool) -> None:
    if as_json:
        print_json({"file": path if report.windows else None, "model": model, **as_dict(report)})
        return
    if report.windows:
        cost = "its price is not known" if report.cost is None else shown(report.cost, "usd")
        click.echo(
            f"{path}: {counted(report.windows, 'request')} to {model}. Set aside: {report.tokens:,} tokens, {cost}."
        )
        click.echo(
            "Their windows wait for the replies: llm graphrag extract --import-replies FILE (or --forget-exported)",
            err=True,
        )
    elif not report.stopped:
        click.echo("There is nothing new to read; no file was written.")
    if report.stopped:
        click.echo(f"Stopped with {counted(report.left, 'window')} left: {printable(report.why)}", err=True)


def print_imported(report: Imported, as_json: bool) -> None:
    if as_json:
        print_json(as_dict(report))
        return
    counts = [
        (report.done, "read"), (report.failed, "failed"), (report.halved, "did not fit and will be asked in halves"),
        (report.unasked, "expired or cancelled"), (report.repeated, "imported before"),
        (report.unused, "not needed any more"), (len(report.skipped), "skipped"),
    ]  # fmt: skip
    said = ", ".join(f"{number:,} {what}" for number, what in counts if number)
    click.echo(f"Replies: {said or 'none'}. {report.input_tokens:,} tokens in, {report.output_tokens:,} out.")
    click.echo(f"{_kept(report.kept)}.")
    _print_dropped(report.dropped, report.wishes)
    if report.input_tokens and not report.unpriced:
        click.echo(f"At list price, without a discount for batches: {shown(report.cost, 'usd')}.")
    for number, why in report.skipped[:LINES]:
        click.echo(f"Line {number:,} {printable(why)}", err=True)
    if len(report.skipped) > LINES:
        click.echo(f"… and {len(report.skipped) - LINES:,} more; --json lists all", err=True)
    _print_errors(report.errors)
    if report.changed:
        click.echo(f"Passages that have changed since they were exported: {report.changed:,}; left out.", err=True)
    if report.failed or report.halved or report.unasked:
        click.echo("What was not read is asked at the next run or export; llm graphrag status lists it.", err=True)
    _print_waiting(report.waiting)
    for warning in report.warnings:
        click.echo(printable(warning), err=True)


def _print_waiting(windows: int) -> None:
    if windows:
        click.echo(
            f"Windows that wait for the replies of a batch: {windows:,} (--import-replies FILE, or --forget-exported)",
            err=True,
        )


def _print_dropped(dropped: Counter[str], wishes: int) -> None:
    if dropped:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in dropped.most_common(REASONS))
        click.echo(f"Not kept: {reasons}.")
    if wishes:
        click.echo(
            f"Types the model would have liked to have: {counted(wishes, 'time')}; see llm graphrag proposals list."
        )


def _print_errors(errors: Counter[str]) -> None:
    for error, number in errors.most_common(REASONS):
        click.echo(f"Failed, {number:,} ×: {printable(error)}", err=True)


def exit_status(report: Report) -> int:
    ended = {"budget": EXIT_BUDGET, "interrupted": EXIT_INTERRUPTED, "errors": 1}
    return ended.get(report.stopped, EXIT_SKIPPED if report.failed or report.cut else 0)


def exit_status_of_export(report: Exported) -> int:
    return EXIT_BUDGET if report.stopped == "budget" else 0


def exit_status_of_import(report: Imported) -> int:
    return EXIT_SKIPPED if report.failed or report.skipped else 0
