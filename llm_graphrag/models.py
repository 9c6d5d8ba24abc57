"""The only door to models: every call is named, limited, reserved, timed, tried again, and logged.

A ``Caller`` is one model with its options, for any number of threads. ``call`` asks the
ledger first, hands the prompt to llm in a thread of its own, so that a model that hangs
can be left behind, and settles what the provider says it used. Each attempt is a row
of the ledger: turned away costs nothing, cut off costs all that was set aside. What
went well is logged where llm logs, never in the knowledge base, under conversations
whose ids say that they are ours.
"""

from __future__ import annotations

import copy
import difflib
import itertools
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .calls import (
    DEFAULT_MAX_OUTPUT,
    LIMIT_OPTIONS,
    ModelRaised,
    Reply,
    Request,
    accepted_limit,
    begin,
    limit_of,
    pieces,
    read_failure,
)
from .failures import CallFailed, Failure, ModelError, Stopped, seconds_before_next
from .ledger import Ledger, Reservation, estimate_prompt_tokens
from .store.model_calls import OWN_THREAD
from .text.error_text import error_text

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["CallFailed", "Caller", "ModelError", "Reply", "Stopped", "find_model", "one_request_a_call", "secrets_of"]

LOG_PATIENCE = 10.0  # seconds that a locked log is waited for
_LOG_LOCK = threading.Lock()


class _AttemptFailed(Exception):
    def __init__(self, failure: Failure, number: int) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.number = number

    def of(self, model_id: str) -> CallFailed:
        """What the caller gets to see."""
        tried = f" (tried {self.number} times)" if self.number > 1 else ""
        return CallFailed(
            f"{model_id}: {self.failure.message}{tried}",
            fatal=self.failure.fatal, status=self.failure.status, attempts=self.number,
        )  # fmt: skip


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return seconds_before_next(error.failure, error.number) if isinstance(error, _AttemptFailed) else 0.0


class Caller:
    """One model of llm's, by name or alias, with its options.

    ``name`` None is llm's default model. ``options`` go over what ``llm models options``
    holds for it. The longest reply is what those options say, else ``max_output``, else
    DEFAULT_MAX_OUTPUT, where the model has an option for it. ``timeout`` is seconds
    without a sign of life. ``stop`` ends waits at once, but not a call in flight.
    Raises ModelError if there is no such model, or an option does not fit it.
    """

    def __init__(
        self,
        name: str | None,
        ledger: Ledger,
        *,
        options: Mapping[str, Any] | None = None,
        key: str | None = None,
        max_output: int | None = None,
        timeout: float = 180,
        retries: int = 4,
        log: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        from llm.cli import logs_on

        self.ledger = ledger
        self.key, self.max_output, self.timeout, self.retries = key, max_output, timeout, retries
        self.stop = stop or threading.Event()
        self.model = one_request_a_call(find_model(name), timeout)
        self.model_id: str = self.model.model_id
        self.options = _options(self.model, options or {})
        self.supports_schema = bool(self.model.supports_schema)
        self._limit_option = next((name for name in LIMIT_OPTIONS if name in self.model.Options.model_fields), None)
        self.knows_output_limit = self._limit_option is not None
        self._log = log and bool(logs_on())
        self._log_patience = LOG_PATIENCE
        self._not_before = 0.0  # time.monotonic() when a rate limit of this model ends
        self._warned: set[str] = set()

    def call(
        self,
        purpose: str,
        system: str | None,
        prompt: str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_output: int | None = None,
        on_text: Callable[[str], None] | None = None,
        extraction: int | None = None,
    ) -> Reply:
        """Ask the model; ``on_text`` gets the reply piece by piece, in this thread.

        Raises BudgetExceeded before anything is spent, CallFailed when trying again does
        not help any more, Stopped if ``stop`` was set before the call was made.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        request = self.as_sent(Request(purpose, system, prompt, schema, max_output, on_text, extraction))
        numbers = itertools.count(1)
        retrying = Retrying(
            stop=stop_after_attempt(self.retries + 1),
            retry=retry_if_exception(lambda error: isinstance(error, _AttemptFailed) and error.failure.retry),
            wait=_pause,
            sleep=self._wait,
            reraise=True,
        )
        try:
            return retrying(lambda: self._attempt(request, next(numbers)))
        except _AttemptFailed as error:
            raise error.of(self.model_id) from error.__cause__

    def as_sent(self, request: Request) -> Request:
        """A request as this model takes it: system prompt and schema in their places, the limit that will hold."""
        limited = replace(request, limit=self.reply_limit(request.limit))
        takes_system = getattr(self.model, "allows_system_prompt", True)
        return limited.fitted(schema=self.supports_schema, system=takes_system)

    def reply_limit(self, max_output: int | None) -> int | None:
        """The longest reply: what a person said of this model, else what is asked for; None if it has no limit."""
        if self._limit_option is None:
            return None
        said = limit_of(self.options.get(self._limit_option))
        wanted = said or max_output or self.max_output or DEFAULT_MAX_OUTPUT
        return accepted_limit(self.model.Options, self._limit_option, wanted)

    def _attempt(self, request: Request, number: int) -> Reply:
        """Reserve, call, and settle, release or lose."""
        self._wait(self._not_before - time.monotonic())
        reservation = self.ledger.reserve_in_turn(
            request.purpose, self.model_id, request.estimate, request.limit, request.extraction,
            patience=self.timeout, check=partial(self._wait, 0),
        )  # fmt: skip
        started, received, shown = time.monotonic(), False, False
        try:
            response = self._prompt(request)
            with closing(pieces(response, self.timeout)) as texts:
                for text in texts:
                    received = True
                    if text and request.on_text is not None:
                        shown = True
                        request.on_text(text)
        except ModelRaised as error:
            failure = read_failure(error, received, secrets_of(self.model, self.key))
            if shown:
                failure = replace(failure, retry=False)  # its reader would get the beginning twice
            self._recorded(partial(self.ledger.lose if failure.charged else self.ledger.release, reservation))
            if failure.retry_after is not None:  # for the other threads too
                self._not_before = time.monotonic() + failure.retry_after
            raise _AttemptFailed(failure, number) from error.error
        except BaseException:  # Ctrl-C, or the reader of the text went away
            self._recorded(partial(self.ledger.lose, reservation))
            raise
        return self._settled(request, reservation, response, time.monotonic() - started, number)

    def _prompt(self, request: Request) -> Any:
        """The response, not yet asked for: nothing has been sent."""
        options = dict(self.options)
        if self._limit_option is not None:
            options[self._limit_option] = request.limit
        return begin(self.model, request.prompt, request.system, request.schema, options, self.key)

    def _settled(self, request: Request, reservation: Reservation, response: Any, seconds: float, number: int) -> Reply:
        """The reply, with its usage in the ledger and, if wanted, itself in llm's log."""
        text = response.text()
        usage = response.usage()
        counted = not usage.input or (bool(text) and not usage.output)
        read = int(usage.input or request.estimate * self.ledger.calibration(self.model_id, request.purpose))
        wrote = int(usage.output or estimate_prompt_tokens(text))
        logged_as = response.id if self._log else None
        cost = self._recorded(partial(self.ledger.settle, reservation, read, wrote, logged_as))
        log_id = response.id if self._log and self._logged(response) else None
        return Reply(text, read, wrote, counted, reservation.id, log_id, seconds, number, cost)

    def _recorded(self, change: Callable[[], float | None]) -> float | None:
        """Change the ledger; if it cannot be written, the reply is worth more, and the reservation stands in full."""
        try:
            return change()
        except sqlite3.OperationalError as error:
            self._warn(f"The ledger could not be written ({error}); calls count as what was set aside for them.")
            return None

    def _logged(self, response: Any) -> bool:
        """Put a response into llm's log; a log that cannot be written is said once and costs nothing else."""
        try:
            _write_log(response, self._log_patience)
        except Exception as error:
            self._log_patience = 0.5  # a log that is locked for good must not hold up every call
            self._warn(f"llm's log could not be written ({error_text(error)}); the replies are used all the same.")
            return False
        self._log_patience = LOG_PATIENCE
        return True

    def _wait(self, seconds: float) -> None:
        """Wait, unless or until the run is told to stop."""
        if self.stop.wait(max(0.0, seconds)):
            raise Stopped("stopped before the model was asked")

    def _warn(self, message: str) -> None:
        """Say it once on standard error."""
        if message not in self._warned:
            self._warned.add(message)
            sys.stderr.write(f"Warning: {message}\n")


# What llm is asked for -------------------------------------------------------------


def find_model(name: str | None) -> Any:
    """The model of a name or alias. Raises ModelError, with names that are like it."""
    import llm

    wanted = name or llm.get_default_model()
    known: dict[str, Any] = {}
    for found in llm.get_models_with_aliases():
        for model in (found.async_model, found.model):  # the second counts
            known.update({} if model is None else dict.fromkeys([*found.aliases, model.model_id], model))
    if wanted in known:
        if isinstance(known[wanted], llm.AsyncModel | llm.AsyncKeyModel):
            raise ModelError(f"The model {wanted} has no synchronous form, which is what is needed here; use another")
        return known[wanted]
    whose = "" if name else ", llm's default model,"
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    like = f" Is it {' or '.join(near)}?" if near else ""
    hint = "llm models lists all; plugins add more." if name else "Choose another with: llm models default NAME"
    raise ModelError(f"There is no model called {wanted}{whose} in llm.{like} {hint}")


def _options(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept for this model in llm, and over it what is given; checked by the model."""
    from llm.cli import get_model_options

    merged = {**get_model_options(model.model_id), **given}
    try:
        checked = model.Options(**merged)
    except ValueError as error:
        errors = getattr(error, "errors", None)
        said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in errors()) if errors else str(error)
        said = error_text(said)
        raise ModelError(f"{model.model_id} does not take these options: {said}. See: llm models --options") from error
    return {name: value for name, value in checked if value is not None and name in merged}


def one_request_a_call(model: Any, timeout: float) -> Any:
    """The model, with the retries of OpenAI's own client off: they would be calls that the ledger does not see."""
    make = getattr(model, "get_client", None)
    if make is None:
        return model

    def get_client(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        limited = getattr(client, "with_options", None)
        return limited(max_retries=0, timeout=timeout) if limited is not None else client

    own = copy.copy(model)  # llm's instance stays as it is
    own.get_client = get_client
    return own


def secrets_of(model: Any, key: str | None) -> tuple[str | None, ...]:
    """What a model is called with that no message may repeat: the key as it was given, and the one llm keeps."""
    from llm import NeedsKeyException

    try:
        return key, model.get_key(key)
    except NeedsKeyException:
        return (key,)


def _write_log(response: Any, patience: float) -> None:
    """Store a response in logs.db, in a conversation that is known to be ours by its id."""
    import llm
    from llm.cli import logs_db_path
    from sqlite_utils import Database

    response.conversation = llm.Conversation(model=response.model, id=OWN_THREAD + response.id)
    end = time.monotonic() + patience
    with _LOG_LOCK:
        while True:  # llm reads before it writes, and to a transaction that has read SQLite says "locked" at once
            left = max(0.0, end - time.monotonic())
            try:
                with closing(sqlite3.connect(logs_db_path(), timeout=left)) as connection:
                    response.log_to_db(Database(connection, execute_plugins=False))
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or not left:
                    raise
            time.sleep(0.02)
