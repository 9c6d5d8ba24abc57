"""openCypher: the graph it sees, the limits it has, and that no query reaches a file."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Run, Vault
from scripted_model import (
    ScriptedModel,
    llm_user,  # noqa: F401 - a fixture
    scripted,  # noqa: F401 - a fixture
)

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import cypher, cypher_worker
from llm_graphrag.store.cypher import CypherQueries
from llm_graphrag.store.query import QueryError

pytest.importorskip("kglite")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not offered there")

ODD = "A —b→ 'x' \"y\" `z` \\ \x1b[31m%s"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people who know each other in a ring, one who knows himself, one with an odd name, and two values."""
    file = tmp_path_factory.mktemp("cypher") / "kb.db"
    with KnowledgeBase.open(file, create=True) as kb:
        people = ["Ana", "Ben", "Cora", ODD, "Anna"]
        for id_, name in enumerate(people, 1):
            kb.connection.execute(
                "INSERT INTO kg_entities (id, name, type, key, origin, merged_into) VALUES (?, ?, ?, ?, 'import', ?)",
                [id_, name, "person" if id_ < 4 else "", f"key {id_}", 1 if name == "Anna" else None],
            )
        triples = [(1, "knows", 2), (2, "knows", 3), (3, "knows", 1), (2, "works with", 2), (1, "knows", 4)]
        kb.connection.executemany("INSERT INTO kg_triples (head, relation, tail) VALUES (?, ?, ?)", triples)
        attributes = [(1, "born", "1961"), (2, "born", "1961"), (3, "born", "1970")]
        kb.connection.executemany("INSERT INTO kg_attributes (entity, attribute, value) VALUES (?, ?, ?)", attributes)
    return file


@pytest.fixture(scope="module")
def queries(path: Path) -> Iterator[CypherQueries]:
    with CypherQueries(path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def unchanged(path: Path) -> Iterator[None]:
    def fingerprint() -> list[tuple[str, str]]:
        return [(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(path.parent.iterdir())]

    before = fingerprint()
    yield
    assert fingerprint() == before


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (n) RETURN count(n) AS n", [(6,)]),
        ("MATCH (p:person) RETURN p ORDER BY p.name", [("Ana",), ("Ben",), ("Cora",)]),
        ("MATCH (e:Entity) RETURN e.name", [(ODD,)]),
        ("MATCH (v:Value) RETURN v.name ORDER BY v.name", [("1961",), ("1970",)]),
        ("MATCH (a {name: 'Ana'})-[r]->(b) RETURN type(r), b.name ORDER BY b.name",
         [("born", "1961"), ("knows", ODD), ("knows", "Ben")]),
        ("MATCH (a)-[r:`works with`]->(b) RETURN a.name, r, b.name", [("Ben", "works with", "Ben")]),
        ("MATCH (a)-[:born]->()<-[:born]-(b) WHERE a.name < b.name RETURN a.name, b.name", [("Ana", "Ben")]),
        ("MATCH (a {name: 'Ana'})-[:knows*3]->(b) RETURN b.name", [("Ana",)]),
        ("MATCH p = (a {name: 'Cora'})-[:knows*2]->(b:person) RETURN p", [("Cora —knows→ Ana —knows→ Ben",)]),
        ("MATCH p = (a {name: 'Ben'})<-[:knows]-(b) RETURN p", [("Ben ←knows— Ana",)]),
        ("MATCH (a:person) RETURN collect(a.name) AS names, 1.5 AS x, null AS n, true AS t",
         [("Ana, Ben, Cora", 1.5, None, True)]),
        ("MATCH (a {id: 4}) RETURN a.name", [(ODD,)]),
    ],
)  # fmt: skip
def test_the_graph_it_sees(queries: CypherQueries, query: str, rows: list[tuple[object, ...]]) -> None:
    assert list(queries.run(query).rows) == rows


def test_a_node_may_be_met_twice(queries: CypherQueries) -> None:
    """As openCypher has it: no relationship twice in a match, but things may come again."""
    found = queries.run("MATCH (a)-[:knows]->(b)-[:knows]->(c)-[:knows]->(d) WHERE a.name = 'Ana' RETURN d.name").rows
    assert found == (("Ana",),)


def test_limits(queries: CypherQueries) -> None:
    found = queries.run("UNWIND range(1, 1000) AS x RETURN x")
    assert (len(found.rows), found.truncated) == (200, "rows")
    assert queries.run("UNWIND range(1, 200) AS x RETURN x").truncated == ""
    began = time.monotonic()
    with pytest.raises(QueryError, match="took longer than 1 second"):
        queries.run("UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 3000) AS c RETURN count(*)")
    assert time.monotonic() - began < 4
    assert queries.run("RETURN 1 AS x").rows == ((1,),)


HOSTILE = [
    "CREATE (:person {name: 'Eve'})",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n) SET n.name = 'x'",
    "MATCH (n) REMOVE n.name",
    "MERGE (n:person {name: 'Eve'}) RETURN n",
    "MATCH (n) FOREACH (x IN [1] | CREATE (:person))",
    "CREATE INDEX FOR (n:person) ON (n.name)",
    "DROP INDEX i",
    "LOAD CSV FROM '{file}' AS line RETURN line",
    "LOAD CSV FROM 'file://{file}' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM '/etc/passwd' AS line RETURN line",
    "LOAD CSV FROM 'https://example.org/' AS line RETURN line",
    "LOAD CSV FROM '/proc/self/environ' AS line RETURN line",
    "CALL apoc.export.csv.all('{folder}/x.csv', {})",
    "CALL apoc.load.json('{file}')",
    "CALL dbms.killQuery('x')",
    "COPY (MATCH (n) RETURN n) TO '{folder}/x.csv'",
    "EXPORT DATABASE '{folder}/x'",
    "INSTALL httpfs",
    "LOAD EXTENSION '{folder}/x.so'",
    "MATCH (n",
    "SELECT * FROM kg_facts",
    "MATCH (n:nothing) RETURN n",
    "\x1b[2J",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_nothing_else_is_reached(queries: CypherQueries, path: Path, query: str) -> None:
    with pytest.raises(QueryError) as error:
        queries.run(query.replace("{file}", str(path)).replace("{folder}", str(path.parent)))
    message = str(error.value)
    assert message and "\n" not in message and "\x1b" not in message and len(message) < 500
    assert queries.run("MATCH (n) RETURN count(n) AS n").rows == ((6,),)


def test_a_file_is_said_to_be_out_of_reach(queries: CypherQueries, path: Path) -> None:
    with pytest.raises(QueryError, match="A query reads nothing but the graph; this one asks for a file"):
        queries.run(f"LOAD CSV FROM '{path}' AS line RETURN line")


def test_what_cannot_be_is_said_before_a_query_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    with CypherQueries(path) as without, pytest.raises(QueryError, match=r"needs the extra cypher\. Install it with: "):
        without.run("RETURN 1 AS x")


def test_a_graph_that_is_too_large_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cypher_worker, "FACTS", 3)
    assert cypher_worker.load(f"file:{path}?mode=ro&immutable=1") == {"error": "size", "facts": 8}
    monkeypatch.setattr(cypher.Process, "ask", lambda *args: {"error": "size", "facts": 400_000})
    with CypherQueries(path) as queries, pytest.raises(QueryError, match="has 400,000 facts, too many to be copied"):
        queries.prepare()


def test_an_empty_graph(tmp_path: Path) -> None:
    KnowledgeBase.open(tmp_path / "kb.db", create=True).close()
    with CypherQueries(tmp_path / "kb.db") as queries:
        assert queries.run("MATCH (n) RETURN n").rows == ()


def test_the_command(run: Run, path: Path) -> None:
    result = run("query", "--cypher", "MATCH (a:person)-[:knows]->(b:person) RETURN a.name, b.name ORDER BY a.name",
                 "-d", path)  # fmt: skip
    assert result.stdout == "a.name  b.name\nAna     Ben\nBen     Cora\nCora    Ana\n"
    assert "An example: MATCH" in run("query", "--cypher", " ", "-d", path, exit_code=1).stderr


def test_a_model_writes_it(
    run: Run,
    vault: Vault,
    scripted: Callable[..., ScriptedModel],  # noqa: F811
) -> None:
    run("add", vault({"Ana.md": "Ana knows [[Ben]]."}))
    query = "MATCH (a)-[:links_to]->(b) WHERE a.name = 'Ana' RETURN b.name AS name"
    model = scripted([json.dumps({"query": query})])
    found = json.loads(run("query", "--cypher", "-m", "scripted", "Whom does Ana know?", "--json").stdout)
    assert (found["language"], found["query"], found["rows"]["rows"]) == ("cypher", query, [["Ben"]])
    assert (model.calls[0].system or "").startswith("You write one openCypher query")
    assert "kg_facts" not in (model.calls[0].system or "") + model.calls[0].prompt
