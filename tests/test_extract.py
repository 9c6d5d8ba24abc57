# ruff: noqa: F811 - pytest hands fixtures over by the names of arguments
"""Extraction through the whole product but a real model: what is asked, kept, asked again, what a failure leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from extraction_model import chunks, notes, reading, say, schema_file
from rows import facts
from scripted_model import HttpError, ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.calls import PROMPT_OVERHEAD, written
from llm_graphrag.extract.run import Options, Report
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import (
    Budget,
    Ledger,
    estimate_prompt_tokens,
    estimate_rules_tokens,
    estimate_schema_tokens,
)
from llm_graphrag.models import Caller

Make = Callable[..., ScriptedModel]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as opened:
        opened.set(embedding_model="")
        opened.use_schema(load_template(schema_file(tmp_path)), "test")
        yield opened


def extract(kb: KnowledgeBase, budget: str = "", retries: int = 0, two_step: bool = False, **options: Any) -> Report:
    with Ledger.open(kb.path) as ledger:
        if budget:
            ledger.set_budget(Budget.parse(budget), ledger.run_scope)
        caller = Caller("scripted", ledger, retries=retries, log=False)
        return kb.extract(caller, Options(**{"workers": 2, **options}), two_step)


def write(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def model_facts(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    rows = kb.connection.execute(
        """SELECT head, relation, tail FROM kg_evidence WHERE origin = 'llm' AND kind IN ('triple', 'attribute')"""
    )
    return {tuple(row) for row in rows}


def test_a_fact_is_kept_with_the_sentence_that_states_it(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", {"day.md": "# Day\n\nMira knows Otto. Otto lives in Porto. Mira is 42.\n"})])
    report = extract(kb)
    assert (report.windows, report.done, report.failed, report.calls, report.stopped) == (1, 1, 0, 1, "")
    assert {("Mira", "knows", "Otto"), ("Otto", "lives_in", "Porto"), ("Mira", "age", "42")} <= facts(kb)
    sql = "SELECT head, head_type, tail, tail_type, quote FROM kg_facts WHERE relation = 'knows'"
    rows = kb.connection.execute(sql)
    assert [tuple(row) for row in rows] == [("Mira", "person", "Otto", "person", "Mira knows Otto.")]
    assert kb.check() == []
    assert model.calls[0].schema is not None


def test_what_has_been_read_is_not_asked_about_again(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", notes(12))])
    assert extract(kb).done == 1
    assert extract(kb).windows == 0
    kb.add([tmp_path / "v"])
    assert extract(kb).windows == 0
    assert len(model.calls) == 1


def test_an_edited_note_costs_one_call_for_it_alone(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    folder = write(tmp_path / "v", notes(12))
    kb.add([folder])
    extract(kb)
    before = model_facts(kb)
    write(folder, {"n003.md": "# Entry 3\n\nJonas knows Dan. Dan lives in Turku. Jonas is 99.\n"})
    kb.add([folder])
    assert extract(kb).calls == 1
    assert len(model.calls) == 2
    assert [text.strip() for text in chunks(model.calls[1].prompt).values()] == [
        "# Entry 3\n\nJonas knows Dan. Dan lives in Turku. Jonas is 99."
    ]
    assert ("Jonas", "age", "99") in model_facts(kb)
    assert ("Jonas", "age", "23") not in model_facts(kb)
    assert len(model_facts(kb) & before) >= len(before) - 3
    assert kb.check() == []


def test_small_notes_share_a_window_long_ones_are_spread(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", {**notes(30), "long.md": notes(1, padding=400)["n000.md"]})])
    report = extract(kb, window_tokens=1000)
    assert report.done == len(model.calls) == report.windows
    assert max(len(chunks(call.prompt)) for call in model.calls) > 10
    assert sum("boats" in call.prompt for call in model.calls) > 2


def test_private_and_public_notes_never_share_a_window(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", {"a.md": "---\nprivate: true\n---\nMira is 42.", "b.md": "Otto is 43."})])
    assert extract(kb).done == 2
    assert all(("Mira" in call.prompt) != ("Otto" in call.prompt) for call in model.calls)


def test_what_stands_before_a_window_is_shown_as_context(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", {"long.md": notes(1, padding=300)["n000.md"]})])
    extract(kb, window_tokens=700, workers=1)
    assert "context, not to be extracted" not in model.calls[0].prompt
    assert all("context, not to be extracted" in call.prompt for call in model.calls[1:])


def test_limit_and_document(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    model = scripted(say)
    kb.add([write(tmp_path / "v", notes(20))])
    id_ = kb.connection.execute("SELECT id FROM kg_documents WHERE uri = 'v/n007.md'").fetchone()[0]
    assert extract(kb, documents=[id_]).calls == 1
    assert list(chunks(model.calls[0].prompt)) == [1]
    assert extract(kb, limit=2, window_tokens=200).calls == 2
    assert extract(kb).done >= 1
    assert extract(kb).windows == 0


def test_again_replaces_what_was_read(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(3))])
    model = scripted(lambda prompt, system: json.dumps({**reading(prompt), "triples": []}))
    extract(kb)
    assert not any(relation == "knows" for _, relation, _ in model_facts(kb))
    model._replies = say
    assert extract(kb, again=True).done == 1
    assert any(relation == "knows" for _, relation, _ in model_facts(kb))
    assert kb.connection.execute("SELECT count(*) FROM kg_extractions").fetchone()[0] == 1
    assert kb.check() == []


def test_a_file_without_a_schema_gets_the_default_and_says_so(tmp_path: Path, scripted: Make) -> None:
    scripted('{"triples": []}')
    with KnowledgeBase.open(tmp_path / "other.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([write(tmp_path / "v", notes(1))])
        extract(kb)
        assert kb.schema.name == "general"
        row = kb.connection.execute("SELECT actor, version FROM kg_schema_versions").fetchone()
        assert tuple(row) == ("default", 1)


@pytest.mark.parametrize("how", [{"schema": False}, {"usage": False}, {"limit": False}, {"stream": False}])
def test_every_kind_of_model_works(kb: KnowledgeBase, tmp_path: Path, scripted: Make, how: dict[str, bool]) -> None:
    scripted(lambda prompt, system: f"Here you are:\n```json\n{say(prompt)}\n```", **how)
    kb.add([write(tmp_path / "v", notes(2))])
    assert extract(kb).done == 1
    assert len(model_facts(kb)) == 6
    used = kb.connection.execute("SELECT status, input_tokens > 0, output_tokens > 0 FROM kg_ledger").fetchone()
    assert tuple(used) == ("settled", 1, 1)


def test_a_reply_that_cannot_be_used_is_asked_for_once_more(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(1))])
    replies = iter(["I would rather not.", None])
    model = scripted(lambda prompt, system: next(replies) or say(prompt))
    report = extract(kb)
    assert (report.done, report.calls) == (1, 2)
    assert "could not be used" in model.calls[1].prompt


def test_043_one_empty_reply_fails_one_note_alone(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(10))])
    model = scripted(lambda prompt, system: "" if "Entry 3" in prompt else say(prompt))
    report = extract(kb, window_tokens=40)
    assert (report.done, report.failed) == (9, 1)
    assert list(report.errors) == ["empty reply"]
    calls = len(model.calls)
    model._replies = say
    second = extract(kb, window_tokens=40)
    assert (second.done, second.calls, len(model.calls)) == (1, 1, calls + 1)
    assert "Entry 3" in model.calls[-1].prompt


def test_091_a_bad_reply_is_kept_to_be_read_and_goes_with_its_note(
    kb: KnowledgeBase, tmp_path: Path, scripted: Make
) -> None:
    kb.add([write(tmp_path / "v", notes(2))])
    model = scripted("nothing of use, my dear")
    report = extract(kb)
    assert (report.done, report.failed, report.calls) == (0, 1, 2)
    row = kb.connection.execute("SELECT status, reply, error FROM kg_extractions").fetchone()
    assert (row["status"], row["reply"]) == ("failed", "nothing of use, my dear")
    assert model_facts(kb) == set()
    for _ in range(3):
        extract(kb)
    assert extract(kb).windows == 0  # three times is enough
    model._replies = say
    assert extract(kb, failed=True).done == 1  # unless a person says so
    kb.remove(["v"])
    assert kb.connection.execute("SELECT count(*) FROM kg_extractions").fetchone()[0] == 0


def test_083_calls_that_fail_are_counted_listed_and_alone_made_again(
    kb: KnowledgeBase, tmp_path: Path, scripted: Make
) -> None:
    kb.add([write(tmp_path / "v", notes(15))])
    count = iter(range(1, 1000))

    def third_fails(prompt: str, system: str | None) -> Any:
        return HttpError(429, "slow down") if next(count) % 3 == 0 else say(prompt)

    model = scripted(third_fails)
    report = extract(kb, window_tokens=40, workers=1)
    assert (report.done, report.failed, report.stopped) == (10, 5, "")
    assert len(kb_failed(kb)) == 5
    model._replies = say
    second = extract(kb, window_tokens=40)
    assert (second.windows, second.done, second.calls) == (5, 5, 5)
    assert kb_failed(kb) == []


def kb_failed(kb: KnowledgeBase) -> list[str]:
    from llm_graphrag.sources.status import status_of

    return [uri for row in status_of(kb.connection)["extraction"]["failed"] for uri in row["documents"]]


def test_090_calls_that_all_fail_alike_end_the_run(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(20))])
    model = scripted(lambda prompt, system: HttpError(400, "max_tokens is too large: 99999"))
    report = extract(kb, window_tokens=40, workers=1)
    assert report.stopped == "errors"
    assert "max_tokens is too large" in report.why
    assert len(model.calls) == 3
    assert kb.connection.execute("SELECT count(*) FROM kg_extractions WHERE status = 'done'").fetchone()[0] == 0
    model._replies = say
    assert extract(kb, window_tokens=40).done == 20


def test_no_key_ends_the_run_at_once_and_nothing_is_marked(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(20))])
    model = scripted(lambda prompt, system: HttpError(401, "no such key"))
    report = extract(kb, window_tokens=40, workers=1)
    assert (report.stopped, len(model.calls), report.failed) == ("errors", 1, 0)
    assert kb.connection.execute("SELECT count(*) FROM kg_extractions WHERE status <> 'planned'").fetchone()[0] == 0


def test_the_budget_ends_the_run_and_the_next_goes_on(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    scripted(say)
    kb.add([write(tmp_path / "v", notes(20))])
    report = extract(kb, budget="9ktok", window_tokens=40)
    assert report.stopped == "budget"
    assert 0 < report.done < 20
    spent = kb.connection.execute("SELECT sum(input_tokens + output_tokens) FROM kg_ledger").fetchone()[0]
    assert spent <= 9000
    rest = extract(kb, window_tokens=40)
    assert rest.done == 20 - report.done
    stated = "SELECT count(*) FROM kg_evidence WHERE origin = 'llm' AND kind IN ('triple', 'attribute')"
    assert kb.connection.execute(stated).fetchone()[0] == 60


def test_what_is_said_of_a_note_that_was_removed_meanwhile_is_dropped(
    kb: KnowledgeBase, tmp_path: Path, scripted: Make
) -> None:
    """Case 087: late replies for what was deleted do not bring it back."""
    kb.add([write(tmp_path / "v", notes(3))])

    def removing(prompt: str, system: str | None) -> str:
        with KnowledgeBase.open(kb.path) as other:
            other.remove(["v/n001.md"])
        return say(prompt)

    scripted(removing)
    report = extract(kb, workers=1)
    assert report.done == 1
    uris = {row[0] for row in kb.connection.execute(
        """SELECT DISTINCT d.uri FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
           JOIN kg_documents d ON d.id = c.document WHERE v.origin = 'llm'""")}  # fmt: skip
    assert uris == {"v/n000.md", "v/n002.md"}
    assert kb.check() == []


def test_081_a_file_that_is_replaced_during_a_run_ends_it(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(10))])

    def replacing(prompt: str, system: str | None) -> str:
        kb.path.rename(tmp_path / "moved.db")
        return say(prompt)

    model = scripted(replacing)
    with pytest.raises(ValueError, match="was deleted or replaced while it was being written"):
        extract(kb, workers=1, window_tokens=40)
    assert len(model.calls) == 1


def test_replies_are_read_again_without_a_model(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    from rows import natural

    scripted(say)
    kb.add([write(tmp_path / "v", notes(12))])
    extract(kb)
    before = natural(kb)
    kb.connection.execute("DELETE FROM kg_evidence WHERE origin = 'llm' AND id % 2")
    replayed = kb.replay()
    assert (replayed.windows, replayed.failed) == (1, 0)
    assert natural(kb)["kg_evidence"] == before["kg_evidence"]
    assert natural(kb)["kg_triples"] == before["kg_triples"]
    assert kb.check() == []


def test_the_two_step_way(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    def in_two(prompt: str, system: str | None) -> str:
        said = reading(prompt)
        entities_only = "entities\n" not in prompt
        kinds = ("entities",) if entities_only else ("attributes", "triples")
        return json.dumps({kind: said[kind] for kind in kinds})

    model = scripted(in_two)
    kb.add([write(tmp_path / "v", notes(3))])
    report = extract(kb, two_step=True)
    assert (report.done, report.calls, len(model.calls)) == (1, 2, 2)
    assert len(model_facts(kb)) == 9
    assert kb.replay().kept == report.kept


def test_the_first_of_two_steps_cannot_be_used(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    scripted("nothing of use, my dear")
    kb.add([write(tmp_path / "v", notes(3))])
    report = extract(kb, two_step=True)
    assert (report.done, report.failed, report.calls, dict(report.errors)) == (0, 1, 1, {"no JSON": 1})


def test_the_estimate_is_near_what_the_ledger_says(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    scripted(say)
    kb.add([write(tmp_path / "v", notes(60))])
    with Ledger.open(kb.path) as ledger:
        caller = Caller("scripted", ledger, log=False)
        first = kb.extraction_estimate(kb.extraction_reader(caller), Options(window_tokens=300))
        assert first.guessed
        kb.extract(caller, Options(window_tokens=300, limit=3))
        rest = kb.extraction_estimate(kb.extraction_reader(caller), Options(window_tokens=300))
        report = kb.extract(caller, Options(window_tokens=300))
    assert (rest.windows, rest.guessed) == (report.done, False)
    assert rest.prompt_tokens == pytest.approx(report.input_tokens, rel=0.15)
    assert rest.output_tokens == pytest.approx(report.output_tokens, rel=0.25)


@pytest.mark.parametrize("two_step", [False, True])
@pytest.mark.parametrize("charges_schema", [False, True])
def test_before_the_first_call_the_estimate_is_a_range(
    kb: KnowledgeBase, tmp_path: Path, scripted: Make, charges_schema: bool, two_step: bool
) -> None:
    """Of a model whose tokens are as they are estimated, but that may take the JSON schema for nothing."""

    def usage(read: str, said: str) -> tuple[int, int]:
        call = model.calls[-1]
        schema = estimate_schema_tokens(written(call.schema)) if charges_schema and call.schema else 0
        rules = estimate_rules_tokens(call.system or "")
        return rules + estimate_prompt_tokens(call.prompt) + PROMPT_OVERHEAD + schema, len(said) // 4

    model = scripted(say, usage=usage)
    kb.add([write(tmp_path / "v", notes(40, padding=10))])
    with Ledger.open(kb.path) as ledger:
        caller = Caller("scripted", ledger, log=False)
        reader = kb.extraction_reader(caller, two_step)
        chosen = Options(window_tokens=1_500, workers=1)
        first = kb.extraction_estimate(reader, chosen)
        assert first.least_prompt_tokens < first.prompt_tokens < first.most_prompt_tokens
        read = kb.extract(caller, replace(chosen, limit=2), two_step).input_tokens
        rest = kb.extraction_estimate(reader, chosen)
        assert rest.least_prompt_tokens == rest.prompt_tokens == rest.most_prompt_tokens
        later = kb.extract(caller, chosen, two_step).input_tokens
    assert first.prompt_tokens == pytest.approx(read + later, rel=0.15)
    assert rest.prompt_tokens == pytest.approx(later, rel=0.15)


def test_a_reply_that_is_cut_off_is_asked_for_in_two_halves(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(8))])

    def long_of_many(prompt: str, system: str | None) -> str:
        return say(prompt) if len(chunks(prompt)) <= 2 else say(prompt)[:700] + " x" * 9000

    model = scripted(long_of_many)
    report = extract(kb, workers=1)
    assert (report.windows, report.done, report.halved, report.failed) == (4, 4, 3, 0)
    assert len(model.calls) == 7
    assert len(model_facts(kb)) == 24
    assert kb.check() == []


def test_a_report_as_json_counts_what_was_dropped(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    from llm_graphrag.cli.extract_printer import as_dict

    kb.add([write(tmp_path / "v", notes(1))])
    wrong = {"head": "Mira", "relation": "adores", "tail": "Otto", "chunk": 1, "quote": "", "confidence": 1}
    scripted(lambda prompt, system: json.dumps({**reading(prompt), "triples": [wrong]}))
    assert json.loads(json.dumps(as_dict(extract(kb))))["dropped"] == {"unknown relation": 1}


def test_halving_has_an_end(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    """A model that fills every reply to its limit is asked about a window, its halves and quarters, and no more."""
    kb.add([write(tmp_path / "v", notes(8))])
    model = scripted(lambda prompt, system: "[" * 100_000)
    report = extract(kb, workers=1)
    assert (report.done, report.failed, report.halved) == (0, 4, 3)
    assert len(model.calls) == 7
    assert all("does not fit" in error for error in report.errors)


def test_what_is_cut_short_of_the_limit_is_not_halved(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(8))])
    model = scripted(lambda prompt, system: say(prompt)[:-300], limit=False)
    report = extract(kb, workers=1)
    assert (report.done, report.cut, report.halved, len(model.calls)) == (1, 1, 0, 1)
    assert 0 < len(model_facts(kb)) < 24


def test_a_limit_is_one_of_calls_too(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    kb.add([write(tmp_path / "v", notes(8))])
    model = scripted(lambda prompt, system: say(prompt) if len(chunks(prompt)) <= 4 else "[" * 100_000)
    report = extract(kb, workers=1, limit=1)
    assert (report.done, report.halved, report.left, len(model.calls)) == (0, 1, 1, 1)
    rest = extract(kb, workers=1)
    assert (rest.done, len(model.calls)) == (2, 3)


def test_calls_that_broke_off_are_in_the_report(kb: KnowledgeBase, tmp_path: Path, scripted: Make) -> None:
    from scripted_model import Break

    kb.add([write(tmp_path / "v", notes(2))])
    scripted(lambda prompt, system: Break("{", ConnectionError("gone")))
    report = extract(kb)
    assert (report.failed, report.lost_calls) == (1, 1)
    assert report.lost_tokens > 1000
