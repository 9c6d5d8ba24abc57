"""Every way in which a call can go: what the caller gets, what the ledger says, what llm logs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from random import Random
from typing import Any

import llm
import pytest
from openai_stub import Answer, OpenAIStub
from scripted_model import (
    Break,
    Delay,
    Hang,
    HttpError,
    ScriptedModel,
    command,
    environment,
    from_json,
    llm_user,  # noqa: F401 - a fixture
    registered,
    scripted,  # noqa: F401 - a fixture
    tokens,
)

from llm_graphrag import calls, failures
from llm_graphrag.failures import failure_of
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import (
    Budget,
    BudgetExceeded,
    Ledger,
    estimate_prompt_tokens,
    estimate_rules_tokens,
    estimate_schema_tokens,
)
from llm_graphrag.models import Caller, CallFailed, ModelError, Reply, Stopped
from llm_graphrag.sources.rows.open import RowOptions
from llm_graphrag.store.connection import open_to_write
from llm_graphrag.store.model_calls import OWN_THREAD, used

Scripted = Callable[..., ScriptedModel]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 0.005)


@pytest.fixture
def ledger(tmp_path: Path, llm_user: Path) -> Iterator[Ledger]:  # noqa: F811
    """The ledger of an empty file. llm's logging is off, for a new log takes a second: see ``logging``."""
    (llm_user / "logs-off").touch()
    open_to_write(tmp_path / "kb.db", create=True).close()
    with Ledger.open(tmp_path / "kb.db", run="r1") as opened:
        yield opened


@pytest.fixture
def logging(ledger: Ledger, llm_user: Path) -> Path:  # noqa: F811
    """The log of llm, which is on."""
    (llm_user / "logs-off").unlink()
    return llm_user / "logs.db"


def states(ledger: Ledger) -> list[tuple[Any, ...]]:
    rows = ledger.connection.execute("SELECT status, input_tokens, output_tokens FROM kg_ledger ORDER BY id")
    return [tuple(row) for row in rows]


def turns(log: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(log)) as connection:
        return connection.execute("SELECT id, model, input_tokens, output_tokens FROM turns ORDER BY id").fetchall()


# A call that goes well -----------------------------------------------------------------


def test_a_call(scripted: Scripted, ledger: Ledger, logging: Path) -> None:  # noqa: F811
    model = scripted(["It was Ana Ruiz."], aliases=["s"])
    caller = Caller("s", ledger, max_output=500, options={"temperature": 0})
    shown: list[str] = []
    thread: list[str] = []
    reply = caller.call(
        "answer", "Be brief.", "Who mended the clock?",
        on_text=lambda text: (shown.append(text), thread.append(threading.current_thread().name)),
    )  # fmt: skip
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("It was Ana Ruiz.", 8, 5)
    assert (reply.counted, reply.attempts, reply.cost) == (False, 1, None)
    assert shown == ["It ", "was ", "Ana ", "Ruiz."]
    assert set(thread) == {threading.current_thread().name}
    (call,) = model.calls
    assert (call.prompt, call.system, call.schema) == ("Who mended the clock?", "Be brief.", None)
    assert call.options == {"max_tokens": 500, "temperature": 0}
    assert (caller.model_id, caller.supports_schema, caller.knows_output_limit) == ("scripted", True, True)
    assert states(ledger) == [("settled", 8, 5)]
    assert turns(logging) == [(reply.log_id, "scripted", 8, 5)]
    assert reply.ledger_id == 1


@pytest.mark.usefixtures("logging")
def test_our_file_does_not_get_the_tables_of_llm(scripted: Scripted, ledger: Ledger, tmp_path: Path) -> None:  # noqa: F811
    scripted()
    Caller("scripted", ledger).call("answer", None, "Hello")
    with closing(sqlite3.connect(tmp_path / "kb.db")) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert not names & {"turns", "threads", "messages", "parts", "responses", "conversations"}
    assert "kg_ledger" in names


def test_the_default_model(scripted: Scripted, ledger: Ledger, llm_user: Path) -> None:  # noqa: F811
    scripted()
    (llm_user / "default_model.txt").write_text("scripted")
    assert Caller(None, ledger).model_id == "scripted"
    (llm_user / "default_model.txt").write_text("scriptd")
    with pytest.raises(ModelError, match=r"no model called scriptd, llm's default model, in llm. Is it scripted"):
        Caller(None, ledger)


def test_no_such_model(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted()
    with pytest.raises(ModelError, match=r"^There is no model called gpt-4o-minni in llm. Is it gpt-4o-mini"):
        Caller("gpt-4o-minni", ledger)
    with pytest.raises(ModelError, match=r"^There is no model called zzzz in llm. llm models lists all"):
        Caller("zzzz", ledger)


def test_a_model_that_is_only_asynchronous(ledger: Ledger) -> None:
    class Later(llm.AsyncModel):
        model_id = "later"

        async def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
            yield "never"

    with registered(Later()), pytest.raises(ModelError, match="later has no synchronous form"):
        Caller("later", ledger)


def test_options_that_llm_keeps_for_the_model(scripted: Scripted, ledger: Ledger, llm_user: Path) -> None:  # noqa: F811
    model = scripted()
    kept = {"scripted": {"temperature": 0.5, "max_tokens": 700}}
    (llm_user / "model_options.json").write_text(json.dumps(kept))
    Caller("scripted", ledger).call("x", None, "one", max_output=200)
    Caller("scripted", ledger, options={"max_tokens": "50", "temperature": "0.1"}).call("x", None, "two")
    assert [call.options for call in model.calls] == [
        {"temperature": 0.5, "max_tokens": 700},
        {"temperature": 0.1, "max_tokens": 50},
    ]
    with pytest.raises(ModelError, match="scripted does not take these options: warmth: Extra inputs"):
        Caller("scripted", ledger, options={"warmth": 1})
    with pytest.raises(ModelError, match="temperature: Input should be a valid number"):
        Caller("scripted", ledger, options={"temperature": "hot"})


def test_the_reply_is_limited(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted("one two six ten")
    caller = Caller("scripted", ledger, max_output=3)
    assert caller.call("x", None, "count").text == "one two six"
    assert caller.call("x", None, "count", max_output=2).text == "one two"
    Caller("scripted", ledger).call("x", None, "count")
    assert [call.options["max_tokens"] for call in model.calls] == [3, 2, 4096]


def test_a_model_that_takes_no_longer_limit(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    """Older Claude models refuse what is more than they can write."""
    from pydantic import field_validator

    class Options(llm.Options):
        max_tokens: int | None = 4096

        @field_validator("max_tokens")
        def check(cls, value: int | None) -> int | None:
            if value is not None and value > 4096:
                raise ValueError("max_tokens must be in range 1-4096")
            return value

    model = scripted()
    model.Options = Options  # type: ignore[misc]
    Caller("scripted", ledger, max_output=8000).call("x", None, "hello")
    assert model.calls[0].options == {"max_tokens": 4096}


@pytest.mark.parametrize("name", ["max_output_tokens", "num_predict", "max_completion_tokens"])
def test_options_that_limit_the_reply(scripted: Scripted, ledger: Ledger, name: str) -> None:  # noqa: F811
    from pydantic import create_model

    model = scripted()
    model.Options = create_model("Options", __base__=llm.Options, **{name: (int | None, None)})  # type: ignore
    caller = Caller("scripted", ledger, max_output=99)
    caller.call("x", None, "hello")
    assert caller.knows_output_limit
    assert model.calls[0].options == {name: 99}


def test_a_model_without_a_limit(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted("as much as it likes", limit=False)
    caller = Caller("scripted", ledger, max_output=99)
    assert not caller.knows_output_limit
    assert caller.call("x", None, "hello").text == "as much as it likes"
    assert model.calls[0].options == {}
    ledger.set_budget(Budget.parse("100ktok"), ledger.run_scope)
    with pytest.raises(BudgetExceeded, match="--soft-budget"):
        caller.call("x", None, "hello")
    ledger.set_budget(Budget.parse("100ktok", soft=True), ledger.run_scope)
    caller.call("x", None, "hello")
    assert len(model.calls) == 2


def test_a_schema_is_passed_or_written_out(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    able, unable = scripted("{}"), scripted("{}", model_id="unable", schema=False)
    Caller("scripted", ledger).call("x", "Rules.", "Text.", SCHEMA)
    caller = Caller("unable", ledger)
    caller.call("x", "Rules.", "Text.", SCHEMA)
    assert (able.calls[0].prompt, able.calls[0].schema) == ("Text.", SCHEMA)
    assert unable.calls[0].schema is None
    assert not caller.supports_schema
    assert unable.calls[0].prompt.startswith("Text.\n\nReply with JSON only, in one fenced block")
    assert json.loads(unable.calls[0].prompt.split("```json")[-1].rstrip("`\n")) == SCHEMA
    estimates = [row[0] for row in ledger.connection.execute("SELECT estimated_tokens FROM kg_ledger ORDER BY id")]
    written = estimate_schema_tokens(json.dumps(SCHEMA, separators=(",", ":")))
    assert estimates[0] == 12 + estimate_rules_tokens("Rules.") + estimate_prompt_tokens("Text.") + written
    assert estimates[1] > estimates[0]


def test_a_model_without_system_prompts(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted()
    model.allows_system_prompt = False  # type: ignore[attr-defined]
    Caller("scripted", ledger).call("x", "Rules.", "Text.")
    assert (model.calls[0].system, model.calls[0].prompt) == (None, "Rules.\n\nText.")


def test_usage_that_is_not_reported_is_counted(scripted: Scripted, ledger: Ledger, logging: Path) -> None:  # noqa: F811
    scripted("It was Ana Ruiz of the clock tower.", usage=False)
    reply = Caller("scripted", ledger).call("x", None, "Who mended the clock?")
    assert reply.counted
    assert reply.input_tokens == 12 + estimate_prompt_tokens("Who mended the clock?") == 18
    assert reply.output_tokens == estimate_prompt_tokens(reply.text) == 10
    assert states(ledger) == [("settled", 18, 10)]
    assert turns(logging)[0][2:] == (None, None)


def test_a_model_that_does_not_stream(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted("in one piece", stream=False)
    assert Caller("scripted", ledger).call("x", None, "hello").text == "in one piece"


# Calls that fail ------------------------------------------------------------------------


def test_a_rate_limit_and_then_a_reply(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([HttpError(429, retry_after=0.3), HttpError(503), "there"])
    reply = Caller("scripted", ledger).call("x", None, "hello")
    assert (reply.text, reply.attempts) == ("there", 3)
    assert [state[0] for state in states(ledger)] == ["released", "released", "settled"]
    assert model.calls[1].at - model.calls[0].at >= 0.3


def test_a_rate_limit_holds_for_the_other_threads(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([HttpError(429, retry_after=0.4), "one", "two"])
    caller = Caller("scripted", ledger)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(caller.call, "x", None, "first")
        time.sleep(0.15)
        second = pool.submit(caller.call, "x", None, "second")
        assert {first.result().text, second.result().text} == {"one", "two"}
    assert all(call.at - model.calls[0].at >= 0.4 for call in model.calls[1:])


def test_no_retry_where_it_does_not_help(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    for status, fatal in ((400, False), (401, True), (403, True), (404, True), (422, False)):
        model = scripted([HttpError(status)], model_id=f"m{status}")
        with pytest.raises(CallFailed, match=f"^m{status}: the server said {status}$") as caught:
            Caller(f"m{status}", ledger).call("x", None, "hello")
        assert (caught.value.fatal, caught.value.status, caught.value.attempts) == (fatal, status, 1)
        assert len(model.calls) == 1
    assert {state[0] for state in states(ledger)} == {"released"}


def test_a_quota_that_is_used_up(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted([HttpError(429, code="insufficient_quota")])
    with pytest.raises(CallFailed) as caught:
        Caller("scripted", ledger).call("x", None, "hello")
    assert (caught.value.fatal, caught.value.status, caught.value.attempts) == (True, 429, 1)


def test_retries_end(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([HttpError(500), HttpError(502), HttpError(429)])
    with pytest.raises(CallFailed, match=r"the server said 429 \(tried 3 times\)") as caught:
        Caller("scripted", ledger, retries=2).call("x", None, "hello")
    assert (caught.value.attempts, caught.value.fatal, len(model.calls)) == (3, False, 3)
    assert [state[0] for state in states(ledger)] == ["released", "lost", "released"]  # a gateway may have lost it


def test_no_key(ledger: Ledger) -> None:
    with pytest.raises(CallFailed, match="gpt-4o-mini: No key found - add one using 'llm keys set openai'") as caught:
        Caller("gpt-4o-mini", ledger).call("x", None, "hello")
    assert (caught.value.fatal, caught.value.attempts) == (True, 1)
    assert states(ledger) == [("released", None, None)]


def test_a_model_that_hangs(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([Hang(), Hang("It was"), "It was Ana."])
    began = time.monotonic()
    reply = Caller("scripted", ledger, timeout=0.2).call("x", None, "Who?")
    assert (reply.text, reply.attempts) == ("It was Ana.", 3)
    assert time.monotonic() - began < 60  # it would hang for an hour
    assert [state[0] for state in states(ledger)] == ["lost", "lost", "settled"]
    assert len(model.calls) == 3
    lost = ledger.connection.execute("SELECT sum(reserved_tokens) FROM kg_ledger WHERE status = 'lost'").fetchone()[0]
    assert used(ledger.connection)["tokens"] == lost + reply.input_tokens + reply.output_tokens


def test_a_slow_model_is_not_cut_off_while_it_writes(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time-out is of silence; as a whole a reply may take several."""

    class Slow(ScriptedModel):
        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
            for word in "a b c d e f".split():
                time.sleep(0.25)
                yield word

    with registered(Slow(model_id="slow")):
        caller = Caller("slow", ledger, timeout=1.2, retries=0)
        assert caller.call("x", None, "spell").text == "abcdef"
        monkeypatch.setattr(calls, "LONGEST_CALL", 1)
        with pytest.raises(CallFailed, match=r"the reply did not end within 1\.2 seconds"):
            caller.call("x", None, "spell")
    assert [state[0] for state in states(ledger)] == ["settled", "lost"]


def test_a_connection_that_breaks(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted([Break("It was", ConnectionResetError("reset by peer")), "It was Ana."])
    assert Caller("scripted", ledger).call("x", None, "Who?").attempts == 2
    assert [state[0] for state in states(ledger)] == ["lost", "settled"]


def test_what_was_shown_is_not_shown_twice(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([Break("It was", ConnectionResetError("reset by peer")), "It was Ana."])
    shown: list[str] = []
    with pytest.raises(CallFailed, match="reset by peer") as caught:
        Caller("scripted", ledger).call("x", None, "Who?", on_text=shown.append)
    assert (shown, caught.value.attempts, len(model.calls)) == (["It was"], 1, 1)


def test_a_connection_that_was_never_made_costs_nothing(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted([ConnectionRefusedError("refused"), "there"])
    assert Caller("scripted", ledger).call("x", None, "hello").attempts == 2
    assert [state[0] for state in states(ledger)] == ["released", "settled"]


def test_an_error_nobody_has_heard_of(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted([RuntimeError("the\nmodel is\n\nbroken"), KeyError("choices"), RuntimeError()])
    caller = Caller("scripted", ledger)
    for said in ("the model is broken", "choices", "RuntimeError"):
        with pytest.raises(CallFailed, match=f"^scripted: {said}$") as caught:
            caller.call("x", None, "hello")
        assert (caught.value.fatal, caught.value.attempts) == (False, 1)
    assert [state[0] for state in states(ledger)] == ["lost"] * 3


def test_a_reader_that_goes_away(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted("one two three")

    def leave(text: str) -> None:
        raise BrokenPipeError("nobody reads this")

    with pytest.raises(BrokenPipeError):
        Caller("scripted", ledger).call("x", None, "hello", on_text=leave)
    assert len(model.calls) == 1
    assert [state[0] for state in states(ledger)] == ["lost"]


# Stopping ---------------------------------------------------------------------------------


def test_stop_ends_waits_at_once(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted([HttpError(429, retry_after=60), "never"])
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        Caller("scripted", ledger, stop=stop).call("x", None, "hello")
    assert time.monotonic() - began < 30  # instead of a minute
    assert len(model.calls) == 1
    with pytest.raises(Stopped):
        Caller("scripted", ledger, stop=stop).call("x", None, "hello")
    assert [state[0] for state in states(ledger)] == ["released"]


def test_stop_lets_a_call_in_flight_finish(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    scripted([Delay(0.4, "finished")])
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert Caller("scripted", ledger, stop=stop).call("x", None, "hello").text == "finished"
    assert [state[0] for state in states(ledger)] == ["settled"]


INTERRUPTED = """
import signal
import sys
from pathlib import Path
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from scripted_model import Hang, ScriptedModel, registered
signal.signal(signal.SIGINT, signal.default_int_handler)  # what started the tests may have it ignored
with registered(ScriptedModel([Hang("It")])), Ledger.open(Path(sys.argv[1])) as ledger:
    try:
        Caller("scripted", ledger).call("x", None, "hello", on_text=lambda text: print("begun", flush=True))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_control_c(ledger: Ledger, llm_user: Path, tmp_path: Path) -> None:  # noqa: F811
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "kb.db")],
        stdout=subprocess.PIPE, text=True, env=environment(llm_user),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.wait(30) == 0
    assert time.monotonic() - began < 60
    assert [state[0] for state in states(ledger)] == ["lost"]


# Budgets ------------------------------------------------------------------------------------


def test_workers_wait_for_one_another_rather_than_give_up(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    """Each reservation is nearly the whole budget, what is used is a sixth of it."""
    model = scripted(lambda prompt, system: Delay(0.05, "word " * 60))
    ledger.set_budget(Budget(400, "tokens"))
    caller = Caller("scripted", ledger, max_output=300)
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(caller.call, "x", None, "hello") for _ in range(4)]
        done = [result for result in results if not result.exception()]
    assert len(done) == len(model.calls) == 2  # 61 each, so that a third does not fit any more
    assert all(isinstance(result.exception(), BudgetExceeded) for result in results if result not in done)
    assert used(ledger.connection)["tokens"] == 122


def test_nothing_is_asked_that_does_not_fit(scripted: Scripted, ledger: Ledger) -> None:  # noqa: F811
    model = scripted()
    ledger.set_budget(Budget.parse("1ktok"))
    with pytest.raises(BudgetExceeded, match=r"4,096 of reply"):
        Caller("scripted", ledger).call("x", None, "hello")
    assert (model.calls, states(ledger)) == ([], [])


# The log of llm -------------------------------------------------------------------------------


def test_logging_can_be_off(scripted: Scripted, ledger: Ledger, logging: Path, llm_user: Path) -> None:  # noqa: F811
    scripted()
    assert Caller("scripted", ledger, log=False).call("x", None, "hello").log_id is None
    (llm_user / "logs-off").touch()
    assert Caller("scripted", ledger).call("x", None, "hello").log_id is None
    assert not logging.exists()
    assert len(states(ledger)) == 2


def test_a_log_that_cannot_be_written(
    scripted: Scripted,  # noqa: F811
    ledger: Ledger,
    logging: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scripted("a reply")
    logging.write_bytes(b"this is no database, and long enough to be seen as none " * 20)
    caller = Caller("scripted", ledger)
    for _ in range(2):
        reply = caller.call("x", None, "hello")
        assert (reply.text, reply.log_id) == ("a reply", None)
    said = capsys.readouterr().err
    assert said.count("llm's log could not be written (file is not a database)") == 1
    assert [state[0] for state in states(ledger)] == ["settled", "settled"]


def test_a_log_that_is_locked(
    scripted: Scripted,  # noqa: F811
    ledger: Ledger,
    logging: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted("a reply")
    monkeypatch.setattr("llm_graphrag.models.LOG_PATIENCE", 0.1)
    caller = Caller("scripted", ledger)
    assert caller.call("x", None, "hello").log_id
    with closing(sqlite3.connect(logging, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert caller.call("x", None, "hello").log_id is None
        assert time.monotonic() - began < 9
    assert caller.call("x", None, "hello").log_id
    assert len(turns(logging)) == 2


def test_a_log_that_others_write_to_is_waited_for(scripted: Scripted, ledger: Ledger, logging: Path) -> None:  # noqa: F811
    """Another run, or llm itself, is in the middle of a write; readers are let in meanwhile."""
    scripted("a reply")
    caller = Caller("scripted", ledger)
    assert caller.call("x", None, "hello").log_id
    with closing(sqlite3.connect(logging, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, other.execute, ["COMMIT"])
        timer.start()
        assert caller.call("x", None, "hello").log_id
        timer.join()
    assert len(turns(logging)) == 2


def test_our_own_calls_are_not_read_as_conversations(
    scripted: Scripted,  # noqa: F811
    ledger: Ledger,
    logging: Path,
    tmp_path: Path,
) -> None:
    """Nor those made for another knowledge base; what a person asks is read."""
    from click.testing import CliRunner
    from llm.cli import cli

    scripted("Ana Ruiz mended it.")
    Caller("scripted", ledger).call("extract", "Extract.", "A note on the clock.")
    asked = CliRunner().invoke(cli, ["-m", "scripted", "Who mended the clock?"])
    assert asked.exit_code == 0, asked.output
    with closing(sqlite3.connect(logging)) as connection:
        threads = [row[0] for row in connection.execute("SELECT thread_id FROM turns ORDER BY id")]
    assert [thread.startswith(OWN_THREAD) for thread in threads] == [True, False]
    with KnowledgeBase.open(tmp_path / "other.db", create=True) as other:
        report = other.add(["llm-logs"], rows=RowOptions(logs=logging))
        assert report.new == 1
        (title,) = other.connection.execute("SELECT title FROM kg_documents").fetchone()
    assert title == "Who mended the clock?"


# A provider over HTTP ---------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
def test_a_provider(ledger: Ledger, llm_user: Path, stream: bool) -> None:  # noqa: F811
    answers: list[str | Answer] = [
        Answer(status=429, headers={"Retry-After": "1"}),
        Answer(status=503, headers={"Retry-After": formatdate(time.time() - 5, usegmt=True)}),
        "Ana Ruiz mended it.",
        Answer(status=400),
        Answer(status=429, code="insufficient_quota"),
    ]
    with OpenAIStub(answers) as stub:
        stub.write_models(llm_user, stream=stream)
        caller = Caller("stub", ledger, max_output=300, timeout=5)
        reply = caller.call("x", "Be brief.", "Who mended the clock?", SCHEMA)
        assert (reply.text, reply.attempts, reply.counted) == ("Ana Ruiz mended it.", 3, False)
        assert stub.times[1] - stub.times[0] >= 1
        assert reply.input_tokens + reply.output_tokens == stub.total_tokens
        body = stub.requests[0]
        assert (body["max_tokens"], [message["role"] for message in body["messages"]]) == (300, ["system", "user"])
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA
        with pytest.raises(CallFailed, match="the stub says 400") as caught:
            caller.call("x", None, "hello")
        assert (caught.value.status, caught.value.fatal) == (400, False)
        with pytest.raises(CallFailed) as caught:
            caller.call("x", None, "hello")
        assert (caught.value.status, caught.value.fatal, caught.value.attempts) == (429, True, 1)
    assert len(stub.requests) == 5  # the client has not tried again by itself
    assert [state[0] for state in states(ledger)] == ["released", "released", "settled", "released", "released"]


def test_a_provider_that_hangs_and_one_that_is_not_there(ledger: Ledger, llm_user: Path) -> None:  # noqa: F811
    with OpenAIStub([Answer(delay=1.5), Answer("half a reply that is cut off", cut=True), "whole"]) as stub:
        stub.write_models(llm_user)
        assert Caller("stub", ledger, timeout=0.4).call("x", None, "hello").text == "whole"
    assert [state[0] for state in states(ledger)] == ["lost", "lost", "settled"]
    with pytest.raises(CallFailed, match="Connection error") as caught:
        Caller("stub", ledger, retries=1).call("x", None, "hello")
    assert (caught.value.attempts, caught.value.fatal) == (2, False)
    assert [state[0] for state in states(ledger)[3:]] == ["released", "released"]


def test_the_ledger_counts_what_the_provider_counts(ledger: Ledger, llm_user: Path, logging: Path) -> None:  # noqa: F811
    """Many calls by eight workers, with failures between them: three records that agree to the token."""
    random = Random(3)

    def answer(body: dict[str, Any]) -> str | Answer:
        draw = random.random()
        if draw < 0.25:
            return Answer(status=random.choice([429, 500, 400]))
        return "word " * random.randint(1, 120)

    def work(number: int) -> Reply | None:
        try:
            return caller.call("extract", "Be brief.", f"Note {number}. " * (1 + number % 9), SCHEMA)
        except CallFailed as error:
            assert error.status in (400, 429, 500)
            return None

    with OpenAIStub(answer) as stub:
        stub.write_models(llm_user)
        caller = Caller("stub", ledger, max_output=200, timeout=20)
        with ThreadPoolExecutor(8) as pool:
            replies = [reply for reply in pool.map(work, range(32)) if reply is not None]
    served = [(one.input_tokens, one.output_tokens) for one in stub.served]
    assert sorted((reply.input_tokens, reply.output_tokens) for reply in replies) == sorted(served)
    assert used(ledger.connection)["tokens"] == stub.total_tokens
    assert sorted(turn[2:] for turn in turns(logging)) == sorted(served)
    settled = sum(state[0] == "settled" for state in states(ledger))
    assert settled == len(replies) == len(stub.served) > 15
    assert len(states(ledger)) == len(stub.requests)


# What an exception means ------------------------------------------------------------------------


class ApiError(Exception):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__("api")
        self.__dict__.update(kwargs)


class Answered:
    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.status_code = status
        self.headers = headers or {}


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


class ReadTimeout(Exception): ...


class APIConnectionError(Exception): ...


class ConnectError(Exception): ...


@pytest.mark.parametrize(
    ("error", "status", "charged", "retry", "fatal"),
    [
        (ApiError(status_code=429), 429, False, True, False),
        (ApiError(status=529), 529, False, True, False),
        (ApiError(code=503), 503, False, True, False),
        (ApiError(response=Answered(408)), 408, False, True, False),
        (ApiError(response=Answered(504)), 504, True, True, False),
        (ApiError(response={"ResponseMetadata": {"HTTPStatusCode": 403}}), 403, False, False, True),
        (caused(llm.ModelError("wrapped"), ApiError(response=Answered(500))), 500, False, True, False),
        (ApiError(status_code=501), 501, False, False, False),
        (ApiError(status_code=402), 402, False, False, True),
        (ApiError(status_code=200, code="x"), None, True, False, False),
        (ReadTimeout("slow"), None, True, True, False),
        (TimeoutError(), None, True, True, False),
        (caused(APIConnectionError("no"), ConnectError("refused")), None, False, True, False),
        (caused(APIConnectionError("no"), ReadTimeout("slow")), None, True, True, False),
        (ConnectionResetError("reset"), None, True, True, False),
        (NotImplementedError("no system prompts"), None, False, False, False),
        (llm.NeedsKeyException("no key"), None, False, False, True),
        (ValueError("?"), None, True, False, False),
    ],
)
def test_what_an_exception_means(
    error: BaseException, status: int | None, charged: bool, retry: bool, fatal: bool
) -> None:
    found = failure_of(error, received=False)
    assert (found.status, found.charged, found.retry, found.fatal) == (status, charged, retry, fatal)
    assert failure_of(error, received=True).charged


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ApiError(retry_after=3), 3.0),
        (ApiError(retry_after="2.5"), 2.5),
        (ApiError(headers={"retry-after": "7"}), 7.0),
        (ApiError(response=Answered(429, {"Retry-After": "9"})), 9.0),
        (ApiError(response=Answered(429, {"Retry-After-Ms": "250", "Retry-After": "1"})), 0.25),
        (ApiError(response=Answered(429, {"Retry-After": "86400"})), 120.0),
        (ApiError(response=Answered(429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})), 0.0),
        (ApiError(response=Answered(429, {"Retry-After": "soon"})), None),
        (ApiError(retry_after="nan"), None),
        (ApiError(), None),
        (caused(llm.ModelError("wrapped"), ApiError(retry_after=4)), 4.0),
    ],
)
def test_how_long_a_server_wants_us_to_wait(error: BaseException, seconds: float | None) -> None:
    assert failure_of(error, received=False).retry_after == seconds


def test_a_date_is_a_moment_from_now() -> None:
    error = ApiError(response=Answered(429, {"Retry-After": formatdate(time.time() + 30, usegmt=True)}))
    assert 28 < (failure_of(error, received=False).retry_after or 0) <= 30


def test_pauses_grow_and_are_not_the_same_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 1.0)
    failure = failure_of(HttpError(500), received=False)
    pauses = [{failures.seconds_before_next(failure, number) for _ in range(50)} for number in (1, 2, 3, 9)]
    for found, low, high in zip(pauses, (1, 2, 4, 60), (2, 4, 8, 60), strict=True):
        assert low <= min(found) <= max(found) <= high
    assert len(pauses[0]) > 1


# Costs and switches ------------------------------------------------------------------------------


def test_the_module_is_cheap_to_import() -> None:
    script = "import sys, llm_graphrag.models; print([n for n in ('llm', 'tenacity', 'openai') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_abandoned_call_does_not_keep_the_program_alive(ledger: Ledger, llm_user: Path, tmp_path: Path) -> None:  # noqa: F811
    script = INTERRUPTED.replace('Caller("scripted", ledger)', 'Caller("scripted", ledger, timeout=0.2, retries=0)')
    script = script.replace("except KeyboardInterrupt", "except ValueError")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "kb.db")],
        capture_output=True, text=True, timeout=60, env=environment(llm_user),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "begun\ninterrupted\n")


def test_the_scripted_model_in_another_process(llm_user: Path, tmp_path: Path) -> None:  # noqa: F811
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps({"clock": {"json": {"by": ["Ana"]}}, "": {"status": 400}}))
    env = environment(llm_user, replies=replies, log=tmp_path / "calls.jsonl", delay=0.01)
    done = subprocess.run(command("-m", "scripted", "-n", "The clock"), capture_output=True, text=True, env=env)
    assert (done.stdout, done.returncode) == ('{"by": ["Ana"]}\n', 0), done.stderr
    (logged,) = [json.loads(line)["prompt"] for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert logged == "The clock"
    items = [from_json(item) for item in ("a", {"status": 429, "retry_after": 2}, {"delay": 1, "then": "b"})]
    assert (items[0], items[1].status_code, items[1].headers) == ("a", 429, {"Retry-After": "2"})
    assert items[2] == Delay(1, "b")


def test_the_scripted_model_counts_for_itself() -> None:
    assert tokens("Who mended the clock?") == ["Who", "mended", "the", "clock", "?"]
    assert calls.PROMPT_OVERHEAD == 12
    assert os.environ.get("SCRIPTED_MODEL") is None
