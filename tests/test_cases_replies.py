"""Replies that broke other tools: what is read of each, under a schema and without one."""

from __future__ import annotations

import json
import unicodedata

import pytest
from windows import HARBOUR, window

from llm_graphrag.facts.llm.reading import Reading
from llm_graphrag.facts.llm.reply import ReplyError
from llm_graphrag.facts.llm.validate import read
from llm_graphrag.text.normalise import name_key

NOTE = window("Ilse Brandt tunes pianos for Kroll & Co in Tartu.", title="tuner")
FACT = ("Ilse Brandt", "tunes", "pianos")


def opened(reply: str, text: str = "") -> Reading:
    """Read with no bound, where models invent their relations."""
    return read(reply, window(text, title="note") if text else NOTE, HARBOUR, "open")


def facts(found: Reading) -> list[tuple[str, str, str]]:
    return [(claim.head, claim.relation, claim.tail) for claim in found.claims if claim.kind in ("triple", "attribute")]


# -- 040: fences, bare arrays, other keys ---------------------------------------------------

ROW = '{"subject": "Ilse Brandt", "predicate": "tunes", "object": "pianos", "evidence": "Ilse Brandt tunes pianos"}'
SHORT = '{"subject": "Ilse Brandt", "predicate": "tunes", "object": "pianos"}'


@pytest.mark.parametrize(
    "reply",
    [
        f'```json\n{{"triples": [{ROW}]}}\n```',
        f'Of course! This is what I found:\n\n{{"triples": [{ROW}]}}\n\nAnything else?',
        f"[{SHORT}]",
        '{"relations": [{"head": "Ilse Brandt", "relation": "tunes", "tail": "pianos"}]}',
        "{'triples': [{'subject': 'Ilse Brandt', 'predicate': 'tunes', 'object': 'pianos'}]}",
        '{"triples": [{"subject": "Ilse Brandt", "predicate": "tunes", "object": "pianos",}],}',
    ],
)
def test_040_the_same_triple_from_every_reply(reply: str) -> None:
    found = opened(reply)
    assert facts(found) == [FACT]
    [claim] = found.claims
    sentence = NOTE.chunks[0].text[claim.start : claim.end]
    located = "evidence" not in reply
    assert (sentence, claim.flags) == (
        (NOTE.chunks[0].text, ("located",)) if located else ("Ilse Brandt tunes pianos", ())
    )


# -- 043, 046: nothing said, and nothing to say -----------------------------------------------


def test_043_one_empty_reply_is_the_only_failure() -> None:
    over = window(*(f"Sailor{n} owns Boat{n}." for n in range(10)), titles=tuple(map(str, range(10))))
    failed = []
    for n in range(10):
        reply = (
            ""
            if n == 4
            else json.dumps({"triples": [{"subject": f"Sailor{n}", "predicate": "owns", "object": f"Boat{n}"}]})
        )
        try:
            [fact] = facts(read(reply, over, HARBOUR, "open"))
            assert fact == (f"Sailor{n}", "owns", f"Boat{n}")
        except ReplyError as error:
            failed.append((n, str(error)))
    assert failed == [(4, "empty reply")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("{}", "JSON without a list of entities, attributes or triples"),
        ('{"triples": null}', "JSON without a list of entities, attributes or triples"),
        ('{"result": "none"}', "JSON without a list of entities, attributes or triples"),
        ("None", "no JSON"),
    ],
)
def test_046_well_formed_and_empty_of_meaning_is_a_failure(reply: str, reason: str) -> None:
    with pytest.raises(ReplyError) as caught:
        opened(reply)
    assert str(caught.value) == reason


@pytest.mark.parametrize("reply", ["[]", '{"triples": []}'])
def test_046_no_facts_here_is_an_answer(reply: str) -> None:
    assert opened(reply) == Reading(())


# -- 044, 047, 048: shapes --------------------------------------------------------------------


def test_044_readable_shapes_are_read_and_incomplete_ones_say_why() -> None:
    found = opened(
        json.dumps(
            {
                "triples": [
                    [json.loads(SHORT)],
                    ["Kroll & Co", "in", "Tartu"],
                    {"subject": "Ilse Brandt", "predicate": "works for"},
                    {
                        "subject": "Ilse Brandt",
                        "predicate": "lives in",
                        "object": "Tartu",
                        "mood": "good",
                        "confidence": "high",
                    },
                ]
            }
        )
    )
    assert facts(found) == [FACT, ("Kroll & Co", "in", "Tartu"), ("Ilse Brandt", "lives_in", "Tartu")]
    assert [claim.confidence for claim in found.claims if claim.kind == "triple"] == [0.8, 0.8, 0.9]
    assert [(item.kind, item.reason, item.detail) for item in found.dropped] == [("triple", "field missing", "tail")]


def test_047_bare_objects() -> None:
    assert facts(opened(SHORT)) == [FACT]
    other = '{"subject": "Kroll & Co", "predicate": "in", "object": "Tartu"}'
    assert facts(opened(f"{SHORT}\n{other}")) == [FACT, ("Kroll & Co", "in", "Tartu")]


def test_048_headings_and_drafts_are_not_the_answer() -> None:
    answer = f'{{"triples": [{ROW}]}}'
    draft = '{"triples": [{"subject": "Tartu", "predicate": "tunes", "object": "pianos"}]}'
    assert facts(opened(f"**Entities**\n\n{answer}")) == [FACT]
    assert facts(opened(f"<think>perhaps {draft}? no</think>\n{answer}")) == [FACT]


# -- 051: names that mean something elsewhere ---------------------------------------------------


def test_051_reserved_names_are_data() -> None:
    names = [
        "id",
        "rowid",
        "type",
        "select",
        "from",
        "__proto__",
        'a"]; DROP TABLE entities; --',
        "constructor",
        "alias",
    ]
    reply = json.dumps({"triples": [{"subject": "Ilse Brandt", "predicate": n, "object": "Tartu"} for n in names]})
    found = opened(reply)
    assert [fact[1] for fact in facts(found)] == [
        "id",
        "rowid",
        "type",
        "select",
        "from",
        "proto",
        "a_drop_table_entities",
        "constructor",
        "alias",
    ]
    assert {claim.kind for claim in found.claims} == {"triple"}
    bound = read(reply, NOTE, HARBOUR, "strict")
    assert bound.claims == ()
    assert [(item.reason, item.detail) for item in bound.dropped] == [("unknown relation", name) for name in names]
    assert [item.item["predicate"] for item in bound.dropped] == names


# -- 055: direction marks, joiners, width -------------------------------------------------------


def test_055_names_are_clean_and_what_differs_stays_apart() -> None:
    text = (
        "سلمى، ســلــمى and \u202eדנה\u202c met NORD, ＮＯＲＤ and a\u200bb\x07; "
        "ﬁg, fig; ★, ★\ufe0f; İzmir, izmir; Weiß, WEISS."
    )
    pairs = [
        ("سلمى", "\u202eדנה\u202c"),  # an override stays out of the name
        ("سلمى", "ســلــمى"),  # the same name, stretched
        ("NORD", "ＮＯＲＤ"),
        ("ﬁg", "fig"),
        ("★", "★\ufe0f"),
        ("İzmir", "izmir"),
        ("Weiß", "WEISS"),
        ("a\u200bb\u0007", "NORD"),
    ]
    reply = json.dumps({"triples": [{"subject": head, "predicate": "met", "object": tail} for head, tail in pairs]})
    found = opened(reply, text)
    assert facts(found) == [
        ("سلمى", "met", "דנה"),
        ("İzmir", "met", "izmir"),
        ("Weiß", "met", "WEISS"),
        ("ab", "met", "NORD"),
    ]
    assert [item.reason for item in found.dropped] == ["head and tail are the same"] * 4
    for claim in found.claims:
        for name in (claim.head, claim.tail):
            assert unicodedata.is_normalized("NFC", name)
            assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in name)
        assert text[claim.start : claim.end] == text  # evidence is as it was written
    assert name_key("İzmir") != name_key("izmir") and name_key("Weiß") != name_key("WEISS")


# -- 091: an invalid reply, then a valid one ------------------------------------------------------


def test_091_a_bad_reply_fails_and_the_next_is_read() -> None:
    with pytest.raises(ReplyError):
        opened("{broken")
    assert facts(opened(f'{{"triples": [{ROW}]}}')) == [FACT]
