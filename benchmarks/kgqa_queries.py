"""Gold queries of MetaQA: what SQL and openCypher a question's metapath comes to.

A metapath is written ``movie_to_actor_to_movie``: kinds of things with a step between each
two. The relation and the direction of a step follow from the two kinds. A walk does not
come back to the thing it started from, which is how the answers of the set were made.

    >>> print(gold_sql("movie_to_director", "Jaws"))
    SELECT DISTINCT f1.tail FROM kg_facts f1 WHERE f1.head = 'Jaws' AND f1.relation = 'directed by'
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
    """Return the SQL whose rows are the answers. ``names`` says what relations are called in the file, if not so."""
    walked = steps(metapath)
    conditions = [f"{_end(1, walked[0][1])} = {_sql(entity)}"]
    for number, (relation, forwards) in enumerate(walked, 1):
        if number > 1:
            conditions.append(f"{_end(number, forwards)}_id = {_end(number - 1, not walked[number - 2][1])}_id")
        conditions.append(f"f{number}.relation = {_sql(names.get(relation, relation))}")
        if number > 1:
            conditions.append(f"{_end(number, not forwards)}_id IS NOT {_end(1, walked[0][1])}_id")
    tables = ", ".join(f"kg_facts f{number}" for number in range(1, len(walked) + 1))
    end = _end(len(walked), not walked[-1][1])
    return f"SELECT DISTINCT {end} FROM {tables} WHERE {' AND '.join(conditions)}"  # noqa: S608, quoted


def gold_cypher(metapath: str, entity: str, names: Mapping[str, str] = AS_WRITTEN) -> str:
    """Return the same as openCypher."""
    pattern, last = "(n0)", len(steps(metapath))
    for number, (relation, forwards) in enumerate(steps(metapath), 1):
        name = names.get(relation, relation)
        pattern += f"-[:`{name}`]->(n{number})" if forwards else f"<-[:`{name}`]-(n{number})"
    away = "".join(f" AND n{number} <> n0" for number in range(2, last + 1))
    start = "'" + entity.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"MATCH {pattern} WHERE n0.name = {start}{away} RETURN DISTINCT n{last}.name"


def _end(number: int, first: bool) -> str:
    """The column at one end of a fact: where its step begins, or where it leads."""
    return f"f{number}.{'head' if first else 'tail'}"


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
