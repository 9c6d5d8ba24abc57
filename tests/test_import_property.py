"""Whatever was imported, changed and removed before: the file is as if only the last files had been imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graph_equality import Fresh, graph_of
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports import pieces as cutting
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.share.imports.pieces import pieces

fresh = Fresh()

names = st.sampled_from(["Ada", "ada", "Ben", "BEN", "Cem", "Mars", "x (y)"])
kinds = st.sampled_from(["", "", "person", "place"])
rows = st.lists(
    st.fixed_dictionaries(
        {"head": names, "head_type": kinds, "relation": st.sampled_from(["knows", "likes"]), "tail": names,
         "tail_type": kinds, "kind": st.sampled_from(["triple", "triple", "triple", "attribute", "alias", "entity"])}
    ),
    max_size=6,
)  # fmt: skip
notes = st.sampled_from(
    ["Ada met [[Ben]].", "---\ntype: person\naliases: [Cem]\n---\nknows:: [[Mars]]", "Nothing. Mars."]
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("import"), st.sampled_from(["a.jsonl", "b.jsonl"]), rows),
        st.tuples(st.just("remove"), st.sampled_from(["a.jsonl", "b.jsonl", "Ada.md"]), st.just(None)),
        st.tuples(st.just("note"), st.just("Ada.md"), notes),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


def put(kb: KnowledgeBase, folder: Path, name: str, content: Any) -> None:
    """Import a file, or add the note."""
    if name.endswith(".md"):
        (folder / "vault").mkdir(exist_ok=True)
        (folder / "vault" / name).write_text(content, encoding="utf-8")
        kb.add([folder / "vault"])
    else:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
        kb.import_graph([folder / name], ImportOptions(schema=False))
    assert kb.check() == []


def everything(kb: KnowledgeBase) -> dict[str, Any]:
    """The graph, and all that is counted, by natural keys."""
    more = {
        "facts": "SELECT kind, head, head_type, relation, tail, tail_type, evidence, confidence FROM kg_facts",
        "shown": "SELECT name, type, origin FROM kg_entities",
        "mentions": """SELECT d.uri, c.start + m.start, m.end - m.start, e.key, e.type, m.origin FROM kg_mentions m
                       JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document
                       JOIN kg_entities e ON e.id = m.entity""",
    }
    return graph_of(kb) | {name: sorted(map(tuple, kb.connection.execute(sql))) for name, sql in more.items()}


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=steps)
@example(
    steps=[
        ("note", "Ada.md", "Ada met [[Ben]]."),
        (
            "import",
            "a.jsonl",
            [
                {
                    "head": "Ben",
                    "head_type": "person",
                    "relation": "likes",
                    "tail": "Ada",
                    "tail_type": "place",
                    "kind": "triple",
                }
            ],
        ),
        ("import", "a.jsonl", []),
    ]
)
@example(steps=[
    ("note", "Ada.md", "---\naliases: [Cem]\n---\n"),
    ("import", "a.jsonl", [{"head": "Ada", "relation": "knows", "tail": "Cem"}]),
])  # fmt: skip
@example(steps=[
    ("import", "b.jsonl", [
        {"head": "x (y)", "head_type": "person", "relation": "knows", "tail": "ada", "tail_type": "place",
         "kind": "triple"},
        {"head": "Ada", "head_type": "person", "relation": "knows", "tail": "Ada", "tail_type": "", "kind": "alias"},
    ]),
    ("note", "Ada.md", "Nothing. Mars."),
    ("remove", "Ada.md", None),
])  # fmt: skip
def test_only_the_last_files_count(tmp_path_factory: Any, steps: list[tuple[str, str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("graph")
    there: dict[str, Any] = {}
    with fresh() as kb:
        for what, name, content in steps:
            if what != "remove":
                put(kb, folder, name, content)
                there[name] = content
            elif name in there:
                del there[name]
                kb.remove([f"vault/{name}" if name.endswith(".md") else name])
                assert kb.check() == []
        found = everything(kb)
    with fresh() as kb:
        for name in sorted(there, reverse=True):
            put(kb, folder, name, there[name])
        assert found == everything(kb)


lines = st.lists(
    st.text(st.characters(blacklist_characters="\n", blacklist_categories=("Cs",)), max_size=30), max_size=60
)


@settings(max_examples=60, deadline=None)
@given(lines=lines, at=st.integers(0, 60))
@example(lines=["x" * 9_000, "y"], at=1)
def test_pieces_cover_the_text_and_an_edit_moves_few(lines: list[str], at: int) -> None:
    def cut(lines: list[str]) -> list[str]:
        text, spans, start = "".join(f"{line}\n" for line in lines), [], 0
        for line in lines:
            spans.append((start, start + len(line)))
            start += len(line) + 1
        found = list(pieces(text, [(*span, ()) for span in spans]))
        assert "".join(text[p.start : p.end] for p in found) == (text if found else "")
        assert all(p.end - p.start <= cutting.MAX_ROW + cutting.MAX_CHARACTERS for p in found)
        assert [p.line for p in found] == [text.count("\n", 0, p.start) + 1 for p in found]
        return [text[p.start : p.end] for p in found]

    many = [f"{line} {place} {'word ' * (place % 9)}" for line in lines for place in range(5)]
    before = cut(many)
    after = cut([*many[:at], "a row that is new", *many[at:]])
    assert len(set(before) - set(after)) <= 3
