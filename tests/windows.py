"""Windows for tests of extraction: chunks by their text, and a small schema to read them under."""

from __future__ import annotations

from llm_graphrag.facts.llm.window import Window, WindowChunk
from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template

HARBOUR = Template(
    name="harbour",
    entity_types=(
        EntityType("person", "A human being.", ("people", "sailor")),
        EntityType("company", "A firm.", ("firm",)),
        EntityType("town", "A place where people live.", ("city",)),
        EntityType("boat", "Anything that floats.", ("ship",)),
    ),
    relations=(
        Relation("works_for", "Is paid by.", ("employed by",), ("person",), ("company",), inverse="employs"),
        Relation("lives_in", "Has a home there.", ("resident of",), ("person",), ("town",)),
        Relation("sails", "Steers a boat.", (), ("person",), ("boat",)),
        Relation("married_to", "Husband or wife.", (), ("person",), ("person",), symmetric=True),
        Relation("part_of", "Belongs to a whole.", (), inverse="has_part"),
        Relation("owned_by", "Who has it.", (), ("boat", "company"), ("person", "company")),
    ),
    attributes=(
        AttributeType("born", "Day or year of birth.", ("birth date",), ("person",), "date"),
        AttributeType("length", "With its unit.", (), ("boat",), "number"),
        AttributeType("website", "Address on the web.", (), (), "url"),
        AttributeType("trade", "What somebody does.", ("profession",), ("person",)),
    ),
)


def window(*texts: str, title: str = "", titles: tuple[str, ...] = (), heading: str = "", context: str = "") -> Window:
    """Chunks of one document, or with ``titles`` one document each."""
    return Window(
        tuple(
            WindowChunk(
                number=number,
                chunk=number,
                document=number if titles else 1,
                title=titles[number - 1] if titles else title,
                heading=heading,
                text=text,
                content_hash=f"hash {number}",
            )
            for number, text in enumerate(texts, 1)
        ),
        context=context,
    )
