"""A run that is killed, interrupted, doubled or watched: nothing is asked twice, nothing is half written."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from extraction_model import notes, schema_file
from rows import natural
from scripted_model import command, environment

from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase

WINDOWS = 24


class Place:
    """A knowledge base with notes, and the command line over it."""

    def __init__(self, folder: Path, delay: float = 0.05) -> None:
        self.folder, self.database, self.log = folder, folder / "kb.db", folder / "calls.jsonl"
        vault = folder / "v"
        vault.mkdir(parents=True)
        for name, text in notes(WINDOWS, padding=8).items():
            (vault / name).write_text(text, encoding="utf-8")
        with KnowledgeBase.open(self.database, create=True) as kb:
            kb.set(embedding_model="", window_tokens=100)
            kb.use_schema(load_template(schema_file(folder)), "test")
            kb.add([vault])
        self.user = folder / "user"
        self.user.mkdir()
        self.environment = environment(self.user, function="extraction_model:say", log=self.log, delay=delay)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        line = command("graphrag", "extract", "-d", self.database, "-m", "scripted", "--yes", *arguments)
        return subprocess.Popen(
            line, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    def calls(self) -> int:
        return len(self.log.read_text("utf-8").splitlines()) if self.log.exists() else 0

    def done(self) -> int:
        connection = sqlite3.connect(self.database, timeout=30)
        try:
            return int(connection.execute("SELECT count(*) FROM kg_extractions WHERE status = 'done'").fetchone()[0])
        finally:
            connection.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path / "one")


def rows_of(database: Path) -> dict[str, list[tuple[object, ...]]]:
    with KnowledgeBase.open(database) as kb:
        assert kb.check() == []
        return {table: rows for table, rows in natural(kb).items() if table != "kg_sources"}  # its folder is another


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    place = Place(tmp_path_factory.mktemp("undisturbed") / "one", delay=0)
    process = place.start("--workers", "8")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{WINDOWS} read" in out
    assert place.calls() == WINDOWS
    return rows_of(place.database)


def test_killed_ten_times(place: Place, undisturbed: dict[str, list[tuple[object, ...]]]) -> None:
    """After each kill the next run makes exactly the calls that are missing; at the end nothing tells of the kills."""
    chance = random.Random(7)
    for _ in range(10):
        if place.done() == WINDOWS:
            break
        before = place.done()
        process = place.start("--workers", "2")
        wanted = before + chance.randint(0, 3)
        deadline = time.monotonic() + 30
        while place.done() < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.1)
        process.kill()
        process.communicate()
    missing, made = WINDOWS - place.done(), place.calls()
    process = place.start()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert place.calls() - made == missing
    assert rows_of(place.database) == undisturbed
    again = place.start()
    assert "nothing new to read" in again.communicate(timeout=60)[0]
    assert place.calls() - made == missing


def test_interrupted_once_it_finishes_what_is_in_flight(tmp_path: Path) -> None:
    place = Place(tmp_path / "one", delay=0.4)
    process = place.start("--workers", "3")
    while place.done() < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted" in err and "Traceback" not in err
    assert place.done() == place.calls() < WINDOWS  # every call that was made is kept
    connection = sqlite3.connect(place.database)
    statuses = Counter(row[0] for row in connection.execute("SELECT status FROM kg_ledger"))
    connection.close()
    assert statuses == {"settled": place.calls()}


def test_interrupted_twice_it_ends_at_once(tmp_path: Path) -> None:
    place = Place(tmp_path / "one", delay=20)
    process = place.start("--workers", "3")
    while place.calls() < 3:
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert "Traceback" not in err
    assert place.done() == 0
    connection = sqlite3.connect(place.database)
    claimed = connection.execute("SELECT count(*) FROM kg_extractions WHERE status = 'claimed'").fetchone()[0]
    connection.close()
    assert claimed == 0


def test_077_two_runs_at_once_share_the_work(place: Place, undisturbed: dict[str, list[tuple[object, ...]]]) -> None:
    processes = [place.start("--workers", "2") for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
    assert place.calls() == WINDOWS  # no window is paid for twice
    assert rows_of(place.database) == undisturbed


def test_077_notes_are_added_during_a_run(place: Place, undisturbed: dict[str, list[tuple[object, ...]]]) -> None:
    process = place.start("--workers", "2")
    while place.done() < 3:
        time.sleep(0.02)
    with KnowledgeBase.open(place.database) as kb:
        (place.folder / "v" / "new.md").write_text("# New\n\nAda knows Eva.\n", encoding="utf-8")
        assert kb.add([place.folder / "v"]).new == 1
        (place.folder / "v" / "new.md").unlink()
        kb.remove(["v/new.md"])
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert rows_of(place.database) == undisturbed


@pytest.mark.datasette
def test_datasette_is_open_during_a_run_of_eight_workers(place: Place) -> None:
    """Pages are read, and Datasette writes, while eight workers extract: nobody meets a locked database."""
    from datasette.app import Datasette

    async def browse() -> tuple[int, int]:
        datasette = Datasette([str(place.database)])
        await datasette.invoke_startup()
        database = datasette.get_database("kb")
        process = place.start("--workers", "8")
        pages = writes = 0
        while process.poll() is None:
            response = await datasette.client.get("/kb/-/graph")
            assert response.status_code == 200, response.text[:500]
            pages += 1
            await database.execute_write(
                "INSERT OR REPLACE INTO kg_settings(key, value) VALUES ('test.seen', ?)", [str(pages)]
            )
            writes += 1
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert f"{WINDOWS} read" in out
        assert "locked" not in err
        return pages, writes

    pages, writes = asyncio.run(browse())
    assert pages == writes > 3
    with KnowledgeBase.open(place.database) as kb:
        assert kb.check() == []


def test_a_budget_in_the_file_holds_for_every_run(place: Place) -> None:
    line = command("graphrag", "budget", "set", "6ktok", "-d", place.database)
    subprocess.run(line, env=place.environment, check=True, capture_output=True)
    process = place.start("--workers", "4")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "budget" in err.lower()
    connection = sqlite3.connect(place.database)
    spent = connection.execute("SELECT sum(input_tokens + output_tokens) FROM kg_ledger").fetchone()[0]
    connection.close()
    assert 0 < spent <= 6000
    assert place.done() == place.calls() > 0


def test_nothing_is_asked_where_nobody_can_be_asked(place: Place) -> None:
    line = command("graphrag", "extract", "-d", place.database, "-m", "scripted")
    done = subprocess.run(line, env=place.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert f"{WINDOWS} windows of {WINDOWS} documents" in done.stderr
    assert "--budget" in done.stderr and "--yes" in done.stderr
    assert place.calls() == 0


def test_the_estimate_as_json(place: Place) -> None:
    line = command("graphrag", "extract", "-d", place.database, "-m", "scripted", "--estimate", "--json")
    done = subprocess.run(line, env=place.environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["windows"], found["documents"], found["cost_usd"]) == (WINDOWS, WINDOWS, None)
    assert place.calls() == 0
