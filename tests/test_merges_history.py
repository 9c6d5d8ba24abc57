"""Undo is exact: after any history of merges, undos, edits, deletes and readings, the file is what it would be without.

The property of test_order_extraction.py, with a person who decides in between: by natural keys the file must be what
adding the final vault and reading it gives in an empty file that holds only the decisions that still stand.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conftest import write_notes
from fake_reading import give_schema, read_all
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rows import differences, natural
from test_order import PLAIN_MATTER, PLAIN_PARTS, PLAIN_PATHS, PRUNE, SLOW, TYPED, Step, apply, delete, move, write

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import merges as review
from llm_graphrag.review.splits import split
from llm_graphrag.store import decisions
from llm_graphrag.store.connection import transaction

#: A step of a note; ("merge", kept, merged), ("reject", …), ("split", name, note), ("undo", n) of a person; ("read",);
#: ("again", other) has all that was read before read again, by the other model or by the first.
Act = tuple[str, Step] | tuple[str, int, int] | tuple[str, int] | tuple[str, bool] | tuple[str]

DECISIONS = """SELECT id, kept_key, kept_type, merged_key, merged_type, reason, doubt, status, decided_by, decided_at
  FROM kg_merges WHERE status IN ('approved', 'rejected')"""


def decide(kb: KnowledgeBase, act: str, *numbers: int) -> None:
    """Have a person decide about the entities, or the merge, with these numbers; what cannot be done is left out."""
    connection = kb.connection
    try:
        if act == "undo":
            rows = connection.execute("SELECT id FROM kg_merges WHERE decided_by IS NOT NULL ORDER BY id").fetchall()
            if rows:
                review.undo(connection, kb.settings, rows[numbers[0] % len(rows)][0], actor="me")
            return
        rows = connection.execute("SELECT key, type FROM kg_entities ORDER BY key, type").fetchall()
        if not rows:
            return
        (kept, kept_type), (merged, merged_type) = (rows[number % len(rows)] for number in numbers)
        if act == "split":
            notes = connection.execute("SELECT uri FROM kg_documents ORDER BY uri").fetchall()
            uri = notes[numbers[1] % len(notes)][0]
            split(connection, kb.settings, kept, kept + " (2)", [uri], type_=kept_type, actor="me")
        elif act == "merge":
            review.merge(
                connection, kb.settings, kept, merged, kept_type=kept_type, merged_type=merged_type, actor="me"
            )
        elif (kept, kept_type) != (merged, merged_type):
            review.refuse(connection, kb.settings, kept, merged, one_type=kept_type, other_type=merged_type, actor="me")
    except review.ReviewError:
        pass


def copy_decisions(kb: KnowledgeBase, other: KnowledgeBase) -> None:
    """Have another file hold the decisions that stand in this one; notes that were renamed by their names of now."""
    uris = dict(kb.connection.execute("SELECT id, uri FROM kg_documents").fetchall())
    with transaction(other.connection):
        for row in kb.connection.execute(DECISIONS).fetchall():
            cursor = other.connection.execute(
                """INSERT INTO kg_merges(kept_key, kept_type, merged_key, merged_type, reason, doubt, status,
                     decided_by, decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                tuple(row)[1:],
            )
            last = decisions.standing(kb.connection, "merge", row["id"])
            assert last is not None
            detail = json.loads(last["detail"])
            for document in detail.get("documents", ()):
                document["uri"] = uris.get(document.pop("id"), document["uri"])
            assert cursor.lastrowid is not None
            decisions.record(
                other.connection, kind="merge", item=cursor.lastrowid, subject="", action=last["action"],
                before="undone", actor="me", at="", detail=detail,
            )  # fmt: skip


def after(acts: Sequence[Act], together: int = 1) -> list[str]:
    """How a history differs from its end: the final vault, read, and the decisions that stand."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.in_memory() as one, KnowledgeBase.in_memory() as other:
        for kb in (one, other):
            kb.set(embedding_model="")
            give_schema(kb)
        root = write_notes(Path(folder).resolve() / "v", {})
        model = False
        for act in acts:
            if act[0] == "note":
                apply(root, act[1])
                one.add([root], PRUNE)
            elif act[0] == "read":
                read_all(one, together, model)
            elif act[0] == "again":
                model = act[1]
                read_all(one, together, model, again=True)
            else:
                decide(one, *act)
            assert one.check() == [], act
        one.add([root], PRUNE)
        read_all(one, together, model)
        assert one.check() == []
        copy_decisions(one, other)
        other.add([root])
        read_all(other, 1, model)
        assert other.check() == []
        return differences(natural(other), natural(one))


path = st.sampled_from(PLAIN_PATHS)
text = st.builds(
    lambda head, body: head + "\n\n".join(body) + "\n",
    st.sampled_from([*PLAIN_MATTER, TYPED]),
    st.lists(st.sampled_from(PLAIN_PARTS), max_size=3),
)
number = st.integers(0, 11)
note = st.tuples(
    st.just("note"),
    st.one_of(
        st.builds(write, path, text), st.builds(write, path, text), st.builds(delete, path), st.builds(move, path, path)
    ),
)
person = st.one_of(
    st.tuples(st.just("merge"), number, number),
    st.tuples(st.just("merge"), number, number),
    st.tuples(st.just("reject"), number, number),
    st.tuples(st.just("split"), number, number),
    st.tuples(st.just("undo"), number),
)
reading = st.one_of(st.just(("read",)), st.tuples(st.just("again"), st.booleans()))
histories = st.builds(
    lambda first, rest: [("note", step) for step in first] + rest,
    st.lists(st.builds(write, path, text), min_size=2, max_size=3),
    st.lists(st.one_of(note, person, person, reading), min_size=3, max_size=10),
)


#: A model calls the split name something that it was not called before, in the very document where it is split.
TYPED_AFTER_SPLIT: list[Act] = [
    ("note", write("README.md", "\n")),
    ("note", write("a/README.md", "See [[Mira]].\n\n# Top\n\nOf Kestrel Works, by Otto. [x](a/Otto.md)\n")),
    ("split", 3, 1),
]
#: A passage is read again, and a name stands in it without its type before it stands with it.
TYPED_AGAIN: list[Act] = [
    ("note", write("Mira.md", "![[README#Top]]\n\nMira met Pia Quist.\n\nMira met Pia Quist.\n")),
    ("again", True),
    ("again", True),
]


@given(histories, st.sampled_from([1, 3]))
@example(TYPED_AFTER_SPLIT, 1)
@example(TYPED_AGAIN, 1)
@settings(SLOW, max_examples=35)
def test_any_history(acts: list[Act], together: int) -> None:
    assert after(acts, together) == []
