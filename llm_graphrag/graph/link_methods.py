"""The ways to link a mention to entities, tried in order of trust; ``linker.py`` says what each is.

A mention that a name or alias fits is looked up no further: that is one statement for all mentions, and nothing else
is read. What is left goes through the spellings (``store/name_signatures.py``) and the plugins, and through vectors
only if those give nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat

from ..facts.name_forms import form
from ..facts.name_grams import MOST_INITIALS, folded, initials
from ..facts.name_match import ACRONYM, KINDS, TOLD_APART, Match, Mentioned, lacks_number, told_apart
from ..store import name_signatures
from ..text.normalise import name_key
from .candidates import Candidate, Scope
from .key_lookup import FOUND, METHODS

__all__ = ["ROOTS", "Methods", "Wanted", "meant"]

VECTOR = "vector"
ABBREVIATION = 0.93  # at most, where the mention gives a long name and its abbreviation
NEAR = (0.7, 0.4)  # cosine below which vectors say nothing, and its score
FAR = 0.85  # the score of a cosine of 1
CROWD = 0.02  # off the score of an acronym for each further name that it fits
MAX_LETTERS = 500  # of a mention; what comes after is not compared
#: Letters of a mention -> how many surface forms are compared with it: the shorter it is, the more are as much alike.
LOOKED_AT = ((8, 96), (12, 48), (MAX_LETTERS, 32))
HOPEFUL = 0.6  # score of the best of these below which more are compared
FURTHER = 256  # which are so many
EVERY = 2_000  # surface forms that types or allow list leave, below which all of them are compared
PLUGIN = 1_000  # candidates read of a plugin for one mention

BY_KEY = f"""
    WITH {FOUND}
    SELECT f.key, min(f.rank), f.entity, e.type FROM found f CROSS JOIN kg_entities e ON e.id = f.entity
    GROUP BY f.key, f.entity
"""  # noqa: S608 - of constants
SHORT_FORMS = """
    SELECT k.value, a.name, r.id, r.type
    FROM json_each(:keys) k
    CROSS JOIN kg_aliases a ON a.key = k.value
    CROSS JOIN kg_entities e ON e.id = a.entity
    CROSS JOIN kg_entities r ON r.id = coalesce(e.merged_into, e.id)
"""
DETAILS = """
    SELECT e.id, e.name, e.type,
      coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'chunks' AND n.item = +e.id), 0),
      coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'facts' AND n.item = +e.id), 0),
      EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)
        OR EXISTS (SELECT 1 FROM kg_entities m CROSS JOIN kg_documents d ON d.entity = m.id WHERE m.merged_into = e.id)
    FROM json_each(:entities) f CROSS JOIN kg_entities e ON e.id = f.value
"""
SPELLED = """
    SELECT a.name, r.id, r.type
    FROM json_each(:names) f
    CROSS JOIN kg_aliases a ON a.id = f.value
    CROSS JOIN kg_entities e ON e.id = a.entity
    CROSS JOIN kg_entities r ON r.id = coalesce(e.merged_into, e.id)
"""
ROOTS = """
    SELECT r.id, r.type, e.name FROM json_each(:ids) f CROSS JOIN kg_entities e ON e.id = f.value
    CROSS JOIN kg_entities r ON r.id = coalesce(e.merged_into, e.id)
"""
OF_TYPES = """
    SELECT r.id FROM kg_entities r
    WHERE r.type IN (SELECT value FROM json_each(:types)) AND r.merged_into IS NULL LIMIT :limit
"""
WITH_MERGED = """
    SELECT f.value FROM json_each(:ids) f
    UNION SELECT e.id FROM json_each(:ids) f CROSS JOIN kg_entities e ON e.merged_into = f.value
"""
NAMES_OF = """
    SELECT a.id FROM json_each(:ids) f CROSS JOIN kg_aliases a ON a.entity = f.value
    UNION
    SELECT a.id FROM json_each(:ids) f CROSS JOIN kg_entities e ON e.merged_into = f.value
    CROSS JOIN kg_aliases a ON a.entity = e.id
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many candidates a mention may have, from which score on, and among which entities."""

    k: int = 3
    min_score: float = 0.6
    scope: Scope = field(default_factory=Scope)


class Methods:
    """All methods for what is wanted; each adds to ``rated``: mention → entity → (score, method)."""

    def __init__(self, connection: sqlite3.Connection, wanted: Wanted) -> None:
        self.connection, self.wanted, self.scope = connection, wanted, wanted.scope
        self.rated: dict[str, dict[int, tuple[float, str]]] = {}

    def candidates(
        self, texts: Iterable[str], *, vectors: bool = False, plugins: bool = False
    ) -> dict[str, tuple[Candidate, ...]]:
        """Mention → its best candidates; each mention is looked up once."""
        self.rated = {text: {} for text in texts}
        self._by_key()
        for text in self._open():
            self._by_initials(text)
            for _, entity, score, method in self.spelled(text):
                self._rate(text, entity, score, method)
            if plugins:
                self._by_plugins(text)
        if vectors and (waiting := self._open()):
            self._by_vectors(waiting)
        return self._best()

    def nearest(self, text: str) -> tuple[Candidate, ...]:
        """The best candidates by meaning alone."""
        self.rated = {text: {}}
        self._by_vectors([text], whole=True)
        return self._best()[text]

    def _rate(self, text: str, entity: int, score: float, method: str) -> None:
        known = self.rated[text].get(entity)
        if score >= self.wanted.min_score and (known is None or score > known[0]):
            self.rated[text][entity] = (score, method)

    def _open(self) -> list[str]:
        return [text for text, found in self.rated.items() if not found and name_key(text)]

    def _best(self) -> dict[str, tuple[Candidate, ...]]:
        wanted = {entity for found in self.rated.values() for entity in found}
        rows = self._rows(DETAILS, {"entities": json.dumps(sorted(wanted))}) if wanted else []
        details = {row[0]: row for row in rows}
        best = {}
        for text, found in self.rated.items():
            made = []
            for entity, (score, method) in found.items():
                _, name, type_, chunks, facts, note = details[entity]
                made.append(Candidate(entity, name, round(score, 4), method, chunks, bool(note), type_, facts))
            made.sort(key=lambda c: (-c.score, -c.degree, c.entity))
            best[text] = tuple(made[: self.wanted.k])
        return best

    def _rows(self, statement: str, values: dict[str, object]) -> list[sqlite3.Row]:
        return self.connection.execute(statement, values).fetchall()

    def _by_key(self) -> None:
        """Names, other names, names with a qualifier, and both forms that a mention with an abbreviation gives."""
        keys: dict[str, dict[str, float]] = {}  # key → mention → most that it can score
        for text in self.rated:
            keys.setdefault(name_key(text), {})[text] = 1.0
            for part in _both_forms(text[:MAX_LETTERS]) if "(" in text else ():
                keys.setdefault(name_key(part), {}).setdefault(text, ABBREVIATION)
        keys.pop("", None)
        for key, rank, entity, type_ in self._rows(BY_KEY, {"keys": json.dumps(list(keys))}):
            if self.scope.admits(entity, type_):
                method, worth = METHODS[rank]
                for text, most in keys[key].items():
                    self._rate(text, entity, min(worth, most), method if most == 1 else "abbreviation")

    def _by_initials(self, text: str) -> None:
        """*WHO* for *World Health Organization*, and the other way round; the more names fit, the less each."""
        words = folded(text)
        letters = words.replace(" ", "")
        for short in initials(words):
            rows = self._rows(SHORT_FORMS, {"keys": json.dumps([short])})
            self._rate_acronym(text, short, {row[2]: row[3] for row in rows if row[1].isupper()})
        if (
            2 <= len(letters) <= MOST_INITIALS
            and letters.isalpha()
            and text.isupper()
            and len(words.split()) in (1, len(letters))
        ):
            names = name_signatures.by_initials(self.connection, letters)
            rows = self._rows(SPELLED, {"names": json.dumps(names)})
            fits = {row[1]: row[2] for row in rows if letters in initials(folded(row[0].split(" (")[0]))}
            self._rate_acronym(text, letters, fits)

    def _rate_acronym(self, text: str, letters: str, fits: dict[int, str]) -> None:
        admitted = [entity for entity, type_ in fits.items() if self.scope.admits(entity, type_)]
        score = KINDS["letters" if len(letters) == 2 else ACRONYM][0] - CROWD * (len(admitted) - 1)
        for entity in admitted:
            self._rate(text, entity, score, ACRONYM)

    def spelled(self, text: str) -> list[tuple[str, int, float, str]]:
        """(name as written, entity, score, method) of names that are spelled like a text, most alike first."""
        mentioned = Mentioned(text[:MAX_LETTERS])
        if not mentioned.words:
            return []
        read: list[tuple[str, int, str]] = []
        found: list[Match] = []
        for names in self._names(mentioned.words):
            rows = self._rows(SPELLED, {"names": json.dumps(names)})
            read += [(name, entity, type_) for name, entity, type_ in rows if self.scope.admits(entity, type_)]
            found = mentioned.matches([(name, type_) for name, _, type_ in read])
            if len(read) > FURTHER or (found and found[0].score >= HOPEFUL):
                break
        return [(*read[m.place][:2], m.score, m.method) for m in found if m.score >= self.wanted.min_score]

    def _names(self, words: str) -> Iterator[list[int]]:
        """Surface forms worth comparing: a few, and more for whom these do not do.

        Of those that are spelled alike only some are within a narrow scope, so then there is no end but the last.
        """
        if self._every is not None:
            yield self._every
            return
        waiting, alike = name_signatures.by_spelling(self.connection, words)
        few = next(number for letters, number in LOOKED_AT if len(words) <= letters)
        sizes = repeat(EVERY) if self.scope.narrow else (few, FURTHER)
        for size in sizes:
            if not (names := [*waiting, *islice(alike, size)]):
                return
            yield names
            waiting = []

    @cached_property
    def _every(self) -> list[int] | None:
        """All surface forms of the scope; None if they are too many."""
        if not self.scope.narrow:
            return None
        entities: Iterable[int] = self.scope.entities or ()
        if self.scope.entities is None:
            values = {"types": json.dumps(sorted(self.scope.types or ())), "limit": EVERY + 1}
            entities = [row[0] for row in self._rows(OF_TYPES, values)]
        if len(found := list(entities)) > EVERY:
            return None
        return [row[0] for row in self._rows(NAMES_OF, {"ids": json.dumps(found)})]

    def _by_plugins(self, text: str) -> None:
        from ..plugins import linkers

        for name, linker in linkers().items():
            taken = 0
            for place, found in enumerate(linker(self.connection, text) or ()):
                entity, score = _of_plugin(name, text, found)
                for root, type_, _ in self._rows(ROOTS, {"ids": json.dumps([entity])}):
                    if self.scope.admits(root, type_):
                        self._rate(text, root, score, name)
                        taken += 1
                if taken >= self.wanted.k or place + 1 >= PLUGIN:
                    break

    def _by_vectors(self, texts: Sequence[str], whole: bool = False) -> None:
        """What is near in meaning, where vectors cost nothing to ask; a ``whole`` text has numbers of its own."""
        from ..index.encoders import is_bundled
        from ..index.vectors import encode, open_vectors

        vectors = open_vectors(self.connection, "entities")
        if vectors is None or not is_bundled(vectors.model):
            return
        encoded = encode(self.connection, [text[:MAX_LETTERS] for text in texts])
        if encoded is None:
            return
        within = self._ids() if self.scope.narrow else None
        for text, vector in zip(texts, encoded, strict=True):
            near = dict(vectors.similar(vector, 4 * self.wanted.k, within)) if vector.any() else {}
            said = form(text[:MAX_LETTERS])
            for entity, cosine in near.items():
                score = meant(cosine)
                for root, type_, name in self._rows(ROOTS, {"ids": json.dumps([entity])}):
                    other = form(name)
                    if told_apart(said, other) or (not whole and lacks_number(said, other)):
                        score = min(score, TOLD_APART)
                    if self.scope.admits(root, type_):
                        self._rate(text, root, score, VECTOR)

    def _ids(self) -> list[int]:
        """The ids of the scope, with those of what is merged into them."""
        found: Iterable[int] = self.scope.entities or ()
        if self.scope.entities is None:
            values = {"types": json.dumps(sorted(self.scope.types or ())), "limit": -1}
            found = [row[0] for row in self._rows(OF_TYPES, values)]
        return [row[0] for row in self._rows(WITH_MERGED, {"ids": json.dumps(sorted(found))})]


def _both_forms(text: str) -> list[str]:
    """The long names and the abbreviations in brackets that a text gives."""
    from ..facts.lexical import abbreviations  # takes time to import, and is hardly ever needed

    return [text[start:end] for pair in abbreviations(text) for start, end in pair]


def meant(cosine: float) -> float:
    """The score of a name that is so near in meaning."""
    least, score = NEAR
    return 0.0 if cosine < least else score + (FAR - score) * (min(cosine, 1.0) - least) / (1 - least)


def _of_plugin(name: str, text: str, found: object) -> tuple[int, float]:
    """A candidate of a plugin, checked."""
    if isinstance(found, tuple) and len(found) == 2:
        entity, score = found
        if isinstance(entity, int) and isinstance(score, int | float) and 0 <= score <= 1:
            return entity, float(score)
    raise ValueError(f"The linker {name!r} gave {found!r} for {text[:60]!r}, not (entity id, score from 0 to 1)")
