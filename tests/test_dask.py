"""Extraction on a Dask cluster: a scheduler and two worker processes on this machine, one of them killed on the way.

The tests that kill come last, for starting a process takes seconds.
"""
# ruff: noqa: F811 - fixtures are imported, and then arguments

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dask_cluster import KEY, Keyed, Processes, say
from extraction_model import notes, schema_file
from rows import differences, natural
from scripted_model import ScriptedModel, command, llm_user, registered, scripted  # noqa: F401 - fixtures

from llm_graphrag.extract import cluster as cluster_module
from llm_graphrag.extract.run import Options, Report
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Budget, Ledger
from llm_graphrag.models import Caller

Make = Callable[..., ScriptedModel]
WINDOWS = 16

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    started = Processes(tmp_path_factory.mktemp("dask"))
    yield started
    started.close()


@pytest.fixture
def cluster(processes: Processes) -> Processes:
    """Two workers of two threads, and nothing in their log of calls."""
    processes.ensure(2)
    processes.log.unlink(missing_ok=True)
    return processes


def place(folder: Path, texts: dict[str, str]) -> KnowledgeBase:
    """A knowledge base with notes, a window each."""
    vault = folder / "v"
    vault.mkdir(parents=True)
    for name, text in texts.items():
        (vault / name).write_text(text, encoding="utf-8")
    kb = KnowledgeBase.open(folder / "kb.db", create=True)
    kb.set(embedding_model="", window_tokens=100)
    kb.use_schema(load_template(schema_file(folder)), "test")
    kb.add([vault])
    return kb


def foggy(number: int = WINDOWS) -> dict[str, str]:
    """Notes that take a quarter of a second to read."""
    return {name: text + "\nThere was fog.\n" for name, text in notes(number, padding=8).items()}


def extract(kb: KnowledgeBase, dask: str | None, budget: str = "", two_step: bool = False, **more: Any) -> Report:
    caller = {name: more.pop(name) for name in ("key", "log", "timeout") if name in more}
    with Ledger.open(kb.path) as ledger:
        if budget:
            ledger.set_budget(Budget.parse(budget), ledger.run_scope)
        asked = Caller("scripted", ledger, **{"log": False, **caller})
        return kb.extract(asked, Options(dask=dask, window_tokens=100, **more), two_step)


def rows_of(kb: KnowledgeBase) -> dict[str, list[tuple[object, ...]]]:
    assert kb.check() == []
    return {table: rows for table, rows in natural(kb).items() if table != "kg_sources"}  # its folder is another


def ledger(kb: KnowledgeBase) -> Counter[str]:
    return Counter(row[0] for row in kb.connection.execute("SELECT status FROM kg_ledger"))


@needs_dask
def test_repair_halving_errors_and_two_steps_are_as_they_are_here(
    cluster: Processes, tmp_path: Path, scripted: Make
) -> None:
    scripted(say)
    texts = notes(3, padding=8)
    texts["hail.md"] = "# Hail\n\nAda knows Eva.\n" + "\nThere was hail in the harbour." * 8
    texts["flood.md"] = "# Flood\n\nAda is 7.\n" + "\nThere was a flood in the harbour." * 8
    texts |= {f"s{n}.md": f"# S{n}\n\nBela is {n}. A storm was coming.\n" for n in range(2)}
    reports, rows, spent = [], [], []
    for name, address in (("here", None), ("there", cluster.address)):
        with place(tmp_path / name, texts) as kb:
            reports.append(extract(kb, address, workers=2))
            rows.append(rows_of(kb))
            usage = "SELECT status, input_tokens, output_tokens FROM kg_ledger ORDER BY 1, 2, 3"
            spent.append([tuple(row) for row in kb.connection.execute(usage)])
    here, there = reports
    assert there == here
    assert (there.done, there.failed, there.halved) == (6, 1, 1)
    assert any("no boats on this street" in error for error in there.errors)
    assert differences(*rows) == []
    assert spent[0] == spent[1]
    with place(tmp_path / "steps", notes(3, padding=8)) as kb:
        assert extract(kb, cluster.address, two_step=True).calls == 6


@needs_dask
def test_the_budget_holds_and_the_log_is_written_here(
    cluster: Processes, tmp_path: Path, scripted: Make, llm_user: Path
) -> None:
    scripted(say)
    with place(tmp_path / "dask", notes(12, padding=8)) as kb:
        report = extract(kb, cluster.address, budget="9ktok", log=True)
        assert report.stopped == "budget" and 0 < report.done < 12
        spent = kb.connection.execute("SELECT sum(input_tokens + output_tokens) FROM kg_ledger").fetchone()[0]
        assert 0 < spent == report.input_tokens + report.output_tokens <= 9000
        logged = sqlite3.connect(llm_user / "logs.db")
        row = logged.execute("SELECT count(*), sum(input_tokens + output_tokens), max(model) FROM turns").fetchone()
        logged.close()
        assert row == (report.calls, spent, "scripted")
        assert extract(kb, cluster.address).done == 12 - report.done


@needs_dask
def test_a_key_travels_if_it_is_given_and_is_in_no_log(cluster: Processes, tmp_path: Path, llm_user: Path) -> None:
    texts = {"a.md": "# A\n\nMira knows Otto.\n" + "\nIt rained." * 60, "flood.md": "# F\n\nAda is 7. A flood came.\n"}
    with place(tmp_path / "dask", texts) as kb, registered(Keyed()), Ledger.open(kb.path) as book:
        options = Options(dask=cluster.address, window_tokens=100)
        with pytest.raises(ValueError, match=r"cannot call keyed: No key found - add one using 'llm keys set keyed'"):
            kb.extract(Caller("keyed", book, log=False), options)
        report = kb.extract(Caller("keyed", book, log=False, key="another"), options)
        assert (report.stopped, report.done) == ("errors", 0) and "no such key" in report.why
        (llm_user / "keys.json").write_text(json.dumps({"mine": KEY}))
        assert kb.extract(Caller("keyed", book, log=False, key="mine"), options).done > 0
        path = kb.path
    assert "Mira" not in cluster.said() and "flood" not in cluster.said()
    for content in (cluster.output.read_bytes(), path.read_bytes()):
        assert KEY.encode() not in content


@needs_dask
def test_a_worker_that_does_not_fit_is_named_with_what_to_do(
    cluster: Processes, tmp_path: Path, scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(say)
    scripted(say, model_id="elsewhere")
    with place(tmp_path / "dask", notes(2)) as kb, Ledger.open(kb.path) as book:
        caller = Caller("elsewhere", book, log=False)
        with pytest.raises(ValueError, match=r"at tcp://.* cannot call elsewhere: There is no model called elsewhere"):
            kb.extract(caller, Options(dask=cluster.address))
        monkeypatch.setattr(cluster_module, "__version__", "9.9")
        with pytest.raises(ValueError, match=r"has llm-graphrag 0\.1\.0, not 9\.9: install the same version there"):
            extract(kb, cluster.address)
        assert ledger(kb).total() == 0


@needs_dask
def test_interrupted_once_it_finishes_what_is_in_flight(cluster: Processes, tmp_path: Path) -> None:
    place(tmp_path / "dask", foggy(40)).close()
    database = tmp_path / "dask" / "kb.db"
    line = command("graphrag", "extract", "-d", database, "-m", "scripted", "--yes", "--dask", cluster.address)
    process = subprocess.Popen(line, env=cluster.environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while sum(cluster.calls().values()) < 4 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Interrupted" in err and "Traceback" not in err
    with KnowledgeBase.open(database) as kb:
        assert ledger(kb) == {"settled": cluster.calls().total()}
        statuses = dict(kb.connection.execute("SELECT status, count(*) FROM kg_extractions GROUP BY 1").fetchall())
        assert statuses == {"done": cluster.calls().total(), "planned": 40 - cluster.calls().total()}


def run(*arguments: object) -> Any:
    from llm_graphrag.plugin import graphrag

    return CliRunner().invoke(graphrag, ["extract", "-m", "scripted", "--yes", *map(str, arguments)])


@needs_dask
def test_a_scheduler_that_does_not_answer_is_one_line(
    tmp_path: Path, scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(say)
    monkeypatch.setattr(cluster_module, "RPC_SECONDS", 0.5)
    place(tmp_path / "dask", notes(2)).close()
    address = "tcp://127.0.0.1:1"
    result = run("-d", tmp_path / "dask" / "kb.db", "--dask", address)
    assert result.exit_code == 1
    assert f"No Dask scheduler answers at {address} (" in result.output
    assert f"Start one with: dask scheduler; and its workers with: dask worker {address}" in result.output
    assert "Traceback" not in result.output
    result = run("-d", tmp_path / "dask" / "kb.db", "--dask", "no such: place")
    assert result.exit_code == 2
    assert "'no such: place' is no address; one is like tcp://10.0.0.5:8786" in result.output


def test_without_dask_the_extra_is_named(tmp_path: Path, scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(say)
    monkeypatch.setitem(sys.modules, "distributed", None)
    place(tmp_path / "dask", notes(2)).close()
    result = run("-d", tmp_path / "dask" / "kb.db", "--dask", "tcp://127.0.0.1:8786")
    assert result.exit_code == 1
    assert result.output.endswith("--dask needs Dask. Install it with: llm install 'llm-graphrag[dask]'\n")


@needs_dask
def test_a_worker_is_killed_and_nothing_but_its_calls_is_made_again(
    cluster: Processes, tmp_path: Path, scripted: Make
) -> None:
    model = scripted(say)
    with place(tmp_path / "local", foggy()) as kb:
        assert extract(kb, None, workers=8).done == WINDOWS
        expected = rows_of(kb)
    asked_here = len(model.calls)

    def kill() -> None:
        while sum(cluster.calls().values()) < 6:
            time.sleep(0.02)
        cluster.workers[0].kill()

    killer = threading.Thread(target=kill)
    with place(tmp_path / "dask", foggy()) as kb:
        killer.start()
        report = extract(kb, cluster.address)
        killer.join()
        assert (report.windows, report.done, report.failed, report.stopped) == (WINDOWS, WINDOWS, 0, "")
        assert differences(expected, rows_of(kb)) == []
        states, calls = ledger(kb), cluster.calls()
        assert states["settled"] == WINDOWS and states["reserved"] == 0
        assert 1 <= states["lost"] <= 2  # what its two threads were at
        assert states.total() == states["settled"] + states["lost"]
        assert WINDOWS <= calls.total() <= WINDOWS + states["lost"]
        assert len(calls) == WINDOWS and set(calls.values()) <= {1, 2}
        lost = kb.connection.execute("SELECT count(DISTINCT extraction) FROM kg_ledger WHERE status = 'lost'")
        assert lost.fetchone()[0] == states["lost"]
    assert len(model.calls) == asked_here  # the coordinator asks no model


@needs_dask
def test_no_worker_left_ends_the_run_and_the_next_goes_on(
    processes: Processes, tmp_path: Path, scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(say)
    processes.ensure(1)
    processes.log.unlink(missing_ok=True)
    monkeypatch.setattr(cluster_module, "NOBODY_SECONDS", 0.5)

    def kill() -> None:
        while sum(processes.calls().values()) < 4:
            time.sleep(0.02)
        for worker in processes.workers:
            worker.kill()

    killer = threading.Thread(target=kill)
    with place(tmp_path / "dask", foggy()) as kb:
        killer.start()
        report = extract(kb, processes.address)
        killer.join()
        assert (report.stopped, report.failed) == ("errors", 0)
        assert f"No worker is left at {processes.address}. Start one with" in report.why
        assert ledger(kb)["reserved"] == 0
        claimed = kb.connection.execute("SELECT count(*) FROM kg_extractions WHERE status = 'claimed'").fetchone()
        assert claimed[0] == 0
        with pytest.raises(ValueError, match=r"has no workers\. Start some with: dask worker"):
            extract(kb, processes.address)
        done = report.done
        assert extract(kb, None).done == WINDOWS - done
