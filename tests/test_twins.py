"""Notes whose names differ in their extension only, and names that look as if they had one."""

from __future__ import annotations

from pathlib import Path

from llm_graphrag.knowledge_base import KnowledgeBase


def named(kb: KnowledgeBase) -> dict[str, str]:
    rows = kb.connection.execute("SELECT d.uri, e.name FROM kg_documents d JOIN kg_entities e ON e.id = d.entity")
    return dict(rows.fetchall())


def test_twins_are_told_apart_by_their_extension(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "deep").mkdir(parents=True)
    for path in ("a.md", "a.txt", "deep/b.md", "deep/b.org"):
        (vault / path).write_text(f"Text of {path}.")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([vault])
        assert named(kb) == {
            "vault/a.md": "vault/a.md",
            "vault/a.txt": "vault/a.txt",
            "vault/deep/b.md": "deep/b.md",
            "vault/deep/b.org": "deep/b.org",
        }
        assert kb.check() == []


def test_rows_with_dotted_keys_are_two_things(tmp_path: Path) -> None:
    (tmp_path / "plants.csv").write_text("id,title,text\n1.1,Fern,Grows in shade.\n1.2,Fern,Grows in sun.\n")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([tmp_path / "plants.csv"])
        assert len(set(named(kb).values())) == 2
        assert kb.check() == []


def test_names_of_punctuation_are_all_different(tmp_path: Path) -> None:
    for folder in ("en", "de"):
        (tmp_path / "vault" / folder).mkdir(parents=True)
        for name in ("!", ",", "]", "]]", "}", "C", "C#"):
            (tmp_path / "vault" / folder / f"{name}.md").write_text(f"# {name}\n\nA sign.")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        for folder in ("de", "en"):  # one after the other, and then nothing more to do
            kb.add([tmp_path / "vault" / folder / "!.md"])
        kb.add([tmp_path / "vault"])
        assert len(set(named(kb).values())) == 14
        assert kb.check() == []
