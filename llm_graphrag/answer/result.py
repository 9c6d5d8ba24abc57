"""What a question gives back: the answer with all that was done for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .citations import Sentence
from .facts import Fact

__all__ = ["Answer", "Citation", "Deepened", "Explored", "Searched", "StaleError", "Trouble", "Usage"]


class StaleError(ValueError):
    """Notes that an answer would cite are not what was read; the message names them."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered piece of evidence."""

    number: int
    chunk: int
    document: int
    uri: str
    title: str
    heading: str
    line: int
    start: int  # of the quote, in code points of the chunk
    end: int
    quote: str
    score: float
    content_hash: str  # of the chunk
    stale: str | None = None  # why the file is no longer what was read
    row: int | None = None  # of a table's row: which it is in its file, and the column of the quote
    column: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """What was looked through, and for what."""

    documents: int
    chunks: int
    entities: int
    words: tuple[str, ...]
    linked: tuple[str, ...]  # names in the question that the knowledge base has
    unknown: tuple[str, ...]  # names in the question that the knowledge base does not have


@dataclass(frozen=True, slots=True)
class Usage:
    """What the calls for one question came to, those of reading before the answer included."""

    calls: int
    lost: int  # of them; cut off, so that their tokens are not known
    input_tokens: int
    output_tokens: int
    cost: float | None  # USD; None if the price is not known
    seconds: float  # of the answer


@dataclass(frozen=True, slots=True)
class Deepened:
    """What was read with a model before the answer."""

    windows: int  # that were to be read
    calls: int
    facts: int
    failed: int
    stopped: str = ""  # why it ended early
    read: int = 0  # of the windows
    error: str = ""  # why most of those failed that did

    @property
    def unread(self) -> int:
        """Windows that were to be read and were not: they failed, or the reading ended before them."""
        return self.windows - self.read


@dataclass(frozen=True, slots=True)
class Explored:
    """What a model found on its way through the graph before the answer, and why it ended (routes/agentic.py)."""

    rounds: int
    facts: int
    calls: int
    stop: str  # enough, none taken, nothing new, cap, budget, stopped, unreadable, error
    trouble: str = ""  # of the last four
    unshown: int = 0  # of the facts; they had no room in the prompt of the answer
    left_out: int = 0  # at least so many more were there and not walked over: a round takes no more


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a model that was to be asked has not answered."""

    kind: str  # budget, call, interrupted
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with what was found for it."""

    question: str
    verdict: str  # answered, partial, abstained; evidence: no model has answered
    citations: tuple[Citation, ...]
    facts: tuple[Fact, ...]
    searched: Searched
    cut: int  # passages that did not fit into the budget
    confidence: float  # 0 to 1, that the notes hold the answer; from the ranking, without a model
    threshold: float  # below it is abstained, where no model is asked
    hint: str = ""  # said where it is abstained
    id: int | None = None  # of the row in kg_questions
    answer: str = ""  # the text with its citations; empty unless answered or partial
    sentences: tuple[Sentence, ...] = ()
    missing: str = ""  # what the notes do not hold, in the model's words
    model: str | None = None
    usage: Usage | None = None
    deep: Deepened | None = None
    explored: Explored | None = None
    trouble: Trouble | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of the model and of the retrieval, for the record
