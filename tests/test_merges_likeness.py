"""Which names are alike and how much doubt is left: unit values, and the pairs that must never be suggested."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest
from conftest import Vault

from llm_graphrag.facts.doubt import THRESHOLD, WEIGHTS, Signals, contradict, doubt, terms
from llm_graphrag.facts.likeness import REASONS, Likeness, edits, likeness
from llm_graphrag.facts.name_blocks import pairs
from llm_graphrag.facts.name_forms import form, singular
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review.merge_candidates import candidates, suggest

KINDS = {
    "spelling": """System Admin/SystemAdmin;co-operate/cooperate;Müller/Mueller;Müller/Muller;Mueller/Muller;
        Beyoncé/Beyonce;Straße/Strasse;İzmir/Izmir;ızmir/Izmir;node.js/NodeJS;R&D/R and D;Qur'an/Quran;U.S./US;
        World War II/World War 2;J. R. R. Tolkien/JRR Tolkien;A B/A-B;Kestrel Works Limited/Kestrel Works Ltd.""",
    "order": "Ruiz, Ana/Ana Ruiz;van Dyke, Anton/Anton van Dyke",
    "company": "Kestrel Works/Kestrel Works GmbH;The Kestrel Works Inc./Kestrel Works",
    "article": "The Kestrel/Kestrel;The Woody Woodpecker Song/Woody Woodpecker Song",
    "plural": """Hazard/Hazards;Operators/operator;Chemical Plant/Chemical Plants;MSA/MSAs;City/Cities;Box/Boxes;
        Graph Query/Graph Queries""",
    "middle": "Ana Ruiz/Ana M. Ruiz;Susan Pharr/Susan J. Pharr;Ana M. Ruiz/Ana Maria Ruiz",
    "initials": """A. Ruiz/Ana Ruiz;A Ruiz/Ana Ruiz;J.R.R. Tolkien/John Ronald Reuel Tolkien;A. Ruiz/Ana Maria Ruiz;
        JRR Tolkien/John Ronald Reuel Tolkien;A. M. Ruiz/Ana Maria Ruiz""",
    "acronym": "USGS/United States Geological Survey;DOE/Department of Energy;U.S.A./United States of America",
    "letters": "EU/European Union",
    "slip": "Kestrel Works/Kesrtel Works;Brannigan/Branigan;Ana Whitlock/Ana Whittlock",
    "extra": "Ana Ruiz/Ana Maria Ruiz",
    "typo": "Kestrel Works/Kestral Works;Halden Bank/Holden Bank;Marta Vogel/Maria Vogel",
    "swapped": "Wei Li/Li Wei;World War II/Second World War",
}

NEVER = """Apollo 11/Apollo 12;Apollo 11/Apollo;Henry VII/Henry VIII;Henry VIII/Henry;World War I/World War II;
    Budget 2021/Budget 2022;v1.2/v1.3;2013-05-01/2013-05-02;May 2008/March 2008;C++/C#;C/C#;Plan A/Plan B;
    Vitamin C/Vitamin D;AIDS/aid;Glass/Glasses;glass/glasses;News/New;resumé/resume;North Mill/South Mill;York/New York;
    Mercury/Mercury (planet);Mercury (planet)/Mercury (element);Kestrel Works Ltd/Kestrel Works GmbH;The Who/who;
    a/README/b/README;x/y/x-y;U.S./us;Paula Ruiz/Paulo Ruiz;America/American;Iran/Iraq;Austria/Australia;
    William/Williams;First Crusade/Second Crusade;Susan J. Pharr/Susan K. Pharr;Jim Smith Jr./Jim Smith;
    internal link/external link;System Admin/系统管理员;Type 23/Type 32;US Army/US Navy;Ana Ruiz/Ana Lund;Form/From;
    Bank of Arden/Bank of Ardenne"""


def split(rows: str) -> list[tuple[str, str]]:
    """'a/b;c/d' as pairs; a name with slashes has as many in the other."""
    found = []
    for row in rows.split(";"):
        parts = " ".join(row.split()).split("/")
        half = len(parts) // 2 if parts != ["x", "y", "x-y"] else 2
        found.append(("/".join(parts[:half]), "/".join(parts[half:])))
    return found


def kind(one: str, other: str, types: Iterable[str] = ()) -> str | None:
    found = likeness(form(one), form(other), list(types))
    assert (None if found is None else found.kind) == (
        None if (back := likeness(form(other), form(one), list(types))) is None else back.kind
    )
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("expected", "one", "other"), [(name, *pair) for name, rows in KINDS.items() for pair in split(rows)]
)
def test_in_which_way_names_are_alike(expected: str, one: str, other: str) -> None:
    assert kind(one, other) == expected


@pytest.mark.parametrize(("one", "other"), split(NEVER))
def test_names_that_are_never_alike(one: str, other: str) -> None:
    assert kind(one, other) is None


@pytest.mark.parametrize(
    ("one", "other", "types", "expected"),
    [
        ("Ruiz", "Ana Ruiz", ["person"], "surname"),
        ("Ana", "Ana Ruiz", ["person"], "given"),
        ("Ruiz", "Ana Ruiz", [], None),  # of no type: Chrome is no Google Chrome
        ("Chrome", "Google Chrome", ["product"], None),
        ("U.S. Navy", "United States Navy", ["org"], "initials"),
        ("D Day", "Day after Day", ["song"], None),
        ("World Champion", "World Chess Champion", ["title"], None),
        ("German", "Germans", ["place"], None),  # the people, not the country
        ("Macquart", "Macquarts", ["person"], None),  # the family
        ("Hazard", "Hazards", ["topic"], "plural"),
    ],
)
def test_types_tell_how_names_are_used(one: str, other: str, types: list[str], expected: str | None) -> None:
    assert kind(one, other, types) == expected


def test_which_name_may_stand_for_others() -> None:
    assert likeness(form("A. Ruiz"), form("Ana Ruiz")) == Likeness("initials", 0)
    assert likeness(form("Ana Ruiz"), form("A. Ruiz")) == Likeness("initials", 1)
    assert likeness(form("Ana Ruiz"), form("Ana  Ruíz")) == Likeness("spelling", None)


def test_names_are_taken_apart() -> None:
    assert form("").words == form("?!").words == ()
    assert form("The 3rd Kestrel-Works, Ltd.").words == ("3", "kestrel", "works")
    assert form("Öresund").compact == {"oresund", "oeresund"}
    assert form("Louis XIV").numbers == ("14",)
    assert [form(name).numbers for name in ("Neon I", "Malcolm X", "007", "Seven Samurai")] == [
        ("I",), ("X",), ("7",), ("7",),
    ]  # fmt: skip
    assert form("journal/2024/May").telling == {"journal/2024/", "may"}
    assert singular("Hazards".lower()) == "hazard"


def test_edits_stop_counting() -> None:
    assert [edits("kitten", "sitting", most) for most in (1, 2, 3)] == [2, 3, 3]
    assert edits("ab", "ba", 2) == 1
    assert edits("", "abc", 3) == 3


# -- blocks -----------------------------------------------------------------------------


def test_blocks_bring_together_all_names_that_are_alike() -> None:
    """Every pair of the table above meets, though never all pairs are compared."""
    wanted = [pair for rows in KINDS.values() for pair in split(rows)] + [("Ruiz", "Ana Ruiz"), ("Ana", "Ana Ruiz")]
    names = sorted({name for pair in wanted for name in pair})
    met = {(names[i], names[j]) for i, j in pairs([form(name) for name in names])}
    assert [pair for pair in wanted if tuple(sorted(pair)) not in met] == []
    assert len(met) < len(list(combinations(names, 2))) / 5


def test_a_name_that_fits_many_is_left_out() -> None:
    forms = [form(name) for name in ["Smith", *(f"{first}na Smith" for first in "ABCDEFGHIJKLMNOP")]]
    assert [pair for pair in pairs(forms) if 0 in pair] == []
    assert pairs([]) == pairs([form("Ana")]) == []


# -- doubt ------------------------------------------------------------------------------


def test_every_signal_has_a_weight() -> None:
    numbers = {name for kind in REASONS for name in terms(Signals(kind))}
    assert numbers == set(WEIGHTS)


def test_doubt_falls_and_rises_with_what_is_known() -> None:
    plain = doubt(Signals("initials"))
    assert THRESHOLD - 0.05 < plain <= THRESHOLD  # an initial alone is just enough
    assert doubt(Signals("initials", neighbours=0.4)) < doubt(Signals("initials", typed=True)) < plain
    assert doubt(Signals("initials", together=True)) < 0.02
    assert doubt(Signals("initials", rivals=1)) > 0.7
    assert doubt(Signals("initials", apart=True)) > 0.9
    assert doubt(Signals("initials", related=True)) > 0.8
    assert doubt(Signals("spelling", notes=True)) <= THRESHOLD < doubt(Signals("plural", notes=True))
    assert doubt(Signals("typo")) > 0.7
    assert doubt(Signals("typo", neighbours=0.9, typed=True, cosine=0.9)) <= THRESHOLD


def test_homonyms_are_never_suggested_unless_they_share_nearly_everything() -> None:
    assert doubt(Signals("homonym")) > 0.99
    assert doubt(Signals("homonym", neighbours=0.5, cosine=1.0)) > THRESHOLD
    assert doubt(Signals("homonym", neighbours=0.9, cosine=1.0)) <= THRESHOLD


def test_what_contradicts() -> None:
    def of(**values: str) -> dict[str, frozenset[str]]:
        return {name: frozenset([value]) for name, value in values.items()}

    assert contradict(of(born="1971"), of(born="1975"))
    assert not contradict(of(born="1971"), of(born="1971-05-01"))
    assert not contradict(of(born="1971"), of(died="1975"))


# -- suggestions, from notes ------------------------------------------------------------------


def suggested(vault: Vault, kb: KnowledgeBase, notes: dict[str, str], model: str = "") -> dict[frozenset[str], str]:
    """Pairs of names that are suggested, with the kind of their likeness."""
    kb.set(embedding_model=model)
    kb.add([vault(notes)])
    names = dict(kb.connection.execute("SELECT id, name FROM kg_entities").fetchall())
    found = suggest(kb.connection, kb.settings)
    return {frozenset((names[item.kept], names[item.merged])): item.signals.kind for item in found}


def test_none_of_the_look_alikes_is_suggested(vault: Vault, kb: KnowledgeBase) -> None:
    rows = split(NEVER) + split(KINDS["typo"]) + split(KINDS["swapped"]) + split(KINDS["letters"])
    notes = {f"n{place}.md": f"[[{one}]] or [[{other}]]" for place, (one, other) in enumerate(rows) if "/" not in one}
    assert not {frozenset(pair) for pair in rows} & suggested(vault, kb, notes).keys()


def test_initials_that_fit_two_are_nobodys(vault: Vault, kb: KnowledgeBase) -> None:
    notes = {"n.md": "[[A. Ruiz]] [[Ana Ruiz]] [[Alba Ruiz]]", "m.md": "[[B. Lund]] [[Bo Lund]] [[Bo M. Lund]]"}
    found = suggested(vault, kb, notes)
    assert found == {
        frozenset(("B. Lund", "Bo Lund")): "initials",  # Bo Lund and Bo M. Lund are one
        frozenset(("B. Lund", "Bo M. Lund")): "initials",
        frozenset(("Bo Lund", "Bo M. Lund")): "middle",
    }


def test_brackets_after_a_name_say_that_it_is_one(vault: Vault, kb: KnowledgeBase) -> None:
    notes = {
        "n.md": "The [[European Union]] ([[EU]]) met. [[Ethan Upton]] too.",
        "m.md": "[[Ana Ruiz]] and [[Wei Li]].",
    }
    suggested(vault, kb, notes)
    found = {item.pair.kept[0]: item for item in candidates(kb.connection, kb.settings)}
    assert found["european union"].signals.together
    assert not found["ethan upton"].signals.together
    assert found["european union"].doubt < found["ethan upton"].doubt


def test_dates_that_differ_and_facts_between_raise_doubt(vault: Vault, kb: KnowledgeBase) -> None:
    notes = {
        "A. Ruiz.md": "born:: 1940\n", "Ana Ruiz.md": "born:: 1971\n", "B. Lund.md": "father:: [[Bo Lund]]\n",
        "Bo Lund.md": "x", "C. Holt.md": "born:: 1971\n", "Cy Holt.md": "born:: 1971-02-03\n",
    }  # fmt: skip
    suggested(vault, kb, notes)
    found = {item.pair.merged[0]: item for item in candidates(kb.connection, kb.settings)}
    assert (found["a. ruiz"].signals.apart, found["b. lund"].signals.related) == (True, True)
    assert not found["c. holt"].signals.apart
    assert found["c. holt"].doubt < min(found["a. ruiz"].doubt, found["b. lund"].doubt)
    assert "but a date or number that there is one of differs" in found["a. ruiz"].reason


def test_shared_neighbours_lower_doubt(vault: Vault, kb: KnowledgeBase) -> None:
    notes = {
        f"{name}.md": f"boat:: [[{boat}]]\n\ncrew:: [[{crew}]]\n\nport:: [[{port}]]\n"
        for name, boat, crew, port in (
            ("Marta Vogel", "Heron", "Otto Lund", "Halden"), ("Maria Vogel", "Heron", "Otto Lund", "Halden"),
            ("Karla Brandt", "Egret", "Pia Quist", "Solvang"), ("Karla Brendt", "Curlew", "Ivo Holt", "Quimper"),
        )
    }  # fmt: skip
    suggested(vault, kb, notes)
    alike, other = (item for item in candidates(kb.connection, kb.settings) if item.signals.kind == "typo")
    assert alike.signals.neighbours > 0.6 > 0 == other.signals.neighbours
    assert alike.doubt < other.doubt


def test_vectors_are_used_where_there_are_some(vault: Vault, kb: KnowledgeBase) -> None:
    suggested(vault, kb, {"n.md": "[[Night Guard]] and [[NightGuard]]"}, "graphrag-static")
    [found] = candidates(kb.connection, kb.settings)
    assert found.signals.cosine is not None
    kb.set(embedding_model="")
    [found] = candidates(kb.connection, kb.settings)
    assert found.signals.cosine is None


def test_the_better_known_name_is_kept(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"Night-Guard.md": "x", "n.md": "[[Night Guard]] [[Day Guard]]", "m.md": "[[DayGuard]]",
                   "o.md": "[[DayGuard]], USGS, United States Geological Survey, USGS"})])  # fmt: skip
    kept = {item.pair.kept[0]: item.pair.merged[0] for item in suggest(kb.connection, kb.settings)}
    assert kept == {
        "night-guard": "night guard",  # it has a note
        "dayguard": "day guard",  # named more often
        "united states geological survey": "usgs",  # the whole name
    }
