"""Names that got a number, because a graph has two things of one name, come with what their file wrote."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Run


def test_a_name_with_a_number_comes_with_what_the_file_wrote(run: Run, tmp_path: Path) -> None:
    rows = ["March,has_genre,documentary", "Wings,has_genre,Documentary", "Ducks,has_genre,Documentary"]
    (tmp_path / "films.csv").write_text("\n".join(["head,relation,tail", *rows]), "utf-8")
    (tmp_path / "nodes.csv").write_text(
        "id,name,type,aliases\np1,Hamlet,film,\np2,Hamlet,film,\np3,Rocky (2),film,Rocky\n", "utf-8"
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\nMarch,cites,p1\nMarch,cites,p2\nMarch,cites,p3\n", "utf-8")
    run("import", tmp_path / "films.csv")
    run("import", tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv")

    def said(value: object) -> set[tuple[str, str]]:
        """(name, as written) wherever a name stands."""
        if isinstance(value, list):
            return {pair for item in value for pair in said(item)}
        if not isinstance(value, dict):
            return set()
        own = {(value["name"], value["written"])} if "written" in value else set()
        return own | {pair for item in value.values() for pair in said(item)}

    def shown(*arguments: str) -> set[tuple[str, str]]:
        return said(json.loads(run(*arguments, "--json").stdout))

    genre, play = ("documentary (2)", "documentary"), ("Hamlet (2)", "Hamlet")
    assert shown("follow", "March", "has_genre") == {genre}
    assert shown("follow", "March", "cites") == {play}  # Rocky (2) is what the file says
    assert shown("path", "March", "documentary") == {genre}
    assert shown("entity", "documentary (2)") == {genre}
    assert shown("entity", "March") == {genre, play}
    assert shown("link", "documentary (2)") == shown("link", "documentary (2)", "--flat") == {genre}
    assert shown("follow", "Wings", "has_genre") == shown("path", "Wings", "Ducks") == set()
    assert shown("link", "Rocky (2)") == shown("entity", "Documentary") - {genre} == set()
    assert "March —has genre→ documentary (2)" in run("follow", "March", "has_genre").stdout
