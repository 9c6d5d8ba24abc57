"""Claims and mentions: what an extractor hands over, before anything is stored.

A claim is one observed statement with the sentence that proves it. Names stand as
they were written; who they are is decided later, from all evidence together
(identity.py). Positions are code points of the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LINKS_TO = "links_to"
EMBEDS = "embeds"
TAGGED = "tagged"
TASK = "task"
ALSO_KNOWN_AS = "alias"
IS_A = "type"


@dataclass(frozen=True, slots=True)
class Claim:
    """``head`` None means the note itself. ``tail`` is a name (triple), a value (attribute), a type or an alias."""

    kind: str  # triple, attribute, type, alias
    head: str | None
    relation: str
    tail: str
    start: int
    end: int
    origin: str
    confidence: float = 1.0
    head_type: str = ""
    tail_type: str = ""
    target: str | None = None  # links: what to look for among the documents
    reversed: bool = False  # written from tail to head, as "lead: Ana" states that Ana leads the note
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mention:
    name: str
    start: int
    end: int
    origin: str
