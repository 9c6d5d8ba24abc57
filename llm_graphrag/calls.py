"""One call: what is asked, what comes back, and how it is drawn out of llm.

Python cannot end a thread. So a model works in a thread of its own, and when it hangs
it is abandoned: nobody listens to it any more, it stops drawing at its next sign of
life, which closes its connection, and as a daemon it does not keep the program from
ending.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .failures import Failure, failure_of
from .ledger import estimate_prompt_tokens, estimate_rules_tokens, estimate_schema_tokens

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "LIMIT_OPTIONS",
    "ModelRaised",
    "Reply",
    "Request",
    "Unsendable",
    "accepted_limit",
    "begin",
    "limit_of",
    "pieces",
    "read_failure",
]

DEFAULT_MAX_OUTPUT = 4_096
"""Longest reply where nobody says otherwise: every chat model in use allows it."""

LIMIT_OPTIONS = (
    "max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "max_tokens_to_sample",
    "num_predict", "n_predict",
)  # fmt: skip
"""How model plugins call the option that limits a reply."""

PROMPT_OVERHEAD = 12
"""Tokens that a chat format puts around a system prompt and a prompt."""

INSTRUCTION = """

Reply with JSON only, in one fenced block (```json … ```), that is valid under this JSON schema:
```json
{schema}
```"""

LONGEST_CALL = 5
"""A call that goes on writing may take this many time-outs."""

TICK = 0.25
"""Seconds between two looks at the clock: also how long Ctrl-C takes where a wait cannot be interrupted."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote, and what it used; ``counted`` if we counted the tokens, for it did not report them."""

    text: str
    input_tokens: int
    output_tokens: int
    counted: bool
    ledger_id: int
    log_id: str | None  # of llm's log; None if it was not logged
    seconds: float
    attempts: int
    cost: float | None = None  # USD, None if the price is not known


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, ready to be sent any number of times; ``limit`` is the longest reply, if it has a limit."""

    purpose: str
    system: str | None
    prompt: str
    schema: Mapping[str, Any] | None
    limit: int | None = None
    on_text: Callable[[str], None] | None = None
    extraction: int | None = None

    @property
    def estimate(self) -> int:
        """Tokens of all that the model reads, as far as can be told without knowing it."""
        read = estimate_rules_tokens(self.system or "") + estimate_prompt_tokens(self.prompt)
        return PROMPT_OVERHEAD + read + self.schema_estimate

    @property
    def schema_estimate(self) -> int:
        """Those of them that are the JSON schema: some providers charge for it, others make a grammar of it."""
        return estimate_schema_tokens(written(self.schema)) if self.schema is not None else 0

    def fitted(self, *, schema: bool, system: bool) -> Request:
        """The same for a model that takes no ``schema``, or no ``system`` prompt: it becomes part of the prompt."""
        prompt, wanted, rules = self.prompt, self.schema, self.system
        if wanted is not None and not schema:
            prompt, wanted = prompt + INSTRUCTION.format(schema=written(wanted)), None
        if rules and not system:
            prompt, rules = f"{rules}\n\n{prompt}", None
        return replace(self, system=rules, prompt=prompt, schema=wanted)


def limit_of(value: Any) -> int | None:
    """A limit that is one: -1 and 0 mean no limit to some models."""
    return int(value) if isinstance(value, int | float) and value > 0 else None


def accepted_limit(options: Any, name: str, wanted: int) -> int:
    """The limit that is wanted, or the model's own where that one is too long for it (older Claude models say so)."""
    try:
        options(**{name: wanted})
    except ValueError:
        return limit_of(options.model_fields[name].default) or wanted
    return wanted


def written(schema: Mapping[str, Any]) -> str:
    """A schema as it costs least."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


class ModelRaised(Exception):
    """The model raised ``error``; what the reader of the pieces raises itself is not wrapped."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Unsendable(ModelRaised):
    """The call could not even be put together."""


def begin(
    model: Any,
    prompt: str,
    system: str | None,
    schema: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    key: str | None,
) -> Any:
    """The response of one of llm's models, not yet asked for: nothing has been sent. Raises Unsendable."""
    try:
        stream = bool(model.can_stream)
        return model.prompt(prompt, system=system, schema=schema, options=dict(options), key=key, stream=stream)
    except Exception as error:
        raise Unsendable(error) from error


def read_failure(error: ModelRaised, received: bool, secrets: Sequence[str | None] = ()) -> Failure:
    """What it means that a model raised something; ``received`` says whether a part of the reply had come."""
    failure = failure_of(error.error, received, secrets)
    if isinstance(error, Unsendable):
        return replace(failure, charged=False, retry=False, fatal=True)
    return failure


class _Attempt(threading.Thread):
    """Draws a response out of llm: text, "" for other signs of life, then an exception or None."""

    def __init__(self, response: Any) -> None:
        super().__init__(name="model call", daemon=True)
        self.response = response
        self.events: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()
        self.abandoned = False

    def run(self) -> None:
        try:
            for event in self.response.stream_events():
                if self.abandoned:
                    return
                self.events.put(event.chunk if event.type == "text" else "")
            self.events.put(None)
        except BaseException as error:
            self.events.put(error)


def pieces(response: Any, timeout: float) -> Generator[str, None, None]:
    """The text of a response as it comes, and "" for other signs of life (reasoning, say).

    Raises ModelRaised with whatever the model raised, or with a TimeoutError after
    ``timeout`` seconds without a sign of life.
    """
    attempt = _Attempt(response)
    attempt.start()
    last = time.monotonic()
    end = last + LONGEST_CALL * timeout
    try:
        while True:
            try:
                event = attempt.events.get(timeout=min(TICK, timeout))
            except queue.Empty:
                if time.monotonic() - last > timeout:
                    raise ModelRaised(TimeoutError(f"nothing came for {timeout:g} seconds")) from None
                continue
            if event is None:
                return
            if isinstance(event, BaseException):
                raise ModelRaised(event)
            last = time.monotonic()
            yield event
            if last > end:
                raise ModelRaised(TimeoutError(f"the reply did not end within {LONGEST_CALL * timeout:g} seconds"))
    finally:
        attempt.abandoned = True
