"""Defaults for Datasette's own pages of our tables: what a table is, how it is sorted, labelled and faceted.

Facets and orders use indexed columns only, so that the pages stay quick in a large file.
What only machinery reads is hidden.
"""

from __future__ import annotations

from typing import Any

_QUOTE = "The words of the source that state it"
_POSITION = "Code points from the start of the chunk"


def _table(description: str, **rest: Any) -> dict[str, Any]:
    return {"description": description, **rest}


TABLES: dict[str, dict[str, Any]] = {
    "kg_sources": _table("Where documents come from.", label_column="name"),
    "kg_documents": _table(
        "Notes, files, rows and conversations.",
        label_column="title",
        sort_desc="updated",
        facets=["folder"],
        columns={
            "uri": "What identifies the document",
            "name_key": "Links find the document by this",
            "private": "1: left out of what is published",
            "entity": "The entity that the document is about",
        },
    ),
    "kg_sections": _table("Headings.", label_column="heading"),
    "kg_tags": _table("Tags of documents.", facets=["tag"]),
    "kg_chunks": _table(
        "Spans of text; those of a document do not overlap and together cover it.",
        label_column="heading",
        columns={"line": "Line of the document on which it starts", "seq": "Place within the document"},
    ),
    "kg_entities": _table(
        "What the documents speak of.",
        label_column="name",
        facets=["type"],
        columns={
            "key": "The name without what carries no meaning; one key and type is one entity",
            "merged_into": "The entity it was joined to",
            "origin": "Who found it: link, lexical, llm, import or user",
        },
    ),
    "kg_aliases": _table("Every spelling of every entity.", label_column="name"),
    "kg_mentions": _table(
        "Where chunks name entities.", columns={"start": _POSITION, "key": "Key of the name as written"}
    ),
    "kg_triples": _table(
        "Facts between two entities: what the evidence adds up to.",
        label_column="relation",
        facets=["relation"],
        columns={"evidence": "How many places state it"},
    ),
    "kg_attributes": _table(
        "Facts with a value: what the evidence adds up to.",
        label_column="value",
        facets=["attribute"],
        columns={"evidence": "How many places state it"},
    ),
    "kg_evidence": _table(
        "One row for every statement in the text, with the words that prove it.",
        label_column="quote",
        columns={
            "head": "As written",
            "tail": "As written, or the value",
            "quote": _QUOTE,
            "start": _POSITION,
            "origin": "Who found it: link, lexical, llm, import or user",
            "extraction": "The model's reply that it comes from",
        },
    ),
    "kg_types": _table("The schema: entity types, relations and attributes.", label_column="name", sort="name"),
    "kg_schema_versions": _table("Every change of the schema.", sort_desc="version"),
    "kg_proposals": _table("Types that a model asked for.", label_column="name", sort_desc="confidence"),
    "kg_proposal_evidence": _table("Why a type was asked for.", columns={"quote": _QUOTE}),
    "kg_merges": _table("Pairs of entities that may be one, and what was decided.", sort_desc="doubt"),
    "kg_decisions": _table(
        "Every decision on a proposal or merge: who, when, why, and what took it back.",
        label_column="subject",
        sort_desc="id",
    ),
    "kg_extractions": _table(
        "Windows of text that were sent to a model, and its replies.",
        label_column="model",
        facets=["status"],
        sort_desc="id",
    ),
    "kg_budgets": _table("Limits for model calls."),
    "kg_ledger": _table("Every model call and what it cost.", facets=["status"], sort_desc="id"),
    "kg_questions": _table("Questions that were asked.", label_column="question", sort_desc="id"),
    "kg_steps": _table("How an answer came about."),
    "kg_citations": _table("What answers cite."),
    "kg_concept_classes": _table("Groups of concepts.", label_column="name"),
    "kg_concepts": _table("Curated concepts.", label_column="name"),
    "kg_findings": _table("What a passage or document says about a concept.", columns={"quote": _QUOTE}),
    "kg_settings": _table("Settings of this knowledge base."),
    "kg_skipped": _table("Files that the last run could not read, and why."),
    "kg_facts": _table("All facts with the names of their ends and their best quote."),
    "kg_entity_facts": _table("The triples of an entity, whichever end it is."),
    "kg_document_entities": _table("Which entities a document names."),
    "kg_review": _table("What waits for a decision."),
}

HIDDEN = (
    "_sqlite_migrations",
    "kg_assessments",
    "kg_changes",
    "kg_chunks_fts",
    "kg_communities",
    "kg_community_members",
    "kg_counts",
    "kg_csr",
    "kg_extraction_chunks",
    "kg_facet_columns",
    "kg_name_signatures",
    "kg_names_fts",
    "kg_neighbours",
    "kg_postings",
    "kg_relevance",
    "kg_vector_blocks",
    "sqlite_sequence",
)


def defaults_for(existing: list[str]) -> dict[str, dict[str, Any]]:
    """Defaults for those of our tables and views that a file has."""
    shown = {name: dict(TABLES[name]) for name in existing if name in TABLES}
    return shown | {name: {"hidden": True} for name in existing if name in HIDDEN}
