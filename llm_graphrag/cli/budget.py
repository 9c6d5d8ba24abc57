"""``llm graphrag budget``, ``spend`` and ``prices``: what models may cost, did cost, and cost by the token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ..ledger import KNOWLEDGE_BASE, Budget, Ledger
from ..prices import own_path, remove_price, set_price
from ..prices import prices as all_prices
from ..sources.files import printable
from ..store.budgets import Standing, shown, standing
from ..store.model_calls import used
from ..store.spend import BY, Spend, spend_by, total
from ..text.counted import counted
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json
from .values import Amount, Number, Text


@click.group()
def budget() -> None:
    """Limit what models may cost, for a knowledge base as a whole.

    The budget counts every call ever made for the file, earlier ones too. A call is
    made only if the most it can come to still fits. A run can have a budget of its
    own beside it: see --budget of the command that runs.

    \b
    Examples:
      llm graphrag budget set 5usd
      llm graphrag budget show
    """


@budget.command()
@database_option
@json_option
@errors_in_one_line
def show(database: Path, as_json: bool) -> None:
    """Show the budget, what is spent of it, and what is left.

    \b
    Examples:
      llm graphrag budget show
      llm graphrag budget show --json -d work.db
    """
    with open_knowledge_base(database) as kb:
        found = standing(kb.connection, KNOWLEDGE_BASE, None)
        sums = used(kb.connection)
    if as_json:
        spent = {"tokens": sums["tokens"], "usd": sums["cost"], "unpriced_calls": sums["unpriced"]}
        print_json({"database": str(database), "budget": _described(found), "spent": spent})
    elif found is None:
        click.echo(
            f"No budget. {shown(sums['tokens'], 'tokens')} used so far, {shown(sums['cost'], 'usd')}. "
            "Set one with: llm graphrag budget set 5usd"
        )
    else:
        _print_standing(found)


@budget.command(name="set")
@click.argument("amount", type=Amount())
@click.option(
    "--soft",
    is_flag=True,
    help="Let calls through whose reply has no known limit: the budget may then be exceeded by one reply a worker.",
)
@database_option
@json_option
@errors_in_one_line
def set_(amount: Budget, soft: bool, database: Path, as_json: bool) -> None:
    """Set the budget: 0.50usd, $0.50, 200ktok or 2Mtok. It replaces an earlier one.

    AMOUNT is in US dollars or in tokens, and counts from the first call that was ever
    made for this file. To allow 2 dollars more, set what is spent plus 2 dollars.

    \b
    Examples:
      llm graphrag budget set 5usd
      llm graphrag budget set 2Mtok --soft -d work.db
    """
    with Ledger.open(database) as ledger:
        ledger.set_budget(replace(amount, soft=soft))
        (found,) = [item for item in ledger.standings() if item.scope == KNOWLEDGE_BASE]
    if as_json:
        print_json({"database": str(database), "budget": _described(found)})
    else:
        _print_standing(found)


@budget.command()
@database_option
@json_option
@errors_in_one_line
def clear(database: Path, as_json: bool) -> None:
    """Remove the budget; what was spent stays on record.

    \b
    Examples:
      llm graphrag budget clear
    """
    with Ledger.open(database) as ledger:
        cleared = ledger.clear_budget()
    if as_json:
        print_json({"database": str(database), "cleared": cleared})
    else:
        click.echo("No budget any more." if cleared else "There was no budget.")


@click.command()
@click.option("--by", type=click.Choice(BY), default="purpose", show_default=True, help="What to group calls by.")
@database_option
@json_option
@errors_in_one_line
def spend(by: str, database: Path, as_json: bool) -> None:
    """Show what models have cost so far: calls, tokens and US dollars.

    A call that was cut off counts in full as lost, for it may have been charged; one
    that was turned away is free. By document, a call for several notes is split over
    them by the length of their passages.

    \b
    Examples:
      llm graphrag spend
      llm graphrag spend --by document
      llm graphrag spend --by day --json -d work.db
    """
    with open_knowledge_base(database) as kb:
        rows, sums = spend_by(kb.connection, by), total(kb.connection)
    if as_json:
        print_json({"database": str(database), "by": by, "rows": [asdict(row) for row in rows], "total": sums})
        return
    if not rows and not sums["open"]["calls"] and not sums["released"]["calls"]:
        click.echo("No model has been called for this knowledge base.")
        return
    numbers = {name: number for name, number in sums.items() if not isinstance(number, dict)}
    _print_table(
        (by, "calls", "prompt", "reply", "lost", "cost"), [_cells(row) for row in [*rows, Spend("total", **numbers)]]
    )
    for sentence in _remarks(sums):
        click.echo(sentence)


@click.group(name="prices")
def prices() -> None:
    """Show and set what models cost by the token.

    A short table is shipped; your own prices win over it. They stand in
    graphrag-prices.toml in llm's user directory, for all your knowledge bases.

    \b
    Examples:
      llm graphrag prices list gpt-5
      llm graphrag prices set my-model --input 0.25 --output 2
    """


@prices.command(name="list")
@click.argument("query", required=False)
@json_option
@errors_in_one_line
def list_(query: str | None, as_json: bool) -> None:
    """List the prices that are known, in US dollars for a million tokens; QUERY is a part of a model's name.

    \b
    Examples:
      llm graphrag prices list
      llm graphrag prices list claude --json
    """
    found = [
        price
        for price in all_prices()
        if not query or any(query.lower() in name.lower() for name in (price.model, *price.aliases))
    ]
    if as_json:
        print_json([asdict(price) for price in found])
    elif not found:
        click.echo(f"No price is known for {printable(query or 'any model')}. Say it with: llm graphrag prices set")
    else:
        rows = [(p.model, f"{p.input:,.3f}", f"{p.output:,.3f}", p.as_of + (" yours" if p.own else "")) for p in found]
        _print_table(("model", "input", "output", "as of"), rows)


@prices.command(name="set")
@click.argument("model", type=Text())
@click.option("--input", "input_", type=Number(min=0), required=True, help="USD for a million tokens of the prompt.")
@click.option("--output", type=Number(min=0), required=True, help="USD for a million tokens of the reply.")
@json_option
@errors_in_one_line
def set_price_(model: str, input_: float, output: float, as_json: bool) -> None:
    """Say what a model costs; 0 and 0 for one that runs on this machine.

    MODEL is its name or alias, as llm models lists it. Calls already made keep the
    cost that they were recorded with.

    \b
    Examples:
      llm graphrag prices set my-model --input 0.25 --output 2
      llm graphrag prices set llama3.2 --input 0 --output 0
    """
    price = set_price(_full_name(model), input_, output)
    if as_json:
        print_json(asdict(price))
    else:
        click.echo(f"{price.model}: ${price.input:g} in, ${price.output:g} out, for a million tokens, in {own_path()}")


@prices.command()
@click.argument("model")
@json_option
@errors_in_one_line
def remove(model: str, as_json: bool) -> None:
    """Remove a price of your own; the shipped one, if there is one, is in force again.

    \b
    Examples:
      llm graphrag prices remove my-model
    """
    if not (remove_price(model) or remove_price(_full_name(model))):
        raise click.BadParameter(
            f"{own_path()} has no price for {model!r}. See: llm graphrag prices list", param_hint="MODEL"
        )
    if as_json:
        print_json({"model": model, "removed": True})
    else:
        click.echo(f"{model} has no price of yours any more.")


def _full_name(name: str) -> str:
    """The id of a model that llm knows by this name or alias, else the name itself."""
    from ..models import ModelError, find_model

    try:
        return str(find_model(name).model_id)
    except ModelError:
        return name


def _described(found: Standing | None) -> dict[str, Any] | None:
    if found is None:
        return None
    numbers = {"used": found.used, "held": found.held, "left": found.left, "unpriced_calls": found.unpriced}
    return {**asdict(found.budget), **numbers}


def _print_standing(found: Standing) -> None:
    unit = found.budget.unit
    held = f", {shown(found.held, unit)} set aside for calls in flight" if found.held else ""
    over = found.used > found.budget.amount
    left = "nothing left" if over or not found.left else f"{shown(found.left, unit)} left"
    soft = " (soft)" if found.budget.soft else ""
    click.echo(f"Budget {found.budget}{soft}: {shown(found.used, unit)} spent{held}, {left}.")
    if unit == "usd" and found.unpriced:
        click.echo(f"Calls without a known price, which are not counted: {found.unpriced:,}.")


def _cells(row: Spend) -> tuple[str, ...]:
    cost = "—" if row.unpriced and not row.cost else shown(row.cost, "usd")
    numbers = (row.calls, row.input_tokens, row.output_tokens, row.lost_tokens)
    return (printable(row.label), *(f"{number:,}" for number in numbers), cost)


def _remarks(sums: dict[str, Any]) -> list[str]:
    said = []
    for name, what in (("lost", "Cut off, counted in full"), ("open", "In flight, or left behind by a run that ended")):
        if sums[name]["calls"]:
            amount = shown(sums[name]["tokens"], "tokens")
            if sums[name]["cost"] or not sums["unpriced"]:  # of what has no price, "$0.00" would be wrong
                amount += f", {shown(sums[name]['cost'], 'usd')}"
            said.append(f"{what}: {counted(sums[name]['calls'], 'call')}, {amount}.")
    if sums["released"]["calls"]:
        said.append(f"Turned away, free: {counted(sums['released']['calls'], 'call')}.")
    if sums["unpriced"]:
        said.append(f"Without a known price, not in the cost: {counted(sums['unpriced'], 'call')}.")
    return said


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    for row in [heads, *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        click.echo("  ".join(cells).rstrip())
