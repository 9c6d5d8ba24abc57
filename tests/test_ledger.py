"""Budgets hold: alone, with many workers, over crashes, and with two processes on one file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from scripted_model import environment

from llm_graphrag import ledger as ledgers
from llm_graphrag.ledger import (
    KNOWLEDGE_BASE,
    Budget,
    BudgetExceeded,
    Ledger,
    Reservation,
    estimate_prompt_tokens,
    is_alive,
    process_name,
)
from llm_graphrag.prices import Price
from llm_graphrag.store import processes
from llm_graphrag.store.connection import KnowledgeBaseError, open_to_write
from llm_graphrag.store.model_calls import used

MODEL = "gpt-4o"  # 2.5 and 10 USD a million tokens


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "user"))
    open_to_write(tmp_path / "kb.db", create=True).close()
    return tmp_path / "kb.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, run="r1") as opened:
        yield opened


def rows(ledger: Ledger) -> list[tuple[object, ...]]:
    wanted = "status, reserved_tokens, input_tokens, output_tokens, round(cost, 9)"
    return [tuple(row) for row in ledger.connection.execute(f"SELECT {wanted} FROM kg_ledger ORDER BY id")]


# Amounts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("0.50usd", 0.5, "usd"), ("$0.50", 0.5, "usd"), (" 2 USD ", 2.0, "usd"), ("0.5$", 0.5, "usd"),
        ("$3 usd", 3.0, "usd"), (".5usd", 0.5, "usd"), ("0usd", 0.0, "usd"), ("200ktok", 200_000.0, "tokens"),
        ("2Mtok", 2_000_000.0, "tokens"), ("1500tok", 1500.0, "tokens"), ("1500 tokens", 1500.0, "tokens"),
        ("1.5ktokens", 1500.0, "tokens"),
    ],
)  # fmt: skip
def test_amounts(text: str, amount: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(amount, unit)


@pytest.mark.parametrize("text", ["", "5", "usd", "-1usd", "1e3tok", "5eur", "$5tok", "1,000tok", "nan usd", "5 k"])
def test_amounts_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="write an amount with its unit"):
        Budget.parse(text)


def test_a_budget_is_finite() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Budget(float("inf"), "usd")
    with pytest.raises(ValueError, match="usd or tokens"):
        Budget(1, "eur")


# One call -------------------------------------------------------------------------


def test_a_call_from_reservation_to_settlement(ledger: Ledger) -> None:
    reservation = ledger.reserve("extract", MODEL, 1000, 400)
    assert reservation.tokens == 1750 + 400  # nothing is known of the model yet
    assert reservation.cost == pytest.approx((1750 * 2.5 + 400 * 10) / 1e6)
    assert ledger.settle(reservation, 1100, 90, "log1") == pytest.approx((1100 * 2.5 + 90 * 10) / 1e6)
    assert rows(ledger) == [("settled", 2150, 1100, 90, 0.00365)]
    row = ledger.connection.execute("SELECT run, process, purpose, model, log_id, estimated_tokens FROM kg_ledger")
    assert tuple(row.fetchone()) == ("r1", process_name(), "extract", MODEL, "log1", 1000)


def test_what_is_released_costs_nothing_and_what_is_lost_costs_all(ledger: Ledger) -> None:
    ledger.release(ledger.reserve("answer", MODEL, 100, 50))
    ledger.lose(ledger.reserve("answer", MODEL, 100, 50))
    assert rows(ledger) == [("released", 225, None, None, None), ("lost", 225, None, None, 0.0009375)]
    sums = used(ledger.connection)
    assert (sums["tokens"], sums["open_tokens"]) == (225, 0)
    assert sums["cost"] == pytest.approx((175 * 2.5 + 50 * 10) / 1e6)


def test_a_call_is_closed_once(ledger: Ledger) -> None:
    reservation = ledger.reserve("answer", MODEL, 100, 50)
    ledger.settle(reservation, 90, 10)
    ledger.lose(reservation)
    ledger.release(reservation)
    ledger.settle(reservation, 1, 1)
    assert rows(ledger)[0][:4] == ("settled", 225, 90, 10)


def test_a_lost_call_that_turns_up_is_settled(ledger: Ledger) -> None:
    reservation = ledger.reserve("answer", MODEL, 100, 50)
    ledger.lose(reservation)
    ledger.settle(reservation, 90, 10)
    assert rows(ledger)[0][:4] == ("settled", 225, 90, 10)


# What is learned of a model ---------------------------------------------------------


def test_calibration_is_learned_by_model(ledger: Ledger) -> None:
    assert ledger.calibration(MODEL) == 1.0
    for reported in (1200, 1300, 1100):
        ledger.settle(ledger.reserve("extract", MODEL, 1000, 100), reported, 50)
    ledger.settle(ledger.reserve("extract", "other", 1000, 100), 500, 50)
    assert ledger.calibration(MODEL) == pytest.approx(1.2)
    assert ledger.calibration("other") == 0.5
    assert ledger.calibration("new") == 1.0
    # 1.2 of calibration; the worst of three was 1.3 / 1.2 above it; and 1.15 on top
    assert ledger.reserve("extract", MODEL, 1000, 100).tokens == 1495 + 100
    text = "The committee met in 1998."
    assert estimate_prompt_tokens(text, ledger.calibration(MODEL)) == 11
    assert estimate_prompt_tokens(text) == 9


def test_calibration_is_learned_by_purpose(ledger: Ledger) -> None:
    """A JSON schema is a part of the estimate of one purpose and not of another, and is not charged for by all."""
    for _ in range(3):
        ledger.settle(ledger.reserve("extract", MODEL, 1000, 100), 700, 50)
    assert (ledger.calibration(MODEL, "extract"), ledger.calibration(MODEL, "answer")) == (0.7, 0.7)
    # what was reported of the other calls makes an estimate no smaller, and there is no margin learned of them
    assert ledger.reserve("answer", MODEL, 1000, 100).tokens == 1750 + 100
    ledger.settle(ledger.reserve("answer", MODEL, 1000, 100), 1100, 50)
    assert (ledger.calibration(MODEL, "extract"), ledger.calibration(MODEL, "answer")) == (0.7, 1.1)
    assert ledger.calibration(MODEL) == pytest.approx(0.8)
    assert ledger.reserve("extract", MODEL, 1000, 100).tokens == 805 + 100


def test_output_ratio(ledger: Ledger) -> None:
    assert ledger.output_ratio("extract", MODEL) is None
    ledger.settle(ledger.reserve("extract", MODEL, 100, 100), 200, 50)
    ledger.settle(ledger.reserve("answer", MODEL, 100, 100), 200, 200)
    assert ledger.output_ratio("extract", MODEL) == 0.25


# Budgets --------------------------------------------------------------------------


def test_a_budget_counts_every_call_of_the_file(path: Path) -> None:
    with Ledger.open(path) as first:
        first.settle(first.reserve("extract", MODEL, 100, 100), 400, 300)
    with Ledger.open(path) as second:
        second.set_budget(Budget.parse("1ktok"))
        (found,) = second.standings()
        assert (found.used, found.held, found.left) == (700, 0, 300)
        with pytest.raises(BudgetExceeded, match=r"1,000 tokens, has 300 tokens left, and this call may need 8\d\d"):
            second.reserve("answer", MODEL, 100, 100)
        assert second.clear_budget()
        assert not second.clear_budget()
        second.reserve("answer", MODEL, 100, 100)


def test_a_budget_of_a_run_counts_that_run(path: Path) -> None:
    with Ledger.open(path, run="a") as one, Ledger.open(path, run="b") as other:
        one.settle(one.reserve("extract", MODEL, 100, 100), 4000, 3000)
        other.set_budget(Budget(1000, "tokens"), other.run_scope)
        assert [found.scope for found in one.standings()] == []
        assert [(found.scope, found.used) for found in other.standings()] == [("run:b", 0)]
        with pytest.raises(BudgetExceeded, match=r"budget of this run, 1,000 tokens.* Raise it with --budget AMOUNT"):
            other.reserve("extract", MODEL, 100, 1000)
        one.reserve("extract", MODEL, 100, 10_000)


def test_both_budgets_hold(path: Path) -> None:
    with Ledger.open(path, run="a") as ledger:
        ledger.set_budget(Budget(10_000, "tokens"))
        ledger.set_budget(Budget(0.001, "usd"), ledger.run_scope)
        assert [found.scope for found in ledger.standings()] == [KNOWLEDGE_BASE, "run:a"]
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve("x", MODEL, 100, 200)
        assert caught.value.scope == "run:a"
        ledger.reserve("x", MODEL, 100, 50)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve("x", "gpt-4.1-nano", 100, 9700)
        assert caught.value.scope == KNOWLEDGE_BASE


def test_waiting_helps_only_where_calls_in_flight_hold_what_is_needed(ledger: Ledger) -> None:
    ledger.set_budget(Budget(500, "tokens"))
    reservation = ledger.reserve("x", MODEL, 100, 100)  # 275
    with pytest.raises(BudgetExceeded, match=r"\(275 tokens more is set aside for calls in flight\)") as caught:
        ledger.reserve("x", MODEL, 100, 100)
    assert caught.value.waiting_helps
    ledger.settle(reservation, 200, 50)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve("x", MODEL, 100, 100)
    assert not caught.value.waiting_helps


def test_a_call_waits_for_what_another_holds(ledger: Ledger) -> None:
    ledger.set_budget(Budget(500, "tokens"))
    held = ledger.reserve("x", MODEL, 100, 100)
    threading.Timer(0.15, ledger.settle, (held, 90, 10)).start()
    began = time.monotonic()
    ledger.reserve_in_turn("x", MODEL, 100, 100, patience=10, check=lambda: None)
    assert 0.1 < time.monotonic() - began < 5
    with pytest.raises(BudgetExceeded):
        ledger.reserve_in_turn("x", MODEL, 200, 100, patience=0.0, check=lambda: None)


def test_a_price_that_is_not_known(ledger: Ledger) -> None:
    ledger.settle(ledger.reserve("x", "my-model", 100, 100), 90, 10)
    assert rows(ledger) == [("settled", 275, 90, 10, None)]
    ledger.set_budget(Budget.parse("$1"))
    assert ledger.standings()[0].unpriced == 1
    with pytest.raises(BudgetExceeded, match="llm graphrag prices set my-model --input USD --output USD"):
        ledger.reserve("x", "my-model", 100, 100)
    ledger.set_budget(Budget.parse("1Mtok"))
    ledger.reserve("x", "my-model", 100, 100)


def test_a_reply_without_a_limit(ledger: Ledger) -> None:
    assert ledger.reserve("x", MODEL, 100, None).tokens == 175 + 4096
    ledger.set_budget(Budget(100_000, "tokens"))
    with pytest.raises(BudgetExceeded, match=r"no option that limits its reply.*budget set AMOUNT --soft") as caught:
        ledger.reserve("x", MODEL, 100, None)
    assert not caught.value.waiting_helps
    ledger.set_budget(Budget(100_000, "tokens", soft=True))
    ledger.settle(ledger.reserve("x", MODEL, 100, None), 100, 6000)
    assert ledger.reserve("x", MODEL, 100, None).tokens == 175 + 6000  # it has written as much before
    ledger.set_budget(Budget(100_000, "tokens"), ledger.run_scope)
    with pytest.raises(BudgetExceeded, match="with --soft-budget"):
        ledger.reserve("x", MODEL, 100, None)


def test_the_budget_is_used_to_the_last_token(ledger: Ledger) -> None:
    ledger.set_budget(Budget(550, "tokens"))
    ledger.reserve("x", MODEL, 100, 100)
    ledger.reserve("x", MODEL, 100, 100)
    assert ledger.standings()[0].left == 0
    with pytest.raises(BudgetExceeded):
        ledger.reserve("x", MODEL, 0, 1)


def test_no_knowledge_base(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="There is no knowledge base"):
        Ledger.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


# Processes --------------------------------------------------------------------------


def test_names_of_processes() -> None:
    name = process_name()
    assert is_alive(name)
    assert name.startswith(f"{os.getpid()}.")
    pid, _, rest = name.partition(".")
    started, _, place = rest.partition("@")
    assert not is_alive(f"{pid}.{int(started) + 1}@{place}")  # the number was given out again
    host, _, space = place.split("/")
    assert not is_alive(f"{pid}.{started}@{host}/00000000/{space}")  # before the machine was started
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = f"{sleeper.pid}.{processes._started(sleeper.pid)}@{place}"
    assert is_alive(other)
    sleeper.kill()
    time.sleep(0.2)
    assert not is_alive(other)  # though nobody has asked for its exit status yet
    sleeper.wait()
    assert not is_alive(other)


def test_elsewhere_only_age_tells() -> None:
    place = process_name().partition("@")[2]
    host, boot, space = place.split("/")
    now = datetime.now(timezone.utc)
    for name in (f"1.2@another-{host}/{boot}/{space}", f"1.2@{host}/{boot}/{space}9"):
        assert is_alive(name)
        assert is_alive(name, now.isoformat())
        assert is_alive(name, (now - timedelta(minutes=59)).isoformat())
        assert not is_alive(name, (now - timedelta(minutes=61)).isoformat())


def test_windows_is_never_sent_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """os.kill(pid, 0) ends the process there."""
    place = process_name().partition("@")[2]
    own = process_name()
    monkeypatch.setattr(processes, "process_name", lambda: own)
    monkeypatch.setattr(processes, "_place", lambda: place)
    monkeypatch.setattr(processes.os, "name", "nt")
    monkeypatch.setattr(processes.os, "kill", lambda *_: pytest.fail("a signal was sent"))
    monkeypatch.setattr(processes.platform, "system", lambda: "Windows")
    assert processes.is_alive(f"1.@{place}")
    assert not processes.is_alive(f"1.@{place}", "2020-01-01T00:00:00+00:00")
    assert processes._started(1) == ""


RESERVE_AND_WAIT = """
import sys
from pathlib import Path
from llm_graphrag.ledger import Ledger
with Ledger.open(Path(sys.argv[1])) as ledger:
    ledger.settle(ledger.reserve("x", "gpt-4o", 100, 100), 90, 10)
    ledger.reserve("x", "gpt-4o", 100, 100)
    print("reserved", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_open_is_lost(path: Path, ledger: Ledger) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", RESERVE_AND_WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "reserved\n"
    own = ledger.reserve("x", MODEL, 100, 100)
    assert ledger.recover() == 0
    open_there = used(ledger.connection)["open_tokens"] - own.tokens
    assert open_there > 200
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert ledger.recover() == 1
    assert ledger.recover() == 0
    assert [row[0] for row in rows(ledger)] == ["settled", "lost", "reserved"]
    assert used(ledger.connection)["tokens"] == 100 + open_there + own.tokens


# The invariant ----------------------------------------------------------------------


class LedgerMachine(RuleBasedStateMachine):
    """Three runs on one file do what they like; what each has spent is kept beside it, and no budget is ever broken."""

    reservations = Bundle("reservations")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "kb.db"
        open_to_write(path, create=True).close()
        self.runs = [Ledger.open(path, run=f"r{number}") for number in range(3)]
        self.budgets: dict[str, Budget] = {}
        self.spent: dict[int, tuple[str, float, float]] = {}  # row: run, tokens, cost, open ones in full
        self.limits: dict[int, int] = {}  # of the replies

    def teardown(self) -> None:
        for run in getattr(self, "runs", []):
            run.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def total(self, scope: str, unit: str) -> float:
        of = [row for row in self.spent.values() if scope in (KNOWLEDGE_BASE, f"run:{row[0]}")]
        return sum(row[1] if unit == "tokens" else row[2] for row in of)

    @rule(
        run=st.integers(0, 2),
        of_run=st.booleans(),
        unit=st.sampled_from(["usd", "tokens"]),
        room=st.integers(0, 9000),
    )
    def set_budget(self, run: int, of_run: bool, unit: str, room: int) -> None:
        """Never below what is spent: that would be broken from the start."""
        scope = self.runs[run].run_scope if of_run else KNOWLEDGE_BASE
        more = room if unit == "tokens" else room * 5e-6
        self.budgets[scope] = Budget(self.total(scope, unit) + more, unit)
        self.runs[run].set_budget(self.budgets[scope], scope)

    @rule(run=st.integers(0, 2))
    def clear_budget(self, run: int) -> None:
        assert self.runs[run].clear_budget() == (self.budgets.pop(KNOWLEDGE_BASE, None) is not None)

    @rule(
        target=reservations,
        run=st.integers(0, 2),
        prompt=st.integers(0, 2000),
        reply=st.integers(0, 2000),
        model=st.sampled_from([MODEL, "gpt-4.1-nano"]),
    )
    def reserve(self, run: int, prompt: int, reply: int, model: str) -> object:
        ledger = self.runs[run]
        try:
            made = ledger.reserve("x", model, prompt, reply)
        except BudgetExceeded as error:
            budget = self.budgets[error.scope]
            assert error.scope in (KNOWLEDGE_BASE, ledger.run_scope)
            most = (prompt + reply) * 10 if budget.unit == "tokens" else (prompt + reply) * 100e-6
            assert self.total(error.scope, budget.unit) + most > budget.amount  # it was not refused for nothing
            return None
        assert made.tokens >= reply
        assert made.cost is not None
        self.limits[made.id] = reply
        self.spent[made.id] = (ledger.run, made.tokens, made.cost)
        return made

    @rule(made=consumes(reservations), run=st.integers(0, 2), part=st.floats(0.5, 1.0), wrote=st.floats(0.0, 1.0))
    def settle(self, made: Reservation | None, run: int, part: float, wrote: float) -> None:
        if made is None:
            return
        assert made.price is not None
        limit = self.limits[made.id]
        read, output = int((made.tokens - limit) * part), int(limit * wrote)
        cost = self.runs[run].settle(made, read, output)
        assert cost == made.price.cost(read, output)
        self.spent[made.id] = (self.spent[made.id][0], read + output, cost)

    @rule(made=consumes(reservations), lost=st.booleans())
    def give_up(self, made: Reservation | None, lost: bool) -> None:
        if made is None:
            return
        (self.runs[0].lose if lost else self.runs[0].release)(made)
        if not lost:
            self.spent[made.id] = (self.spent[made.id][0], 0, 0)

    @rule(run=st.integers(0, 2))
    def crash(self, run: int) -> None:
        """A run ends at once and another takes its name; its open calls are left, and stay counted."""
        name = self.runs[run].run
        self.runs[run].close()
        self.runs[run] = Ledger.open(Path(self.folder.name) / "kb.db", run=name)
        assert self.runs[run].recover() == 0  # this process lives

    @invariant()
    def budgets_hold(self) -> None:
        if not hasattr(self, "runs"):
            return
        for ledger in self.runs:
            for found in ledger.standings():
                assert found.budget == self.budgets[found.scope]
                assert found.used + found.held == pytest.approx(self.total(found.scope, found.budget.unit), abs=1e-9)
                assert found.used + found.held <= found.budget.amount + 1e-9


LedgerMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
test_the_invariant = LedgerMachine.TestCase


WORKERS = """
import random, sys, threading
from pathlib import Path
import llm_graphrag.failures as failures
from llm_graphrag.ledger import BudgetExceeded, Ledger
from llm_graphrag.models import CallFailed, Caller
from scripted_model import Break, Delay, Hang, HttpError, ScriptedModel, registered

failures.FIRST_WAIT = 0.002
seed, path = int(sys.argv[1]), Path(sys.argv[2])

def reply(prompt, system):
    draw, words = random.random(), "word " * random.randint(1, 300)
    if draw < 0.08:
        return HttpError(random.choice([429, 500, 503]))
    if draw < 0.12:
        return Break("half a rep", ConnectionError("reset by peer"))
    if draw < 0.15:
        return HttpError(400)
    if draw < 0.16:
        return Hang("and then")
    return Delay(random.random() * 0.02, words)

def work(caller):
    while True:
        try:
            caller.call("extract", "Be brief.", "A passage of the notes. " * random.randint(1, 30), max_output=120)
        except BudgetExceeded:
            return
        except CallFailed:
            pass

with registered(ScriptedModel(reply)), Ledger.open(path) as ledger:
    random.seed(seed)
    caller = Caller("scripted", ledger, timeout=0.6, log=False)
    print("ready", flush=True)
    sys.stdin.readline()
    threads = [threading.Thread(target=work, args=(caller,)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print("done", flush=True)
"""


def test_two_processes_of_eight_workers_one_of_them_killed(path: Path, tmp_path: Path) -> None:
    """At no moment, as a third connection sees it, has more been spent or set aside than the budget."""
    budget = 60_000
    with Ledger.open(path) as ledger:
        ledger.set_budget(Budget(budget, "tokens"))
    (tmp_path / "user").mkdir(exist_ok=True)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", WORKERS, str(seed), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(tmp_path / "user"),
        )
        for seed in (1, 2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    seen: list[int] = []
    killed = False
    with closing(sqlite3.connect(path)) as third:
        third.row_factory = sqlite3.Row
        end = time.monotonic() + 60
        while both[1].poll() is None and time.monotonic() < end:
            seen.append(used(third)["tokens"])
            assert seen[-1] <= budget
            if not killed and seen[-1] > budget // 3:
                both[0].kill()
                killed = True
            time.sleep(0.005)
    assert killed
    assert both[1].wait(5) == 0
    assert both[0].wait(5) == -signal.SIGKILL
    with Ledger.open(path) as ledger:
        ledger.recover()
        sums = used(ledger.connection)
        assert sums["open_tokens"] == 0
        assert budget - 1000 < sums["tokens"] <= budget  # all but what no further call would fit in
        statuses = dict(ledger.connection.execute("SELECT status, count(*) FROM kg_ledger GROUP BY status").fetchall())
        by_process = ledger.connection.execute("SELECT count(DISTINCT process) FROM kg_ledger").fetchone()[0]
        worse = ledger.connection.execute(
            "SELECT count(*) FROM kg_ledger WHERE status = 'settled' AND input_tokens + output_tokens > reserved_tokens"
        ).fetchone()[0]
    assert set(statuses) == {"settled", "lost", "released"}
    assert statuses["settled"] > 100
    assert by_process == 2
    assert worse == 0
    assert len(seen) > 20


def test_threads_of_one_ledger(path: Path) -> None:
    """Sixteen threads on one connection; nothing is lost or counted twice."""
    random = Random(7)
    amounts = [(random.randint(1, 500), random.randint(0, 300)) for _ in range(160)]
    with Ledger.open(path) as ledger:

        def work(mine: list[tuple[int, int]]) -> None:
            for read, wrote in mine:
                ledger.settle(ledger.reserve("x", MODEL, read, 300), read, wrote)

        threads = [threading.Thread(target=work, args=(amounts[at::16],)) for at in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sums = used(ledger.connection)
    assert sums["tokens"] == sum(map(sum, amounts))
    price = Price("m", 2.5, 10)
    assert sums["cost"] == pytest.approx(sum(price.cost(*amount) for amount in amounts))


def test_the_margin_covers_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = [(1000, 1100), (1000, 1500), (1000, 1000)]
    assert ledgers._calibration(usage) == 1.2
    assert ledgers._margin(usage) == pytest.approx(1.15 * 150 / 120)
    assert ledgers._margin(usage[:2]) == ledgers.UNKNOWN_MARGIN
    assert ledgers._margin([(1000, 1000)] * 3) == ledgers.LEAST_MARGIN
    assert ledgers._margin([(10, 9)] * 49) == ledgers.UNKNOWN_MARGIN  # short prompts say little of long ones
