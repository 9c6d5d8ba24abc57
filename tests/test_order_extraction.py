"""What models said is kept in step with the notes through any history, as what the notes say themselves is.

The same property as in test_order.py, with a model that reads after some of the steps:
by natural keys the file must be what adding the final vault and reading it at once gives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from conftest import write_notes
from fake_reading import give_schema, read_all
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import differences, natural
from test_order import (
    MATTER,
    PARTS,
    PATHS,
    PLAIN_MATTER,
    PLAIN_PARTS,
    PLAIN_PATHS,
    PRUNE,
    SLOW,
    Step,
    apply,
    histories,
)

from llm_graphrag.knowledge_base import KnowledgeBase


def after(steps: Sequence[Step], reads: Sequence[bool], together: int = 1) -> list[str]:
    """How a history with readings in between differs from its end, added and read at once."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.in_memory() as one, KnowledgeBase.in_memory() as other:
        for kb in (one, other):
            kb.set(embedding_model="")
            give_schema(kb)
        root = write_notes(Path(folder).resolve() / "v", {})
        for step, reads_now in zip(steps, reads, strict=False):
            apply(root, step)
            one.add([root], PRUNE)
            assert one.check() == [], step
            if reads_now:
                read_all(one, together)
                assert one.check() == [], ("read after", step)
        one.add([root], PRUNE)
        read_all(one, together)
        assert one.check() == []
        other.add([root])
        read_all(other)
        return differences(natural(other), natural(one))


READS = st.lists(st.booleans(), min_size=6, max_size=6)


@given(histories(PLAIN_PATHS, PLAIN_PARTS, PLAIN_MATTER), READS)
@settings(SLOW, max_examples=40)
def test_plain_notes_read_through_any_history(steps: list[Step], reads: list[bool]) -> None:
    assert after(steps, reads) == []


@given(histories(PATHS, PARTS, MATTER), READS, st.sampled_from([1, 3]))
@settings(SLOW, max_examples=60)
def test_any_notes_read_through_any_history(steps: list[Step], reads: list[bool], together: int) -> None:
    assert after(steps, reads, together) == []
