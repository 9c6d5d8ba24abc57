"""Names that other tools merged or kept apart wrongly, through notes and their links."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from conftest import Vault
from datasette_helpers import serve, shut
from fake_reading import ASKING, give_schema
from rows import entities, facts, natural, targets

from datasette_graphrag.records import DocumentRef, EntityRef
from datasette_graphrag.urls import Links
from llm_graphrag.extract.commit import Committer
from llm_graphrag.facts.llm.reading import ModelClaim, Reading
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import merges
from llm_graphrag.review.merge_candidates import suggest
from llm_graphrag.review.merge_details import listed
from llm_graphrag.review.splits import split
from llm_graphrag.sources.ingest import reparse, silent
from llm_graphrag.sources.writer import Writer
from llm_graphrag.store import extractions
from llm_graphrag.store.connection import transaction


def linked(kb: KnowledgeBase, note: str = "n") -> list[str]:
    """Names of what a note leads to, in code point order."""
    return sorted(tail for head, relation, tail in facts(kb) if (head, relation) == (note, "links_to"))


def spellings(kb: KnowledgeBase, key: str) -> list[str]:
    rows = kb.connection.execute(
        "SELECT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity WHERE e.key = ? ORDER BY a.name", [key]
    )
    return [row[0] for row in rows]


def suggested(kb: KnowledgeBase) -> dict[frozenset[str], str]:
    """The pairs of names that are suggested to be one, with the reason that is given."""
    suggest(kb.connection, kb.settings)
    rows = listed(kb.connection, ["suggested"])
    return {frozenset((row.kept, row.merged)): row.reason.partition("; ")[0] for row in rows}


def read(kb: KnowledgeBase, *typed: tuple[str, str, str]) -> None:
    """Have a model say (in the note with this path) that a name is of a type."""
    give_schema(kb)
    with transaction(kb.connection):
        waiting = extractions.pending(kb.connection)
        ids = extractions.plan(kb.connection, [[chunk] for chunk in waiting], ASKING)
    committer = Committer(kb.connection)
    for id_, chunk in zip(ids, waiting, strict=True):
        row = kb.connection.execute(
            "SELECT c.text, d.path FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE c.id = ?",
            [chunk.chunk],
        ).fetchone()
        claims = [
            ModelClaim("type", name, type_, "type", type_, "", 1, row["text"].index(name),
                       row["text"].index(name) + len(name))
            for path, name, type_ in typed
            if path == row["path"]
        ]  # fmt: skip
        committer.done(id_, Reading(tuple(claims)), "{}", 1, "")
    Writer(kb.connection, kb.settings).finish(silent, reparse)


# -- 055: direction marks, joiners, width ----------------------------------------------


def test_055_invisible_characters_are_no_part_of_a_name(vault: Vault, kb: KnowledgeBase) -> None:
    pairs = {
        "سلمى": "ســلــمى",  # tatweel
        "דנה": "‮דנה‬",  # an override and its end
        "star ★": "star ★\ufe0f",  # variation selector
        "NORD AG": "ＮＯＲＤ\u3000ＡＧ",  # full width
        "fig tree": "ﬁg tree",  # ligature
        "zerowidth": "zero\u200bwidth",
        "café": "cafe\u0301",
        "soft hyphen": "soft hy\u00adphen",
    }
    kb.add([vault({"n.md": "\n".join(f"[[{one}]] and [[{other}]]" for one, other in pairs.items())})])
    names = [name for name, _ in entities(kb) if name != "n"]
    assert len(names) == len(pairs)
    for name in names:
        assert unicodedata.is_normalized("NFC", name)
        assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in name)
    text = kb.connection.execute("SELECT group_concat(quote, '') FROM kg_evidence").fetchone()[0]
    assert "‮דנה‬" in text and "zero\u200bwidth" in text  # evidence is as it was written
    assert kb.check() == []


def test_055_letters_that_differ_are_not_joined(vault: Vault, kb: KnowledgeBase) -> None:
    names = [
        "Straße",
        "STRASSE",
        "İzmir",
        "Izmir",
        "ızmir",
        "Ærø",
        "Aero",
        "Müller",
        "Mueller",
        "Muller",
        "resumé",
        "resume",
    ]
    kb.add([vault({"n.md": " ".join(f"[[{name}]]" for name in names)})])
    assert linked(kb) == sorted(names)
    assert kb.check() == []


# -- 057 and 063: case is joined, nothing else is ------------------------------------------


def test_057_case_variants_are_one_entity(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add(
        [
            vault(
                {
                    "a.md": "[[Loose ends]] [[chemical plant]]",
                    "b.md": "[[Loose Ends]] [[Chemical Plant]]",
                    "c.md": "[[LOOSE ENDS]]",
                }
            )
        ]
    )
    assert [name for name, _ in entities(kb) if len(name) > 1] == ["Chemical Plant", "Loose Ends"]
    assert spellings(kb, "loose ends") == ["LOOSE ENDS", "Loose Ends", "Loose ends"]
    assert facts(kb) >= {("a", "links_to", "Loose Ends"), ("c", "links_to", "Loose Ends")}
    assert kb.check() == []


def test_057_plurals_stay_apart(vault: Vault, kb: KnowledgeBase) -> None:
    names = ["Hazard", "Hazards", "Operators", "operator", "AIDS", "aid", "glass", "glasses", "News", "new"]
    kb.add([vault({"n.md": " ".join(f"[[{name}]]" for name in names)})])
    assert linked(kb) == sorted(names)


def test_063_spacing_hyphens_and_languages_stay_apart(vault: Vault, kb: KnowledgeBase) -> None:
    names = ["Night Guard", "night guard", "NightGuard", "night-guard", "夜警", "co-op", "coop", "Beyoncé", "Beyonce"]
    kb.add([vault({"n.md": " ".join(f"[[{name}]]" for name in names)})])
    assert linked(kb) == sorted(set(names) - {"night guard"})


def test_063_a_note_is_found_in_any_case(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"Night Guard.md": "x", "n.md": "[[night guard]] [[NIGHT  GUARD]] [[NightGuard]]"})])
    assert targets(kb) == {
        "[[night guard]]": "Night Guard.md",
        "[[NIGHT  GUARD]]": "Night Guard.md",
        "[[NightGuard]]": "→ NightGuard",
    }


# -- 058: one name, two things -----------------------------------------------------------------


def test_058_one_name_and_two_types_are_two_entities(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "people/Marlow.md": "---\ntype: person\nborn: 1912\n---\nA captain.",
            "places/Marlow.md": "---\ntype: place\ninhabitants: 14,000\n---\nA town.",
            "trip.md": "We went to [[places/Marlow]] with [[people/Marlow]]. Marlow was hot.",
        }
    )
    kb.add([folder])
    assert entities(kb) == [("Marlow", "person"), ("Marlow", "place"), ("Marlow", ""), ("trip", "")] or entities(
        kb
    ) == [
        ("Marlow", ""),
        ("Marlow", "person"),
        ("Marlow", "place"),
        ("trip", ""),
    ]
    rows = kb.connection.execute(
        "SELECT head_type, relation, tail FROM kg_facts WHERE kind = 'attribute' ORDER BY 1, 2"
    )
    assert [tuple(row) for row in rows] == [("person", "born", "1912"), ("place", "inhabitants", "14,000")]
    assert targets(kb) == {"[[places/Marlow]]": "places/Marlow.md", "[[people/Marlow]]": "people/Marlow.md"}
    # Which one the sentence means is not said, so it is neither: a third entity without a type holds it.
    [row] = kb.connection.execute(
        "SELECT e.type, m.start FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity WHERE m.origin = 'lexical'"
    )
    assert row["type"] == ""
    assert kb.check() == []


def test_058_the_only_typed_entity_takes_untyped_mentions_whatever_came_first(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"trip.md": "We saw Marlow Heath there, said [[Marlow Heath]]."})
    kb.add([folder])
    assert entities(kb) == [("Marlow Heath", ""), ("trip", "")]
    vault({"Marlow Heath.md": "---\ntype: place\n---\n"})
    kb.add([folder])
    assert entities(kb) == [("Marlow Heath", "place"), ("trip", "")]
    assert kb.connection.execute("SELECT count(*) FROM kg_mentions").fetchone()[0] == 2
    vault({"Marlow Heath.md": "---\ntype: person\n---\n"})
    kb.add([folder])
    assert entities(kb) == [("Marlow Heath", "person"), ("trip", "")]
    assert kb.check() == []


def test_058_case_tells_homonyms_apart(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "firms/Plum.md": "---\ntype: company\n---\n",
            "food/plum.md": "---\ntype: fruit\n---\n",
            "n.md": "[[Plum]] sells [[plum]] jam.",
        }
    )
    kb.add([folder])
    assert targets(kb) == {"[[Plum]]": "firms/Plum.md", "[[plum]]": "food/plum.md"}
    assert kb.check() == []


# -- what is suggested, and only suggested --------------------------------------------------------


def test_055_letters_that_differ_are_suggested(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"n.md": "[[Straße]] [[STRASSE]] [[İzmir]] [[Izmir]] [[Ærø]] [[Aero]] [[Ero]]"})])
    pairs = [("Straße", "STRASSE"), ("İzmir", "Izmir"), ("Ærø", "Aero")]
    assert suggested(kb).keys() == {frozenset(pair) for pair in pairs}


def test_057_plurals_are_suggested(vault: Vault, kb: KnowledgeBase) -> None:
    names = """Systems thinking/Systems Thinking/Chemical Plant/chemical plant/Hazard/Hazards/Operators/operator/AIDS/
        aid/glass/glasses/News/new/US/us""".split("/")
    kb.add([vault({"n.md": " ".join(f"[[{name.strip()}]]" for name in names)})])
    before = natural(kb)
    assert suggested(kb) == {
        frozenset(("Hazard", "Hazards")): "singular and plural",
        frozenset(("Operators", "operator")): "singular and plural",
    }
    assert natural(kb) == before  # nothing is joined


def test_058_homonyms_of_other_types_are_not_suggested(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add(
        [
            vault(
                {
                    "a.md": "Washington crossed the river with 2,400 soldiers.",
                    "b.md": "It rains in Washington in May.",
                    "e.md": "Apple opened an office. I ate an apple.",
                }
            )
        ]
    )
    read(
        kb,
        ("a.md", "Washington", "person"), ("b.md", "Washington", "place"),
        ("e.md", "Apple", "company"), ("e.md", "apple", "fruit"),
    )  # fmt: skip
    assert {("Washington", "person"), ("Washington", "place"), ("Apple", "company"), ("apple", "fruit")} <= set(
        entities(kb)
    )
    assert suggested(kb) == {}
    rows = kb.connection.execute("SELECT count(*) FROM kg_entities WHERE merged_into IS NOT NULL")
    assert rows.fetchone()[0] == 0
    assert kb.check() == []


def test_058_one_name_and_one_type_is_one_entity_that_can_be_split(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add(
        [
            vault(
                {
                    "c.md": "Li Wei is finance chief of North Mill.\n\nchief:: [[Li Wei]]",
                    "d.md": "Li Wei is finance chief of South Mill.\n\nchief:: [[Li Wei]]",
                }
            )
        ]
    )
    read(kb, ("c.md", "Li Wei", "person"), ("d.md", "Li Wei", "person"))
    assert ("Li Wei", "person") in entities(kb)
    assert facts(kb) >= {("c", "chief", "Li Wei"), ("d", "chief", "Li Wei")}
    done = split(kb.connection, kb.settings, "Li Wei", "Li Wei (South Mill)", ["vault/d.md"], actor="me")
    assert facts(kb) >= {("c", "chief", "Li Wei"), ("d", "chief", "Li Wei (South Mill)")}
    assert suggested(kb) == {}  # they never cross again without review
    assert kb.check() == []
    merges.undo(kb.connection, kb.settings, done.merge, actor="me")
    assert facts(kb) >= {("c", "chief", "Li Wei"), ("d", "chief", "Li Wei")}


def test_063_spelling_is_suggested_with_the_reason(vault: Vault, kb: KnowledgeBase) -> None:
    names = """System Admin/system admin/SystemAdmin/系统管理员/co-operate/cooperate/Müller/Mueller/Muller/Beyoncé/
        Beyonce/resumé/resume""".split("/")
    kb.add([vault({"n.md": " ".join(f"[[{name.strip()}]]" for name in names)})])
    reason = "spaces, hyphens, accents or the spelling of letters differ"
    pairs = [
        ("System Admin", "SystemAdmin"), ("co-operate", "cooperate"), ("Beyoncé", "Beyonce"),
        ("Müller", "Mueller"), ("Müller", "Muller"), ("Mueller", "Muller"),
    ]  # fmt: skip
    assert suggested(kb) == {frozenset(pair): reason for pair in pairs}


def test_063_another_language_takes_an_alias(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"n.md": "The [[System Admin]] (系统管理员) is away. Ask the [[系统管理员]]."})
    kb.add([folder])
    assert suggested(kb) == {}
    give_schema(kb)
    with transaction(kb.connection):
        [chunk] = extractions.pending(kb.connection)
        [id_] = extractions.plan(kb.connection, [[chunk]], ASKING)
    alias = ModelClaim("alias", "System Admin", "", "alias", "系统管理员", "", 1, 4, 31)
    Committer(kb.connection).done(id_, Reading((alias,)), "{}", 1, "")
    Writer(kb.connection, kb.settings).finish(silent, reparse)
    assert suggested(kb) == {frozenset(("System Admin", "系统管理员")): "one is given as another name of the other"}
    assert kb.check() == []


def test_064_paths_and_punctuation_are_four_notes(vault: Vault, kb: KnowledgeBase) -> None:
    notes = {"a/README.md": "one", "b/README.md": "two", "A B.md": "space", "A-B.md": "dash", "x/y.md": "deep",
             "x-y.md": "flat"}  # fmt: skip
    kb.add([vault(notes)])
    rows = kb.connection.execute("SELECT path, entity FROM kg_documents").fetchall()
    assert len({row["entity"] for row in rows}) == len(notes)
    names = {name for name, _ in entities(kb)}
    assert names == {"a/README", "b/README", "A B", "A-B", "y", "x-y"}
    assert suggested(kb).keys() <= {frozenset(("A B", "A-B"))}
    assert kb.check() == []


# -- on the pages ----------------------------------------------------------------------------------


@pytest.mark.datasette
async def test_064_each_has_an_address_of_its_own(vault: Vault, tmp_path: Path) -> None:
    folder = vault({"a/README.md": "one", "b/README.md": "two", "A B.md": "space", "A-B.md": "dash", "x/y.md": "deep",
                    "x-y.md": "flat"})  # fmt: skip
    path = tmp_path / "notes.db"
    with KnowledgeBase.open(path, create=True) as kb:
        kb.set(embedding_model="")
        kb.add([folder])
        rows = kb.connection.execute(
            "SELECT d.id, d.uri, e.id, e.name FROM kg_documents d JOIN kg_entities e ON e.id = d.entity"
        ).fetchall()
    site = await serve(path)
    links = Links(site, "notes")
    seen = set()
    for document, uri, entity, name in rows:
        pages = []
        for url in (links.document(DocumentRef(document, uri, ""), json=True),
                    links.entity(EntityRef(entity, name, "", False), json=True)):  # fmt: skip
            response = await site.client.get(url)
            assert response.status_code == 200, url
            pages.append(response.json())
            seen.add(url)
        assert (pages[0]["document"]["ref"]["uri"], pages[1]["entity"]["id"]) == (uri, entity)
    assert len(seen) == 12
    shut(site)


@pytest.mark.datasette
async def test_055_pages_isolate_names_and_quotes(vault: Vault, tmp_path: Path) -> None:
    """What turns the direction of a name or a quote around turns nothing beside it around."""
    path = tmp_path / "notes.db"
    with KnowledgeBase.open(path, create=True) as kb:
        kb.set(embedding_model="")
        kb.add([vault({"n.md": "knows:: [[\u202eדנה\u202c]], [[سلمى]] and \u202eevil.\n"})])
        id_ = kb.connection.execute("SELECT id FROM kg_entities WHERE name = 'דנה'").fetchone()[0]
    site = await serve(path)
    text = (await site.client.get(Links(site, "notes").entity(EntityRef(id_, "דנה", "", False)))).text
    assert re.search(r"<h1[^>]*><bdi>דנה</bdi>", text)
    turned = [line for line in text.splitlines() if "\u202e" in line]
    assert len(turned) >= 2  # a quote, and a passage that names it
    for line in turned:  # dir isolates, as <bdi> does
        assert re.search(r'<(a|p)[^>]* dir="auto">[^\n]*\u202e[^\n]*</\1>', line), line
    shut(site)
