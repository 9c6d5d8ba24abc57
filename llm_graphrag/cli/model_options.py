"""What commands that ask a model share: which one, with which options, for how much."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .options import refuse
from .values import Amount, Number, Text

if TYPE_CHECKING:
    from ..ledger import Budget, Ledger
    from ..models import Caller

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ModelChoice:
    """A model as it was chosen on the command line."""

    name: str | None
    options: tuple[tuple[str, str], ...] = ()
    key: str | None = None
    budget: Budget | None = None
    soft: bool = False
    timeout: float = 180.0
    log: bool = True
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    @contextmanager
    def caller(self, path: Path) -> Iterator[Caller]:
        """The model with a ledger in the knowledge base at ``path``, and the budget of this run set.

        Raises BadParameter for a name or an option that was given and is wrong, ModelError for what llm has kept.
        """
        from ..ledger import Ledger
        from ..models import find_model

        with wrong_value("-m", self.name):
            find_model(self.name)
        with Ledger.open(path) as ledger:
            ledger.recover()
            if self.budget:
                ledger.set_budget(replace(self.budget, soft=self.soft), ledger.run_scope)
            with wrong_value("-o", self.options):
                caller = self._caller(ledger)
            yield caller

    def _caller(self, ledger: Ledger) -> Caller:
        from ..models import Caller

        return Caller(
            self.name,
            ledger,
            options=dict(self.options),
            key=self.key,
            timeout=self.timeout,
            log=self.log,
            stop=self.stop,
        )


def refuse_without_model(*others: str) -> None:
    """Raise UsageError for an option that is for a model, be it one of ``others``, where no model is asked."""
    names = ("model_option", "key", "budget", "soft_budget", "timeout")
    refuse("is for a model, and none is asked. Name one: -m MODEL", *others, *names)


@contextmanager
def wrong_value(option: str, given: object) -> Iterator[None]:
    """What a model says of a value that was given becomes an error of its option."""
    from ..failures import ModelError

    try:
        yield
    except ModelError as error:
        if not given:
            raise
        raise click.BadParameter(str(error), param_hint=option) from error


def model_options(command: F) -> F:
    """Adds the options; the command gets ``model``, a ModelChoice."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        names = ("model", "model_option", "key", "budget", "soft_budget", "timeout", "no_llm_log")
        name, options, key, budget, soft, timeout, silent = (kwargs.pop(name) for name in names)
        if soft and budget is None:
            raise click.UsageError("--soft-budget goes with --budget; for that of the file: llm graphrag budget set")
        kwargs["model"] = ModelChoice(name, options, key, budget, soft, timeout, not silent)
        return command(*args, **kwargs)

    wrapped: Any = run
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


OPTIONS = (
    click.option(
        "-m", "--model", type=Text(), metavar="MODEL", help="A model of llm, or an alias; else llm's default model."
    ),
    click.option(
        "-o",
        "--option",
        "model_option",
        type=(str, str),
        multiple=True,
        metavar="KEY VALUE",
        help="Option of the model.",
    ),
    click.option("--key", type=Text(), help="API key, or the name of one that llm keeps."),
    click.option("--budget", type=Amount(), metavar="AMOUNT", help="Most that this run may cost: 0.50usd, 200ktok."),
    click.option(
        "--soft-budget", is_flag=True, help="Let a budget hold for a model whose replies cannot be limited, roughly."
    ),
    click.option(
        "--timeout",
        type=Number(min=0, max=86_400, min_open=True),
        default=180,
        show_default=True,
        help="Seconds to wait for a reply.",
    ),
    click.option("--no-llm-log", is_flag=True, help="Do not log the calls in llm's own log."),
)
