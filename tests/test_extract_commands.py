# ruff: noqa: F811 - pytest hands fixtures over by the names of arguments
"""``llm graphrag extract`` on the command line: wrong values, notes that are none, nobody to be asked, errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Run, write_notes
from extraction_model import notes, say
from scripted_model import HttpError, ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

Make = Callable[..., ScriptedModel]
HOSTILE = "\x1b]0;owned\x07\x1b[31mquota\x1b[0m\r\nof https://api.example/?key=AIzaSyB-0123456789abcdef \u202eevil "
HOSTILE += "my-own-secret"
SAFE = "scripted: 400: quota of https://api.example/?key=[key] evil [key]"


@pytest.fixture
def filled(run: Run, llm_user: Path, tmp_path: Path) -> Run:
    (llm_user / "logs-off").touch()
    run("add", write_notes(tmp_path / "v", dict(notes(6))))
    return run


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["-m", "skripted"], "-m: There is no model called skripted in llm. Is it scripted?"),
        (["-m", ""], "'-m' / '--model'"),
        (["-o", "warmth", "5"], "-o: scripted does not take these options"),
        (["-o", "temperature", "hot"], "-o: scripted does not take these options"),
        (["--key", ""], "'--key'"),
        (["--budget", "much"], "'--budget': 'much' is no budget"),
        (["--budget=-5usd"], "'--budget'"),
        (["--soft-budget"], "--soft-budget goes with --budget"),
        (["--timeout", "0"], "'--timeout'"),
        (["--timeout", "nan"], "'--timeout'"),
        (["--timeout", "inf"], "'--timeout'"),
        (["--workers", "0"], "'--workers'"),
        (["--limit", "0"], "'--limit'"),
        (["--document", "nothing.md"], "--document: There is no document 'nothing.md'"),
        (["--where", "weather = 1"], "--where 'weather = 1' cannot be used: no such column"),
        (["--where", ""], "--where is empty"),
        (["--tag", ""], "--tag takes the name of a tag"),
        (["--dask", "nowhere"], "'--dask': 'nowhere' is no address"),
        (["--batch-format", "mine"], "'--batch-format'"),
        (["--export-requests", "no/such/folder/requests.jsonl"], "'--export-requests': there is no folder"),
        (["--import-replies", "no-such-file.jsonl"], "'--import-replies'"),
        (["--from-replies", "--tag", "work"], "--from-replies and --tag do not go together"),
        (["--forget-exported", "--limit", "1"], "--forget-exported and --limit do not go together"),
    ],
)
def test_a_wrong_value_is_a_usage_error_of_its_option(
    filled: Run, scripted: Make, options: list[str], named: str
) -> None:
    model = scripted(say)
    error = filled("extract", "-m", "scripted", "--yes", *options, exit_code=2).stderr
    assert named in error.splitlines()[-1]
    assert model.calls == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["budget", "set", "much"],
        ["budget", "set", "--", "-5usd"],
        ["spend", "--by", "weather"],
        ["prices", "set", "", "--input", "1", "--output", "1"],
        ["prices", "set", "m", "--input", "nan", "--output", "1"],
        ["prices", "set", "m", "--input", "-1", "--output", "1"],
        ["prices", "set", "m", "--input", "1", "--output", "inf"],
        ["prices", "remove", "m"],
    ],
)
def test_wrong_values_of_budget_spend_and_prices(filled: Run, arguments: list[str]) -> None:
    assert "Invalid value for " in filled(*arguments, exit_code=2).stderr


ASKING = ["-m", "scripted"]


@pytest.mark.parametrize("how", [
    [*ASKING, "--yes"], [*ASKING, "--estimate"], [*ASKING, "--dry-run"], ASKING, ["--forget-exported"],
])  # fmt: skip
def test_notes_that_are_none(filled: Run, scripted: Make, how: list[str]) -> None:
    model = scripted(say)
    chosen = ["--tag", "nothing", "--where", "folder = 'x'"]
    said = filled("extract", *chosen, *how).stdout
    assert said == "No note matches --where folder = 'x' and --tag nothing, so nothing was done.\n"
    assert json.loads(filled("extract", *chosen, *how, "--json").stdout)["windows"] == 0
    assert model.calls == []


def test_nothing_new_is_something_else(filled: Run, scripted: Make) -> None:
    scripted(say)
    filled("extract", "-m", "scripted", "--yes")
    assert filled("extract", "-m", "scripted").output == "There is nothing new to read.\n"
    assert filled("extract", "-m", "scripted", "--retry-failed").output == "No window has failed.\n"
    assert json.loads(filled("extract", "-m", "scripted", "--json").stdout)["windows"] == 0


def test_where_nobody_can_be_asked_json_says_so(filled: Run, scripted: Make) -> None:
    model = scripted(say)
    result = filled("extract", "-m", "scripted", "--json", exit_code=2)
    said = json.loads(result.stdout)
    assert said["error"].startswith("Nothing was asked. Say how much it may be with --budget or --limit")
    assert (said["estimate"]["windows"], said["estimate"]["model"]) == (1, "scripted")
    assert said["error"] in result.stderr
    assert model.calls == []


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (["-m", "skripted"], 2, "There is no model called skripted"),
        (["--document", "nothing.md"], 2, "There is no document"),
        (["--tag", ""], 2, "--tag takes"),
        (["--from-replies", "--dask", "tcp://x:1"], 2, "do not go together"),
    ],
)
def test_an_error_is_json_too(filled: Run, scripted: Make, options: list[str], status: int, why: str) -> None:
    scripted(say)
    assert why in json.loads(filled("extract", "-m", "scripted", "--json", *options, exit_code=status).stdout)["error"]


def test_a_budget_that_allows_no_call_is_in_the_report(filled: Run, scripted: Make) -> None:
    scripted(say)
    said = json.loads(filled("extract", "-m", "scripted", "--budget", "9tok", "--json", exit_code=4).stdout)
    assert (said["stopped"], said["done"], said["left"]) == ("budget", 0, 1)
    assert "The budget of this run, 9 tokens" in said["why"]


def test_what_a_provider_says_is_safe_wherever_it_goes(filled: Run, scripted: Make, llm_user: Path) -> None:
    scripted(lambda prompt, system: HttpError(400, HOSTILE))
    key = ["--key", "my-own-secret"]
    shown = filled("extract", "-m", "scripted", "--yes", *key, exit_code=3)
    assert f"Failed, 1 ×: {SAFE}\n" in shown.stderr
    said = filled("extract", "-m", "scripted", "--retry-failed", "--yes", *key, "--json", exit_code=3)
    assert list(json.loads(said.stdout)["errors"]) == [SAFE]
    status, as_json = filled("status"), filled("status", "--json")
    assert f": {SAFE}\n" in status.stdout
    assert json.loads(as_json.stdout)["extraction"]["failed"][0]["error"] == SAFE
    asked = filled("ask", "Whom does Mira know?", "-m", "scripted", *key, "--json", exit_code=1)
    assert json.loads(asked.stdout)["trouble"]["message"] == SAFE
    with closing(sqlite3.connect(llm_user / "graphrag.db")) as connection:
        stored = [str(row) for row in connection.execute("SELECT error FROM kg_extractions").fetchall()]
        stored += [str(row) for row in connection.execute("SELECT detail FROM kg_steps").fetchall()]
    for text in (shown.output, said.output, status.output, as_json.output, asked.output, *stored):
        assert not any(hidden in text for hidden in ("\x1b", "\x07", "\r", "\u202e", "AIza", "my-own-secret", "owned"))
