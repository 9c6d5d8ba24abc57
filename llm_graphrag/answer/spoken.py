"""The answer of a model: one call over numbered sources, and nothing of it taken on trust.

``speak`` gathers the sources, asks once, and checks each sentence as it arrives
(``answer.citations``). What holds becomes the answer. If nothing holds, or the model says
that the passages have no answer, the verdict is ``abstained`` and the evidence stands in
its place; if the model cannot be reached, or may not be by the budget, the evidence
stands there too, with the reason. What the model wrote is kept in the trace either way.

Planning before this call, and reflection after it, have their place around ``speak``: it
takes what was found and gives an answer with what is missing, any number of times.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..failures import ModelError, Stopped
from ..ledger import BudgetExceeded
from ..store.headings import Outline, outlines
from .cells import with_cells
from .citations import Source, Support, Verifier
from .evidence import Found, context_of, evidence, late_documents, refuse_stale
from .prompt import SYSTEM, user_prompt
from .reply import Said, Speech
from .result import Answer, Citation, Trouble
from .sources import gather

if TYPE_CHECKING:
    from ..models import Caller, Reply

__all__ = ["MAX_OUTPUT", "Spoken", "speak"]

MAX_OUTPUT = 2_000
"""Tokens that a reply may have, unless the model's options say. An answer takes 100; models that think need more."""

CHUNK = "SELECT text FROM kg_chunks WHERE id = :chunk"
NEAREST = "Nearest to the question is:"


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer, and what was done for it, to be kept."""

    answer: Answer
    trace: Mapping[str, Any]
    unshown: int  # facts found on the way through the graph that had no room in the prompt


def speak(
    connection: sqlite3.Connection,
    found: Found,
    shown: Answer,
    caller: Caller,
    *,
    k: int,
    budget: int,
    strict: bool = False,
    on_text: Callable[[str], None] | None = None,
) -> Spoken:
    """Have a model answer from the first ``k`` passages found; ``shown`` is the answer without it.

    ``on_text`` gets each sentence as it is to be printed, once it was checked. Raises StaleError if ``strict`` and a
    source is stale, before anything is spent.
    """
    context, joined = context_of(connection, found, k, budget)
    sources, facts = gather(connection, context, joined)
    outline = outlines(connection, [source.chunk for source in sources])
    late = late_documents(connection, {source.document for source in sources})
    if strict:
        refuse_stale((source.uri, late.get(source.document)) for source in sources)
    told = {(fact.head, fact.relation, fact.tail) for fact in facts}
    unshown = sum((fact.head, fact.relation, fact.tail) not in told for fact in context.roomless)
    prompt = user_prompt(sources, facts, shown.question, unshown)
    trace = {"model": caller.model_id, "prompt": _digest(SYSTEM, prompt), "sources": [_place(s) for s in sources]}
    speech = Speech(Verifier(sources, shown.question, _stands_in(connection), facts), on_text)
    feed = speech.feed if on_text is not None else None
    try:
        reply = caller.call("answer", SYSTEM, prompt, max_output=MAX_OUTPUT, on_text=feed)
    except (BudgetExceeded, ModelError, Stopped) as error:
        if speech.shown:  # then the evidence has the numbers that were printed
            shown = evidence(connection, shown.question, found, k=k, budget=budget, strict=False)
        answer = replace(shown, model=caller.model_id, trouble=_trouble(error))
        return Spoken(answer, trace | {"error": str(error), "shown": speech.shown}, unshown)
    if not speech.heard:  # it was not asked to stream, or could not
        speech.feed(reply.text)
    said = speech.close()
    answer = replace(shown, model=caller.model_id, verdict=said.verdict, missing=said.missing)
    if said.verdict == "abstained":
        return Spoken(replace(answer, hint=f"{said.why} {NEAREST}"), trace | _told(reply, said), unshown)
    cited = _citations(said, {source.number: source for source in sources}, outline, late)
    citations = with_cells(connection, cited)
    text = "".join(sentence.before + sentence.text for sentence in said.sentences)
    answer = replace(answer, answer=text, sentences=said.sentences, citations=citations, facts=facts)
    return Spoken(replace(answer, cut=context.cut, hint=""), trace | _told(reply, said), unshown)


def _trouble(error: Exception) -> Trouble:
    kind = "budget" if isinstance(error, BudgetExceeded) else "interrupted" if isinstance(error, Stopped) else "call"
    return Trouble(kind, str(error))


def _stands_in(connection: sqlite3.Connection) -> Callable[[Support], bool]:
    """Whether a quote stands in the file as it is now: a note may be read anew while the model writes."""

    def stands(support: Support) -> bool:
        row = connection.execute(CHUNK, {"chunk": support.chunk}).fetchone()
        return row is not None and row[0][support.start : support.end] == support.quote

    return stands


def _citations(
    said: Said, sources: Mapping[int, Source], outline: Mapping[int, Outline], late: Mapping[int, str]
) -> list[Citation]:
    """What is cited, by number; of several sentences of one passage the one that says most."""
    best: dict[int, Support] = {}
    for sentence in said.sentences:
        for support in sentence.citations:
            known = best.get(support.number)
            if known is None or support.score > known.score:
                best[support.number] = support
    return [
        _citation(best[n], sources[n], outline[best[n].chunk].path(best[n].start), late.get(sources[n].document))
        for n in sorted(best)
    ]


def _citation(support: Support, source: Source, heading: str, stale: str | None) -> Citation:
    return Citation(
        number=support.number,
        chunk=support.chunk,
        document=source.document,
        uri=source.uri,
        title=source.title,
        heading=heading,
        line=support.line,
        start=support.start,
        end=support.end,
        quote=support.quote,
        score=source.score,
        content_hash=source.content_hash,
        stale=stale,
    )


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:16]


def _place(source: Source) -> dict[str, Any]:
    return {"number": source.number, "chunk": source.chunk, "start": source.start, "end": source.end}


def _told(reply: Reply, said: Said) -> dict[str, Any]:
    """The reply as it came, and what became of it."""
    return {
        "reply": reply.text,
        "verdict": said.verdict,
        "why": said.why,
        "sentences": [_checked(sentence.text, sentence.why, sentence.citations) for sentence in said.sentences],
        "removed": [asdict(removed) for removed in said.removed],
        "invented": said.invented,
        "cut": said.cut,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "seconds": round(reply.seconds, 3),
        "attempts": reply.attempts,
        "ledger": reply.ledger_id,
        "log": reply.log_id,
    }


def _checked(text: str, why: str, supports: Sequence[Support]) -> dict[str, Any]:
    cited = [{"number": s.number, "chunk": s.chunk, "start": s.start, "end": s.end} for s in supports]
    return {"text": text, "why": why, "citations": cited}
