"""Ask: a question in, an answer out, every piece of it cited.

Without a model the answer is the evidence itself (verdict ``evidence``): the passages
that fit best, each with its document, heading, line and the sentence, verbatim, and the
facts that join them (``answer.evidence``). With a model it is what the model says of
these passages, as far as they support it (``answer.spoken``). Either may be ``abstained``.
A citation whose file has changed or gone since it was read says so; ``strict`` refuses
instead.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from .context import BUDGET
from .evidence import NOT_HELD, Found, evidence, find
from .record import Step, record
from .result import Answer, Citation, Deepened, Explored, Searched, StaleError, Trouble, Usage

if TYPE_CHECKING:
    from ..extract.run import Report
    from ..models import Caller

__all__ = [
    "MODEL_K", "NOT_HELD", "Answer", "Citation", "Deepened", "Explored", "K", "Searched", "StaleError", "Trouble",
    "Usage", "ask",
]  # fmt: skip

K = 5  # passages cited
MODEL_K = 10  # passages that a model is shown: it reads more patiently than a person


def ask(
    connection: sqlite3.Connection,
    question: str,
    *,
    k: int | None = None,
    budget: int = BUDGET,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    strict: bool = False,
    vectors: bool = True,
    log: bool = True,
    caller: Caller | None = None,
    on_text: Callable[[str], None] | None = None,
    deepen: Callable[[Sequence[int]], Report] | None = None,
    explore: bool = False,
) -> Answer:
    """Return the answer to a question from at most ``k`` passages of at most ``budget`` tokens together.

    ``where``, ``tag``, ``since`` and ``vectors`` are those of ``routes.search``. With ``log`` the answer is stored in
    the knowledge base, unless that cannot be written. With ``caller`` a model answers, in one call, unless no passage
    was found; ``on_text`` gets its sentences, as they are to be printed, once they were checked. ``deepen`` has a model
    read chunks, best first, before the answer; with ``explore`` it first walks the graph from what the question names
    (``routes.agentic``), and what it found is shown to it with the passages. Passages are ``K`` without a model and
    ``MODEL_K`` with one, unless ``k`` is given. Raises StaleError if ``strict`` and a file that was read is changed or
    gone; ValueError for a wrong condition or date. A model that fails raises nothing: the evidence is returned, with
    ``trouble``.
    """
    narrowed: dict[str, Any] = {"where": where, "tag": tag, "since": since, "vectors": vectors}
    look = _Look(connection, question, k or K, k or (MODEL_K if caller else K), budget, strict, narrowed)
    found = look.find()
    answer, steps = look.evidence(found), list[Step]()
    if caller is not None and found.hits:
        found, answer, steps = _asked(look, found, answer, caller, on_text, deepen, explore)
    if not log or not question.strip():
        return answer
    asked = {"k": k, "where": where, "tag": tag, "since": since, "strict": strict, "no_vectors": not vectors}
    return record(connection, answer, found.hits, steps, asked)


@dataclass(frozen=True, slots=True)
class _Look:
    """How a question is looked up, before and after reading."""

    connection: sqlite3.Connection
    question: str
    few: int  # passages shown to a person
    many: int  # passages found
    budget: int
    strict: bool
    narrowed: Mapping[str, Any]

    def find(self) -> Found:
        return find(self.connection, self.question, self.many, **self.narrowed)

    def evidence(self, found: Found) -> Answer:
        return evidence(
            self.connection, self.question, found, k=self.few, budget=self.budget, strict=self.strict
        )  # fmt: skip


def _asked(
    look: _Look,
    found: Found,
    answer: Answer,
    caller: Caller,
    on_text: Callable[[str], None] | None,
    deepen: Callable[[Sequence[int]], Report] | None,
    explore: bool,
) -> tuple[Found, Answer, list[Step]]:
    """Read what is to be read, look again, and have the model answer; with what was done."""
    from .spoken import speak
    from .usage import last_call, usage_since

    after, began = last_call(look.connection), time.monotonic()
    steps: list[Step] = []
    deep = explored = None
    if deepen is not None:
        deep = _deepened(deepen, [proposal.chunk for proposal in found.ranked])
        steps.append(("deep", asdict(deep)))
        found = look.find()
        answer = look.evidence(found)
    if explore:
        found, explored, trace = _explored(look, found, caller)
        steps.append(("explore", trace))
    spoken = speak(
        look.connection, found, answer, caller, k=look.many, budget=look.budget, strict=look.strict, on_text=on_text
    )
    steps.append(("answer", spoken.trace))
    if explored is not None:
        explored = replace(explored, unshown=spoken.unshown)
    usage = usage_since(look.connection, caller.ledger.run, after, time.monotonic() - began)
    return found, replace(spoken.answer, deep=deep, explored=explored, usage=usage, options=dict(caller.options)), steps


def _explored(look: _Look, found: Found, caller: Caller) -> tuple[Found, Explored, dict[str, Any]]:
    """Have the model walk the graph from what the question names."""
    from ..graph.candidates import flat
    from ..graph.written import spare
    from ..routes.agentic import explore
    from .walks import walks

    starts = [candidate.entity for candidate in flat(found.plan.mentions)]
    way = explore(look.connection, look.question, starts, caller, documents=found.plan.documents)
    explored = Explored(len(way.rounds), len(way.triples), way.calls, way.stop, way.trouble,
                        left_out=sum(round.left_out for round in way.rounds))  # fmt: skip
    found = replace(found, explored=walks(way.triples, {node.id for node in way.ends}))
    return found, explored, asdict(way, dict_factory=spare)


def _deepened(deepen: Callable[[Sequence[int]], Report], chunks: Sequence[int]) -> Deepened:
    """Read before the answer; trouble there is said, and what is known already still answers."""
    from ..failures import ModelError
    from ..ledger import BudgetExceeded

    try:
        report = deepen(chunks)
    except (ModelError, BudgetExceeded) as error:
        return Deepened(0, 0, 0, 0, str(error))
    why = next((said for said, _ in report.errors.most_common(1)), "")
    stopped = report.why or report.stopped
    return Deepened(report.windows, report.calls, report.kept, report.failed, stopped, report.done, why)
