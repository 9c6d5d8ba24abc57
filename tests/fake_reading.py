"""A model that is a function of the text: what it says of a chunk depends on nothing else."""

from __future__ import annotations

import re

from llm_graphrag.extract.commit import Committer
from llm_graphrag.facts.llm.reading import ModelClaim, Reading
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.ingest import reparse, silent
from llm_graphrag.sources.writer import Writer
from llm_graphrag.store import extractions
from llm_graphrag.store.connection import transaction
from llm_graphrag.store.extractions import Asking

NAMES = re.compile(r"Mira|MIRA|mira|Otto|Pia Quist|pia quist|Kestrel Works|KESTREL WORKS|Unwritten")
ASKING = Asking("fake", "prompt", 1, "suggest")


def claims_of(text: str, number: int = 1, other: bool = False) -> list[ModelClaim]:
    """People, unless the text holds a heading, which makes them places; each knows the next.

    The ``other`` model takes links, not headings, for the sign of places, and passes over the first name.
    """
    found = list(NAMES.finditer(text))[int(other) :]
    type_ = "place" if ("[[" if other else "# ") in text else "person"
    made = [ModelClaim("type", m[0], type_, "type", type_, "", number, m.start(), m.end(), 0.9) for m in found[:4]]
    for one, other in zip(found, found[1:4], strict=False):
        tail_type = type_ if "See" in text else ""
        made.append(
            ModelClaim("triple", one[0], type_, "knows", other[0], tail_type, number, one.start(), other.end(), 0.8)
        )
    for m in found[:1]:
        made.append(ModelClaim("attribute", m[0], type_, "length", str(len(m[0])), "", number, m.start(), m.end()))
        made.append(ModelClaim("alias", m[0], type_, "alias", m[0][:3], "", number, m.start(), m.start() + 3))
    return made


def give_schema(kb: KnowledgeBase) -> None:
    kb.connection.execute("INSERT INTO kg_schema_versions(version, template, actor, at) VALUES (1, 'fake', 'test', '')")


def read_all(kb: KnowledgeBase, together: int = 1, other: bool = False, again: bool = False) -> int:
    """Have the fake model read what is pending, ``together`` chunks a window; returns how many windows it was.

    The ``other`` one says other things; ``again`` has it read what was read before too.
    """
    with transaction(kb.connection):
        extractions.dissolve(kb.connection, ASKING)
        waiting = extractions.pending(kb.connection, again=again)
        windows = [waiting[at : at + together] for at in range(0, len(waiting), together)]
        ids = extractions.plan(kb.connection, windows, ASKING)
    committer = Committer(kb.connection)
    for id_ in ids:
        window = extractions.window(kb.connection, id_)
        claims = [claim for chunk in window.chunks for claim in claims_of(chunk.text, chunk.number, other)]
        committer.done(id_, Reading(tuple(claims)), "{}", 1, "")
        problems = kb.check()
        assert [p for p in problems if "interrupted" not in p.message] == []  # the run goes on
    Writer(kb.connection, kb.settings).finish(silent, reparse)
    return len(ids)
