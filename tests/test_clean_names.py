"""Names hold no odd spaces and nothing invisible, wherever they come from: so what is exported comes back the same."""

from __future__ import annotations

import json
from pathlib import Path

from graph_equality import Fresh, graph_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.text.normalise import clean_name, name_key

fresh = Fresh()

SPACES = "\xa0\u1680\u2000\u2003\u2007\u2009\u200a\u2028\u2029\u202f\u205f\u3000\x85\x1c\t\x0b"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\xad\u034f\u180e\ufe0f\u202e\x07"
MARKS = "\u0301\u0308\u0323\u0338\u093f\u3099"

CONTROLS = dict.fromkeys(map(ord, "\x85\x1c\x0b\x07"))  # a text of many is no text, a value keeps them

names = st.text(st.sampled_from("AbÉ東1-. " + SPACES + INVISIBLE + MARKS), min_size=1, max_size=9).map("N{}n".format)


@settings(max_examples=15, deadline=None)
@given(name=names, other=names)
@example(name="Higher\xa0Levels", other="Higher Levels")
@example(name="e\u0301 \u200bx", other="\u202fx")
def test_names_of_notes_and_rows_are_clean_and_come_back(tmp_path_factory: object, name: str, other: str) -> None:
    folder = Path(tmp_path_factory.mktemp("clean"))  # type: ignore[attr-defined]
    (folder / "vault").mkdir()
    front = json.dumps({"aliases": [other], "author": f"[[{other}]]", "title": name.translate(CONTROLS)})
    text = (
        f"# {name} head\n\nSee [[{other}|{name}]], [[{name}]] and **{other} {name}**. Ann{name}Lee met Ann{name}Lee.\n"
    )
    (folder / "vault" / f"{name}.md").write_text(text.translate(CONTROLS), encoding="utf-8")
    (folder / "vault" / f"{other}2.md").write_text(f"---\n{front}\n---\n{text}".translate(CONTROLS), encoding="utf-8")
    rows = [{"head": name, "relation": "is", "tail": other}, {"kind": "alias", "head": name, "tail": other}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with fresh() as kb:
        kb.set(embedding_model="")
        kb.add([folder / "vault"])
        kb.import_graph([folder / "rows.jsonl"], ImportOptions(schema=False))
        assert kb.check() == []
        stored = [
            row[0] for row in kb.connection.execute("SELECT name FROM kg_entities UNION SELECT name FROM kg_aliases")
        ]
        assert stored == [clean_name(written) for written in stored]
        assert {name_key(name), name_key(f"{other}2")} <= set(map(name_key, stored))
        for suffix in (".csv", ".jsonl"):
            kb.export_graph(folder / f"out{suffix}")
            with fresh() as back:
                assert back.import_graph([folder / f"out{suffix}"], ImportOptions(schema=False)).skipped == []
                assert graph_of(back) == graph_of(kb)


def test_names_of_a_scope_are_clean(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: Higher\xa0Levels\n---\nIt is [[b]].\n", encoding="utf-8")
    kb.add([tmp_path / "a.md"])
    kb.export_graph(tmp_path / "out.jsonl", where="folder = ''")
    aliases = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [row["tail"] for row in aliases if row["kind"] == "alias"] == ["Higher Levels"]
