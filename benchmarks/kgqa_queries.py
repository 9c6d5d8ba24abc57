"""Gold queries of MetaQA: what SQL and openCypher a question's metapath comes to.

A metapath is written ``movie_to_actor_to_movie``: kinds of things with a step between each
two. The relation and the direction of a step follow from the two kinds. A walk does not
come back to the thing it started from, which is how the answers of the set were made.

    >>> print(gold_sql("movie_to_director", "Jaws"))
    SELECT DISTINCT e1.name FROM kg_aliases e0 CROSS JOIN kg_triples t1 ON t1.head = e0.entity AND \
t1.relation = 'directed by' CROSS JOIN kg_entities e1 ON e1.id = t1.tail WHERE e0.name = 'Jaws'
    >>> print(gold_cypher("movie_to_director", "Jaws"))
    MATCH (n0)-[:`directed by`]->(n1) WHERE n0.name = 'Jaws' RETURN DISTINCT n1.name
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["RELATIONS", "gold_cypher", "gold_sql", "steps"]

RELATIONS = {
    "actor": "starred actors",
    "director": "directed by",
    "genre": "has genre",
    "imdbrating": "has imdb rating",
    "imdbvotes": "has imdb votes",
    "language": "in language",
    "tag": "has tags",
    "tags": "has tags",
    "writer": "written by",
    "year": "release year",
}
"""Kind of thing → the relation that leads to it from a film."""

AS_WRITTEN: Mapping[str, str] = {}


def steps(metapath: str) -> list[tuple[str, bool]]:
    """Return (relation, forwards) for each step.

    >>> steps("actor_to_movie_to_year")
    [('starred actors', False), ('release year', True)]
    """
    kinds = metapath.split("_to_")
    return [
        (RELATIONS[b], True) if a == "movie" else (RELATIONS[a], False) for a, b in zip(kinds, kinds[1:], strict=False)
    ]


def gold_sql(metapath: str, entity: str, names: Mapping[str, str] = AS_WRITTEN) -> str:
    """Return the SQL whose rows are the answers. ``names`` says what relations are called in the file, if not so.

    The thing may be called by any of its names. CROSS JOIN keeps the order of the steps: SQLite would rather begin with
    all facts of a relation.
    """
    joins, away, place = [], "", "e0.entity"
    for number, (relation, forwards) in enumerate(steps(metapath), 1):
        here, there = ("head", "tail") if forwards else ("tail", "head")
        name = _sql(names.get(relation, relation))
        joins.append(f"CROSS JOIN kg_triples t{number} ON t{number}.{here} = {place} AND t{number}.relation = {name}")
        place = f"t{number}.{there}"
        away += f" AND {place} <> e0.entity" if number > 1 else ""
    walked = " ".join(joins)
    return (
        f"SELECT DISTINCT e1.name FROM kg_aliases e0 {walked} CROSS JOIN kg_entities e1 ON e1.id = {place}"  # noqa: S608, quoted
        f" WHERE e0.name = {_sql(entity)}{away}"
    )


def gold_cypher(metapath: str, entity: str, names: Mapping[str, str] = AS_WRITTEN) -> str:
    """Return the same as openCypher."""
    pattern, last = "(n0)", len(steps(metapath))
    for number, (relation, forwards) in enumerate(steps(metapath), 1):
        name = names.get(relation, relation)
        pattern += f"-[:`{name}`]->(n{number})" if forwards else f"<-[:`{name}`]-(n{number})"
    away = "".join(f" AND n{number} <> n0" for number in range(2, last + 1))
    start = "'" + entity.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"MATCH {pattern} WHERE n0.name = {start}{away} RETURN DISTINCT n{last}.name"


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
