"""The property that all else rests on: rows follow from the notes as they are, not from how they came about.

A vault goes through edits, renames and deletes, and is added after each. What the file
then holds must be, by natural keys, what adding the final vault at once gives, and
``check`` must be content at every step. Below the property stand its smallest failures,
each with the rows that are right.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import write_notes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import differences, natural

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.settings import Settings
from llm_graphrag.sources.ingest import Options

#: (path, text) writes, (path, None) deletes, (path, path of another note) moves.
Step = tuple[str, str | None, bool]

PRUNE = Options(prune=True)


def write(path: str, text: str) -> Step:
    return (path, text, False)


def delete(path: str) -> Step:
    return (path, None, False)


def move(path: str, to: str) -> Step:
    return (path, to, True)


def apply(root: Path, step: Step) -> None:
    """Do one step on disk; one that is not possible is left out."""
    path, value, moves = step
    here = root / path
    if value is not None and not moves:
        write_notes(root, {path: value})
    elif here.is_file() and value is None:
        here.unlink()
    elif here.is_file() and value is not None and not (root / value).exists():
        (root / value).parent.mkdir(parents=True, exist_ok=True)
        here.rename(root / value)


def after(steps: Sequence[Step], reverse: bool = False, model: str = "") -> list[str]:
    """How a history differs from its end; ``reverse`` adds the final notes one by one instead, last first."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.in_memory() as one, KnowledgeBase.in_memory() as other:
        for kb in (one, other):
            kb.set(embedding_model=model)
        root = write_notes(Path(folder).resolve() / "v", {})
        for step in steps:
            apply(root, step)
            if not reverse:
                one.add([root], PRUNE)
                assert one.check() == [], step
        if reverse:
            for path in sorted(root.rglob("*.*"), reverse=True):
                one.add([path])
                assert one.check() == [], path
        one.add([root], PRUNE)
        other.add([root])
        return differences(natural(other), natural(one))


# -- plain notes: no types, one spelling a name ------------------------------------------------

PLAIN_PATHS = ["Mira.md", "a/Otto.md", "README.md", "a/README.md", "Kestrel Works.md", "C.md", "C# notes.md"]
PLAIN_PARTS = [
    "Mira met Pia Quist.",
    "See [[Mira]] and [[a/Otto|him]].",
    "![[README#Top]] and [[../README]].",
    "employer:: [[Kestrel Works]]",
    "tools:: Hammer, Saw",
    "[[C# notes]] [[C#notes]]",
    "#tag/one\n\n- [ ] call Otto",
    "# Top\n\nOf Kestrel Works, by Otto. [x](a/Otto.md) [[Unwritten]]",
    "## Part\n\n" + "Words of Pia Quist and Mira. " * 60,
]
PLAIN_MATTER = ["", "---\naliases: [Quist Boats]\ntags: x\n---\n", "---\nboss: [[Otto]]\nsize: 12\n---\n"]

# -- and what makes it hard ---------------------------------------------------------------------

PATHS = [*PLAIN_PATHS, "mira.md", "b/Mira.md", "20240131120.md", "x/Pia Quist.md", "MIRA.md", "Mira.txt"]
PARTS = [
    *PLAIN_PARTS,
    "MIRA and mira at KESTREL WORKS.",
    "[[mira]] [[MIRA|m]] [[unwritten]]",
    "# Pia Quist",
    "lead:: [[Pia Quist]]",
    "pia quist, Quist boats, quist Boats",
]
MATTER = [
    *PLAIN_MATTER,
    "---\ntype: person\n---\n",
    "---\ntype: firm\naliases: [Mira, P. Quist]\n---\n",
    "---\ntitle: Mira\nalias: Kestrel Works\n---\n",
]


def histories(paths: list[str], parts: list[str], matter: list[str]) -> st.SearchStrategy[list[Step]]:
    path = st.sampled_from(paths)
    text = st.builds(
        lambda head, body: head + "\n\n".join(body) + "\n",
        st.sampled_from(matter),
        st.lists(st.sampled_from(parts), max_size=3),
    )
    written = st.builds(write, path, text)
    return st.lists(
        st.one_of(written, written, written, st.builds(delete, path), st.builds(move, path, path)),
        min_size=1,
        max_size=6,
    )


SLOW = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@given(histories(PLAIN_PATHS, PLAIN_PARTS, PLAIN_MATTER))
@settings(SLOW, max_examples=40)
def test_plain_notes_through_any_history(steps: list[Step]) -> None:
    assert after(steps) == []


@given(histories(PATHS, PARTS, MATTER))
@settings(SLOW, max_examples=60)
def test_any_notes_through_any_history(steps: list[Step]) -> None:
    assert after(steps) == []


@given(histories(PATHS, PARTS, MATTER))
@settings(SLOW, max_examples=30)
def test_any_notes_one_by_one(steps: list[Step]) -> None:
    assert after(steps, reverse=True) == []


# -- the smallest failures that were found ----------------------------------------------------------

TYPED = "---\ntype: person\n---\n"

HISTORIES = {
    "chunks that are replaced lose what rested on them": [
        write("a.md", "The zebra Pia Quist saw [[Otto]]."),
        write("a.md", "nothing"),
    ],
    "a renamed note states its own claims under its new name": [
        write("a.md", "# Title\n\nsize:: 12"),
        move("a.md", "b.md"),
    ],
    "a spelling does not declare a name": [
        write("n.md", "Mira met mira and MIRA."),
        write("Mira.md", TYPED),
        write("a/Mira.md", TYPED),
    ],
    "a spelling that nobody uses any more is no spelling": [
        write("n.md", "[[Mira Holt]] and [[MIRA HOLT]]"),
        write("n.md", "[[Mira Holt]]"),
    ],
    "the spelling that is shown follows from those that are used": [
        write("n.md", "[[Mira Holt]] and [[mira holt]]"),
        write("n.md", "[[mira holt]]"),
    ],
    "a name that was only mentioned has no more spellings when its note is written": [
        write("n.md", "We saw Mira Holt and MIRA HOLT."),
        write("Mira Holt.md", "x"),
    ],
    "a mention becomes a link": [
        write("n.md", "We saw Mira Holt."),
        write("o.md", "[[Mira Holt]]"),
    ],
    "a link becomes a mention": [
        write("n.md", "We saw Mira Holt. [[Mira Holt]]"),
        write("n.md", "We saw Mira Holt."),
    ],
    "a mention becomes a note": [
        write("n.md", "We saw Mira Holt."),
        write("Mira Holt.md", "x"),
    ],
    "a type goes with its note": [
        write("n.md", "We saw Mira Holt. [[Mira Holt]]"),
        write("Mira Holt.md", TYPED),
        delete("Mira Holt.md"),
    ],
    "a type goes with its note, and what that note declared": [
        write("n.md", "We saw Mira Holt and Old Holt. [[Mira Holt]]"),
        write("Mira Holt.md", "---\ntype: person\naliases: [Old Holt]\n---\n"),
        write("Mira Holt.md", "x"),
        delete("Mira Holt.md"),
    ],
    "a note is named anew while its old name is still used": [
        write("20240131120.md", "---\ntype: firm\naliases: [Old Holt]\n---\n"),
        write("n.md", "Old Holt met [[20240131120]] and Mira Holt."),
        write("20240131120.md", "---\ntitle: Mira Holt\n---\n"),
    ],
    "older notes are searched for the name of a new note": [
        write("n.md", "We saw Mira Holt there."),
        write("Mira.md", "x"),
        write("Mira Holt.md", "x"),
        delete("Mira Holt.md"),
        write("Mira Holt.md", "x"),
    ],
    "the name of a new note is longer than one that was found": [
        write("Mira.md", "x"),
        write("n.md", "the mira who came. Mira holt came, see [[b/Mira holt]]."),
        write("b/Mira holt.md", ""),
    ],
    "two notes do not share an entity because of a title": [
        write("20240131120.md", "# Mira"),
        write("Mira.md", "x"),
    ],
    "two notes do not share an entity because of a title, the other way round": [
        write("Mira.md", "x"),
        write("20240131120.md", "# Mira"),
    ],
    "notes swap names": [
        write("a.md", "one [[b]]"),
        write("b.md", "two [[a]]"),
        move("a.md", "c.md"),
        move("b.md", "a.md"),
        move("c.md", "b.md"),
    ],
    "a name becomes ambiguous and single again": [
        write("n.md", "[[README]] and README"),
        write("README.md", "x"),
        write("a/README.md", "x"),
        delete("README.md"),
        move("a/README.md", "README.md"),
    ],
    "a twin of another kind comes and goes": [
        write("n.md", "[[Mira]] and Mira"),
        write("Mira.md", "x"),
        write("Mira.txt", "y"),
        delete("Mira.md"),
    ],
    "a link to one of two twins": [write("Mira.txt", "y"), write("Mira.md", "[[Mira]]")],
    "a note takes the name that a note of another name leaves": [
        write("a/Mira.md", ""),
        write("mira.md", ""),
        write("Mira.md", "see [[Otto]]"),
        move("Mira.md", "C.md"),
    ],
    "links follow when a note gets another entity": [
        write("a/Mira.markdown", "size:: 12"),
        write("a/Mira.md", "x"),
        write("n.md", "[[a/Mira.markdown]] [[a/Mira]] and Mira"),
        write("a/Mira.md", TYPED),
    ],
    "the entity of a note has no spellings but those its note gives": [
        write("a/Mira.markdown", "---\ntype: firm\n---\n- [ ] call MIRA"),
        write("a/Mira.md", ""),
        move("a/Mira.markdown", "20240131120.md"),
    ],
    "an alias comes and goes": [
        write("n.md", "We saw Old Holt. [[Old Holt]]"),
        write("Mira.md", "---\naliases: [Old Holt]\n---\n"),
        write("Mira.md", "x"),
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history(name: str) -> None:
    assert after(HISTORIES[name]) == []


def test_vectors_too_follow_from_the_notes_alone() -> None:
    steps = [
        write("a.md", "# One\n\nMira of [[Kestrel Works]]."),
        write("b.md", "![[a]]"),
        write("a.md", "# One\n\nOtto of [[Kestrel Works]]."),
        write("b.md", "words"),
        move("a.md", "c.md"),
    ]
    assert after(steps, model=Settings().embedding_model) == []


@pytest.mark.parametrize("name", HISTORIES)
def test_its_end_one_by_one(name: str) -> None:
    assert after(HISTORIES[name], reverse=True) == []
