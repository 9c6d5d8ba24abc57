"""A vault with planted aliases and homonyms: notes, and which of the names in them mean one thing.

``plant(seed)`` gives the same vault for a seed on every machine. Every *thing* (a person, a company, an institute, a
topic) has a name, and some have other names that a person might write: initials, the last name first, another spelling,
a slip of the pen, an acronym. Beside them stand traps: names that look alike and mean different things. All is told in
sentences, one a note; ``Said`` is what a careful model would take from each, so that the vault can be read with a model
and without one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

Name = tuple[str, str]  # as written, and the type of what it means

FIRST = """Ana Bruno Clara Dario Elin Femke Goran Hanna Ivo Jonas Katrin Lars Mirela Nadia Oskar Petra Quentin Rosa
Stefan Tamara Ulrich Vera Walter Xenia Yusuf Zora Anton Bianca Cyril Dora Emil Frieda Gregor Helena Ilja Julia Konrad
Liv Marko Nora""".split()
LAST = """Ruiz Lund Petrov Quist Holt Moreau Nakamura Okafor Bergström Schröder Müller Íñiguez Kowalski Haddad Varga
Dimitrov Castellano Albrecht Thorsen Lindqvist Marchetti Novák Pereira Sørensen Vandenberg Whitlock Zimmermann
Aaltonen Brannigan Delacroix Eriksen Fairweather Gallagher Hollister Ingram Jankovic Kettler Lockhart Montague
Oyelaran""".split()
MIDDLE = "Maria Johan Teresa Viktor Louise Anders Sofia Robert".split()
FIRMS = """Kestrel Heron Larkmoor Tamarack Silverbeck Juniper Wolfram Copperfield Brightwater Stonebridge Northgate
Ravensworth Fernhill Oakhurst Millbrook Saltmarsh Windermere Ashgrove Thornbury Redcliffe""".split()
TRADES = "Works Marine Foundry Textiles Logistics Brewery Optics Timber Press Robotics".split()
LEGAL = ["Ltd", "GmbH", "Inc.", "Limited"]
INSTITUTES = "Halden Corvin Tessaly Arden Merrow Linwick Dunmore Belgrave Stavrin Ostrava".split()
FIELDS = "Marine Polar Desert Forest Solar River".split()
PLACES = """Halmstad Corvallis Tessera Ardmore Merriton Linfield Dunkeld Belmonte Stavanger Ostrander Vinterberg Solvang
Quimper Albaro Riverside Castelnau""".split()
TOPICS = """hazard operator checklist turbine harvester manuscript lighthouse propeller thermometer sandcastle
breakwater seedling""".split()
PLAIN = str.maketrans("öøüáúíñÍé", "oouauinIe")

#: One name, two types.
HOMONYMS = """Marlow person place/Plum company fruit/Jaguar company animal/Victoria person place/Amazon company river/
Mercury planet element/Jordan person place/Paris person place/Apple company fruit/Cork place material/Nice place person/
Ford person company/Bach person river/Turkey place animal""".replace("\n", "").split("/")

#: Two names of one type, each of another thing.
LOOK_ALIKES = {
    "person": """Henry VII/Henry VIII;Marta Vogel/Maria Vogel;Paula Reyes/Paulo Reyes;Jon Berg/Jan Berg;Robert Downe
        Jr./Robert Downe Sr.;Susan J. Farr/Susan K. Farr;Carla Bruni/Carlo Bruni;Martin Bauer/Marvin Bauer;
        William/Williams;Adam/Adams;Li Wei/Wei Li;Ada Castle/A. Castle;Aron Castle/A. Castle;Ada Winter/A. Winter;
        Aron Winter/A. Winter;Eva Archer/E. Archer;Ella Archer/E. Archer""",
    "place": """North Mill/South Mill;York/New York;Niger/Nigeria;Austria/Australia;Iran/Iraq;Slovakia/Slovenia;
        Upper Lake/Lower Lake;East Harbour/West Harbour;Guinea/Guyana;Georgia/South Georgia""",
    "company": """Halden Bank/Holden Bank;Orion GmbH/Orion AG;Bank of Arden/Bank of Ardenne;Georgia Power/Georgia
        Tower;Royal Desert Society/RDS;Regional Diving Service/RDS;Fern Capital/Fern Capitol""",
    "ship": "HMS Ardent/HMS Argent;Type 23/Type 32;Apollo 11/Apollo 12;Voyager 1/Voyager 2",
    "event": "First Crusade/Second Crusade;World War I/World War II;Expo 1998/Expo 2000;Budget 2021/Budget 2022",
    "topic": """Mercury (planet)/Mercury (element);AIDS/aid;Glass/Glasses;News/New;resume/resumé;Plan A/Plan B;Vitamin
        C/Vitamin D;Version 1.2/Version 1.3;C++/C#;Internal Link/External Link;US Army/US Navy;The Band/band""",
}


@dataclass(frozen=True)
class Said:
    """One statement, the sentence that makes it, and the note that holds the sentence."""

    sentence: str
    head: Name
    relation: str
    tail: Name
    note: str = ""


@dataclass
class Planted:
    """A vault. ``same`` holds pairs of names that mean one thing, ``traps`` those that only look so."""

    notes: dict[str, str] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    same: set[frozenset[Name]] = field(default_factory=set)
    traps: set[frozenset[Name]] = field(default_factory=set)


def plant(seed: int) -> Planted:
    """The vault of a seed."""
    planter = _Planter(seed)
    planter.people()
    planter.firms()
    planter.institutes()
    planter.topics()
    planter.traps()
    return planter.written()


class _Planter:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.vault = Planted()

    def written(self) -> Planted:
        """Put every sentence into a note of its own, half of the names as links."""
        self.random.shuffle(self.vault.said)
        for day, said in enumerate(self.vault.said):
            note = f"Journal {2020 + day // 300}-{day % 300:03}"
            sentence = said.sentence
            for name, _ in sorted({said.head, said.tail}, key=lambda name: (-len(name[0]), name)):
                if self.random.random() < 0.5:
                    sentence = sentence.replace(name, f"[[{name}]]", 1)
            self.vault.said[day] = replace(said, sentence=sentence, note=note)
            self.vault.notes[f"journal/{note}.md"] = sentence + "\n"
        return self.vault

    # -- what is told of a thing ---------------------------------------------------------

    def tell(self, names: Sequence[Name], facts: Sequence[tuple[str, Name]], times: int = 2) -> None:
        """Tell facts (relation, tail) of a thing under each of its names."""
        for name in names:
            for relation, tail in dict.fromkeys(self.random.choice(facts) for _ in range(times)):
                year = self.random.randint(1980, 2020)
                sentence = f"{name[0]} {relation.replace('_', ' ')} {tail[0]} since {year}."
                self.vault.said.append(Said(sentence, name, relation, tail))

    def alike(self, names: Sequence[Name]) -> None:
        self.vault.same |= {frozenset(pair) for pair in combinations(names, 2)}

    def place(self) -> Name:
        return self.random.choice(PLACES), "place"

    # -- things with other names -----------------------------------------------------------

    def people(self) -> None:
        """Half of them have other names; no two share the first letter and the last name."""
        for last in LAST:
            by_letter = {first[0]: first for first in self.random.sample(FIRST, 3)}
            for first in by_letter.values():
                written = [f"{first} {last}"]
                if self.random.random() < 0.5:
                    self.vault.notes[f"people/{written[0]}.md"] = f"---\ntype: person\n---\nOf {written[0]}.\n"
                if self.random.random() < 0.5:
                    written += self._other_names(first, last)
                names = [(name, "person") for name in written]
                firm = (f"{self.random.choice(FIRMS)} House", "company")
                self.tell(names, [("lives_in", self.place()), ("works_for", firm)])
                self.alike(names)

    def _other_names(self, first: str, last: str) -> list[str]:
        found = [f"{first[0]}. {last}", f"{last}, {first}", f"{first} {self.random.choice(MIDDLE)[0]}. {last}"]
        if last.translate(PLAIN) != last:
            found.append(f"{first} {last.translate(PLAIN)}")
        if len(last) > 5:
            found.append(f"{first} {self._slip(last)}")
        return self.random.sample(found, self.random.randint(1, 2))

    def _slip(self, word: str) -> str:
        """A word with a letter swapped, left out, written twice, or mistaken, within it."""
        at = self.random.randrange(1, len(word) - 2)
        slips = [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + self.random.choice("aeioulnrst".replace(word[at], "")) + word[at + 1 :],
        ]
        return self.random.choice([slip for slip in slips if slip != word])

    def firms(self) -> None:
        for first in FIRMS:
            full = f"{first} {self.random.choice(TRADES)}"
            legal = f"{full} {self.random.choice(LEGAL)}"
            others = [f"The {full}", legal, full.replace(" ", "-"), full.replace(" ", "")]
            names = [(name, "company") for name in (full, *self.random.sample(others, self.random.randint(0, 2)))]
            self.tell(names, [("is_based_in", self.place()), ("makes", (f"{first.lower()} boats", "product"))])
            self.alike(names)

    def institutes(self) -> None:
        for first in INSTITUTES:
            subject = self.random.choice(FIELDS)
            full = (f"{first} {subject} Institute", "institute")
            short = ("".join(word[0] for word in full[0].split()), "institute")
            studied = (f"{subject.lower()} life", "topic")
            self.tell([full, short], [("is_based_in", self.place()), ("studies", studied)])
            if self.random.random() < 0.5:
                sentence = f"The {full[0]} ({short[0]}) studies {studied[0]}."
                self.vault.said.append(Said(sentence, full, "studies", studied))
            self.alike([full, short])

    def topics(self) -> None:
        for name in TOPICS:
            names = [(name.capitalize(), "topic"), (name.capitalize() + "s", "topic")]
            self.tell(names, [("is_about", self.place())], 1)
            self.alike(names)

    # -- traps -----------------------------------------------------------------------------

    def traps(self) -> None:
        for one, other in _traps():
            self.vault.traps.add(frozenset((one, other)))
            shared = [("knows", self.place())] if self.random.random() < 0.3 else []  # neighbours in common, even
            for name in (one, other):
                self.tell([name], [("knows", self.place()), ("likes", self.place()), *shared])


def _traps() -> Iterator[tuple[Name, Name]]:
    for row in HOMONYMS:
        name, one_type, other_type = row.split()
        yield (name, one_type), (name, other_type)
    for type_, rows in LOOK_ALIKES.items():
        for row in rows.split(";"):
            one, other = (" ".join(name.split()) for name in row.split("/"))
            yield (one, type_), (other, type_)
