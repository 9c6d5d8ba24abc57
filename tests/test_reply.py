"""Replies as models write them: what is read, what is dropped, what is an error, and that no reply does harm."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag.facts.llm.json_text import MAX_TEXT, find_values
from llm_graphrag.facts.llm.reply import MAX_ITEMS, RawReply, ReplyError, parse_reply

ITEM = '{"head": "Mira", "relation": "sails", "tail": "Gull"}'
TRIPLE = ("Mira", "sails", "Gull")


def triples(reply: RawReply) -> list[tuple[str, str, str]]:
    return [(item.head, item.relation, item.tail) for item in reply.triples]


def reasons(reply: RawReply) -> list[tuple[str, str, str]]:
    return [(item.kind, item.reason, item.detail) for item in reply.dropped]


# -- wrapped and spelled ----------------------------------------------------------------

ONE_TRIPLE = {
    "plain": f'{{"triples": [{ITEM}]}}',
    "fence": f'```json\n{{"triples": [{ITEM}]}}\n```',
    "fence without language": f"```\n[{ITEM}]\n```",
    "prose": f'Sure! Here you go:\n\n{{"triples": [{ITEM}]}}\n\nLet me know if you need more {{details}}.',
    "prose and fence": f'Of course:\n```json\n{{"triples": [{ITEM}]}}\n```\nDone.',
    "heading": f'**Triples**\n\n{{"triples": [{ITEM}]}}',
    "bare array": f"[{ITEM}]",
    "bare object": ITEM,
    "array item": '[["Mira", "sails", "Gull"]]',
    "array item in its list": '{"triples": [["Mira", "sails", "Gull"]]}',
    "not in a list": f'{{"triples": {ITEM}}}',
    "list of lists": f'{{"triples": [[{ITEM}]]}}',
    "wrapper": f'{{"result": {{"triples": [{ITEM}]}}}}',
    "wrapper around a bare array": f'{{"output": [{ITEM}]}}',
    "two wrappers": f'{{"response": {{"data": {{"facts": [{ITEM}]}}}}}}',
    "unknown wrapper": f'{{"harbour": {{"relations": [{ITEM}]}}}}',
    "string in a wrapper": json.dumps({"answer": f'{{"triples": [{ITEM}]}}'}),
    "string": json.dumps(f'{{"triples": [{ITEM}]}}'),
    "doubled braces": f'{{{{"triples": [{{{ITEM}}}]}}}}',
    "single quotes": "{'triples': [{'head': 'Mira', 'relation': 'sails', 'tail': 'Gull'}]}",
    "trailing commas": '{"triples": [{"head": "Mira", "relation": "sails", "tail": "Gull",},],}',
    "comments": '{"triples": [ // found one\n{"head": "Mira", /* her */ "relation": "sails", "tail": "Gull"}]}',
    "unquoted keys": '{triples: [{head: "Mira", relation: "sails", tail: "Gull"}]}',
    "bom": f'\ufeff{{"triples": [{ITEM}]}}',
    "thinking": f'<think>maybe {{"triples": [{{"head": "X", "relation": "y", "tail": "Z"}}]}}</think>\n[{ITEM}]',
    "thinking, not opened": f'perhaps {{"head": "X", "relation": "y", "tail": "Z"}}\n</think>\n[{ITEM}]',
    "thinking in brackets": f'[THINK]{{"head": "X", "relation": "y", "tail": "Z"}}[/THINK][{ITEM}]',
    "thinking, then a fence": f"<thinking>hm</thinking>\n```json\n[{ITEM}]\n```",
    "subject, predicate, object": '{"triples": [{"subject": "Mira", "predicate": "sails", "object": "Gull"}]}',
    "source, type, target": '{"edges": [{"source": "Mira", "type": "sails", "target": "Gull"}]}',
    "ends as objects": '[{"head": {"name": "Mira"}, "relation": "sails", "tail": {"name": "Gull"}}]',
    "other case": '{"Triples": [{"Head": "Mira", "Relation": "sails", "Tail": "Gull"}]}',
    "key of its own": f'{{"thoughts": "none", "triples": [{ITEM}]}}',
    "line break in a string": '[{"head": "Mira", "relation": "sails", "tail": "Gull", "quote": "a\nb"}]',
    "not a number": '[{"head": "Mira", "relation": "sails", "tail": "Gull", "confidence": NaN}]',
    "infinity": '[{"head": "Mira", "relation": "sails", "tail": "Gull", "confidence": -Infinity}]',
    "ids": '{"nodes": [{"id": "n1", "label": "Mira", "type": "x"}, {"id": 2, "name": "Gull", "type": "y"}], '
    '"edges": [{"source": "n1", "type": "sails", "target": 2}]}',
}


@pytest.mark.parametrize("text", ONE_TRIPLE.values(), ids=ONE_TRIPLE)
def test_one_triple_however_it_is_wrapped(text: str) -> None:
    reply = parse_reply(text)
    assert triples(reply) == [TRIPLE]
    assert reply.dropped == ()


def test_json_lines_and_several_lists_are_joined() -> None:
    other = ITEM.replace("Gull", "Tern")
    both = [TRIPLE, ("Mira", "sails", "Tern")]
    assert triples(parse_reply(f"{ITEM}\n{other}")) == both
    assert triples(parse_reply(f'{{"triples": [{ITEM}]}}\n{{"triples": [{other}]}}')) == both
    assert triples(parse_reply(f'{{"triples": [{ITEM}], "triples": [{other}]}}')) == both
    assert triples(parse_reply(f'{{"triples": [{ITEM}], "relations": [{other}], "triples": null}}')) == both
    assert triples(parse_reply(f'{{"triples": {ITEM}, "triples": {other}}}')) == both
    assert triples(parse_reply(f"First:\n```json\n[{ITEM}]\n```\nand\n```json\n[{other}]\n```")) == both


def test_both_replies_of_two_calls_are_read_as_one() -> None:
    first = '```json\n{"entities": [{"name": "Mira", "type": "person", "aliases": [], "chunks": [1]}]}\n```'
    second = f'<think>so</think>{{"attributes": [], "triples": [{ITEM}]}}'
    reply = parse_reply(f"{first}\n{second}")
    assert [(entity.name, entity.type) for entity in reply.entities] == [("Mira", "person")]
    assert triples(reply) == [TRIPLE]


def test_a_tag_within_a_quote_is_text() -> None:
    text = '{"triples": [{"head": "Mira", "relation": "sails", "tail": "Gull", "quote": "She wrote </think> here",}]}'
    assert triples(parse_reply(text)) == [TRIPLE]


# -- fields -----------------------------------------------------------------------------


def test_all_four_lists() -> None:
    reply = parse_reply(
        json.dumps(
            {
                "entities": [
                    {"name": " Mira Holm ", "type": "person", "aliases": ["Mira", ""], "chunks": [1, "[2]", "x"]}
                ],
                "attributes": [{"entity": "Gull", "attribute": "length", "value": 12, "chunk": "2", "quote": "12 m"}],
                "triples": [{"head": "Mira", "relation": "sails", "tail": "Gull", "chunk": 1, "confidence": 0.4}],
                "proposals": [
                    {
                        "kind": "Relation",
                        "name": "races",
                        "description": "Takes part with.",
                        "confidence": "high",
                        "chunk": 2,
                        "quote": "raced",
                        "instead_of": "sails",
                    }
                ],
            }
        )
    )
    [entity], [attribute], [triple], [proposal] = reply.entities, reply.attributes, reply.triples, reply.proposals
    assert (entity.name, entity.type, entity.aliases, entity.chunks) == ("Mira Holm", "person", ("Mira",), (1, 2))
    assert (attribute.entity, attribute.attribute, attribute.value, attribute.chunk, attribute.quote) == (
        "Gull",
        "length",
        "12",
        2,
        "12 m",
    )
    assert (triple.chunk, triple.confidence, triple.quote) == (1, 0.4, "")
    assert (proposal.kind, proposal.name, proposal.confidence, proposal.instead_of) == (
        "relation",
        "races",
        0.9,
        "sails",
    )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0.4", 0.4),
        ('"0.4"', 0.4),
        ('"40%"', 0.4),
        ('"high"', 0.9),
        ('"Very High"', 0.95),
        ('"low"', 0.3),
        ("1", 1.0),
        ("0", 0.0),
        ("7", None),
        ("-1", None),
        ("true", None),
        ("null", None),
        ('"certain-ish"', None),
        ("[]", None),
        ("1e999", None),
    ],
)
def test_confidence(written: str, read: float | None) -> None:
    [item] = parse_reply(ITEM.replace("}", f', "confidence": {written}}}')).triples
    assert item.confidence == read


@pytest.mark.parametrize(
    ("written", "read"),
    [("2", 2), ('"2"', 2), ('"[2]"', 2), ('"chunk 2"', 2), ("2.0", 2), ("[2, 3]", 2), ('"two"', None), ("null", None)],
)
def test_chunk_numbers(written: str, read: int | None) -> None:
    [item] = parse_reply(ITEM.replace("}", f', "chunk": {written}}}')).triples
    assert item.chunk == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"evidence": "She sails."', (None, "She sails.")),
        ('"evidence": ["She sails.", "More."]', (None, "She sails.")),
        ('"evidence": {"quote": "She sails.", "chunk": 3}', (3, "She sails.")),
        ('"quote": "\u200b "', (None, "")),
        ('"quote": null', (None, "")),
    ],
)
def test_quotes(written: str, read: tuple[int | None, str]) -> None:
    [item] = parse_reply(ITEM.replace("}", f", {written}}}")).triples
    assert (item.chunk, item.quote) == read


def test_values_stay_as_they_were_written() -> None:
    text = '{"attributes": [{"entity": "Gull", "attribute": "length", "value": %s}]}'
    for written, read in (("0.90", "0.90"), ("1e3", "1e3"), ("1200", "1200"), ('"007"', "007"), ("true", "true")):
        assert [item.value for item in parse_reply(text % written).attributes] == [read]


def test_lists_of_tails_and_values_are_several_items() -> None:
    reply = parse_reply(
        '{"triples": [{"head": "Mira", "relation": "sails", "tail": ["Gull", "Tern"]}],'
        ' "attributes": [{"entity": "Mira", "attribute": "trade", "value": ["smith", "sailor"]}]}'
    )
    assert triples(reply) == [TRIPLE, ("Mira", "sails", "Tern")]
    assert [item.value for item in reply.attributes] == ["smith", "sailor"]


def test_types_given_with_the_ends() -> None:
    [flat] = parse_reply(
        '[{"head": "M", "head_type": "person", "relation": "r", "tail": "G", "tail_type": "boat"}]'
    ).triples
    [deep] = parse_reply('[{"head": {"name": "M", "type": "person"}, "relation": "r", "tail": {"name": "G"}}]').triples
    assert (flat.head_type, flat.tail_type) == ("person", "boat")
    assert (deep.head, deep.head_type, deep.tail, deep.tail_type) == ("M", "person", "G", "")


def test_items_are_known_by_their_shape_wherever_they_stand() -> None:
    reply = parse_reply(
        '{"facts": [{"entity": "Mira", "attribute": "born", "value": "1901"}, {"name": "Mira", "type": "person"}],'
        f' "entities": [{ITEM}]}}'
    )
    assert [len(items) for items in (reply.entities, reply.attributes, reply.triples)] == [1, 1, 1]
    assert reply.dropped == ()


# -- what is dropped alone ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "dropped"),
    [
        ('"Mira | sails | Gull"', ("triple", "wrong shape", "")),
        ("7", ("triple", "wrong shape", "")),
        ("null", ("triple", "wrong shape", "")),
        ('{"colour": "red"}', ("triple", "wrong shape", "")),
        ('["Mira", "sails"]', ("triple", "wrong shape", "")),
        ('{"head": "Mira", "relation": "sails"}', ("triple", "field missing", "tail")),
        ('{"head": "", "relation": "sails", "tail": null}', ("triple", "field missing", "head, tail")),
        ('{"head": "Mira", "tail": "Gull"}', ("triple", "field missing", "relation")),
        ('{"head": {"age": 3}, "relation": "sails", "tail": "Gull"}', ("triple", "field missing", "head")),
    ],
)
def test_a_bad_item_is_dropped_alone(bad: str, dropped: tuple[str, str, str]) -> None:
    reply = parse_reply(f'{{"triples": [{bad}, {ITEM}]}}')
    assert triples(reply) == [TRIPLE]
    assert reasons(reply)[0] == dropped


def test_what_is_dropped_is_kept_as_it_was_given_but_not_endless() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    reply = parse_reply(json.dumps({"triples": [{"head": "a" * 5_000, "deep": deep}, json.loads(ITEM)]}))
    [item] = reply.dropped
    assert item.item["head"] == "a" * 1_000 + "…"
    assert item.item["deep"] == [[[["…"]]]]
    lone = parse_reply('{"triples": [{"head": "\\ud800", "relation": 1e999}, ' + ITEM + "]}").dropped[0]
    assert lone.item == {"head": "\ufffd", "relation": None}


# -- cut off ----------------------------------------------------------------------------


def test_a_reply_cut_off_keeps_its_complete_items_and_never_half_of_one() -> None:
    items = [json.loads(ITEM) | {"tail": f"Boat{n}", "quote": f'She "sails" {{Boat{n}}}.'} for n in range(4)]
    text = json.dumps({"entities": [{"name": "Mira", "type": "person"}], "triples": items})
    whole = {f"Boat{n}" for n in range(4)}
    for end in range(1, len(text)):
        try:
            reply = parse_reply(text[:end])
        except ReplyError as error:
            assert str(error) == "cut off"
            continue
        assert {item.tail for item in reply.triples} <= whole
        complete = sum(text.find(json.dumps(item)) + len(json.dumps(item)) <= end for item in items)
        assert len(reply.triples) == complete
        assert [item.name for item in reply.entities] == ["Mira"]
        assert ("reply", "cut off", "") in reasons(reply)


def test_a_missing_brace_costs_one_item() -> None:
    reply = parse_reply(f'{{"triples": [{ITEM}, {{"head": "A", "relation": "r", "tail": "B", {ITEM}, {ITEM}]}}')
    assert triples(reply) == [TRIPLE] * 3
    assert ("reply", "broken JSON", "") in reasons(reply)


# -- errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty reply"),
        (" \n\u200b\ufeff", "empty reply"),
        ("None", "no JSON"),
        ("I found no facts.", "no JSON"),
        ("null", "JSON without a list of entities, attributes or triples"),
        ("{}", "JSON without a list of entities, attributes or triples"),
        ("[1, 2]", "JSON without a list of entities, attributes or triples"),
        ('["Mira", "sails", "Gull"]', "JSON without a list of entities, attributes or triples"),
        ('{"triples": null}', "JSON without a list of entities, attributes or triples"),
        ('{"triples": "none"}', "JSON without a list of entities, attributes or triples"),
        ('{"result": "none"}', "JSON without a list of entities, attributes or triples"),
        ('{"summary": []}', "JSON without a list of entities, attributes or triples"),
        ('{"triples": ["a | b | c"]}', "no readable item"),
        ('{"triples": [{"head": "Mira"}]}', "no readable item"),
        ('{"triples": [{"head": "Mira", "rel', "cut off"),
        ('{"triples": [', "cut off"),
        ("{broken", "cut off"),
        (f"<think>{ITEM}", "cut off"),
        ("}] nothing {x}", "broken JSON"),
    ],
)
def test_a_reply_that_says_nothing_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_reply(text)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"triples": []}',
        "```json\n[]\n```",
        '{"result": []}',
        '{"result": {"triples": []}}',
        "{'triples': []}",
        'Nothing here: {"entities": [], "triples": []}',
        '{"entities": [], "triples": null}',
        '{"triples": {}}',
    ],
)
def test_an_empty_list_says_that_there_is_nothing(text: str) -> None:
    assert parse_reply(text) == RawReply()


# -- hostile ----------------------------------------------------------------------------

MONSTERS: dict[str, Callable[[], str]] = {
    "deep objects": lambda: '{"a":' * 100_000,
    "deep lists": lambda: "[" * 500_000,
    "deep and closed": lambda: "[" * 50_000 + "]" * 50_000,
    "deep in a field": lambda: '{"triples": [{"head": ' + "[" * 900 + "]" * 900 + "}]}",
    "braces": lambda: "{" * 500_000,
    "open strings": lambda: '{"a":"' * 80_000,
    "keys": lambda: '{":' * 150_000,
    "pieces": lambda: "{a:1,}" * 80_000,
    "nested pieces": lambda: ("{" + '[["' * 900 + "}") * 100,
    "parentheses": lambda: ("{" + "(" * 2_900 + "}") * 100,
    "tags": lambda: "<think>" * 60_000,
    "quotes": lambda: "\"'" * 200_000,
    "long number": lambda: '{"triples": [], "n": ' + "9" * 300_000 + "}",
    "arrays": lambda: "[" + '["a","b"' * 50_000,
}


@pytest.mark.parametrize("name", MONSTERS)
def test_monsters_are_read_in_bounded_time(name: str) -> None:
    text = MONSTERS[name]()
    started = time.process_time()
    with contextlib.suppress(ReplyError):
        parse_reply(text)
    assert time.process_time() - started < 6


def test_a_very_long_reply_is_read_up_to_a_limit() -> None:
    reply = parse_reply('{"triples": [' + ", ".join([ITEM] * 20_000) + "]}")
    assert len(reply.triples) == MAX_ITEMS
    assert ("reply", "cut off", "") in reasons(reply)
    [left] = [item for item in reply.dropped if item.reason == "too many items"]
    assert left.item + MAX_ITEMS == MAX_TEXT // len(ITEM + ", ")
    assert len(parse_reply('{"triples": [' + ", ".join([ITEM] * 1_000) + "]}").triples) == 1_000


def test_surrogates_and_nulls_do_not_travel() -> None:
    reply = parse_reply('{"triples": [{"head": "M\\ud800", "relation": "r", "tail": "G\\u0000"}]}')
    json.dumps([reply.triples[0].item, reply.triples[0].head], ensure_ascii=False).encode("utf-8")
    parse_reply('{"triples": [{"head": "M\ud800", "relation": "r", "tail": "G"}]}')


# -- damage -----------------------------------------------------------------------------

WORDS = ["Mira", "Gull", 'the "Tern"', "it's", "{x}", "a, b", "Ås\u0301", "[1]", "\\", "東京", ""]
SNIPPETS = [
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\n",
    "//",
    "```",
    "x",
    "null",
    '": "',
    "}, {",
    "/*",
    "\ud800",
]


def random_reply(rng: random.Random) -> tuple[str, list[tuple[int, int, tuple[str, str, str]]]]:
    """A valid reply, and where its triples stand."""
    rows = [(f"h{n} {rng.choice(WORDS)}".strip(), f"r{n}", f"t{n}") for n in range(rng.randint(1, 5))]
    keys = rng.choice([("head", "relation", "tail"), ("subject", "predicate", "object")])
    written = [
        json.dumps(
            dict(zip(keys, row, strict=True)) | {"quote": rng.choice(WORDS), "chunk": 1},
            ensure_ascii=rng.random() < 0.5,
        )
        for row in rows
    ]
    text = rng.choice(['{"entities": [{"name": "X", "type": "y"}], "triples": [', "[", '{"result": {"relations": ['])
    spans = []
    for row, item in zip(rows, written, strict=True):
        text += ", " if spans else ""
        spans.append((len(text), len(text) + len(item), row))
        text += item
    return text + {"{": "]}", "[": "]"}.get(text[0], "") + ("}" if text.startswith('{"result"') else ""), spans


def damaged(text: str, rng: random.Random) -> tuple[str, int, int]:
    """The text with one change, and which part of it changed."""
    kind = rng.randrange(5)
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.randint(1, 6))
    if kind == 0:
        return text[:start], start, len(text)
    if kind == 1:
        return text[:start] + text[end:], start, end
    if kind == 2:
        return text[:end] + text[start:end] + text[end:], start, end
    if kind == 3:
        return text[:start] + "".join(rng.choices(SNIPPETS, k=rng.randint(1, 3))) + text[start:], start, start
    before, after = rng.choice(
        [("Sure:\n", "\nDone."), ("```json\n", "\n```"), ("<think>hm</think>", ""), ("{", "}"), ("\ufeff", "")]
    )
    return before + text + after, 0, 0


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_damage_costs_nothing_that_it_does_not_touch(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text, spans = random_reply(rng)
        broken, start, end = damaged(text, rng)
        untouched = [row for first, last, row in spans if last <= start or first >= end]
        try:
            read = triples(parse_reply(broken))
        except ReplyError:
            read = []
        missing = [row for row in untouched if row not in read]
        assert not missing, (broken, missing)


KEYS = st.text() | st.sampled_from(["triples", "entities", "head", "relation", "tail", "name", "type", "result"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)
)


@settings(max_examples=300, deadline=None)
@given(st.text() | VALUES.map(json.dumps))
def test_nothing_but_a_reply_error_is_raised(text: str) -> None:
    find_values(text)
    try:
        parse_reply(text)
    except ReplyError as error:
        assert str(error) in (
            "empty reply",
            "no JSON",
            "broken JSON",
            "cut off",
            "JSON without a list of entities, attributes or triples",
            "no readable item",
        )
