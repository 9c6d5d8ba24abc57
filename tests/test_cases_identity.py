"""Names that other tools merged or kept apart wrongly, through notes and their links."""

from __future__ import annotations

import unicodedata

from conftest import Vault
from rows import entities, facts, targets

from llm_graphrag.knowledge_base import KnowledgeBase


def linked(kb: KnowledgeBase, note: str = "n") -> list[str]:
    """Names of what a note leads to, in code point order."""
    return sorted(tail for head, relation, tail in facts(kb) if (head, relation) == (note, "links_to"))


def spellings(kb: KnowledgeBase, key: str) -> list[str]:
    rows = kb.connection.execute(
        "SELECT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity WHERE e.key = ? ORDER BY a.name", [key]
    )
    return [row[0] for row in rows]


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
