"""What a query may read: the tables and views that docs/the-file.md promises, and functions that only compute.

This is the one list: the guard of queries, what ``query --schema`` prints and what a model is told are made of it.
Columns beyond those named here can be read too; these are the ones that are promised.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COLUMNS", "FULL_TEXT", "FUNCTIONS", "INTERNAL", "RELATIONS", "Relation", "words_of"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view: what one row is, and the columns worth knowing."""

    what: str
    columns: tuple[str, ...]


def words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RELATIONS: dict[str, Relation] = {
    "kg_facts": Relation(
        "one fact in words; kind is triple or attribute; quote is the sentence that states it, uri its note",
        words_of("id kind head head_type relation tail tail_type evidence confidence quote uri head_id tail_id"),
    ),
    "kg_entity_facts": Relation(
        "one triple seen from one end; entity and other are ids of kg_entities; direction is in or out",
        words_of("entity triple direction relation other evidence"),
    ),
    "kg_document_entities": Relation(
        "one entity in one document; first_chunk is the first passage that names it",
        words_of("document entity mentions first_chunk"),
    ),
    "kg_review": Relation("something that waits for a decision", words_of("what id name score support status")),
    "kg_entities": Relation(
        "one thing; a merged one points to the one it became", words_of("id name type merged_into")
    ),
    "kg_aliases": Relation("one name of a thing, its main name included", words_of("entity name kind")),
    "kg_triples": Relation(
        "one fact between two things; head and tail are ids of kg_entities",
        words_of("id head relation tail evidence confidence"),
    ),
    "kg_attributes": Relation(
        "one fact with a value in place of a thing", words_of("id entity attribute value evidence confidence")
    ),
    "kg_evidence": Relation(
        "one statement: a quote, its passage, and the triple or attribute it states",
        words_of("id kind head relation tail chunk start end quote confidence origin triple attribute"),
    ),
    "kg_mentions": Relation("one place in a passage where a thing is named", words_of("chunk start end entity")),
    "kg_documents": Relation(
        "one note, row or conversation; metadata is JSON; updated is an ISO time",
        words_of("id uri title kind folder metadata added updated"),
    ),
    "kg_sections": Relation("one heading", words_of("id document parent level heading")),
    "kg_tags": Relation("one tag of one document", words_of("document tag")),
    "kg_chunks": Relation("one passage", words_of("id document seq line heading text")),
    "kg_chunks_fts": Relation(
        "full text: kg_chunks_fts MATCH '\"word\"'; rowid is the id of kg_chunks, rank orders",
        words_of("title heading text"),
    ),
    "kg_names_fts": Relation(
        "full text of names, by any three letters of them: kg_names_fts MATCH '\"ennis\"'; rowid is that of kg_aliases",
        words_of("name"),
    ),
}

FULL_TEXT = ("kg_chunks_fts", "kg_names_fts")

COLUMNS: dict[str, tuple[str, ...]] = {
    # What the view kg_review is made of, and no more of these tables.
    "kg_proposals": words_of("id kind name confidence support status"),
    "kg_merges": words_of("id kept_key merged_key doubt status"),
}

INTERNAL = (
    # What full text reads by itself while it answers; a query that names one of these is refused before it runs.
    *(f"{name}_{part}" for name in FULL_TEXT for part in ("data", "idx", "docsize", "config", "content")),
    "kg_chunk_search",
)

FUNCTIONS = frozenset(
    """abs avg bm25 coalesce count cume_dist date datetime dense_rank first_value glob group_concat highlight ifnull iif
    instr json json_array json_array_length json_each json_extract json_group_array json_group_object json_object
    json_quote json_tree json_type json_valid julianday lag last_value lead length like likelihood likely lower ltrim
    match max min nth_value ntile nullif percent_rank rank replace round row_number rtrim sign snippet strftime
    string_agg substr substring sum time total trim typeof unicode unixepoch unlikely upper -> ->>""".split()
)
