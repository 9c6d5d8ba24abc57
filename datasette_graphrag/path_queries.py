"""What the path page asks: which entity a name means, the ways between two, and the words that state each hop.

The ways come from ``llm_graphrag.graph``, within a part of the time that the site allows a
query, so that the page is there even where a hub joins everything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from llm_graphrag.graph import metapath as graph_metapath
from llm_graphrag.graph import paths as graph_paths
from llm_graphrag.graph import together as graph_together
from llm_graphrag.routes.snippets import piece_naming
from llm_graphrag.store.headings import outlines

from . import entity_queries
from .path_records import Also, Hop, Reached, Route, Start
from .queries import entity_refs
from .records import DocumentRef, Quote, Snippet

HUB_FACTS = 5_000  # read of one entity in each direction
FACTS = 40_000  # read in all, for shortest paths
STEPS = 500_000  # and along a metapath, for the sake of memory: the time is up before
WALKS = 24  # along a metapath, shown
WALKS_TRIED = 500  # of which those that lead to a given end are shown
REACHED = 200
QUOTE = 400  # letters shown of a sentence that names two things


@dataclass(frozen=True)
class Found:
    """Ways, best first; ``truncated`` if a bound was met, so that there may be others.

    Of a metapath also where it leads: the first of ``count`` entities, to which ``walks`` walks lead. Where no path was
    found, ``nearest`` is how many hops the nearest has, 0 if no facts connect the two, None if that is not known.
    """

    routes: tuple[Route, ...] = ()
    truncated: bool = False
    reached: tuple[Reached, ...] = ()
    count: int = 0
    walks: int = 0
    nearest: int | None = None


def shortest(
    connection: sqlite3.Connection,
    source: int,
    target: int,
    via: int | None,
    k: int,
    max_hops: int,
    seconds: float,
) -> Found:
    """The k best ways from source to target; through ``via``, with at most ``max_hops`` on either side of it."""
    limits = graph_paths.Limits(hub=HUB_FACTS, triples=FACTS, seconds=seconds)
    if via is None:
        found = graph_paths.shortest_paths(connection, [source], [target], k, max_hops, limits=limits)
    else:
        found = graph_paths.paths_via(connection, source, via, target, k, max_hops, limits=limits)
    nearest = None
    if via is None and not (found.paths or found.truncated):
        farther = graph_paths.shortest_path(connection, source, target, limits=limits)
        nearest = farther.paths[0].length if farther.paths else None if farther.truncated else 0
    return Found(_routes(connection, found.paths), found.truncated, nearest=nearest)


def together(connection: sqlite3.Connection, source: int, target: int, k: int, max_hops: int, seconds: float) -> Found:
    """The k best ways over sentences that name two things: less than facts, and of two hops at most."""
    limits = graph_paths.Limits(seconds=seconds)
    found = graph_together.paths_together(connection, source, target, k, max_hops, limits=limits)
    return Found(_routes(connection, found.paths), found.truncated)


def followed(connection: sqlite3.Connection, source: int, target: int | None, metapath: str, seconds: float) -> Found:
    """Where a metapath leads, or the walks along it that end at ``target``. Raises ValueError if it cannot be read."""
    limits = graph_paths.Limits(triples=STEPS, seconds=seconds)
    most = WALKS if target is None else WALKS_TRIED
    found = graph_metapath.follow(connection, [source], metapath, walks=most, limits=limits)
    ends = [end for end in found.ends if target is None or end.node.id == target]
    walks = [walk for walk in found.walks if target is None or walk.nodes[-1].id == target][:WALKS]
    refs = entity_refs(connection, [end.node.id for end in ends[:REACHED]])
    reached = tuple(Reached(refs[end.node.id], end.walks) for end in ends[:REACHED])
    return Found(_routes(connection, walks), found.truncated, reached, len(ends), sum(end.walks for end in ends))


def _routes(connection: sqlite3.Connection, found: Iterable[graph_paths.Path]) -> tuple[Route, ...]:
    """Paths with the address of everything on them."""
    found = list(found)
    refs = entity_refs(connection, dict.fromkeys(node.id for path in found for node in path.nodes))
    hops = {
        hop: _hop(connection, hop, [node.name for node in path.nodes[place : place + 2]])
        for path in found
        for place, hop in enumerate(path.hops)
    }
    return tuple(
        Route(tuple(refs[node.id] for node in path.nodes), tuple(hops[hop] for hop in path.hops)) for path in found
    )


def _hop(connection: sqlite3.Connection, hop: graph_paths.Hop, ends: Sequence[str]) -> Hop:
    fact = bool(hop.by.triple)
    return Hop(
        triple=hop.by.triple,
        relation=hop.by.relation,
        forward=hop.by.forward,
        statements=hop.by.statements,
        quote=_quote(connection, hop.by.triple, hop.evidence) if fact and hop.evidence else None,
        also=tuple(Also(other.relation, other.forward) for other in hop.also),
        named=_named(connection, hop.evidence, ends) if not fact and hop.evidence else None,
    )


def starts(connection: sqlite3.Connection, source: int, href: Callable[[str], str]) -> tuple[Start, ...]:
    """The relations by which an entity can be left, as metapaths."""
    found = []
    for direction in ("out", "in"):
        for name, count, capped in entity_queries.relations(connection, source, direction):
            metapath = graph_metapath.written(((graph_metapath.Relation(name, direction == "out"),),))
            found.append(Start(metapath, count, capped, href(metapath)))
    return tuple(found)


_QUOTE = """
  SELECT v.id, v.quote, v.origin, v.confidence, v.chunk, c.seq, d.id AS document, d.uri, d.title
  FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk CROSS JOIN kg_documents d ON d.id = c.document
  WHERE v.triple = :triple AND v.chunk = :chunk AND v.quote = :quote
  ORDER BY v.confidence DESC, v.start, v.id LIMIT 1"""


def _quote(connection: sqlite3.Connection, triple: int, evidence: graph_paths.Evidence) -> Quote:
    """The sentence that was chosen for a fact, with what its address needs."""
    args = {"triple": triple, "chunk": evidence.chunk, "quote": evidence.quote}
    row = connection.execute(_QUOTE, args).fetchone()
    return Quote(
        evidence=row["id"],
        text=row["quote"],
        document=DocumentRef(row["document"], row["uri"], row["title"]),
        chunk=row["chunk"],
        seq=row["seq"],
        line=evidence.line,
        heading=_heading(connection, evidence),
        origin=row["origin"],
        confidence=row["confidence"],
    )


_PASSAGE = """
  SELECT c.seq, d.id AS document, d.uri, d.title
  FROM kg_chunks c CROSS JOIN kg_documents d ON d.id = c.document WHERE c.id = :chunk"""


def _named(connection: sqlite3.Connection, evidence: graph_paths.Evidence, ends: Sequence[str]) -> Snippet:
    """The sentence that names two things, which no fact rests on."""
    row = connection.execute(_PASSAGE, {"chunk": evidence.chunk}).fetchone()
    document = DocumentRef(row["document"], row["uri"], row["title"])
    parts = ((piece_naming(evidence.quote, ends, QUOTE), False),)
    return Snippet(evidence.chunk, row["seq"], evidence.line, _heading(connection, evidence), document, parts)


def _heading(connection: sqlite3.Connection, evidence: graph_paths.Evidence) -> str:
    return outlines(connection, [evidence.chunk])[evidence.chunk].path(evidence.start)
