"""What models may cost and did cost: every call is reserved against the budgets before it is made.

The promise, at all times, with parallel workers, crashes and several processes on one
file: what calls have cost, plus what was lost, plus what is set aside for calls in
flight, is at most the budget. So a call is admitted only if the most it can come to
still fits: its prompt as estimated, with a margin that is learned from what this model
has reported so far, and the longest reply it is allowed. Each step is one short write
transaction, and no transaction is open while a model works.

A budget of the knowledge base counts every call ever made for the file; a budget of a
run counts the calls of that run. Both may apply at once.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

from .prices import Price, price_of
from .store import model_calls
from .store.budgets import (
    KNOWLEDGE_BASE,
    Budget,
    BudgetExceeded,
    Need,
    Standing,
    refuse_excess,
    refuse_unlimited,
    standing,
)
from .store.connection import transaction
from .store.processes import is_alive, process_name
from .text.tokens import count_tokens

__all__ = [
    "KNOWLEDGE_BASE", "Budget", "BudgetExceeded", "Ledger", "Reservation", "Standing",
    "estimate_prompt_tokens", "estimate_rules_tokens", "estimate_schema_tokens", "is_alive", "process_name",
]  # fmt: skip

PROMPT_CORRECTION = 1.1
"""Tokens of a prompt for each that text.tokens counts, and one more for each line, since white space is not counted
there. Chunks are cut by that count, so it stays as it is. docs/spend.md: measured on four providers' tokenizers."""

RULES_CORRECTION, SCHEMA_CORRECTION = 1.0, 0.9
"""The same for what is written here and not in notes, line breaks included: system prompts, which are lists of types
for the most part (0.93 to 1.04 with three tokenizers and all templates), and JSON schemas (0.86 to 0.98)."""

UNKNOWN_MARGIN, LEAST_MARGIN = 1.75, 1.15
"""Set aside for a prompt, as a multiple of its estimate: until a model has reported ENOUGH calls, of ENOUGH_TOKENS in
all, since short prompts say little of long ones (Russian on an old tokenizer takes 1.65), and at least ever."""

LINES = re.compile(r"\n\s*")
ENOUGH, ENOUGH_TOKENS, RECENT = 3, 500, 100
ASSUMED_REPLY = 4_096
"""Set aside for a reply without a known limit, under a soft budget, unless the model has written a longer one."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was set aside for one attempt; ``id`` is its row in ``kg_ledger``."""

    id: int
    model: str
    tokens: int
    cost: float | None
    price: Price | None


def estimate_prompt_tokens(text: str, calibration: float = 1.0) -> int:
    """About how many tokens a provider counts for a prompt; ``calibration`` is what a ledger learned of the model."""
    return math.ceil((count_tokens(text) * PROMPT_CORRECTION + len(LINES.findall(text))) * calibration)


def estimate_rules_tokens(text: str) -> int:
    """About how many tokens a provider counts for a system prompt."""
    return math.ceil(count_tokens(text) * RULES_CORRECTION)


def estimate_schema_tokens(text: str) -> int:
    """About how many tokens a provider counts for a JSON schema, if it charges for it."""
    return math.ceil(count_tokens(text) * SCHEMA_CORRECTION)


class Ledger:
    """The calls of one run, in the file of its knowledge base; any thread may use it."""

    def __init__(self, connection: sqlite3.Connection, run: str) -> None:
        self.connection = connection
        self.run = run
        self._lock = threading.Lock()
        self._changed = threading.Condition()

    @classmethod
    def open(cls, path: Path, run: str | None = None) -> Ledger:
        """Open ``path`` with a connection of its own; ``run`` names this run, a new one unless given.

        Raises KnowledgeBaseError if the file is missing or no knowledge base.
        """
        started = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
        return cls(model_calls.open_for_threads(path), run or f"{started}-{uuid.uuid4().hex[:6]}")

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def run_scope(self) -> str:
        """The scope of this run's own budget."""
        return f"run:{self.run}"

    def set_budget(self, budget: Budget, scope: str = KNOWLEDGE_BASE) -> None:
        """Limit the knowledge base, or with ``run_scope`` this run; an earlier limit of the scope is replaced."""
        with self._lock, transaction(self.connection):
            model_calls.put_budget(self.connection, scope, budget.unit, budget.amount, budget.soft)

    def clear_budget(self, scope: str = KNOWLEDGE_BASE) -> bool:
        """Remove a limit; False if there was none."""
        with self._lock, transaction(self.connection):
            return model_calls.remove_budget(self.connection, scope)

    def standings(self) -> list[Standing]:
        """The budgets that apply to this run's calls, and how they stand."""
        with self._lock:
            return self._standings()

    def _standings(self) -> list[Standing]:
        scopes = ((KNOWLEDGE_BASE, None), (self.run_scope, self.run))
        return [found for scope, run in scopes if (found := standing(self.connection, scope, run))]

    def calibration(self, model_id: str, purpose: str | None = None) -> float:
        """Prompt tokens that this model reported for each that was estimated; 1.0 before its first call.

        Of calls for ``purpose``, if there were some: a JSON schema that is part of the estimate is not charged by all.
        """
        with self._lock:
            usage = model_calls.recent_usage(self.connection, model_id, RECENT, purpose)
            return _calibration(usage or model_calls.recent_usage(self.connection, model_id, RECENT))

    def lost(self) -> tuple[int, int]:
        """Calls of this run that were lost, and the tokens that they count."""
        with self._lock:
            return model_calls.lost(self.connection, self.run)

    def output_ratio(self, purpose: str, model_id: str) -> float | None:
        """Tokens of reply for each of prompt, over this model's calls for a purpose; None before the first."""
        with self._lock:
            return model_calls.output_ratio(self.connection, purpose, model_id)

    def reserve(
        self,
        purpose: str,
        model_id: str,
        prompt_tokens_estimate: int,
        max_output: int | None,
        extraction: int | None = None,
    ) -> Reservation:
        """Set aside the most that a call can come to.

        ``prompt_tokens_estimate`` is what ``estimate_prompt_tokens`` says, without the
        calibration, which is applied here. Raises BudgetExceeded if the call does not
        fit, if its reply has no limit (``max_output`` None) under a budget that is not
        soft, or if its price is not known under a budget in usd.
        """
        price = price_of(model_id)
        with self._lock, transaction(self.connection):
            usage = model_calls.recent_usage(self.connection, model_id, RECENT, purpose)
            known = _calibration(usage or model_calls.recent_usage(self.connection, model_id, RECENT))
            known = known if usage else max(1.0, known)  # other calls may have been charged for less
            prompt = math.ceil(prompt_tokens_estimate * known * _margin(usage))
            standings = self._standings()
            if max_output is None:
                refuse_unlimited(standings, model_id)
                max_output = max(ASSUMED_REPLY, model_calls.longest_reply(self.connection, model_id))
            need = Need(model_id, prompt, max_output, price.cost(prompt, max_output) if price else None)
            for found in standings:
                refuse_excess(found, need)
            row = {
                "at": model_calls.now(), "run": self.run, "process": process_name(), "purpose": purpose,
                "model": model_id, "reserved_tokens": need.tokens, "reserved_cost": need.cost,
                "estimated_tokens": prompt_tokens_estimate, "extraction": extraction,
            }  # fmt: skip
            id_ = model_calls.insert_call(self.connection, row)
        return Reservation(id_, model_id, need.tokens, need.cost, price)

    def reserve_in_turn(
        self,
        purpose: str,
        model_id: str,
        prompt_tokens_estimate: int,
        max_output: int | None,
        extraction: int | None = None,
        *,
        patience: float,
        check: Callable[[], None],
    ) -> Reservation:
        """Like ``reserve``, but waits up to ``patience`` seconds where calls in flight hold what this one needs.

        ``check`` is called twice a second meanwhile; what it raises ends the wait.
        """
        end = time.monotonic() + patience
        while True:
            try:
                return self.reserve(purpose, model_id, prompt_tokens_estimate, max_output, extraction)
            except BudgetExceeded as error:
                if not error.waiting_helps or time.monotonic() > end:
                    raise
            self.recover()
            with self._changed:
                self._changed.wait(0.5)
            check()

    def settle(
        self, reservation: Reservation, input_tokens: int, output_tokens: int, log_id: str | None = None
    ) -> float | None:
        """Record what a call used; returns its cost in USD, None if the price is not known."""
        cost = reservation.price.cost(input_tokens, output_tokens) if reservation.price else None
        row = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cost": cost, "log_id": log_id}
        with self._change():
            model_calls.settle_call(self.connection, reservation.id, row)
        return cost

    def release(self, reservation: Reservation) -> None:
        """The call never reached the model, or was turned away: it costs nothing."""
        with self._change():
            model_calls.close_call(self.connection, reservation.id, "released")

    def lose(self, reservation: Reservation) -> None:
        """Whether the call was charged will never be known: all that was set aside counts."""
        with self._change():
            model_calls.close_call(self.connection, reservation.id, "lost")

    def recover(self) -> int:
        """Give up for lost what processes left open that are no more; returns how many calls."""
        with self._lock:
            calls = model_calls.open_calls(self.connection)
        dead = [row["id"] for row in calls if not is_alive(row["process"], row["at"])]
        if dead:
            with self._change():
                for id_ in dead:
                    model_calls.close_call(self.connection, id_, "lost")
        return len(dead)

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._lock, transaction(self.connection):
            yield
        with self._changed:
            self._changed.notify_all()


def _calibration(usage: Sequence[tuple[int, int]]) -> float:
    """Reported for each estimated token, over the last calls together."""
    return sum(reported for _, reported in usage) / sum(estimated for estimated, _ in usage) if usage else 1.0


def _margin(usage: Sequence[tuple[int, int]]) -> float:
    """What a calibrated estimate is multiplied with: enough for the worst of the last calls, and some more."""
    if len(usage) < ENOUGH or sum(estimated for estimated, _ in usage) < ENOUGH_TOKENS:
        return UNKNOWN_MARGIN
    mean = _calibration(usage)
    worst = max(reported / estimated for estimated, reported in usage)
    return LEAST_MARGIN * max(1.0, worst / mean)
