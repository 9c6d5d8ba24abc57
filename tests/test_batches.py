"""Extraction through a provider's batch: a file of requests, a file of replies, and everything in between."""
# ruff: noqa: F811 - fixtures are imported, and then arguments

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llm
import pytest
from batch_replies import answers, error, expired, prompts, reply, requests, usage, write
from click.testing import CliRunner
from extraction_model import notes, say, schema_file
from hypothesis import given
from hypothesis import strategies as st
from rows import differences, dump, facts, natural
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.calls import Request
from llm_graphrag.extract.batch_export import Exported
from llm_graphrag.extract.batch_formats import LineError, read_line, request_body
from llm_graphrag.extract.run import Options, Report
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Budget, Ledger
from llm_graphrag.models import Caller
from llm_graphrag.prices import set_price

Make = Callable[..., ScriptedModel]
WINDOWS = 8
both = pytest.mark.parametrize("format", ["openai", "anthropic"])


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with place(tmp_path / "one") as opened:
        yield opened


@pytest.fixture(autouse=True)
def model(scripted: Make) -> ScriptedModel:
    return scripted(say)


def place(folder: Path, texts: dict[str, str] | None = None) -> KnowledgeBase:
    """A knowledge base with notes, a window each."""
    kb = KnowledgeBase.open(folder / "kb.db", create=True)
    kb.set(embedding_model="", window_tokens=100)
    kb.use_schema(load_template(schema_file(folder)), "test")
    put(kb, texts or notes(WINDOWS, padding=8))
    return kb


def put(kb: KnowledgeBase, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = kb.path.parent / "v" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kb.add([kb.path.parent / "v"])


def export(kb: KnowledgeBase, path: Path, format: str = "openai", budget: str = "", **more: Any) -> Exported:
    with Ledger.open(kb.path) as ledger:
        if budget:
            ledger.set_budget(Budget.parse(budget), ledger.run_scope)
        caller = Caller("scripted", ledger, log=False)
        return kb.export_requests(caller, path, format, Options(**{"window_tokens": 100, **more}))


def extract(kb: KnowledgeBase, **more: Any) -> Report:
    with Ledger.open(kb.path) as ledger:
        caller = Caller("scripted", ledger, log=False, retries=0)
        return kb.extract(caller, Options(**{"window_tokens": 100, "workers": 2, **more}))


def rows_of(kb: KnowledgeBase) -> dict[str, list[tuple[object, ...]]]:
    assert kb.check() == []
    return {table: rows for table, rows in natural(kb).items() if table != "kg_sources"}  # its folder is another


def windows(kb: KnowledgeBase) -> dict[str, int]:
    return dict(kb.connection.execute("SELECT status, count(*) FROM kg_extractions GROUP BY status").fetchall())


def calls(kb: KnowledgeBase) -> Counter[str]:
    return Counter(row[0] for row in kb.connection.execute("SELECT status FROM kg_ledger"))


def ages(kb: KnowledgeBase) -> set[str]:
    return {tail for _, relation, tail in facts(kb) if relation == "age"}


# There and back ------------------------------------------------------------------------


@both
def test_a_batch_gives_what_a_run_gives(kb: KnowledgeBase, tmp_path: Path, model: ScriptedModel, format: str) -> None:
    with place(tmp_path / "direct") as direct:
        extract(direct)
        expected = rows_of(direct)
    model.calls.clear()
    report = export(kb, tmp_path / "requests.jsonl", format)
    asked = requests(tmp_path / "requests.jsonl")
    assert (report.windows, report.left, report.stopped, len(asked)) == (WINDOWS, 0, "", WINDOWS)
    assert windows(kb) == {"exported": WINDOWS} and calls(kb) == {"reserved": WINDOWS}
    assert report.tokens == kb.connection.execute("SELECT sum(reserved_tokens) FROM kg_ledger").fetchone()[0]
    done = kb.import_replies(write(tmp_path / "replies.jsonl", reversed(answers(asked, say))))
    assert (done.done, done.failed, done.skipped, done.waiting) == (WINDOWS, 0, [], 0)
    assert differences(expected, rows_of(kb)) == []
    assert model.calls == []  # nobody was asked here
    used = [usage(request, say(prompts(request)[0])) for request in asked]
    assert (done.input_tokens, done.output_tokens) == (sum(n for n, _ in used), sum(n for _, n in used))
    found = kb.connection.execute(
        "SELECT purpose, model, status, input_tokens, output_tokens FROM kg_ledger ORDER BY id"
    )
    assert [tuple(row) for row in found] == [("extract", "scripted", "settled", *pair) for pair in used]


def test_a_request_in_the_shape_of_openai(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl", limit=1)
    (line,) = requests(tmp_path / "requests.jsonl")
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert re.fullmatch(r"kg-[0-9a-f]{32}-1", line["custom_id"])
    assert list(line["body"]) == ["model", "messages", "max_tokens", "response_format"]
    assert line["body"]["model"] == "scripted" and line["body"]["max_tokens"] == 4_000
    bound = line["body"]["response_format"]["json_schema"]
    assert line["body"]["response_format"]["type"] == "json_schema" and list(bound) == ["name", "schema"]
    assert set(bound["schema"]["properties"]) == {"entities", "attributes", "triples", "proposals"}
    assert "Mira knows Jonas" in prompts(line)[0]


def test_a_request_in_the_shape_of_anthropic(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl", "anthropic", limit=1)
    (line,) = requests(tmp_path / "requests.jsonl")
    assert list(line) == ["custom_id", "params"]
    assert list(line["params"]) == ["model", "max_tokens", "system", "messages"]
    assert line["params"]["max_tokens"] == 4_000
    assert [message["role"] for message in line["params"]["messages"]] == ["user"]
    assert "Reply with one JSON object" in line["params"]["system"]


def test_models_by_the_names_and_options_of_their_provider() -> None:
    class Thinking(llm.Options):
        reasoning_effort: str | None = None
        max_tokens: int | None = None

    class Model:
        model_id, model_name, claude_model_id, Options = "mine", "theirs", "", Thinking

    request = Request("extract", None, "Who?", None)
    options = {"reasoning_effort": "low", "max_tokens": 7, "json_object": True, "seed": 3}
    assert request_body("openai", Model, request, options, 99) == {
        "model": "theirs", "messages": [{"role": "user", "content": "Who?"}], "max_completion_tokens": 99,
        "reasoning_effort": "low", "seed": 3,
    }  # fmt: skip
    Model.claude_model_id = "claude-a-1"
    body = request_body("anthropic", Model, request, {"temperature": 0.0}, 99)
    assert (body["model"], body["temperature"], "system" in body) == ("claude-a-1", 0.0, False)
    with pytest.raises(ValueError, match="The option seed of claude-a-1 cannot be written into a batch for Anthropic"):
        request_body("anthropic", Model, request, {"seed": 3}, 99)


def test_which_windows(kb: KnowledgeBase, tmp_path: Path) -> None:
    id_ = kb.connection.execute("SELECT id FROM kg_documents WHERE uri = 'v/n005.md'").fetchone()[0]
    assert export(kb, tmp_path / "a.jsonl", documents=[id_]).windows == 1
    assert "Entry 5" in prompts(requests(tmp_path / "a.jsonl")[0])[0]
    assert export(kb, tmp_path / "b.jsonl", limit=2).windows == 2
    assert export(kb, tmp_path / "c.jsonl").windows == WINDOWS - 3
    empty = export(kb, tmp_path / "d.jsonl")
    assert (empty.windows, empty.stopped, (tmp_path / "d.jsonl").exists()) == (0, "", False)
    assert kb.forget_exported([id_]) == 1
    assert windows(kb) == {"exported": WINDOWS - 1, "planned": 1}


def test_notes_that_are_alike_have_requests_of_their_own(tmp_path: Path) -> None:
    twins = {f"{folder}/same.md": "# Same\n\nMira knows Otto.\n" + "\nIt rained." * 60 for folder in "abc"}
    with place(tmp_path / "twins", twins) as kb:
        export(kb, tmp_path / "requests.jsonl")
        asked = requests(tmp_path / "requests.jsonl")
        assert len({prompts(request) for request in asked}) < len(asked)
        assert len({request["custom_id"] for request in asked}) == len(asked)
        done = kb.import_replies(write(tmp_path / "replies.jsonl", answers(asked, say)))
        assert done.done == len(asked)
        assert kb.check() == []


# Stop, go on, again ---------------------------------------------------------------------


def test_what_is_exported_is_not_asked_meanwhile(kb: KnowledgeBase, tmp_path: Path, model: ScriptedModel) -> None:
    export(kb, tmp_path / "requests.jsonl", limit=5)
    assert extract(kb).done == WINDOWS - 5
    put(kb, {"new.md": "# New\n\nAda is 99.\n"})
    assert extract(kb).done == 1
    assert extract(kb, again=True).done == WINDOWS - 5 + 1
    assert windows(kb)["exported"] == 5
    assert len({call.prompt for call in model.calls}) == WINDOWS - 5 + 1
    assert kb.forget_exported() == 5
    assert calls(kb)["released"] == 5
    assert extract(kb).done == 5


def test_replies_come_in_parts_and_more_than_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl")
    lines = answers(requests(tmp_path / "requests.jsonl"), say)
    first = kb.import_replies(write(tmp_path / "first.jsonl", lines[:3]))
    assert (first.done, first.waiting) == (3, WINDOWS - 3)
    path = kb.path
    kb.close()
    with KnowledgeBase.open(path) as again:
        second = again.import_replies(write(tmp_path / "second.jsonl", [*lines[2:], *lines[5:]]))
        assert (second.done, second.repeated, second.waiting) == (WINDOWS - 3, 1 + WINDOWS - 5, 0)
        before = dump(again.connection)
        third = again.import_replies(write(tmp_path / "all.jsonl", lines))
        assert (third.done, third.repeated, third.input_tokens) == (0, WINDOWS, 0)
        assert dump(again.connection) == before
        assert calls(again) == {"settled": WINDOWS}


def test_a_line_is_stored_whole_or_not_at_all(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_graphrag.extract.commit import Committer

    export(kb, tmp_path / "requests.jsonl")
    replies = write(tmp_path / "replies.jsonl", answers(requests(tmp_path / "requests.jsonl"), say))
    done, count = Committer.done, iter(range(100))

    def dies(self: Committer, *arguments: Any) -> int:
        kept = done(self, *arguments)
        if next(count) == 3:
            raise KeyboardInterrupt
        return kept

    monkeypatch.setattr(Committer, "done", dies)
    with pytest.raises(KeyboardInterrupt):
        kb.import_replies(replies)
    assert calls(kb) == {"settled": 3, "reserved": WINDOWS - 3}
    assert windows(kb) == {"done": 3, "exported": WINDOWS - 3}
    assert kb.import_replies(replies).done == WINDOWS - 3


def test_an_export_that_fails_leaves_nothing(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            export(kb, tmp_path / "requests.jsonl")
    assert (windows(kb), calls(kb)) == ({"planned": WINDOWS}, {})
    assert [path.name for path in tmp_path.iterdir() if path.name != "one" and path.name != "user"] == []
    export(kb, tmp_path / "requests.jsonl")
    ids = [line["custom_id"] for line in requests(tmp_path / "requests.jsonl")]
    assert all(id_.endswith("-1") for id_ in ids)
    with place(tmp_path / "anew") as anew:  # the same notes in another file: the same requests
        export(anew, tmp_path / "anew.jsonl")
        assert [line["custom_id"] for line in requests(tmp_path / "anew.jsonl")] == ids
        done = anew.import_replies(write(tmp_path / "old.jsonl", answers(requests(tmp_path / "requests.jsonl"), say)))
        assert done.done == WINDOWS


def test_a_run_takes_windows_while_an_export_is_prepared(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_graphrag.extract import batch_export

    prepare = batch_export._prepare

    def meanwhile(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        assert extract(kb, limit=3).done == 3
        put(kb, {"n004.md": "# Entry 4\n\nAda is 99.\n"})
        return prepared

    monkeypatch.setattr(batch_export, "_prepare", meanwhile)
    report = export(kb, tmp_path / "requests.jsonl")
    asked = requests(tmp_path / "requests.jsonl")
    assert report.windows == len(asked) == windows(kb)["exported"] == WINDOWS - 4
    assert calls(kb) == {"settled": 3, "reserved": WINDOWS - 4, "released": 3}
    held = kb.connection.execute("SELECT sum(reserved_tokens) FROM kg_ledger WHERE status = 'reserved'")
    assert report.tokens == held.fetchone()[0]


def test_what_is_set_aside_outlives_the_process(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl")
    kb.connection.execute("UPDATE kg_ledger SET at = '2020-01-01T00:00:00+00:00'")
    kb.connection.execute("UPDATE kg_extractions SET started = '2020-01-01T00:00:00+00:00'")
    with Ledger.open(kb.path) as ledger:
        assert ledger.recover() == 0
    assert extract(kb).windows == 0
    assert (windows(kb), calls(kb)) == ({"exported": WINDOWS}, {"reserved": WINDOWS})


def test_what_was_taken_back_may_still_be_answered(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl")
    asked = requests(tmp_path / "requests.jsonl")
    kb.forget_exported()
    assert extract(kb, limit=3).done == 3  # paid once more: the person said that nothing was sent
    late = kb.import_replies(write(tmp_path / "replies.jsonl", [*answers(asked, say), expired(asked[0])]))
    assert (late.done, late.unused, late.repeated) == (WINDOWS - 3, 3, 1)
    assert calls(kb) == {"settled": WINDOWS + 3}  # all that was paid is in the ledger
    assert windows(kb) == {"done": WINDOWS}


# Errors ---------------------------------------------------------------------------------


@both
def test_errors_and_what_nobody_got_to(kb: KnowledgeBase, tmp_path: Path, format: str) -> None:
    export(kb, tmp_path / "requests.jsonl", format)
    asked = requests(tmp_path / "requests.jsonl")
    lines = [*answers(asked[3:], say), error(asked[0]), error(asked[1]), expired(asked[2])]
    done = kb.import_replies(write(tmp_path / "replies.jsonl", lines))
    assert (done.done, done.failed, done.unasked, done.waiting) == (WINDOWS - 3, 2, 1, 0)
    assert dict(done.errors) == {"no boats on this street": 2}
    assert windows(kb) == {"done": WINDOWS - 3, "failed": 2, "planned": 1}
    assert calls(kb) == {"settled": WINDOWS - 3, "released": 3}
    export(kb, tmp_path / "second.jsonl", format)
    second = requests(tmp_path / "second.jsonl")
    assert len(second) == 3 and {line["custom_id"][-2:] for line in second} == {"-2"}
    before = dump(kb.connection)
    assert kb.import_replies(tmp_path / "replies.jsonl").repeated == WINDOWS  # old errors are not news
    assert dump(kb.connection) == before
    assert kb.import_replies(write(tmp_path / "more.jsonl", answers(second, say))).done == 3
    assert windows(kb) == {"done": WINDOWS}


def test_a_reply_that_cannot_be_used_or_did_not_fit(tmp_path: Path) -> None:
    texts = {f"n{n}.md": f"# N{n}\n\nMira is {n}.\n" for n in range(6)}
    with place(tmp_path / "small", texts) as kb:
        export(kb, tmp_path / "requests.jsonl", window_tokens=60)
        asked = requests(tmp_path / "requests.jsonl")
        assert len(asked) >= 2
        cut = say(prompts(asked[0])[0])
        lines = [reply(asked[0], cut[: len(cut) // 2]), reply(asked[1], "I would rather not.")]
        done = kb.import_replies(write(tmp_path / "replies.jsonl", lines))
        assert (done.done, done.halved, done.failed) == (0, 1, 1)
        row = kb.connection.execute("SELECT reply, error FROM kg_extractions WHERE status = 'failed'").fetchone()
        assert tuple(row) == ("I would rather not.", "no JSON")
        assert calls(kb)["settled"] == 2  # paid all the same
        kb.forget_exported()
        assert extract(kb, window_tokens=60).failed == 0
        assert ages(kb) == {str(n) for n in range(6)}
        assert kb.check() == []


def test_notes_that_have_changed_meanwhile(tmp_path: Path, model: ScriptedModel) -> None:
    texts = {f"n{n}.md": f"# N{n}\n\nMira is {n}.\n" for n in range(5)}
    with place(tmp_path / "small", texts) as kb:
        assert export(kb, tmp_path / "requests.jsonl", window_tokens=2000).windows == 1
        (asked,) = requests(tmp_path / "requests.jsonl")
        (kb.path.parent / "v" / "n3.md").unlink()
        put(kb, {"n1.md": "# N1\n\nMira is 77.\n"})
        kb.remove(["v/n3.md"])
        done = kb.import_replies(write(tmp_path / "replies.jsonl", answers([asked], say)))
        assert (done.done, done.changed) == (1, 2)
        assert ages(kb) == {"0", "2", "4"}
        assert extract(kb, window_tokens=2000).calls == 1
        assert ages(kb) == {"0", "2", "4", "77"}
        assert "Mira is 77" in model.calls[0].prompt and "Mira is 0" not in model.calls[0].prompt
        assert kb.check() == []


def test_notes_that_are_gone(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl")
    kb.remove(["v"])
    done = kb.import_replies(write(tmp_path / "replies.jsonl", answers(requests(tmp_path / "requests.jsonl"), say)))
    assert (done.done, done.unused) == (0, WINDOWS)
    assert calls(kb) == {"settled": WINDOWS} and done.input_tokens > 0
    assert kb.connection.execute("SELECT count(*) FROM kg_evidence").fetchone()[0] == 0


@both
def test_a_reply_of_another_model(kb: KnowledgeBase, tmp_path: Path, format: str) -> None:
    export(kb, tmp_path / "requests.jsonl", format, limit=2)
    asked = requests(tmp_path / "requests.jsonl")
    lines = [reply(asked[0], say(prompts(asked[0])[0]), "other"), reply(asked[1], say(""), "scripted-2026-01-02")]
    path = write(tmp_path / "replies.jsonl", lines)
    done = kb.import_replies(path)
    assert (done.done, len(done.skipped), done.waiting) == (1, 1, 1)
    assert done.skipped[0] == (1, "is of the model other, not of scripted; --any-model takes it")
    again = kb.import_replies(path, any_model=True)
    assert (again.done, again.repeated, again.waiting) == (1, 1, 0)


HOSTILE = [
    (b"", None),
    (b"not json", "is not JSON"),
    (b"\xff\xfe\x00", "is not JSON"),
    (b"[" * 100_000, "is not JSON"),
    (b"[]", "is no JSON object"),
    (b"{}", "has no custom_id"),
    (b'{"custom_id": 7, "response": {}}', "has no custom_id"),
    (b'{"custom_id": "x"}', "has neither a response nor a result"),
    (b'{"custom_id": "x", "body": {}}', "is a request; the replies are in the file that the provider returns"),
    (b'{"custom_id": "x", "response": {"status_code": 200, "body": []}}', "has a response without a body"),
    (b'{"custom_id": "x", "response": {"status_code": 200, "body": {"choices": [7]}}}', "without a message"),
    (b'{"custom_id": "x", "result": {"type": "excellent"}}', "none of succeeded, errored, canceled and expired"),
    (b'{"custom_id": "x", "result": {"type": "expired"}}', "answers x, which was not exported"),
    (b'{"custom_id": "' + b"y" * 500 + b'", "result": {"type": "expired"}}', "y" * 80 + ", which was not exported"),
]


def test_lines_that_are_wrong_are_refused_alone(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl")
    lines: list[Any] = [line for line, _ in HOSTILE]
    lines.insert(5, answers(requests(tmp_path / "requests.jsonl")[:1], say)[0])
    done = kb.import_replies(write(tmp_path / "replies.jsonl", [b"\xef\xbb\xbf", *lines]))
    assert done.done == 1 and done.waiting == WINDOWS - 1
    wanted = [(2 + at + (at >= 5), why) for at, (_, why) in enumerate(HOSTILE) if why]
    assert [number for number, _ in done.skipped if number > 1] == [number for number, _ in wanted]
    assert all(why in said for (_, why), (_, said) in zip(wanted, done.skipped[1:], strict=True))


@both
@pytest.mark.parametrize("value", [None, -5, True, 1e300, "12", [], 10**30])
def test_usage_that_is_no_number_is_counted(kb: KnowledgeBase, tmp_path: Path, format: str, value: Any) -> None:
    export(kb, tmp_path / "requests.jsonl", format, limit=1)
    (line,) = answers(requests(tmp_path / "requests.jsonl"), say)
    holder = line["result"]["message"] if format == "anthropic" else line["response"]["body"]
    holder["usage"] = dict.fromkeys(holder["usage"], value)
    done = kb.import_replies(write(tmp_path / "replies.jsonl", [line]))
    assert done.done == 1
    assert 300 < done.input_tokens < 3_000 and 50 < done.output_tokens < 500


def test_a_refusal_is_paid_and_failed(kb: KnowledgeBase, tmp_path: Path) -> None:
    export(kb, tmp_path / "requests.jsonl", limit=1)
    (line,) = answers(requests(tmp_path / "requests.jsonl"), say)
    line["response"]["body"]["choices"][0]["message"] |= {"content": None, "refusal": "I\nwill not"}
    done = kb.import_replies(write(tmp_path / "replies.jsonl", [line]))
    assert (done.failed, dict(done.errors), calls(kb)) == (1, {"refused: I will not": 1}, {"settled": 1})


KEYS = (
    "custom_id response result error status_code body choices message content usage type text model code "
    "prompt_tokens input_tokens refusal stop_reason"
).split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_no_line_raises_anything_else(value: Any) -> None:
    holder = value if isinstance(value, dict) else {"response": value, "result": value}
    replied = {"status_code": 200, "body": value}
    succeeded = {"type": "succeeded", "message": value}
    for line in (value, {**holder, "custom_id": "x"}, {"custom_id": "x", "response": replied},
                 {"custom_id": "x", "result": succeeded}):  # fmt: skip
        try:
            found = read_line(json.dumps(line).encode())
        except LineError:
            continue
        assert isinstance(found.text, str) and isinstance(found.error, str) and found.custom_id


# Money ----------------------------------------------------------------------------------


def test_the_budget_is_committed_at_export(kb: KnowledgeBase, tmp_path: Path, model: ScriptedModel) -> None:
    report = export(kb, tmp_path / "requests.jsonl", budget="20ktok")
    assert report.stopped == "budget" and 0 < report.windows < WINDOWS
    assert (
        report.left == WINDOWS - report.windows and "the budget of this run, 20,000 tokens, has" in report.why.lower()
    )
    assert report.tokens <= 20_000 < report.tokens * (report.windows + 1) / report.windows
    assert len(requests(tmp_path / "requests.jsonl")) == report.windows
    assert windows(kb) == {"exported": report.windows, "planned": report.left}
    with Ledger.open(kb.path) as ledger:  # nobody waits for what a batch holds
        ledger.set_budget(Budget(report.tokens + 100, "tokens"))
    stopped = extract(kb)
    assert (stopped.stopped, stopped.calls, len(model.calls)) == ("budget", 0, 0)
    nothing = export(kb, tmp_path / "more.jsonl")
    assert (nothing.windows, nothing.stopped, (tmp_path / "more.jsonl").exists()) == (0, "budget", False)
    kb.import_replies(write(tmp_path / "replies.jsonl", answers(requests(tmp_path / "requests.jsonl"), say)))
    assert extract(kb).done > 0  # what was set aside and not needed is free again
    spent = kb.connection.execute("SELECT sum(input_tokens + output_tokens) FROM kg_ledger").fetchone()[0]
    assert spent <= report.tokens + 100


def test_the_price_is_that_of_the_table(kb: KnowledgeBase, tmp_path: Path) -> None:
    set_price("scripted", 2.0, 8.0)
    report = export(kb, tmp_path / "requests.jsonl", budget="1usd")
    held = kb.connection.execute("SELECT sum(reserved_cost) FROM kg_ledger").fetchone()[0]
    assert report.cost == pytest.approx(held) and held > 8 * 4_000 * WINDOWS / 1e6
    done = kb.import_replies(write(tmp_path / "replies.jsonl", answers(requests(tmp_path / "requests.jsonl"), say)))
    assert done.cost == pytest.approx((2 * done.input_tokens + 8 * done.output_tokens) / 1e6)
    assert kb.connection.execute("SELECT sum(cost) FROM kg_ledger").fetchone()[0] == pytest.approx(done.cost)


# The command ------------------------------------------------------------------------------


def run(kb: KnowledgeBase, *arguments: object) -> Any:
    from llm_graphrag.plugin import graphrag

    return CliRunner().invoke(graphrag, ["extract", "-d", str(kb.path), *map(str, arguments)])


def test_the_command(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    asked = run(kb, "-m", "scripted", "--export-requests", file)
    assert asked.exit_code == 2 and f"{WINDOWS} windows of {WINDOWS} documents" in asked.output
    written = run(kb, "-m", "scripted", "--export-requests", file, "--yes")
    assert written.exit_code == 0, written.output
    assert f"{file}: {WINDOWS} requests to scripted. Set aside:" in written.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = run(kb, "-m", "scripted", "--export-requests", file, "--yes")
    assert again.exit_code == 1 and "exists already" in again.output
    waiting = run(kb, "-m", "scripted", "--yes")
    from llm_graphrag.plugin import graphrag

    status = CliRunner().invoke(graphrag, ["status", "-d", str(kb.path)])
    assert f"{WINDOWS} windows wait for the replies of a batch" in status.output
    assert "There is nothing new to read.\nWindows that wait for the replies of a batch: 8" in waiting.output
    lines: list[Any] = answers(requests(file), say)
    result = run(kb, "--import-replies", write(tmp_path / "replies.jsonl", [*lines[:5], b"{"]))
    assert result.exit_code == 3, result.output
    assert "Replies: 5 read, 1 skipped." in result.output and "Line 6 is not JSON" in result.output
    assert f"Windows that wait for the replies of a batch: {WINDOWS - 5}" in result.output
    assert run(kb, "--forget-exported").output.startswith("3 windows can be asked about again")
    rest = run(kb, "-m", "scripted", "--yes", "--json")
    assert json.loads(rest.output)["done"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--import-replies", "none.jsonl"], 2, "File 'none.jsonl' does not exist"),
        (["--import-replies", __file__, "--from-replies"], 2, "--from-replies and --import-replies do not go together"),
        (["--export-requests", "a", "--dask", "tcp://x"], 2, "--export-requests and --dask do not go together"),
        (["--any-model"], 2, "--any-model goes with --import-replies"),
        (["-m", "scripted", "--export-requests", "no/such/folder.jsonl", "--yes"], 2, "there is no folder no/such"),
        (["-m", "scripted", "--export-requests", "a", "--two-step"], 2, "--export-requests and --two-step do not go"),
    ],
)
def test_what_cannot_be_done_is_said(kb: KnowledgeBase, arguments: list[str], code: int, said: str) -> None:
    result = run(kb, *arguments)
    assert result.exit_code == code, result.output
    assert said in result.output and "Traceback" not in result.output
