"""The pages on a graph that was imported, with no notes at all."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("datasette")

from datasette_helpers import serve, shut

from llm_graphrag.knowledge_base import KnowledgeBase

pytestmark = pytest.mark.datasette

PAGES = {
    "/films/-/graph": "films.csv",
    "/films/-/graph/entity/Film~20~3Cb~3E": "directed by",
    "/films/-/graph/entity/Film~20~3Cb~3E.json": "Agn",
    "/films/-/graph/document/films~2Ecsv": "directed by",
    "/films/-/graph/search?q=Varda": "films.csv",
    "/films/-/graph/path?from=Film+%3Cb%3E&to=Cannes": "Varda",
    "/films/kg_facts": "directed_by",
    "/films/kg_documents": "import",
}


async def test_pages(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(
        "head,head_type,relation,tail,tail_type\nFilm <b>,film,directed by,Agnès Varda,person\n"
        "Agnès Varda,person,honoured in,Cannes,place\n",
        encoding="utf-8",
    )
    path = tmp_path / "films.db"
    with KnowledgeBase.open(path, create=True) as kb:
        kb.import_graph([tmp_path / "films.csv"])
    datasette = await serve(path)
    try:
        for url, part in PAGES.items():
            response = await datasette.client.get(url)
            assert response.status_code == 200, url
            assert part in response.text, url
            assert url.endswith(".json") or "Film <b>" not in response.text, url
    finally:
        shut(datasette)


async def test_rows_are_not_offered_for_reading(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text("head,relation,tail\n# Film,directed by,Varda\n", "utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Film\n\nSeen.\n", "utf-8")
    with KnowledgeBase.open(tmp_path / "films.db", create=True) as kb:
        kb.import_graph([tmp_path / "films.csv"])
        kb.add([tmp_path / "notes"])
    datasette = await serve(tmp_path / "films.db")
    try:
        for view in ("", "?view=reading"):
            rows = (await datasette.client.get(f"/films/-/graph/document/films~2Ecsv{view}")).text
            assert "For reading" not in rows and "# Film" in rows and '<article class="reading"' not in rows
            note = (await datasette.client.get(f"/films/-/graph/document/notes~2Fa~2Emd{view}")).text
            assert "For reading" in note
    finally:
        shut(datasette)


async def test_what_is_called_like_a_number_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "bugs.csv").write_text("#2,blocks,#77\nAna,reported,#2\n", "utf-8")
    path = tmp_path / "bugs.db"
    with KnowledgeBase.open(path, create=True) as kb:
        kb.import_graph([tmp_path / "bugs.csv"])
        number = kb.connection.execute("SELECT id FROM kg_entities WHERE name = '#2'").fetchone()[0]
    assert number != 2
    datasette = await serve(path)
    try:
        card = await datasette.client.get("/bugs/-/graph/entity/~232.json")
        assert (card.status_code, card.json()["entity"]["id"]) == (200, number)
        asked = await datasette.client.get("/bugs/-/graph/path.json?from=%232&to=%2377")
        either = asked.json()["source"]["choices"]  # as in the terminal: what is called so, or what has the number
        assert [choice["entity"]["id"] for choice in either] == [2, number]
        asked = await datasette.client.get(either[1]["href"].replace("/path?", "/path.json?"))
        assert [node["name"] for node in asked.json()["paths"][0]["nodes"]] == ["#2", "#77"]
    finally:
        shut(datasette)


async def test_a_passage_of_rows_is_the_row_that_names_the_thing(tmp_path: Path) -> None:
    rows = ["head,relation,tail", "Alien Dawn,directed_by,Mia Roe", "Speed Boat,starred,Kay Reeves", "Reef,starred,Ann"]
    (tmp_path / "films.csv").write_text("\n".join(rows) + "\n", "utf-8")
    with KnowledgeBase.open(tmp_path / "films.db", create=True) as kb:
        kb.import_graph([tmp_path / "films.csv"])
    datasette = await serve(tmp_path / "films.db")
    try:
        page = (await datasette.client.get("/films/-/graph/entity/Kay~20Reeves.json")).json()
        (passage,) = page["mentions"]
        assert "".join(text for text, _ in passage["parts"]) == rows[2]
        assert [text for text, marked in passage["parts"] if marked] == ["Kay Reeves"]
        assert passage["line"] == 3
    finally:
        shut(datasette)
