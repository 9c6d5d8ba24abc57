"""What may be stored of a reply: each step of the check, with what passes, what is put right and what is dropped."""

from __future__ import annotations

import json
import random
import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from windows import HARBOUR, window

from llm_graphrag.facts.llm.reading import ModelClaim, Reading
from llm_graphrag.facts.llm.reply import ReplyError
from llm_graphrag.facts.llm.reply_schema import MODES
from llm_graphrag.facts.llm.validate import listed_entities, read
from llm_graphrag.facts.llm.window import Window
from llm_graphrag.facts.template import Template

TEXT = "Mira Holm sails the Gull. She lives in Oban, where Holm & Sons owns the Gull. Ada married Mira Holm in 1924."
LOG = window(TEXT, title="Harbour log")


def reading(
    reply: dict[str, Any] | list[Any], over: Window = LOG, mode: str = "suggest", schema: Template = HARBOUR
) -> Reading:
    return read(json.dumps(reply), over, schema, mode)


def triple(head: str, relation: str, tail: str, quote: str = "", **more: Any) -> dict[str, Any]:
    return {"head": head, "relation": relation, "tail": tail, "quote": quote, "chunk": 1} | more


def attribute(entity: str, name: str, value: Any, quote: str = "", **more: Any) -> dict[str, Any]:
    return {"entity": entity, "attribute": name, "value": value, "quote": quote, "chunk": 1} | more


def entity(name: str, type_: str, *aliases: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "aliases": list(aliases), "chunks": [1]}


def facts(found: Reading) -> list[tuple[str, ...]]:
    return [(c.head, c.relation, c.tail, *c.flags) for c in found.claims if c.kind in ("triple", "attribute")]


def drops(found: Reading) -> list[tuple[str, str, str]]:
    return [(item.kind, item.reason, item.detail) for item in found.dropped]


def quote(claim: ModelClaim, over: Window = LOG) -> str:
    return over.chunks[claim.number - 1].text[claim.start : claim.end]


# -- a whole reply --------------------------------------------------------------------------


def test_a_whole_reply() -> None:
    found = reading(
        {
            "entities": [entity("Mira Holm", "person", "Mira"), entity("Gull", "boat"), entity("Oban", "town")],
            "attributes": [attribute("Mira Holm", "trade", "sails", "Mira Holm sails", confidence=0.5)],
            "triples": [triple("Mira Holm", "sails", "Gull", "Mira Holm sails the Gull.", confidence=0.9)],
            "proposals": [
                {
                    "kind": "relation",
                    "name": "Moors In",
                    "description": "Lies at a harbour.",
                    "confidence": 0.7,
                    "chunk": 1,
                    "quote": "She lives in Oban",
                    "instead_of": "Resident of",
                }
            ],
        }
    )
    assert [(c.kind, c.head, c.head_type, c.relation, c.tail, c.tail_type, quote(c)) for c in found.claims] == [
        ("type", "Mira Holm", "person", "type", "person", "", "Mira Holm sails the Gull."),
        ("alias", "Mira Holm", "person", "alias", "Mira", "", "Mira Holm sails the Gull."),
        ("type", "Gull", "boat", "type", "boat", "", "Mira Holm sails the Gull."),
        ("type", "Oban", "town", "type", "town", "", "She lives in Oban, where Holm & Sons owns the Gull."),
        ("triple", "Mira Holm", "person", "sails", "Gull", "boat", "Mira Holm sails the Gull."),
        ("attribute", "Mira Holm", "person", "trade", "sails", "", "Mira Holm sails"),
    ]
    assert [c.confidence for c in found.claims] == [1, 1, 1, 1, 0.9, 0.5]
    [wish] = found.wishes
    assert (wish.kind, wish.name, wish.description, wish.confidence, wish.instead_of) == (
        "relation",
        "moors_in",
        "Lies at a harbour.",
        0.7,
        "lives_in",
    )
    assert TEXT[wish.start : wish.end] == "She lives in Oban"
    assert found.dropped == ()


def test_an_empty_reply_is_an_error_and_an_empty_list_is_not() -> None:
    with pytest.raises(ReplyError, match="empty reply"):
        read("", LOG, HARBOUR, "suggest")
    assert reading({"triples": []}) == Reading(())
    with pytest.raises(ValueError, match="mode 'loose' is unknown"):
        reading([], mode="loose")


# -- 3: types ---------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["works_for", "Works For", "works-for", "worksFor", "WORKS_FOR", "Employed by"])
def test_relations_by_folded_name_and_alias(written: str) -> None:
    over = window("Mira works for Holm & Sons.")
    assert facts(reading([triple("Mira", written, "Holm & Sons", over.chunks[0].text)], over)) == [
        ("Mira", "works_for", "Holm & Sons")
    ]


def test_an_inverse_name_swaps_the_ends() -> None:
    over = window("Holm & Sons employs Mira.")
    found = reading([triple("Holm & Sons", "employs", "Mira", "Holm & Sons employs Mira")], over)
    assert facts(found) == [("Mira", "works_for", "Holm & Sons")]
    assert found.claims[-1].head_type == "person" and found.claims[-1].tail_type == "company"


def test_types_by_alias_and_unknown_types() -> None:
    found = reading(
        {
            "entities": [
                entity("Mira Holm", "Sailor"),
                entity("Gull", "SHIP"),
                entity("Oban", "planet"),
                entity("Ada", ""),
            ]
        }
    )
    assert [(c.head, c.tail) for c in found.claims] == [("Mira Holm", "person"), ("Gull", "boat")]
    assert drops(found) == [("entity", "unknown entity type", "planet")]


@pytest.mark.parametrize("mode", ["suggest", "strict"])
def test_what_the_schema_does_not_have_is_quarantined(mode: str) -> None:
    found = reading(
        {
            "triples": [triple("Mira Holm", "paints", "Gull", TEXT[:25])],
            "attributes": [attribute("Gull", "colour", "Gull")],
        },
        mode=mode,
    )
    assert found.claims == found.wishes == ()
    assert drops(found) == [("triple", "unknown relation", "paints"), ("attribute", "unknown attribute", "colour")]


def test_open_mode_takes_types_under_a_folded_name() -> None:
    found = reading(
        {
            "entities": [entity("Mira Holm", "Old Sailor!"), entity("Gull", "boat")],
            "triples": [
                triple("Mira Holm", "__proto__", "Gull", TEXT[:25]),
                triple("Mira Holm", 'a"]; DROP TABLE kg_entities; --', "Gull", TEXT[:25]),
                triple("Mira Holm", "Sails", "Gull", TEXT[:25]),
                triple("Mira Holm", "--", "Gull", TEXT[:25]),
                triple("Mira Holm", "x" * 200, "Gull", TEXT[:25]),
            ],
            "attributes": [attribute("Gull", "Row ID", "Gull", TEXT[:25])],
        },
        mode="open",
    )
    assert facts(found) == [
        ("Mira Holm", "proto", "Gull"),
        ("Mira Holm", "a_drop_table_kg_entities", "Gull"),
        ("Mira Holm", "sails", "Gull"),
        ("Gull", "row_id", "Gull"),
    ]
    assert [c.tail for c in found.claims if c.kind == "type"] == ["old_sailor", "boat"]
    assert [item.reason for item in found.dropped] == ["unknown relation"] * 2


def test_an_attribute_among_the_triples_and_the_other_way_round() -> None:
    over = window("Mira, born 1901, sails the Gull.")
    found = reading(
        {
            "triples": [triple("Mira", "born", "1901", "Mira, born 1901")],
            "attributes": [attribute("Mira", "sails", "Gull", "sails the Gull")],
        },
        over,
    )
    assert [(c.kind, c.relation, c.tail) for c in found.claims if c.kind in ("triple", "attribute")] == [
        ("attribute", "born", "1901"),
        ("triple", "sails", "Gull"),
    ]


# -- 4: domain, range, direction ----------------------------------------------------------


def test_a_triple_that_fits_only_the_other_way_round_is_reversed() -> None:
    found = reading(
        {
            "entities": [entity("Mira Holm", "person"), entity("Gull", "boat")],
            "triples": [triple("Gull", "sails", "Mira Holm", TEXT[:25])],
        }
    )
    assert facts(found) == [("Mira Holm", "sails", "Gull", "reversed")]


def test_a_triple_that_fits_neither_way_is_quarantined() -> None:
    found = reading(
        {
            "entities": [entity("Mira Holm", "person"), entity("Oban", "town"), entity("Gull", "boat")],
            "triples": [triple("Oban", "sails", "Gull", TEXT), triple("Gull", "part_of", "Oban", TEXT)],
            "attributes": [attribute("Oban", "born", "1924", "in 1924")],
        }
    )
    assert facts(found) == [("Gull", "part_of", "Oban")]
    assert drops(found) == [("triple", "domain or range", "town -> boat"), ("attribute", "domain or range", "town")]


def test_an_end_without_a_type_fits_any_and_gets_the_only_one() -> None:
    found = reading(
        [triple("Mira Holm", "sails", "Gull", TEXT[:25]), triple("Mira Holm", "part_of", "Ada", "Ada married")]
    )
    assert [(c.kind, c.head, c.head_type, c.tail, c.tail_type) for c in found.claims] == [
        ("type", "Mira Holm", "person", "person", ""),
        ("type", "Gull", "boat", "boat", ""),
        ("triple", "Mira Holm", "person", "Gull", "boat"),
        ("triple", "Mira Holm", "person", "Ada", ""),
    ]


def test_a_range_with_a_choice_leaves_the_end_untyped() -> None:
    over = window("The Gull is owned by Holm.")
    found = reading([triple("Gull", "owned_by", "Holm", "Gull is owned by Holm")], over)
    assert [(c.kind, c.head_type, c.tail_type) for c in found.claims] == [("triple", "", "")]


def test_an_end_of_an_unknown_type_may_not_stand_where_a_type_is_demanded() -> None:
    found = reading(
        {
            "entities": [entity("Gull", "bird"), entity("Mira Holm", "person")],
            "triples": [triple("Mira Holm", "sails", "Gull", TEXT[:25]), triple("Gull", "part_of", "Oban", TEXT)],
            "attributes": [attribute("Gull", "length", "1924", TEXT)],
        }
    )
    assert facts(found) == [("Gull", "part_of", "Oban")]
    assert [c for c in found.claims if c.kind == "type" and c.head == "Gull"] == []
    assert [item[:2] for item in drops(found)] == [
        ("entity", "unknown entity type"),
        ("triple", "end of unknown type"),
        ("attribute", "end of unknown type"),
    ]


def test_of_several_types_of_one_name_the_one_that_fits() -> None:
    over = window("Washington sailed to Washington.")
    found = reading(
        {
            "entities": [entity("Washington", "person"), entity("Washington", "town")],
            "triples": [triple("Washington", "lives_in", "Washington", over.chunks[0].text)],
        },
        over,
    )
    [claim] = [c for c in found.claims if c.kind == "triple"]
    assert (claim.head_type, claim.tail_type) == ("person", "town")


def test_types_given_with_the_ends_count() -> None:
    found = reading([triple("Mira Holm", "owned_by", "Gull", TEXT, head_type="person", tail_type="boat")])
    assert facts(found) == [("Gull", "owned_by", "Mira Holm", "reversed")]
    assert [(c.head, c.tail) for c in found.claims if c.kind == "type"] == [("Gull", "boat"), ("Mira Holm", "person")]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("born", "11 November 875", ""),
        ("born", "c. 995", ""),
        ("born", "sometime between 995 and 997", ""),
        ("born", "the late Middle Ages", ""),
        ("born", "秋", ""),
        ("born", "a Norwegian", "value is no date"),
        ("length", "3.2 km²", ""),
        ("length", "twelve metres", ""),
        ("length", "rather long", "value is no number"),
        ("website", "example.org/gull", ""),
        ("website", "https://example.org", ""),
        ("website", "on the web", "value is no url"),
        ("born", "unknown", "value is empty"),
        ("trade", "not mentioned", "value is empty"),
        ("trade", "-", "value is empty"),
        ("trade", "x" * 1_001, "value is too long"),
    ],
)
def test_values_have_the_kind_of_their_attribute(name: str, value: str, reason: str) -> None:
    over = window(f"It is {value}. Gull")
    found = reading([attribute("Gull", name, value, f"It is {value}")], over)
    assert [item.reason for item in found.dropped] == ([reason] if reason else [])
    assert facts(found) == ([] if reason else [("Gull", name, value)])


# -- 5: quotes ----------------------------------------------------------------------------

TWO = window("Mira sails the Gull.", "She lives in Oban — by the “old” pier.", title="Mira")


@pytest.mark.parametrize(
    ("chunk", "written", "stands", "flags"),
    [
        (2, "She lives in Oban", "She lives in Oban", ()),
        (2, 'in Oban - by the "old"  pier', "in Oban — by the “old” pier", ()),
        (1, "She lives in Oban", "She lives in Oban", ("rehomed",)),
        (9, "She lives in Oban", "She lives in Oban", ("rehomed",)),
        (None, "She lives in Oban", "She lives in Oban", ()),
        (2, "She lived in Oban by the old pier", None, None),
        (2, "She lives in Obann, by the “old” pier", "She lives in Oban — by the “old” pier", ("fuzzy",)),
        (1, "She lives in Obann - by the “old” pier", "She lives in Oban — by the “old” pier", ("rehomed", "fuzzy")),
        (2, "Mira moved to Oban", None, None),
    ],
)
def test_where_a_quote_stands(
    chunk: int | None, written: str, stands: str | None, flags: tuple[str, ...] | None
) -> None:
    found = reading([triple("Mira", "lives_in", "Oban", written, chunk=chunk)], TWO)
    claims = [c for c in found.claims if c.kind == "triple"]
    if stands is None:
        assert drops(found) == [("triple", "quote not found", written)]
        assert claims == []
        return
    assert [(c.number, quote(c, TWO), c.flags) for c in claims] == [(2, stands, flags)]


def test_a_quote_has_to_name_one_end_and_the_document_both() -> None:
    found = reading(
        [
            triple("Mira Holm", "lives_in", "Oban", "She lives in Oban"),  # a pronoun for one end
            triple("Mira Holm", "sails", "Gull", "in 1924"),  # has nothing to do with it
            triple("Mira Holm", "lives_in", "Bergen", "Mira Holm sails"),  # the other end is nowhere
            triple("Ada Lovelace", "lives_in", "Oban", "lives in Oban"),
        ]
    )
    assert facts(found) == [("Mira Holm", "lives_in", "Oban")]
    assert drops(found) == [
        ("triple", "names not in the text", "the quote names neither"),
        ("triple", "names not in the text", "Bergen"),
        ("triple", "names not in the text", "Ada Lovelace"),
    ]


def test_aliases_and_surnames_count_as_names_in_a_quote() -> None:
    over = window("Captain Mira Holm left. Skip sails the Gull; Holm lives in Oban.")
    found = reading(
        {
            "entities": [entity("Mira Holm", "person", "Skip")],
            "triples": [
                triple("Mira Holm", "part_of", "Gull", "Skip sails"),
                triple("Mira Holm", "lives_in", "Oban", "Holm lives"),
                triple("Skip", "sails", "Gull", "Skip sails the Gull"),
            ],
        },
        over,
    )
    assert facts(found) == [
        ("Mira Holm", "part_of", "Gull"),
        ("Mira Holm", "lives_in", "Oban"),
        ("Mira Holm", "sails", "Gull"),
    ]


def test_of_several_places_of_a_quote_the_one_that_has_to_do_with_the_claim() -> None:
    over = window("Bo lives in Oban. Ada lives in Oban.", "Ada lives in Oban.", titles=("One", "Two"))
    reply = {"entities": [entity("Bo", "person"), entity("Ada", "person")]}
    for item, place in (
        (triple("Ada", "lives_in", "Oban", "lives in Oban"), (1, 22)),
        (triple("Bo", "lives_in", "Oban", "lives in Oban", chunk=2), (1, 3)),
        (triple("Ada", "lives_in", "Oban", "lives in Oban", chunk=2), (2, 4)),
    ):
        [claim] = [c for c in reading(reply | {"triples": [item]}, over).claims if c.kind == "triple"]
        assert (claim.number, claim.start) == place


def test_the_sentence_of_an_attribute_holds_its_value() -> None:
    over = window("Mira was born in Oban. She was a smith.", title="Mira")
    found = reading(
        {
            "attributes": [
                attribute("Mira", "trade", "smith", "Mira was born"),
                attribute("Mira", "trade", "born", "Mira was"),
                attribute("Mira", "trade", "smith", "She was a smith"),
            ]
        },
        over,
    )
    assert facts(found) == [("Mira", "trade", "born"), ("Mira", "trade", "smith")]
    assert drops(found) == [("attribute", "names not in the text", "smith")]


def test_a_sentence_that_is_about_somebody_else_proves_nothing() -> None:
    over = window(
        "On the first day Mira Holm came with Ada. Bo met Ada in Oban. Then she left for Bergen.", title="Visits"
    )
    found = reading(
        {
            "entities": [entity(name, "person") for name in ("Mira Holm", "Ada", "Bo")],
            "triples": [
                triple("Mira Holm", "married_to", "Ada", "met Ada"),  # the sentence begins with Bo
                triple("Mira Holm", "lives_in", "Oban", "Bo met Ada in Oban."),
                triple("Mira Holm", "lives_in", "Bergen", "left for Bergen"),
            ],
        },
        over,
    )
    assert facts(found) == [("Mira Holm", "lives_in", "Bergen")]
    assert drops(found) == [("triple", "names not in the text", "the sentence is about Bo")] * 2


def test_names_of_another_document_in_the_window_do_not_count() -> None:
    over = window("Mira sails.", "Ada lives in Oban.", titles=("One", "Two"))
    found = reading([triple("Mira", "lives_in", "Oban", "lives in Oban", chunk=2)], over)
    assert drops(found) == [("triple", "names not in the text", "Mira")]


def test_a_name_in_the_title_heading_or_context_is_in_the_document() -> None:
    for over in (
        window("She lives in Oban.", title="Mira Holm"),
        window("She lives in Oban.", title="People", heading="People > Mira Holm"),
        window("She lives in Oban.", context="Mira Holm left Bergen."),
    ):
        found = reading([triple("Mira Holm", "lives_in", "Oban", "She lives in Oban")], over)
        assert facts(found) == [("Mira Holm", "lives_in", "Oban")]
        assert [c.head for c in found.claims if c.kind == "type"] == ["Oban"]  # no sentence names her


# -- 5: no quote ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (triple("Mira Holm", "sails", "Gull"), "Mira Holm sails the Gull."),
        (triple("Holm & Sons", "owned_by", "Mira Holm"), "She lives in Oban, where Holm & Sons owns the Gull."),
        (triple("Mira Holm", "lives_in", "Oban"), "She lives in Oban, where Holm & Sons owns the Gull."),
        (triple("Ada", "married_to", "Mira Holm"), "Ada married Mira Holm in 1924."),
        (attribute("Ada", "born", "1924"), "Ada married Mira Holm in 1924."),
        (attribute("Gull", "trade", "married"), "Ada married Mira Holm in 1924."),
    ],
)
def test_a_missing_quote_is_located(item: dict[str, Any], sentence: str) -> None:
    found = reading([item], window(TEXT, title="Mira Holm"))
    [claim] = [c for c in found.claims if c.kind in ("triple", "attribute")]
    assert (quote(claim), claim.flags, claim.confidence) == (sentence, ("located",), 0.8)


def test_what_no_sentence_says_is_not_located() -> None:
    found = reading(
        [triple("Ada", "lives_in", "Oban"), triple("Ada", "sails", "Tern"), attribute("Ada", "trade", "smith")]
    )
    assert facts(found) == []
    assert drops(found) == [
        ("triple", "quote not found", "no sentence says so"),
        ("triple", "names not in the text", "Tern"),
        ("attribute", "quote not found", "no sentence says so"),
    ]


def test_the_word_for_its_type_means_what_the_note_is_about() -> None:
    over = window("The Gull was built in Oban. The ship is owned by Ada.", title="Gull")
    reply = {
        "entities": [entity("Gull", "boat"), entity("Ada", "person")],
        "triples": [triple("Gull", "owned_by", "Ada")],
    }
    [claim] = [c for c in reading(reply, over).claims if c.kind == "triple"]
    assert quote(claim, over) == "The ship is owned by Ada."


def test_a_shared_surname_is_no_mention() -> None:
    over = window("Ada Holm came late. Mira Holm sings.", title="Mira Holm")
    found = reading([triple("Mira Holm", "married_to", "Ada Holm")], over)
    assert drops(found) == [("triple", "quote not found", "no sentence says so")]


def test_the_named_chunk_is_looked_at_first() -> None:
    over = window("Mira sails the Gull.", "Mira still sails the Gull.")
    for number in (1, 2):
        [claim] = [
            c for c in reading([triple("Mira", "sails", "Gull", chunk=number)], over).claims if c.kind == "triple"
        ]
        assert claim.number == number


# -- 6: names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("She", "name is a pronoun"),
        ("the", "name is a pronoun"),
        ("the others", "name is a pronoun"),
        ("ihn", "name is a pronoun"),
        ("\u202e \u200b", "name is empty"),
        ("x" * 201, "name is too long"),
        ("Nobody Knows", "name not in the text"),
    ],
)
def test_names_that_are_none(name: str, reason: str) -> None:
    over = window(f"She, the others and ihn sail the Gull. {'x' * 201}")
    found = reading({"entities": [entity(name, "person"), entity("Gull", "boat")]}, over)
    assert [item.reason for item in found.dropped] == [reason]
    assert [c.head for c in found.claims] == ["Gull"]
    if reason not in ("name not in the text", "name is empty"):
        assert drops(reading([triple(name, "sails", "Gull", "the Gull")], over))[0][:2] == ("triple", reason)


def test_acronyms_and_titles_are_no_pronouns() -> None:
    over = window("IT and WHO met The Who.")
    found = reading({"entities": [entity(name, "company") for name in ("IT", "WHO", "The Who")]}, over)
    assert [c.head for c in found.claims] == ["IT", "WHO", "The Who"]


def test_names_are_cleaned_and_evidence_is_not() -> None:
    over = window("Mi\u200bra\u202e sails the Cafe\u0301.")
    found = reading({"entities": [entity(" Mira\u202e\n", "person"), entity("Café", "boat")]}, over)
    assert [(c.head, quote(c, over)) for c in found.claims] == [
        ("Mira", "Mi\u200bra\u202e sails the Cafe\u0301."),
        ("Café", "Mi\u200bra\u202e sails the Cafe\u0301."),
    ]
    assert all(unicodedata.is_normalized("NFC", c.head) for c in found.claims)


@pytest.mark.parametrize(
    ("name", "text", "stands"),
    [
        ("King Hugh of Italy", "Hugh, king in Italy", True),
        ("mira HOLM", "Mira Holm", True),
        ("Bosonids", "the Bosonid house", True),
        ("Ana", "Banana", False),
        ("Anna Karenina", "Anna met Karenin", False),
        ("Johann Holm", "Johanna Holm", False),
        ("Boat 2", "Boat 1", False),
        ("C++", "written in C++.", True),
        ("東京", "東京都に", True),
        ("Москва", "в Москве", True),
        ("**Mira** Holm", "Mira Holm", True),
        ("Mira of Oban", "Mira left. She lives in Oban.", False),
    ],
)
def test_when_a_name_stands_in_a_text(name: str, text: str, stands: bool) -> None:
    found = reading({"entities": [entity(name, "person")]}, window(text))
    assert bool(found.claims) == stands
    assert drops(found) == ([] if stands else [("entity", "name not in the text", name)])


def test_aliases() -> None:
    over = window(
        "Mira Holm, the skipper, sails.", "Mi is her name.", "Mi is a note of the scale.", titles=("M", "M", "S")
    )
    over = Window(tuple(over.chunks[:1]) + tuple(c for c in over.chunks[1:]))
    found = reading(
        {"entities": [entity("Mira Holm", "person", "Mi", "mira holm", "the skipper", "queen of Oban", "She", "Bo")]},
        over,
    )
    assert [(c.kind, c.tail, c.number) for c in found.claims] == [("type", "person", 1)]
    assert drops(found) == [
        ("alias", "alias is a description", "the skipper"),
        ("alias", "alias is a description", "queen of Oban"),
        ("alias", "name is a pronoun", "She"),
        ("alias", "name not in the text", "Bo"),
    ]
    same = window("Mira Holm sails.", "Mi is her name.")
    found = reading({"entities": [entity("Mira Holm", "person", "Mi")]}, same)
    assert [(c.kind, c.tail, c.number, quote(c, same)) for c in found.claims] == [
        ("type", "person", 1, "Mira Holm sails."),
        ("alias", "Mi", 2, "Mi is her name."),
    ]


def test_an_alias_at_an_end_means_its_entity_unless_two_have_it() -> None:
    over = window("Mira Holm and Ada Holm sail. Holm sails the Gull. Mi sails the Gull.")
    found = reading(
        {
            "entities": [entity("Mira Holm", "person", "Mi", "Holm"), entity("Ada Holm", "person", "Holm")],
            "triples": [triple("Mi", "sails", "Gull"), triple("Holm", "sails", "Gull")],
        },
        over,
    )
    assert [fact[0] for fact in facts(found)] == ["Mira Holm", "Holm"]


def test_what_is_listed_for_itself_is_no_alias_of_another() -> None:
    """Small models give the names that stand nearby as aliases; then a triple would join an entity with itself."""
    over = window("Mira married Otto in Oban. Mi sails the Gull. Mira Holm wakes.")
    found = reading(
        {
            "entities": [
                entity("Mira", "person", "Otto", "OBAN", "Gull", "Mi"),
                entity("Mira Holm", "person", "Mira"),
                entity("Otto", "person", "mira"),
                entity("Oban", "town"),
                entity("Gull", "no such type"),
            ],
            "triples": [triple("Mira", "married_to", "Otto"), triple("Mi", "lives_in", "Gull")],
        },
        over,
    )
    assert [fact[:3] for fact in facts(found)] == [("Mira", "married_to", "Otto")]
    assert [(c.head, c.tail) for c in found.claims if c.kind == "alias"] == [("Mira", "Mi"), ("Mira Holm", "Mira")]
    assert drops(found) == [
        ("alias", "alias is another entity", "Otto"),
        ("alias", "alias is another entity", "OBAN"),
        ("alias", "alias is another entity", "Gull"),
        ("alias", "alias is another entity", "mira"),
        ("entity", "unknown entity type", "no such type"),
        ("triple", "end of unknown type", "Gull"),
    ]


def test_each_chunk_that_names_an_entity_gives_a_type_claim() -> None:
    over = window("Mira sails.", "Nothing here.", "Mira sleeps. Mira wakes.")
    found = reading({"entities": [entity("Mira", "person")]}, over)
    assert [(c.number, quote(c, over)) for c in found.claims] == [(1, "Mira sails."), (3, "Mira sleeps.")]


def test_a_name_within_a_longer_name_is_no_sentence_about_it() -> None:
    porto = entity("Porto", "town")
    works = entity("Porto Works", "company") | {"chunks": [1, 2]}
    over = window("Porto Works is large. Ana lives in Porto.", "Porto Works opened in May.", titles=("A", "B"))
    found = reading({"entities": [works, porto]}, over)
    assert [(c.head, c.number, quote(c, over)) for c in found.claims] == [
        ("Porto Works", 1, "Porto Works is large."),
        ("Porto Works", 2, "Porto Works opened in May."),
        ("Porto", 1, "Ana lives in Porto."),
    ]
    within = reading({"entities": [works, porto | {"chunks": [2]}]}, over)  # the model says that it is meant there too
    assert [(c.number, quote(c, over)) for c in within.claims if c.head == "Porto"] == [
        (1, "Ana lives in Porto."),
        (2, "Porto Works opened in May."),
    ]
    only = window("The University of Porto is old.")
    both = [entity("University of Porto", "company"), porto | {"chunks": []}]
    found = reading({"entities": both}, only)
    assert [(c.head, c.number) for c in found.claims] == [("University of Porto", 1), ("Porto", 1)]


def test_two_entities_of_one_name_have_the_chunks_they_are_listed_for() -> None:
    over = window("Washington sails.", "Washington is a town.", titles=("A", "B"))
    found = reading(
        {"entities": [entity("Washington", "person"), entity("Washington", "town") | {"chunks": [2]}]},
        over,
    )
    assert [(c.tail, c.number) for c in found.claims] == [("person", 1), ("town", 2)]


def test_head_and_tail_must_differ() -> None:
    found = reading(
        {
            "entities": [entity("Mira Holm", "person", "Mira")],
            "triples": [
                triple("Mira Holm", "married_to", "MIRA  HOLM", TEXT[:25]),
                triple("Mira", "part_of", "Mira Holm"),
            ],
        }
    )
    assert [item[:2] for item in drops(found)] == [("triple", "head and tail are the same")] * 2


# -- 7: duplicates ------------------------------------------------------------------------


def test_a_fact_counts_once_per_quote() -> None:
    found = reading(
        [
            triple("Mira Holm", "sails", "Gull", TEXT[:25], confidence=0.4),
            triple("Mira Holm", "sails", "Gull", TEXT[:25], confidence=0.9),
            triple("Mira Holm", "sails", "Gull", "sails the Gull", confidence=0.3),
        ]
    )
    assert [(c.confidence, quote(c)) for c in found.claims if c.kind == "triple"] == [
        (0.9, "Mira Holm sails the Gull."),
        (0.3, "sails the Gull"),
    ]


# -- proposals ----------------------------------------------------------------------------


def proposal(name: str, quote: str, kind: str = "relation", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "quote": quote, "chunk": 1} | more


def test_proposals_are_heard_in_suggest_mode_only() -> None:
    reply = {"proposals": [proposal("moors in", "lives in Oban")], "triples": []}
    assert [wish.name for wish in reading(reply).wishes] == ["moors_in"]
    for mode in ("strict", "open"):
        assert drops(reading(reply, mode=mode)) == [("proposal", "proposals are not asked for", "")]


def test_proposals_need_a_new_name_and_a_quote() -> None:
    found = reading(
        {
            "proposals": [
                proposal("Employed by", TEXT[:25]),
                proposal("firm", TEXT[:25], "entity_type"),
                proposal("birth date", TEXT[:25], "attribute"),
                proposal("--", TEXT[:25]),
                proposal("moors_in", "The Gull lies at anchor far away"),
                proposal("moors_in", "Ada and Mira Holm, married in 1924"),  # located by its words
                proposal("moors_in", "She lives in Oban", confidence=0.2),
                proposal("moors_in", "She lives in Oban", confidence=0.6),
            ]
        }
    )
    assert drops(found) == [
        ("proposal", "already in the schema", "works_for"),
        ("proposal", "already in the schema", "company"),
        ("proposal", "already in the schema", "born"),
        ("proposal", "no usable name", "--"),
        ("proposal", "quote not found", "The Gull lies at anchor far away"),
    ]
    assert [(wish.name, wish.confidence, TEXT[wish.start : wish.end]) for wish in found.wishes] == [
        ("moors_in", 0.5, "Ada married Mira Holm in 1924."),
        ("moors_in", 0.6, "She lives in Oban"),
    ]


# -- two calls ------------------------------------------------------------------------------


def test_entities_for_the_second_call() -> None:
    reply = {
        "entities": [entity("Mira Holm", "Sailor"), entity("Gull", "boat"), entity("Bergen", "town"), entity("Ada", "")]
    }
    assert listed_entities(json.dumps(reply), LOG, HARBOUR, "suggest") == (
        ("Mira Holm", "person"),
        ("Gull", "boat"),
        ("Ada", ""),
    )


# -- any reply ------------------------------------------------------------------------------

NAMES = ["Mira Holm", "Mira", "Gull", "Oban", "Ada", "She", "Holm & Sons", "Bergen", "", "1924", "\u202e", "東京"]
RELATIONS = [r.name for r in HARBOUR.relations] + ["employs", "born", "paints", "__proto__", "Lives In", ""]
TYPES = ["person", "boat", "town", "Sailor", "planet", "", None, 7]
QUOTES = [
    TEXT[:25],
    "She lives in Oban",
    "she lives in oban",
    "nowhere",
    "",
    None,
    TEXT,
    "Ada married Mira Holm in 1925.",
    ["x"],
]
SPOIL = ['"', "{", "}", "[", "]", ",", "\\", "x", "\ud800", "null", "e9", "\x00", "</think>", "```"]


def random_reply(rng: random.Random) -> str:
    def pick(values: list[Any]) -> Any:
        return rng.choice(values)

    reply: dict[str, Any] = {"entities": [], "attributes": [], "triples": [], "proposals": []}
    for _ in range(rng.randint(0, 3)):
        reply["entities"].append(
            {"name": pick(NAMES), "type": pick(TYPES), "aliases": [pick(NAMES)], "chunks": [pick([1, 2, 9])]}
        )
    for _ in range(rng.randint(0, 3)):
        place = {"chunk": pick([1, 2, 9, None, "1"]), "quote": pick(QUOTES), "confidence": pick([0.5, "high", None, 9])}
        reply["triples"].append({"head": pick(NAMES), "relation": pick(RELATIONS), "tail": pick(NAMES)} | place)
        reply["attributes"].append(
            {"entity": pick(NAMES), "attribute": pick(RELATIONS), "value": pick([*NAMES, 3])} | place
        )
        reply["proposals"].append({"kind": pick(["relation", "entity_type", "x"]), "name": pick(RELATIONS)} | place)
    return json.dumps(reply, ensure_ascii=rng.random() < 0.5)


def spoiled(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(text) + 1)
        cut = rng.choice([0, 0, 1, 5, len(text)])
        text = text[:at] + rng.choice(SPOIL) * rng.randint(0, 2) + (text[at + cut :] if cut < len(text) else "")
    return text


def check(found: Reading, over: Window, mode: str) -> None:
    texts = {chunk.number: chunk.text for chunk in over.chunks}
    types = {item.name for item in HARBOUR.entity_types} | {""}
    relations = {item.name for item in HARBOUR.relations}
    attributes = {item.name for item in HARBOUR.attributes}
    known = {"triple": relations, "attribute": attributes, "type": {"type"}, "alias": {"alias"}}
    for claim in found.claims:
        piece = texts[claim.number][claim.start : claim.end]
        assert piece and piece == piece.strip()
        assert claim.head and len(claim.head) <= 200 and claim.tail
        assert 0 <= claim.confidence <= 1
        assert set(claim.flags) <= {"reversed", "rehomed", "fuzzy", "located"}
        if mode != "open":
            assert claim.relation in known[claim.kind]
            assert {claim.head_type, claim.tail_type} <= types
    assert len(found.claims) == len(
        {(c.kind, c.head, c.relation, c.tail, c.head_type, c.tail_type, c.number, c.start, c.end) for c in found.claims}
    )
    for wish in found.wishes:
        assert mode == "suggest" and texts[wish.number][wish.start : wish.end].strip()
    json.dumps([(item.item, item.detail) for item in found.dropped], allow_nan=False, ensure_ascii=False).encode(
        "utf-8"
    )


OVER = window(TEXT, "東京 is far. Mira is in Oban.", title="Mira Holm", context="Before.")


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_any_reply_is_read_or_refused_and_every_claim_has_its_quote(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text, mode = spoiled(random_reply(rng), rng), rng.choice(MODES)
        try:
            found = read(text, OVER, HARBOUR, mode)
        except ReplyError:
            continue
        check(found, OVER, mode)


def test_nothing_is_said_of_an_empty_window() -> None:
    found = reading(
        {"entities": [entity("Mira", "person")], "triples": [triple("Mira", "sails", "Gull", "x")]}, Window(())
    )
    assert found.claims == () and len(found.dropped) == 2


def test_many_wrong_quotes_cost_bounded_time() -> None:
    over = window(*("Mira sails the Gull past the long pier. " * 20 for _ in range(10)))
    items = [
        triple("Mira", "sails", "Gull", f"number {n} of a great many quotes that stand nowhere") for n in range(2_000)
    ]
    started = time.process_time()
    found = reading(items, over)
    assert {item.reason for item in found.dropped} == {"quote not found"}
    assert time.process_time() - started < 20


def test_a_triple_is_turned_only_where_both_ends_have_a_type() -> None:
    """ "The dairy works at Tromsø" must not become a Tromsø that works at the dairy."""
    from llm_graphrag.facts.llm.window import Window, WindowChunk
    from llm_graphrag.facts.template import load_template

    text = "Quartz Dairy works at Tromsø. Ada Lund works at Quartz Dairy."
    window = Window((WindowChunk(1, 1, 1, "Note", "", text, ""),))
    entities = [{"name": "Quartz Dairy", "type": "organization"}, {"name": "Ada Lund", "type": "person"}]
    triples = [
        {"head": "Quartz Dairy", "relation": "works_at", "tail": "Tromsø", "chunk": 1, "quote": text[:29]},
        {"head": "Quartz Dairy", "relation": "works_at", "tail": "Ada Lund", "chunk": 1, "quote": text[30:]},
    ]
    found = read(json.dumps({"entities": entities, "triples": triples}), window, load_template("general"), "suggest")
    kept = [(claim.head, claim.tail, claim.flags) for claim in found.claims if claim.kind == "triple"]
    assert kept == [("Ada Lund", "Quartz Dairy", ("reversed",))]
    assert [(item.kind, item.reason) for item in found.dropped] == [("triple", "domain or range")]
