"""Budgets: what model calls may come to, how they stand, and why a call does not fit.

A limit has a scope, the whole knowledge base or one run, and a unit. What a call would
need is known before it is made, as two numbers of tokens and, where the price is
known, one of USD; the reasons to refuse it are here, each with what to do.
"""

from __future__ import annotations

import math
import re
import sqlite3
from dataclasses import dataclass

from . import model_calls

__all__ = ["KNOWLEDGE_BASE", "TOKENS", "USD", "Budget", "BudgetExceeded", "Need", "Standing", "shown", "standing"]

KNOWLEDGE_BASE = "knowledge_base"
USD, TOKENS = "usd", "tokens"

AMOUNT = re.compile(r"(?P<sign>\$)?\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>usd|\$|[km]?tok(?:ens?)?)?", re.I)
SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


class BudgetExceeded(ValueError):
    """A call does not fit; ``waiting_helps`` if it would, were the calls in flight to cost nothing."""

    def __init__(self, message: str, scope: str, waiting_helps: bool) -> None:
        super().__init__(message)
        self.scope = scope
        self.waiting_helps = waiting_helps


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit, in ``usd`` or ``tokens``. A soft one lets calls through whose reply has no known limit."""

    amount: float
    unit: str
    soft: bool = False

    def __post_init__(self) -> None:
        if self.unit not in (USD, TOKENS):
            raise ValueError(f"a budget is in {USD} or {TOKENS}, not in {self.unit!r}")
        if not (math.isfinite(self.amount) and self.amount >= 0):
            raise ValueError(f"a budget is an amount of 0 or more, not {self.amount}")

    @classmethod
    def parse(cls, text: str, soft: bool = False) -> Budget:
        """Read ``0.50usd``, ``$0.50``, ``200ktok``, ``2Mtok`` or ``1500 tokens``.

        >>> Budget.parse("200ktok")
        Budget(amount=200000.0, unit='tokens', soft=False)
        """
        match = AMOUNT.fullmatch(text.strip())
        unit = (match["unit"] or "").lower() if match else ""
        if match is None or (bool(match["sign"]) == bool(unit) and unit != USD):
            raise ValueError(f"{text!r} is no budget; write an amount with its unit: 0.50usd, $0.50, 200ktok or 2Mtok")
        if match["sign"] or unit in (USD, "$"):
            return cls(float(match["number"]), USD, soft)
        return cls(float(match["number"]) * SCALES[unit.partition("tok")[0]], TOKENS, soft)

    def __str__(self) -> str:
        return shown(self.amount, self.unit)


def shown(amount: float, unit: str) -> str:
    """An amount for people.

    >>> shown(0.5, "usd"), shown(0.00123, "usd"), shown(1234, "tokens")
    ('$0.50', '$0.0013', '1,234 tokens')
    """
    if unit == USD:
        return f"${math.ceil(amount * 10_000) / 10_000:.4f}" if 0 < abs(amount) < 0.1 else f"${amount:,.2f}"
    return f"{math.ceil(amount):,} tokens"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a budget stands: ``used`` is settled and lost, ``held`` is set aside for calls in flight."""

    scope: str
    budget: Budget
    used: float
    held: float
    unpriced: int  # calls that a budget in usd cannot count, for their price was not known

    @property
    def left(self) -> float:
        return max(0.0, self.budget.amount - self.used - self.held)


@dataclass(frozen=True, slots=True)
class Need:
    """The most that one call can come to; no ``cost`` if the price of its model is not known."""

    model: str
    prompt: int  # tokens
    reply: int
    cost: float | None

    @property
    def tokens(self) -> int:
        return self.prompt + self.reply


def standing(connection: sqlite3.Connection, scope: str, run: str | None) -> Standing | None:
    """How the budget of a scope stands, over the calls of ``run`` or all; None if there is none."""
    row = model_calls.get_budget(connection, scope)
    if row is None:
        return None
    budget = Budget(row["amount"], row["unit"], bool(row["soft"]))
    sums = model_calls.used(connection, run)
    total, held = (sums["cost"], sums["open_cost"]) if budget.unit == USD else (sums["tokens"], sums["open_tokens"])
    return Standing(scope, budget, total - held, held, sums["unpriced"])


def refuse_unlimited(standings: list[Standing], model: str) -> None:
    """Raise BudgetExceeded if a budget applies that a reply without a limit could break."""
    for found in standings:
        if not found.budget.soft:
            raise BudgetExceeded(
                f"{model} has no option that limits its reply, so {_whose(found)} cannot be kept for certain. "
                f"Let it through as far as can be told with {_soften(found)}, or use another model",
                found.scope,
                False,
            )


def refuse_excess(found: Standing, need: Need) -> None:
    """Raise BudgetExceeded if a call does not fit what is left of a budget."""
    budget = found.budget
    amount = need.tokens if budget.unit == TOKENS else need.cost
    if amount is None:
        raise BudgetExceeded(
            f"The price of {need.model} is not known, so {_whose(found)} cannot be kept. Say it with: "
            f"llm graphrag prices set {need.model} --input USD --output USD (0 if it runs on this machine), "
            "or set a budget in tokens",
            found.scope,
            False,
        )
    if found.used + found.held + amount <= budget.amount:
        return
    held = f" ({shown(found.held, budget.unit)} more is set aside for calls in flight)" if found.held else ""
    raise BudgetExceeded(
        f"{_whose(found)[0].upper()}{_whose(found)[1:]} has {shown(found.left, budget.unit)} left{held}, and this call "
        f"may need {shown(amount, budget.unit)} ({need.prompt:,} tokens of prompt, {need.reply:,} of reply). "
        f"{_raise_it(found)}",
        found.scope,
        found.used + amount <= budget.amount,
    )


def _whose(found: Standing) -> str:
    of = "this knowledge base" if found.scope == KNOWLEDGE_BASE else "this run"
    return f"the budget of {of}, {found.budget},"


def _soften(found: Standing) -> str:
    return "llm graphrag budget set AMOUNT --soft" if found.scope == KNOWLEDGE_BASE else "--soft-budget"


def _raise_it(found: Standing) -> str:
    if found.scope == KNOWLEDGE_BASE:
        return "Raise it with: llm graphrag budget set AMOUNT"
    return "Raise it with --budget AMOUNT"
