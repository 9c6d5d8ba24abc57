"""What every route promises, as tests: for our own, and for those of plugins.

A plugin with a route copies this file beside its tests (it needs pytest and llm-graphrag, nothing
else of ours) and writes:

    from route_compliance import RouteCompliance

    class TestMyRoute(RouteCompliance):
        name = "mine"          # as it is registered
        models = False         # True if it may ask a model
        questions = (…)        # only if the ones here are not of the kind it takes

The route is run as ``llm graphrag search --route mine`` runs it, after those that every search has.
"""

from __future__ import annotations

import functools
import random
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.hits import Involved, Plan, Proposal, Proposals
from llm_graphrag.routes.involved import about
from llm_graphrag.routes.registry import all_routes, ask, run
from llm_graphrag.routes.search import prepare

__all__ = ["NOTES", "QUESTIONS", "RouteCompliance"]

NOTES = {
    "Night Train": "---\ntype: film\ndirector: '[[Lena Holt]]'\nstarring: ['[[Ana Petrov]]', '[[Ben Stone]]']\n---\n"
    "*Night Train* is a film. It was directed by [[Lena Holt]] in one winter.",
    "Old Tram": "---\ntype: film\ndirector: '[[Lena Holt]]'\n---\nOld Tram is a film about a tram, with [[Ben Stone]].",
    "Lena Holt": "---\ntype: person\nborn in: '[[Graz]]'\n---\nLena Holt was born in [[Graz]] and studied painting.",
    "Ana Petrov": "---\ntype: person\nemployer: '[[Kestrel Works]]'\n---\nAna Petrov acts and repairs boats.",
    "Ben Stone": "---\ntype: person\n---\nBen Stone knows [[Ana Petrov]], who knows [[Lena Holt]].",
    "Kestrel Works": "Kestrel Works makes mirrors. It belongs to [[Ana Petrov]] and stands in [[Graz]].",
    "Graz": "---\ntype: town\n---\nA town on the river Mur, where [[Lena Holt]] was born.",
    "Ouroboros": "[[Ouroboros]] eats [[Ouroboros]]; see [[Serpent]].",
    "Serpent": "A [[Serpent]] is seen by [[Ouroboros]].",
    "東京タワー": "---\n所在地: '[[東京]]'\n---\n東京タワーは[[東京]]にある。",
    "東京": "東京都の人口は多い。[[東京タワー]]が見える。",
    "Müller Straße": "Die [[Müller Straße]] führt zum [[Schloß Größe]].",
    "Schloß Größe": "Ein Schloß an der [[Müller Straße]].",
    "متحف": "المتحف في [[القاهرة]].",
    "القاهرة": "القاهرة مدينة كبيرة فيها [[متحف]].",
    "A —directed→ B": 'An arrow in a name: [[A —directed→ B]] and [[100% <b>"quoted"</b>]] and [[Graz]].',
}
QUESTIONS = (
    "Who directed the film Night Train?",
    "Where was the director of Night Train, Lena Holt, born?",
    "What connects Ana Petrov and Graz?",
    "Does Ouroboros eat the Serpent?",
)
FOREIGN = ("東京タワーはどこにありますか", "Wohin führt die Müller Straße vom Schloß Größe?", "أين متحف في القاهرة؟")
STRANGE = (
    "", " ", "?!", "*", "'; DROP TABLE kg_chunks; --", "zzzz qqqq Xyzzy Plugh", "\x00\x1b[31m", "\ud800", "a" * 3_000,
    'What is "A —directed→ B"?', '100% <b>"quoted"</b>',
)  # fmt: skip
SECONDS = 8.0  # of processor time, for a question about a hub; routes stop after one or two
LEAVES = 100_000
Found = Mapping[str, Sequence[Proposal]]


def build(path: Path) -> None:
    """Write a knowledge base of ``NOTES``."""
    with KnowledgeBase.open(path, create=True) as kb:
        for name, text in NOTES.items():
            kb.add_text(text.encode("utf-8"), name)


def build_hub(path: Path) -> None:
    """Write a knowledge base in which a thing called Hub has 100,000 facts, and every thing called Leaf leads to it."""
    with KnowledgeBase.open(path, create=True) as kb:
        kb.add_text(b"[[Hub]] and [[Leaf]] and [[Twig]] stand together.", "note")
        connection = kb.connection
        ids = {name: connection.execute("SELECT id FROM kg_entities WHERE name = ?", [name]).fetchone()[0]
               for name in ("Hub", "Leaf", "Twig")}  # fmt: skip
        chunk = connection.execute("SELECT id FROM kg_chunks").fetchone()[0]
        first = connection.execute("SELECT max(id) + 1 FROM kg_entities").fetchone()[0]
        triple = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM kg_triples").fetchone()[0]
        leaves = range(first, first + LEAVES)
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO kg_entities(id, name, key, origin) VALUES (?, ?, ?, 'user')",
            [(n, f"leaf {n}", f"leaf {n}") for n in leaves],
        )
        triples = [(ids["Hub"], "holds", n) for n in leaves] + [(n, "next_to", ids["Leaf"]) for n in leaves[:500]]
        triples += [(ids["Twig"], "grows_on", ids["Hub"]), (ids["Twig"], "near", ids["Leaf"])]
        connection.executemany(
            "INSERT INTO kg_triples(id, head, relation, tail, evidence) VALUES (?, ?, ?, ?, 1)",
            [(triple + n, *row) for n, row in enumerate(triples)],
        )
        connection.executemany(
            """INSERT INTO kg_evidence(kind, head, relation, tail, chunk, start, end, quote, origin, detail, triple)
               VALUES ('triple', '', ?, '', ?, 0, 3, 'Hub', 'user', ?, ?)""",
            [(row[1], chunk, str(triple + n), triple + n) for n, row in enumerate(triples)][-600:],
        )
        connection.execute("COMMIT")
        kb.rebuild()


@functools.cache
def _made(folder: str, hub: bool) -> Path:
    path = Path(folder) / ("hub.db" if hub else "notes.db")
    (build_hub if hub else build)(path)
    return path


class RouteCompliance:
    """Subclass it, and set ``name``."""

    name = ""
    models = False
    questions: tuple[str, ...] = QUESTIONS
    hub_questions: tuple[str, ...] = ("What does the Hub hold?", "How do Hub and Leaf and Twig hang together?")

    @pytest.fixture
    def route(self) -> str:
        return self.name

    @pytest.fixture
    def notes(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
        yield from self._opened(tmp_path_factory, False)

    @pytest.fixture
    def hub(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
        yield from self._opened(tmp_path_factory, True)

    @staticmethod
    def _opened(factory: pytest.TempPathFactory, hub: bool) -> Iterator[sqlite3.Connection]:
        """Opened only to read: a route that writes fails."""
        with KnowledgeBase.open(_made(str(factory.getbasetemp()), hub), readonly=True) as kb:
            yield kb.connection

    def proposals(self, connection: sqlite3.Connection, route: str, plan: Plan, k: int) -> Proposals:
        """What the route gives, after those that every search has."""
        found: Found = run(connection, replace(plan, involved=None), 100)
        return ask(connection, plan, route, all_routes()[route], k, found)

    # -- the list ------------------------------------------------------------------------------------------------

    def test_proposals_are_best_first_and_as_they_should_be(self, notes: sqlite3.Connection, route: str) -> None:
        for question in (*self.questions, *FOREIGN, *STRANGE):
            self.check(notes, self.proposals(notes, route, prepare(notes, question), 100), 100)

    def check(self, connection: sqlite3.Connection, proposals: Sequence[Proposal], k: int) -> None:
        """Order, number, and evidence on every hit."""
        assert len(proposals) <= k
        assert [p.score for p in proposals] == sorted((p.score for p in proposals), reverse=True)
        assert len({p.chunk for p in proposals}) == len(proposals)
        assert all(0 <= value <= 1 for p in proposals for value in p.signals.values())
        for p in proposals:
            assert connection.execute("SELECT 1 FROM kg_chunks WHERE id = ?", [p.chunk]).fetchone(), p
            assert [f.score for f in p.facts] == sorted((f.score for f in p.facts), reverse=True)
            for fact in p.facts:
                self.check_fact(connection, p.chunk, fact)

    @staticmethod
    def check_fact(connection: sqlite3.Connection, chunk: int, fact) -> None:  # type: ignore[no-untyped-def]
        """A fact has a sentence for each of its triples that stands where it says, one of them in its passage."""
        assert fact.text
        assert len(fact.triples) == len(fact.evidence) > 0
        assert chunk in {evidence.chunk for evidence in fact.evidence}
        for triple, evidence in zip(fact.triples, fact.evidence, strict=True):
            row = connection.execute(
                """SELECT c.text, d.uri FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
                   JOIN kg_documents d ON d.id = c.document WHERE v.triple = ? AND v.chunk = ?""",
                [triple, evidence.chunk],
            ).fetchone()
            assert row is not None, (triple, evidence)
            assert evidence.quote in row[0]
            assert evidence.uri == row[1]
            assert evidence.line >= 1

    def test_it_finds_something(self, notes: sqlite3.Connection, route: str) -> None:
        found = [self.proposals(notes, route, prepare(notes, question), 10) for question in self.questions]
        assert any(found)

    @pytest.mark.parametrize("k", [0, 1, 3])
    def test_k_cuts_the_list_and_nothing_else(self, notes: sqlite3.Connection, route: str, k: int) -> None:
        for question in self.questions:
            plan = prepare(notes, question)
            whole = self.proposals(notes, route, plan, 50)
            assert [p.chunk for p in self.proposals(notes, route, plan, k)] == [p.chunk for p in whole[:k]]

    def test_the_same_question_has_the_same_proposals(self, notes: sqlite3.Connection, route: str) -> None:
        questions = [*self.questions, *FOREIGN]
        first = {q: list(self.proposals(notes, route, prepare(notes, q), 10)) for q in questions}
        random.Random(1).shuffle(questions)
        assert {q: list(self.proposals(notes, route, prepare(notes, q), 10)) for q in questions} == first

    def test_an_empty_knowledge_base_has_nothing(self, route: str) -> None:
        with KnowledgeBase.in_memory() as kb:
            for question in (*self.questions, *FOREIGN, *STRANGE):
                assert list(self.proposals(kb.connection, route, prepare(kb.connection, question), 10)) == []

    # -- narrowing -----------------------------------------------------------------------------------------------

    def test_it_keeps_to_the_scope(self, notes: sqlite3.Connection, route: str) -> None:
        for where in ("uri like '%Lena%' or uri like '%Ana%'", "1 = 0"):
            for question in self.questions:
                plan = prepare(notes, question, where=where)
                proposals = self.proposals(notes, route, plan, 20)
                self.check(notes, proposals, 20)
                chunks = [p.chunk for p in proposals]
                chunks += [evidence.chunk for p in proposals for fact in p.facts for evidence in fact.evidence]
                documents = {
                    notes.execute("SELECT document FROM kg_chunks WHERE id = ?", [chunk]).fetchone()[0]
                    for chunk in chunks
                }
                assert plan.documents is not None
                assert documents <= plan.documents

    def test_the_type_filter_leaves_what_is_about_the_types(self, notes: sqlite3.Connection, route: str) -> None:
        for wanted in (Involved(types=frozenset({"person"})), Involved(relations=frozenset({"director", "born_in"}))):
            for question in self.questions:
                plan = replace(prepare(notes, question), involved=wanted)
                proposals = self.proposals(notes, route, plan, 20)
                self.check(notes, proposals, 20)
                if not proposals.notes:
                    assert {p.chunk for p in proposals} == about(notes, [p.chunk for p in proposals], wanted)

    def test_a_filter_that_leaves_nothing_is_left_out_and_that_is_said(
        self, notes: sqlite3.Connection, route: str
    ) -> None:
        wanted = Involved(types=frozenset({"spaceship"}), relations=frozenset({"orbits"}))
        for question in self.questions:
            plan = prepare(notes, question)
            without = self.proposals(notes, route, plan, 10)
            found = self.proposals(notes, route, replace(plan, involved=wanted), 10)
            assert list(found) == list(without)
            assert bool(found.notes) == bool(without)
            assert all(route in note for note in found.notes)

    # -- bounds --------------------------------------------------------------------------------------------------

    def test_a_hub_of_a_hundred_thousand_takes_no_time(self, hub: sqlite3.Connection, route: str) -> None:
        for question in self.hub_questions:
            plan = prepare(hub, question)
            found = run(hub, plan, 100)
            began = time.process_time()
            proposals = all_routes()[route](hub, plan, 10, found)
            assert time.process_time() - began < SECONDS
            self.check(hub, proposals, 10)

    def test_it_writes_nothing_and_leaves_no_transaction(self, notes: sqlite3.Connection, route: str) -> None:
        before = notes.total_changes
        for question in self.questions:
            self.proposals(notes, route, prepare(notes, question), 10)
        assert notes.total_changes == before
        assert not notes.in_transaction

    def test_it_asks_no_model(self, notes: sqlite3.Connection, route: str, monkeypatch: pytest.MonkeyPatch) -> None:
        if self.models:
            pytest.skip("this route may ask a model")
        import socket

        import llm

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a model was asked, or the network")

        monkeypatch.setattr(llm, "get_model", refuse)
        monkeypatch.setattr(llm, "get_embedding_model", refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        for question in self.questions:
            self.proposals(notes, route, prepare(notes, question), 10)

    def test_it_does_without_vectors(self, notes: sqlite3.Connection, route: str) -> None:
        for question in (*self.questions, *FOREIGN):
            self.check(notes, self.proposals(notes, route, prepare(notes, question, vectors=False), 10), 10)
