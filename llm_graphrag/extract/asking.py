"""Asking a model about one window: the call, the check of its reply, and one repair if the reply cannot be used.

Runs in worker threads and touches no table; what came of it goes back as an
``Outcome``. A reply that was cut off at the output limit is not used: the window is
asked about in two halves. In the two-step way, for weak local models, entities are asked for first
and then what holds among them; both replies together are the window's reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..calls import Request
from ..facts.llm import prompt as prompts
from ..facts.llm.reading import Reading
from ..facts.llm.reply import CUT_OFF, REPLY, ReplyError
from ..facts.llm.reply_schema import relations_schema, reply_schema
from ..facts.llm.validate import listed_entities, read
from ..facts.llm.window import Window
from ..facts.template import Template
from ..ledger import BudgetExceeded
from ..models import Caller, CallFailed, Reply, Stopped

__all__ = ["CUT", "DONE", "FAILED", "FATAL", "REFUSED", "STOPPED", "Outcome", "Reader", "judge"]

DONE, CUT, FAILED, FATAL, REFUSED, STOPPED = "done", "cut", "failed", "fatal", "refused", "stopped"

PURPOSE = "extract"
LEAST_REPLY, REPLY_SHARE = 4_000, 8  # tokens that a reply may have at least, and per token of text
PASSING = (408, 409, 425, 429)  # statuses after which another time may do better
AT_LIMIT = 0.9  # of the longest reply: counts differ a little
REPAIR = """
Your last reply could not be used: {error}. Reply again, with the JSON object alone."""


@dataclass(slots=True)
class Outcome:
    """What came of one window. ``reply`` is what the model wrote, also where it could not be used."""

    extraction: int
    kind: str = FAILED
    reading: Reading | None = None
    reply: str | None = None
    error: str = ""
    transient: bool = False  # another time may do better
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    at_limit: bool = False  # the last reply was as long as it may be


@dataclass(frozen=True)
class Reader:
    """Asks one model under one schema."""

    caller: Caller
    schema: Template
    mode: str
    two_step: bool = False
    reply_tokens: int = 16_000  # most tokens of a reply
    repair: bool = True  # ask once more where a reply cannot be used
    system: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "system", prompts.system_prompt(self.schema, self.mode))

    @property
    def prompt_hash(self) -> str:
        return prompts.prompt_hash(self.schema, self.mode, self.two_step)

    def most(self, window: Window) -> int:
        """The longest reply that is asked for, in tokens."""
        return min(self.reply_tokens, max(LEAST_REPLY, REPLY_SHARE * window.tokens))

    def request(self, window: Window) -> Request:
        """The call about a window, as it would be made; of two, the first."""
        schema = self._schema(window)
        return Request(PURPOSE, self.system, prompts.window_prompt(window), schema, self.most(window))

    def requests(self, window: Window) -> tuple[Request, ...]:
        """All calls about a window as far as they are known before: what the second lists is in the first reply."""
        if not self.two_step:
            return (self.request(window),)
        prompt, most = prompts.entities_prompt(window), self.most(window)
        first = Request(PURPOSE, self.system, prompt, self._schema(window, prompts.ENTITIES), most)
        prompt = prompts.relations_prompt(window, ())
        return first, Request(PURPOSE, self.system, prompt, self._schema(window, prompts.RELATIONS), most)

    def ask(self, extraction: int, window: Window) -> Outcome:
        """Everything that can go wrong with a call is in the outcome; what is raised is a bug."""
        outcome = Outcome(extraction)
        try:
            self._ask(window, outcome)
        except BudgetExceeded as error:
            outcome.kind, outcome.error = REFUSED, str(error)
        except Stopped as error:
            outcome.kind, outcome.error = STOPPED, str(error)
        except ReplyError as error:  # of the first of two calls, or where no second try is wanted
            outcome.error = str(error)
        except CallFailed as error:
            outcome.kind, outcome.error = FATAL if error.fatal else FAILED, str(error)
            outcome.transient = error.status is None or error.status in PASSING or error.status >= 500
        return outcome

    def _ask(self, window: Window, outcome: Outcome) -> None:
        text, schema, first = prompts.window_prompt(window), self._schema(window), ""
        if self.two_step:
            asked = prompts.entities_prompt(window)
            first = self._call(asked, self._schema(window, prompts.ENTITIES), window, outcome)
            named = listed_entities(first, window, self.schema, self.mode)
            text = prompts.relations_prompt(window, named)
            if schema is not None:
                schema = relations_schema(self.schema, self.mode, len(window.chunks), named, window.tokens)
        self._call(text, schema, window, outcome, first)
        try:
            self._read(window, outcome)
        except ReplyError as error:
            if not self.repair:
                raise
            self._call(text + REPAIR.format(error=error), schema, window, outcome, first)
            try:
                self._read(window, outcome)
            except ReplyError as last:
                outcome.error = str(last)

    def _schema(self, window: Window, part: str = prompts.ALL) -> Mapping[str, Any] | None:
        """What bounds the reply, for models that can be bounded; the prompt says the same to the others."""
        if not self.caller.supports_schema:
            return None
        return reply_schema(self.schema, self.mode, len(window.chunks), part, window.tokens)

    def _call(
        self, text: str, schema: Mapping[str, Any] | None, window: Window, outcome: Outcome, before: str = ""
    ) -> str:
        reply: Reply = self.caller.call(
            PURPOSE, self.system, text, schema, max_output=self.most(window), extraction=outcome.extraction
        )
        outcome.calls += 1
        outcome.input_tokens += reply.input_tokens
        outcome.output_tokens += reply.output_tokens
        limit = self.caller.reply_limit(self.most(window))
        outcome.at_limit = limit is not None and reply.output_tokens >= AT_LIMIT * limit
        outcome.reply = f"{before}\n{reply.text}" if before else reply.text
        return reply.text

    def _read(self, window: Window, outcome: Outcome) -> None:
        outcome.kind, outcome.reading = judge(outcome.reply or "", window, self.schema, self.mode, outcome.at_limit)
        outcome.error = ""


def judge(reply: str, window: Window, schema: Template, mode: str, at_limit: bool = True) -> tuple[str, Reading | None]:
    """DONE with what was read; or CUT if the reply was cut off, and is not used because the window can be smaller.

    A reply that ended before its limit (``at_limit`` False) would be no longer for half of the window.

    Raises ReplyError if the reply cannot be used.
    """
    smaller = at_limit and len(window.chunks) > 1
    try:
        reading = read(reply, window, schema, mode)
    except ReplyError as error:
        if smaller and str(error).startswith(CUT_OFF):
            return CUT, None
        raise
    if smaller and any(item.kind == REPLY and item.reason.startswith(CUT_OFF) for item in reading.dropped):
        return CUT, None
    return DONE, reading
