"""What commands that ask a model share: which one, with which options, for how much."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..models import Caller

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ModelChoice:
    """A model as it was chosen on the command line."""

    name: str | None
    options: tuple[tuple[str, str], ...] = ()
    key: str | None = None
    budget: str | None = None
    soft: bool = False
    timeout: float = 180.0
    log: bool = True
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    @contextmanager
    def caller(self, path: Path) -> Iterator[Caller]:
        """The model with a ledger in the knowledge base at ``path``, and the budget of this run set."""
        from ..ledger import Budget, Ledger
        from ..models import Caller

        limit = Budget.parse(self.budget, self.soft) if self.budget else None
        with Ledger.open(path) as ledger:
            ledger.recover()
            if limit:
                ledger.set_budget(limit, ledger.run_scope)
            yield Caller(
                self.name,
                ledger,
                options=dict(self.options),
                key=self.key,
                timeout=self.timeout,
                log=self.log,
                stop=self.stop,
            )


def model_options(command: F) -> F:
    """Adds the options; the command gets ``model``, a ModelChoice."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        names = ("model", "model_option", "key", "budget", "soft_budget", "timeout", "no_llm_log")
        name, options, key, budget, soft, timeout, silent = (kwargs.pop(name) for name in names)
        kwargs["model"] = ModelChoice(name, options, key, budget, soft, timeout, not silent)
        return command(*args, **kwargs)

    wrapped: Any = run
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


OPTIONS = (
    click.option("-m", "--model", metavar="MODEL", help="A model of llm, or an alias; else llm's default model."),
    click.option(
        "-o",
        "--option",
        "model_option",
        type=(str, str),
        multiple=True,
        metavar="KEY VALUE",
        help="Option of the model.",
    ),
    click.option("--key", help="API key, or the name of one that llm keeps."),
    click.option("--budget", metavar="AMOUNT", help="Most that this run may cost: 0.50usd, 200ktok."),
    click.option(
        "--soft-budget", is_flag=True, help="Let a budget hold for a model whose replies cannot be limited, roughly."
    ),
    click.option("--timeout", type=float, default=180, show_default=True, help="Seconds to wait for a reply."),
    click.option("--no-llm-log", is_flag=True, help="Do not log the calls in llm's own log."),
)
