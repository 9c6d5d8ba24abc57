"""Facts that go out as text files beside the notes come back as the rows they were."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Vault, write_notes
from extraction_model import notes, say, schema_file
from fake_reading import give_schema, read_all
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import NATURAL, differences, natural
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures
from test_order import MATTER, PARTS, PATHS, SLOW, Step, apply, histories

from llm_graphrag.extract.run import Options
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.review.runs import runs
from llm_graphrag.settings import Settings
from llm_graphrag.share.note_text import NoteText
from llm_graphrag.share.sidecar_file import HEADER, Fact, Fault, Reading, Sidecar, SidecarError, dumps, loads, quoted
from llm_graphrag.share.sidecar_import import Imported, import_sidecars
from llm_graphrag.share.sidecar_paths import SUFFIX, paths
from llm_graphrag.share.sidecars import Exported, export_sidecars
from llm_graphrag.sources.report import Remark
from llm_graphrag.store.connection import transaction
from llm_graphrag.store.entities import Names
from llm_graphrag.store.settle import Settlement
from llm_graphrag.text.normalise import name_key

Make = Callable[..., ScriptedModel]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with opened(tmp_path / "kb.db") as made:
        give_schema(made)
        yield made


def opened(path: Path) -> KnowledgeBase:
    made = KnowledgeBase.open(path, create=True)
    made.set(embedding_model="")
    return made


def export(kb: KnowledgeBase, folder: Path, **options: bool) -> Exported:
    return export_sidecars(kb.connection, folder, **options)


def bring(kb: KnowledgeBase, folder: Path) -> Imported:
    return import_sidecars(kb.connection, kb.settings, folder)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def stated(kb: KnowledgeBase) -> list[tuple[Any, ...]]:
    """Evidence of models and persons by natural keys."""
    statement = f"{NATURAL['kg_evidence']} WHERE v.origin IN ('llm', 'user')"
    return sorted((tuple(row) for row in kb.connection.execute(statement)), key=repr)


def read_passages(kb: KnowledgeBase) -> list[tuple[str, int, str]]:
    rows = kb.connection.execute(
        """SELECT d.uri, c.seq, e.model FROM kg_extraction_chunks x JOIN kg_extractions e ON e.id = x.extraction
           JOIN kg_chunks c ON c.id = x.chunk JOIN kg_documents d ON d.id = c.document WHERE e.status = 'done'"""
    )
    return sorted(tuple(row) for row in rows)


def state_by_hand(kb: KnowledgeBase, uri: str, head: str | None, relation: str, tail: str, quote: str) -> None:
    """What a person states of a note: a triple if the relation begins with "to", else an attribute."""
    chunk, text, entity, name = kb.connection.execute(
        """SELECT c.id, c.text, d.entity, d.name FROM kg_chunks c JOIN kg_documents d ON d.id = c.document
           WHERE d.uri = ? AND instr(c.text, ?)""",
        [uri, quote],
    ).fetchone()
    triple = relation.startswith("to")
    with transaction(kb.connection):
        settlement = Settlement(kb.connection, Names(kb.connection))
        own = entity if head is None else settlement.names.resolve(head, "user")
        other = settlement.names.resolve(tail, "user") if triple else None
        kb.connection.execute(
            """INSERT INTO kg_evidence(kind, head, head_key, head_entity, relation, tail, tail_key, tail_entity, chunk,
                 start, end, quote, origin, confidence, schema_version, detail)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'user', 0.3, 1, '{"note": "b\\u00e9\\n"}')""",
            [
                *("triple" if triple else "attribute", head or name, None if head is None else name_key(head), own),
                *(relation, tail, name_key(tail) if triple else None, other, chunk),
                *(text.index(quote), text.index(quote) + len(quote), quote),
            ],
        )
        settlement.entities |= {id_ for id_ in (own, other) if id_}
        settlement.finish()
    kb.connection.execute("UPDATE kg_documents SET scanned = 0")


# -- out and back --------------------------------------------------------------------------


def there_and_back(steps: Sequence[Step], together: int, by_hand: bool) -> None:
    """Read a vault, export it, and import it into a new knowledge base of the same notes: all rows are the same."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.in_memory() as one, KnowledgeBase.in_memory() as other:
        root = write_notes(Path(folder).resolve() / "v", {"first.md": "Otto met Mira. size:: 12"})
        for step in steps:
            apply(root, step)
        out, again = Path(folder) / "out", Path(folder) / "again"
        for made in (one, other):
            made.set(embedding_model="")
            give_schema(made)
            made.add([root])
        read_all(one, together)
        if by_hand:
            state_by_hand(one, "v/first.md", "By Hand", "to_know", "Zoë \u202e\x07", "Otto met Mira.")
            state_by_hand(one, "v/first.md", None, "mood", 'all "well"\n', "met Mira")
            one.add([root])
        exported = export(one, out)
        done = bring(other, out)
        assert (done.skipped, done.facts, done.passages) == ([], exported.facts, exported.passages)
        assert stated(other) == stated(one)
        assert differences(natural(one), natural(other)) == []
        assert read_passages(other) == read_passages(one)
        assert [p for p in other.check() if p.table != "kg_counts"] == []
        export(other, again)
        assert files(again) == files(out)
        twice = bring(other, out)
        assert (twice.facts, twice.there, twice.passages, twice.later) == (0, exported.facts, 0, 0)
        assert differences(natural(one), natural(other)) == []


@given(histories(PATHS, PARTS, MATTER), st.sampled_from([1, 3]), st.booleans())
@settings(SLOW, max_examples=40)
def test_there_and_back(steps: list[Step], together: int, by_hand: bool) -> None:
    there_and_back(steps, together, by_hand)


def test_paid_extraction_travels_with_the_vault(tmp_path: Path, scripted: Make) -> None:  # noqa: F811
    model = scripted(say)
    folder = write_notes(tmp_path / "v", notes(12))
    with opened(tmp_path / "one.db") as one, Ledger.open(tmp_path / "one.db") as ledger:
        one.use_schema(load_template(schema_file(tmp_path)), "test")
        one.add([folder])
        assert one.extract(Caller("scripted", ledger, log=False), Options()).done == 1
        export(one, tmp_path / "facts")
        before = (stated(one), natural(one))
    with opened(tmp_path / "other.db") as other, Ledger.open(tmp_path / "other.db") as ledger:
        other.use_schema(load_template(schema_file(tmp_path)), "test")
        other.add([folder])
        done = bring(other, tmp_path / "facts")
        assert (done.passages, done.skipped) == (12, [])
        assert stated(other) == before[0] != []
        assert differences(before[1], natural(other)) == []
        assert other.check() == []
        assert other.extract(Caller("scripted", ledger, log=False), Options()).calls == 0
        assert len(model.calls) == 1
        assert (runs(other.connection)[0].what, runs(other.connection)[0].listed) == ("import", True)
        write_notes(folder, {"n003.md": "# Entry 3\n\nJonas knows Dan."})
        other.add([folder])
        assert other.extract(Caller("scripted", ledger, log=False), Options()).calls == 1
        assert other.replay().windows == 1  # what was imported has no reply to be read again, and stays
        assert len(stated(other)) > 3


def test_a_file_without_a_schema_gets_the_one_that_was_exported(tmp_path: Path, vault: Vault) -> None:
    folder = vault({"a.md": "Mira met Otto."})
    with opened(tmp_path / "one.db") as one:
        one.use_schema(load_template("contacts"), "test")
        one.add([folder])
        read_all(one)
        export(one, tmp_path / "facts")
        evidence = stated(one)
    with opened(tmp_path / "other.db") as other:
        other.add([folder])
        assert bring(other, tmp_path / "facts").schema == "contacts"
        assert {r.name for r in other.schema.relations} == {r.name for r in load_template("contacts").relations}
        assert stated(other) == evidence
        assert bring(other, tmp_path / "facts").schema == ""
    (tmp_path / "facts" / "schema.toml").unlink()
    with opened(tmp_path / "third.db") as third:
        third.add([folder])
        done = bring(third, tmp_path / "facts")
        assert (done.schema, done.foreign) == ("general", ["length"])


def test_a_folder_that_was_added_under_another_name_is_found(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a/b.md": "Mira met Otto."})])
    read_all(kb)
    export(kb, tmp_path / "facts")
    with opened(tmp_path / "other.db") as other:
        give_schema(other)
        other.add([vault({"a/b.md": "Mira met Otto."}, "elsewhere")])
        assert bring(other, tmp_path / "facts").facts == 5
        other.add([vault({"a/b.md": "Mira met Otto."}, "third")])
        done = bring(other, tmp_path / "facts")
        assert [(r.path, r.message) for r in done.skipped] == [
            ("vault/a/b.md", "there is no such note; add it first, then import again")
        ]


# -- what has changed meanwhile -------------------------------------------------------------


def test_quotes_are_found_where_they_went_and_reported_where_they_are_gone(
    kb: KnowledgeBase, tmp_path: Path, vault: Vault
) -> None:
    folder = vault({"a.md": "Mira met Otto.\n\nSee Pia Quist.\n"})
    kb.add([folder])
    read_all(kb)
    export(kb, tmp_path / "facts")
    vault({"a.md": "A new line.\n\nToday Mira met Otto.\n\nSee Pia.\n"})
    with opened(tmp_path / "other.db") as other:
        give_schema(other)
        other.add([folder])
        done = bring(other, tmp_path / "facts")
        rows = other.connection.execute("SELECT head, relation, tail, quote FROM kg_evidence WHERE origin = 'llm'")
        assert ("Mira", "knows", "Otto", "Mira met Otto") in {tuple(row) for row in rows}
        assert Remark("vault/a.md", "its quote no longer stands in the note: 'Pia Quist'", 3) in done.skipped
        assert (done.passages, done.changed) == (0, 1)
        assert read_passages(other) == []
        assert other.check() == []


def test_the_later_reading_stays_whichever_way_it_came(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    folder = vault({"a.md": "Mira met Otto."})
    kb.add([folder])
    read_all(kb)
    kb.connection.execute("UPDATE kg_extractions SET finished = '2026-01-02', model = 'old'")
    export(kb, tmp_path / "old")
    kb.connection.execute("UPDATE kg_extractions SET finished = '2026-01-03', model = 'new'")
    kb.connection.execute("UPDATE kg_evidence SET confidence = 0.123 WHERE origin = 'llm'")
    export(kb, tmp_path / "new")
    newest = stated(kb)
    assert bring(kb, tmp_path / "old").later == 1
    assert stated(kb) == newest
    with opened(tmp_path / "other.db") as other:
        give_schema(other)
        other.add([folder])
        assert bring(other, tmp_path / "old").facts == 5
        assert stated(other) != newest
        done = bring(other, tmp_path / "new")
        assert (done.facts, done.there, done.passages, done.later) == (5, 0, 1, 0)
        assert stated(other) == newest
        assert read_passages(other) == [("vault/a.md", 0, "new")]
        other.connection.execute("UPDATE kg_extractions SET status = 'claimed', ask_again = 1")
        assert bring(other, tmp_path / "new").later == 1  # somebody is asking about it at this moment
        assert stated(other) == newest


def test_passages_of_another_size_are_asked_about(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    folder = vault({"a.md": "Mira met Otto. " * 100})
    kb.add([folder])
    read_all(kb)
    export(kb, tmp_path / "facts")
    with opened(tmp_path / "other.db") as other:
        other.set(chunk_tokens=Settings().chunk_tokens // 5)
        give_schema(other)
        other.add([folder])
        done = bring(other, tmp_path / "facts")
        assert done.changed == len(read_passages(kb)) and done.passages == 0
        assert other.check() == []


# -- the files ------------------------------------------------------------------------------


def test_the_text_of_a_sidecar(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"people/Mira.md": "# Crew\n\nSee Mira and Otto."})])
    read_all(kb)
    kb.connection.execute("UPDATE kg_extractions SET finished = '2026-01-02T03:04:05+00:00'")
    export(kb, tmp_path / "facts")
    text = (tmp_path / "facts/vault/people/Mira.md.facts.toml").read_text("utf-8")
    assert text.startswith(
        f"""{HEADER}

note = "vault/people/Mira.md"

[[reading]]
model = "fake"
prompt = "prompt"
mode = "suggest"
schema_version = 1
at = "2026-01-02T03:04:05+00:00"
passages = [
  "{_hash(kb)}",
]
"""
    )
    assert (
        """
[[fact]]
kind = "triple"
head = "Mira"
head_type = "place"
relation = "knows"
tail = "Otto"
tail_type = "place"
quote = "Mira and Otto"
line = 3
column = 5
confidence = 0.8
origin = "llm"
model = "fake"
schema_version = 1
"""
        in text
    )


def _hash(kb: KnowledgeBase) -> str:
    return str(kb.connection.execute("SELECT substr(content_hash, 1, 16) FROM kg_chunks").fetchone()[0])


def test_two_exports_are_the_same_and_only_what_changed_is_written(
    kb: KnowledgeBase, tmp_path: Path, vault: Vault
) -> None:
    folder, out = vault({"a.md": "Mira met Otto.", "b.md": "See Mira.", "c/d.md": "Mira"}), tmp_path / "facts"
    kb.add([folder])
    read_all(kb)
    first = export(kb, out)
    assert (first.written, first.unchanged, first.removed, first.passages) == (4, 0, 0, 3)
    before = files(out)
    for path in out.rglob("*.toml"):
        os.utime(path, (1, 1))
    second = export(kb, out)
    assert (second.written, second.unchanged, files(out)) == (0, 4, before)
    assert {path.stat().st_mtime for path in out.rglob("*.toml")} == {1}
    vault({"a.md": "Mira met Otto and Mira.", "c/d.md": "nobody"})
    kb.add([folder])
    kb.remove(["vault/c/d.md"])
    read_all(kb)
    third = export(kb, out)
    assert (third.written, third.unchanged, third.removed) == (1, 2, 1)
    assert sorted(files(out)) == ["schema.toml", "vault/a.md.facts.toml", "vault/b.md.facts.toml"]
    assert not (out / "vault/c").exists()
    assert files(out)["vault/b.md.facts.toml"] == before["vault/b.md.facts.toml"]


def test_files_of_others_are_left_alone(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    out = write_notes(
        tmp_path / "facts",
        {"x/own.facts.toml": "title = 1", "vault/a.md.facts.toml": "mine = true", "schema.toml": "a = 1", "r.md": "r"},
    )
    (out / "x/link.facts.toml").symlink_to(tmp_path / "target.facts.toml")
    (tmp_path / "target.facts.toml").write_text(HEADER)
    kb.add([vault({"a.md": "Mira met Otto.", "b.md": "Mira"})])
    read_all(kb)
    done = export(kb, out)
    assert (done.written, done.removed) == (1, 0)
    assert [(r.path, r.message[:25]) for r in done.skipped] == [
        ("schema.toml", "another file stands there"),
        ("vault/a.md.facts.toml", "another file stands there"),
    ]
    assert (out / "vault/a.md.facts.toml").read_text() == "mine = true"
    assert (out / "x/link.facts.toml").is_symlink() and (tmp_path / "target.facts.toml").exists()


def test_nothing_is_written_or_read_through_links(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a.md": "Mira met Otto."})])
    read_all(kb)
    out, secret = tmp_path / "facts", tmp_path / "secret"
    out.mkdir()
    secret.mkdir()
    (out / "vault").symlink_to(secret)
    done = export(kb, out)
    assert [(r.path, r.message[:32]) for r in done.skipped] == [
        ("vault/a.md.facts.toml", "a folder above it is a link; not")
    ]
    assert files(secret) == {}
    (secret / "a.md.facts.toml").write_text(f'{HEADER}\nnote = "vault/a.md"\n')
    (out / "b.facts.toml").symlink_to(secret / "a.md.facts.toml")
    read = bring(kb, out)
    assert (read.sidecars, [r.path for r in read.skipped]) == (0, ["b.facts.toml"])


def test_private_notes_can_be_left_out(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a.md": "---\nprivate: true\n---\nMira met Otto.", "b.md": "Mira"})])
    read_all(kb)
    assert export(kb, tmp_path / "facts").private == 1
    done = export(kb, tmp_path / "facts", private=False)
    assert (done.private, done.removed, sorted(files(tmp_path / "facts"))) == (
        *(0, 1),
        ["schema.toml", "vault/b.md.facts.toml"],
    )


def test_121_what_only_private_notes_say_is_in_no_file(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    """A public note names what a private one is about: by the name that stands in it, and no other."""
    secret = "---\nprivate: true\naliases: [Nightjar]\n---\nMira is called Kestrel Works by Otto, at Heronsgate."
    kb.add([vault({"hidden/Mira.md": secret, "b.md": "mira met Pia Quist. See [[Mira]]."})])
    read_all(kb)
    export(kb, tmp_path / "facts", private=False, everything=True)
    written = files(tmp_path / "facts")
    assert sorted(written) == ["schema.toml", "vault/b.md.facts.toml"]
    for word in (b"Nightjar", b"Heronsgate", b"Otto", b"Kestrel", b"hidden"):
        assert not any(word in data for data in written.values()), word
    assert b"Pia Quist" in written["vault/b.md.facts.toml"]


def test_all_is_there_to_be_read_and_is_not_read_back(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    folder = vault({"a.md": "size:: 12\n[[b]] and Otto"})
    kb.add([folder])
    read_all(kb)
    done = export(kb, tmp_path / "facts", everything=True)
    text = (tmp_path / "facts/vault/a.md.facts.toml").read_text()
    assert 'relation = "size"\ntail = "12"' in text and 'origin = "link"' in text and "of_note = true" in text
    assert done.facts == kb.connection.execute("SELECT count(*) FROM kg_evidence").fetchone()[0]
    with opened(tmp_path / "other.db") as other:
        give_schema(other)
        other.add([folder])
        bring(other, tmp_path / "facts")
        assert differences(natural(kb), natural(other)) == []


# -- names and contents from anywhere ---------------------------------------------------------

URIS = st.lists(
    st.text(st.sampled_from('aA.. /\\:*?"<>|%~\x00\n\u202eéßſ東'), min_size=1, max_size=12)
    | st.sampled_from(["v/../x", "/etc/passwd", "v/CON", "v/aux.md", "..", ".", "v/" + "b" * 247 + ".md", "v/é", "v/a",
                       "v/e\u0301", "schema.toml", "schema.toml/a", "v/a.facts.toml/b"]),
    unique=True, max_size=12,
)  # fmt: skip


@given(URIS)
def test_no_name_leads_out_or_is_taken_for_another(uris: list[str]) -> None:
    import unicodedata

    found = paths(uris)
    assert list(found) == uris
    folded = [unicodedata.normalize("NFKC", path).casefold() for path in found.values()]
    assert len(set(folded)) == len(uris)
    assert not {"/".join(path.split("/")[:n]) for path in folded for n in range(1, path.count("/") + 1)} & set(folded)
    for path in found.values():
        assert path.endswith(SUFFIX) and "schema.toml" not in path.split("/")[0].casefold()
        for part in path.split("/"):
            assert (
                part not in ("", ".", "..")
                and len(part.encode()) <= 255
                and not set(part) & set('\\:*?"<>|\x00\n\u202e')
            )


@pytest.mark.skipif(os.name == "nt", reason="names that it refuses")
def test_hostile_notes(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    names = ["new\nline.md", 'the "best".md', "🎈 day.md", "-rf.md", "b" * 247 + ".md", "%2e%2e.md", "a.facts.toml.md"]
    text = 'Mira said "no" \\ to Otto.\r\n\x07\u202e```\n[[x]] # \u2028 {{}} \'\'\' """ Mira\x00 & Otto'
    folder = vault(dict.fromkeys(names, text))
    kb.add([folder])
    read_all(kb)
    done = export(kb, tmp_path / "facts")
    assert (done.written, done.skipped) == (len(names) + 1, [])
    for data in files(tmp_path / "facts").values():
        decoded = data.decode("utf-8")
        assert all(char == "\n" or char.isprintable() for char in decoded)
    with opened(tmp_path / "other.db") as other:
        give_schema(other)
        other.add([folder])
        assert bring(other, tmp_path / "facts").skipped == []
        assert differences(natural(kb), natural(other)) == []


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
FACTS = st.builds(
    Fact, st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from(["triple", "attribute", "type", "alias"]), TEXT,
    st.just("") | TEXT, TEXT, TEXT, st.just("") | TEXT, TEXT, st.floats(0, 1), st.sampled_from(["llm", "user", "link"]),
    st.integers(0, 999), st.just("") | TEXT, st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps), st.booleans(),
    st.booleans(),
)  # fmt: skip
READINGS = st.builds(
    Reading,
    TEXT,
    TEXT,
    TEXT,
    st.integers(0, 99),
    TEXT,
    st.lists(st.from_regex("[0-9a-f]{16}", fullmatch=True)).map(tuple),
)


@given(st.builds(Sidecar, TEXT, st.lists(READINGS, max_size=3).map(tuple), st.lists(FACTS, max_size=4).map(tuple)))
def test_text_and_back(sidecar: Sidecar) -> None:
    text = dumps(sidecar)
    assert all(char == "\n" or char.isprintable() for char in text)
    read, faults = loads(text)
    assert faults == []
    assert read == Sidecar(sidecar.note, sidecar.readings, tuple(sorted(sidecar.facts)))
    assert loads(text.replace("\n", "\r\n")) == (read, [])
    assert dumps(read) == text


GOOD = """
[[fact]]
kind = "attribute"
head = "Mira"
relation = "age"
tail = "42"
quote = "Mira is 42."
line = 1
column = 1
confidence = 0.5
origin = "user"
schema_version = 1
"""


@pytest.mark.parametrize(
    ("bad", "message", "line"),
    [
        ("kind = 'rumour'", "its kind is none of triple, attribute, type, alias", 1),
        ("head = 3", "its head is no text", 1),
        ("head = ''", "it needs a head, a relation and a quote", 1),
        ("quote = ''", "it needs a head, a relation and a quote", 1),
        ("line = -1", "its line is no number from 1", None),
        ("line = 99999999999999999999", "its line is no number from 1", None),
        ("line = true", "its line is no number from 1", 1),
        ("confidence = 1.5", "its confidence is no number from 0 to 1", 1),
        ("confidence = nan", "its confidence is no number from 0 to 1", 1),
        ("detail = '[]'", "its detail is no JSON object", 1),
        ("detail = '{\"a\": NaN}'", "its detail is no JSON object", 1),
    ],
)
def test_one_bad_table_does_not_spoil_the_others(bad: str, message: str, line: int | None) -> None:
    key = bad.partition(" = ")[0]
    worse = "\n".join(bad if part.startswith(f"{key} =") else part for part in GOOD.splitlines())
    worse = worse if bad in worse else f"{worse}\n{bad}\n"
    read, faults = loads(f'{HEADER}\nnote = "v/a.md"\n{GOOD}{worse}\n{GOOD}')
    assert len(read.facts) == 2
    assert faults == [Fault(f"fact 2: {message}", line)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its first line is not that of a sidecar"),
        ('note = "a"', "its first line is not that of a sidecar"),
        (HEADER, "it does not say which note it is about"),
        (f"{HEADER}\nnote = 3", "it does not say which note it is about"),
        (f"{HEADER}\nnote = ", "it is not valid TOML"),
        (f"{HEADER}\nnote = {'[' * 5000}", "it is not valid TOML"),
        (f"{HEADER}\nnote = {'9' * 5000}", "it is not valid TOML"),
    ],
)
def test_what_is_no_sidecar(text: str, message: str) -> None:
    with pytest.raises(SidecarError, match=message):
        loads(text)


def test_bad_files_never_stop_the_rest(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a.md": "Mira is 42."})])
    sidecar = f'{HEADER}\nnote = "vault/a.md"\nfact = 3\n'.encode()
    folder = write_notes(
        tmp_path / "facts",
        {
            "1.facts.toml": b"\xff\xfe", "2.facts.toml": b"x", "3.facts.toml": sidecar,
            "4.facts.toml": f'{HEADER}\nnote = "../../etc/passwd"\n',
            "5.facts.toml": f'{HEADER}\nnote = "vault/a.md"\n{GOOD}',
        },
    )  # fmt: skip
    done = bring(kb, folder)
    assert (done.sidecars, done.facts) == (2, 1)
    assert [(r.path, r.message[:24]) for r in done.skipped] == [
        ("1.facts.toml", "it is not UTF-8"),
        ("2.facts.toml", "its first line is not th"),
        ("vault/a.md", "fact 1: it is no table"),
        ("../../etc/passwd", "there is no such note; a"),
    ]
    assert ("Mira", "age", "42") in {
        tuple(r) for r in kb.connection.execute("SELECT head, relation, tail FROM kg_facts")
    }
    assert kb.check() == []
    with pytest.raises(FileNotFoundError, match="is not there"):
        bring(kb, tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is no folder"):
        export(kb, tmp_path / "file")


def test_strings_and_places() -> None:
    assert quoted('a"b\\c\td\x7f\U000e0001') == '"a\\"b\\\\c\\td\\u007F\\U000E0001"'
    text = NoteText("one two\ntwo three\ntwo", ())
    assert [text.find("two", *place) for place in ((1, 5), (2, 1), (3, 1), (99, 1), (1, 1))] == [4, 8, 18, 18, 4]
    assert text.find("four", 1, 1) is None
    assert [text.place(at) for at in (0, 7, 8, 18)] == [(1, 1), (1, 8), (2, 1), (3, 1)]


# -- the commands -----------------------------------------------------------------------------


def test_the_commands(run: Run, vault: Vault, tmp_path: Path) -> None:
    folder = vault({"a.md": "Mira is 42.", "b.md": "x"})
    run("schema", "use", "general")
    run("add", folder)
    facts = write_notes(tmp_path / "in", {"a.facts.toml": f'{HEADER}\nnote = "vault/a.md"\n{GOOD}'})
    result = run("import", "--sidecars", facts)
    assert result.stdout == "Sidecars: 1 read; facts: 1 new, 0 here already.\n"
    assert result.stderr == "Not in the schema here: age\n"
    out = tmp_path / "out"
    assert run("export", "--sidecars", out).stdout == (
        "Sidecars: 2 written, 0 unchanged, 0 removed.\nThey hold 1 fact and say that 0 passages were read.\n"
    )
    assert json.loads(run("export", "--sidecars", out, "--json").stdout)["unchanged"] == 2
    vault({"a.md": "Mira is 43."})
    run("add", folder)
    result = run("import", "--sidecars", out, exit_code=3)
    assert "Skipped: vault/a.md:1: its quote no longer stands in the note: 'Mira is 42.'" in result.stderr
    assert json.loads(run("import", "--sidecars", out, "--json", exit_code=3).stdout)["skipped"][0]["line"] == 1
    assert (
        "--sidecars DIR" in run("export", exit_code=2).stderr and "--sidecars DIR" in run("import", exit_code=2).stderr
    )
    assert "is not there" in run("import", "--sidecars", tmp_path / "nowhere", exit_code=1).stderr
    assert "import" in run("history").stdout
