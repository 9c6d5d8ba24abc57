"""Asking a model about one window: the call, the check of its reply, and one repair if the reply cannot be used.

Runs in worker threads and touches no table; what came of it goes back as an
``Outcome``. In the two-step way, for weak local models, entities are asked for first
and then what holds among them; both replies together are the window's reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..facts.llm import prompt as prompts
from ..facts.llm.reading import Reading
from ..facts.llm.reply import ReplyError
from ..facts.llm.reply_schema import reply_schema
from ..facts.llm.validate import read
from ..facts.llm.window import Window
from ..facts.template import Template
from ..ledger import BudgetExceeded
from ..models import Caller, CallFailed, Reply, Stopped
from ..text.tokens import count_tokens

__all__ = ["DONE", "FAILED", "FATAL", "REFUSED", "STOPPED", "Outcome", "Reader"]

DONE, FAILED, FATAL, REFUSED, STOPPED = "done", "failed", "fatal", "refused", "stopped"

PURPOSE = "extract"
LEAST_REPLY, REPLY_SHARE = 1_500, 5  # tokens that a reply may have at least, and per token of text
PASSING = (408, 409, 425, 429)  # statuses after which another time may do better
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
    cut: bool = False  # the reply was cut off at the output limit


@dataclass(frozen=True)
class Reader:
    """Asks one model under one schema."""

    caller: Caller
    schema: Template
    mode: str
    two_step: bool = False
    reply_tokens: int = 8_000  # most tokens of a reply
    system: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "system", prompts.system_prompt(self.schema, self.mode))

    @property
    def prompt_hash(self) -> str:
        return prompts.prompt_hash(self.schema, self.mode, self.two_step)

    def most(self, window: Window) -> int:
        """The longest reply that is asked for, in tokens."""
        text = sum(count_tokens(chunk.text) for chunk in window.chunks)
        return min(self.reply_tokens, max(LEAST_REPLY, REPLY_SHARE * text))

    def ask(self, extraction: int, window: Window) -> Outcome:
        """Everything that can go wrong with a call is in the outcome; what is raised is a bug."""
        outcome = Outcome(extraction)
        try:
            self._ask(window, outcome)
        except BudgetExceeded as error:
            outcome.kind, outcome.error = REFUSED, str(error)
        except Stopped as error:
            outcome.kind, outcome.error = STOPPED, str(error)
        except CallFailed as error:
            outcome.kind, outcome.error = FATAL if error.fatal else FAILED, str(error)
            outcome.transient = error.status is None or error.status in PASSING or error.status >= 500
        return outcome

    def _ask(self, window: Window, outcome: Outcome) -> None:
        text = prompts.window_prompt(window)
        if self.two_step:
            first = self._call(prompts.entities_prompt(window), window, outcome, prompts.ENTITIES)
            text = prompts.relations_prompt(window, first)
        reply = self._call(text, window, outcome)
        try:
            self._read(reply, window, outcome)
        except ReplyError as error:
            again = self._call(text + REPAIR.format(error=error), window, outcome)
            try:
                self._read(again, window, outcome)
            except ReplyError as last:
                outcome.error = str(last)

    def _call(self, text: str, window: Window, outcome: Outcome) -> str:
        reply: Reply = self.caller.call(
            PURPOSE,
            self.system,
            text,
            schema=reply_schema(self.schema, self.mode, len(window.chunks)),
            max_output=self.most(window),
            extraction=outcome.extraction,
        )
        outcome.calls += 1
        outcome.input_tokens += reply.input_tokens
        outcome.output_tokens += reply.output_tokens
        outcome.reply = reply.text
        return reply.text

    def _read(self, reply: str, window: Window, outcome: Outcome) -> None:
        outcome.reading = read(reply, window, self.schema, self.mode)
        outcome.kind, outcome.error = DONE, ""
