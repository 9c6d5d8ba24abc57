"""``budget``, ``spend`` and ``prices``: what they print and what they change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Run, write_notes
from scripted_model import (
    llm_user,  # noqa: F401 - a fixture
    scripted,  # noqa: F401 - a fixture
)

from llm_graphrag import prices
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Budget, Ledger
from llm_graphrag.prices import Price, PriceError, price_of
from llm_graphrag.store.spend import BY, apportion, spend_by, total

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MODEL = "gpt-4o"  # 2.5 and 10 USD a million tokens


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    """A knowledge base with two notes, where the commands look for it."""
    notes = write_notes(tmp_path / "notes", {"a.md": "# A\n\n" + "word " * 100, "b.md": "# B\n\n" + "word " * 300})
    run("add", notes)
    return tmp_path / "user" / "graphrag.db"


def record(
    ledger: Ledger, purpose: str, read: int, wrote: int, model: str = MODEL, extraction: int | None = None
) -> None:
    """A call that was estimated well."""
    ledger.settle(ledger.reserve(purpose, model, read, wrote, extraction), read, wrote)


# Budgets --------------------------------------------------------------------------


def test_a_budget_is_set_shown_and_cleared(run: Run, path: Path) -> None:
    assert run("budget", "show").output == (
        "No budget. 0 tokens used so far, $0.00. Set one with: llm graphrag budget set 5usd\n"
    )
    assert run("budget", "set", "$2").output == "Budget $2.00: $0.00 spent, $2.00 left.\n"
    with Ledger.open(path) as ledger:
        record(ledger, "extract", 200_000, 50_000)
        ledger.reserve("extract", MODEL, 100, 100)
    shown = run("budget", "show").output
    assert shown == "Budget $2.00: $1.00 spent, $0.0015 set aside for calls in flight, $1.00 left.\n"
    assert run("budget", "set", "1ktok", "--soft").output.startswith(
        "Budget 1,000 tokens (soft): 250,000 tokens spent, "
    )
    assert run("budget", "clear").output == "No budget any more.\n"
    assert run("budget", "clear").output == "There was no budget.\n"


def test_budgets_as_json(run: Run, path: Path) -> None:
    with Ledger.open(path) as ledger:
        record(ledger, "x", 300, 100)
        record(ledger, "x", 30, 10, "my-model")
    made = json.loads(run("budget", "set", "1ktok", "--json").output)
    expected = {
        "amount": 1000.0, "unit": "tokens", "soft": False, "used": 440, "held": 0, "left": 560.0, "unpriced_calls": 1,
    }  # fmt: skip
    assert made == {"database": str(path), "budget": expected}
    shown = json.loads(run("budget", "show", "--json").output)
    assert shown["budget"] == expected
    assert shown["spent"] == {"tokens": 440, "usd": pytest.approx(0.00175), "unpriced_calls": 1}
    assert json.loads(run("budget", "clear", "--json").output) == {"database": str(path), "cleared": True}
    assert json.loads(run("budget", "show", "--json").output)["budget"] is None


def test_a_budget_in_usd_says_what_it_cannot_count(run: Run, path: Path) -> None:
    with Ledger.open(path) as ledger:
        record(ledger, "x", 30, 10, "my-model")
    assert run("budget", "set", "1usd").output == (
        "Budget $1.00: $0.00 spent, $1.00 left.\nCalls without a known price, which are not counted: 1.\n"
    )


def test_what_is_no_budget(run: Run, path: Path, tmp_path: Path) -> None:
    said = run("budget", "set", "5eur", exit_code=2).output
    assert "'5eur' is no budget; write an amount with its unit: 0.50usd, $0.50, 200ktok or 2Mtok\n" in said
    said = run("budget", "set", "5usd", "-d", tmp_path / "none.db", exit_code=1).output
    assert said.startswith("Error: There is no knowledge base at ")
    assert said.count("\n") == 1


# Spend -----------------------------------------------------------------------------


def test_nothing_spent(run: Run, path: Path) -> None:
    assert run("spend").output == "No model has been called for this knowledge base.\n"


def test_spend_by_purpose(run: Run, path: Path) -> None:
    with Ledger.open(path) as ledger:
        record(ledger, "extract", 20_000, 5_000)
        record(ledger, "extract", 20_000, 5_000)
        record(ledger, "answer", 1_000, 200, "my-model")
        ledger.lose(ledger.reserve("answer", MODEL, 0, 500))
        ledger.release(ledger.reserve("answer", MODEL, 100, 100))
        ledger.reserve("plan", "gpt-4.1-nano", 0, 1_000_000)
    assert run("spend").output == (
        "purpose  calls  prompt   reply  lost     cost\n"
        "extract      2  40,000  10,000     0    $0.20\n"
        "answer       2   1,000     200   500  $0.0050\n"
        "total        4  41,000  10,200   500    $0.21\n"
        "Cut off, counted in full: 1 call, 500 tokens, $0.0050.\n"
        "In flight, or left behind by a run that ended: 1 call, 1,000,000 tokens, $0.40.\n"
        "Turned away, free: 1 call.\n"
        "Without a known price, not in the cost: 1 call.\n"
    )
    by_model = json.loads(run("spend", "--by", "model", "--json").output)
    assert [(row["label"], row["calls"], row["lost_tokens"], row["unpriced"]) for row in by_model["rows"]] == [
        ("gpt-4o", 3, 500, 0),
        ("my-model", 1, 0, 1),
    ]
    assert by_model["total"]["cost"] == pytest.approx(0.205)
    assert by_model["total"]["open"] == {"calls": 1, "tokens": 1_000_000, "cost": pytest.approx(0.4)}
    assert run("spend", "--by", "model").output.splitlines()[2].split() == ["my-model", "1", "1,000", "200", "0", "—"]


def test_what_was_lost_without_a_price_is_not_said_to_be_free(run: Run, path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.lose(ledger.reserve("extract", "my-model", 0, 500))
    said = run("spend").output
    assert "Cut off, counted in full: 1 call, 500 tokens.\n" in said
    assert "$" not in said


def test_spend_by_day_and_run(run: Run, path: Path) -> None:
    for name, tokens in (("r1", 10), ("r2", 20)):
        with Ledger.open(path, run=name) as ledger:
            record(ledger, "x", tokens, 0)
            ledger.connection.execute("UPDATE kg_ledger SET at = '2026-01-0' || substr(run, 2) || 'T10:00:00'")
    by_day = json.loads(run("spend", "--by", "day", "--json").output)["rows"]
    assert [(row["label"], row["input_tokens"]) for row in by_day] == [("2026-01-01", 10), ("2026-01-02", 20)]
    by_run = json.loads(run("spend", "--by", "run", "--json").output)["rows"]
    assert [(row["label"], row["input_tokens"]) for row in by_run] == [("r2", 20), ("r1", 10)]


def ask_about(kb: KnowledgeBase, *chunks: int | None) -> int:
    """A window of these chunks, as extraction records it; None is one that is gone."""
    kb.connection.execute("INSERT OR IGNORE INTO kg_schema_versions VALUES (1, '', '', '', '', '{}')")
    made = kb.connection.execute(
        "INSERT INTO kg_extractions(model, prompt_hash, window_hash, schema_version, mode, status) "
        "VALUES ('m', '', '', 1, 'suggest', 'done')"
    )
    for number, chunk in enumerate(chunks, 1):
        row = [made.lastrowid, number, chunk, ""]
        kb.connection.execute("INSERT INTO kg_extraction_chunks VALUES (?, ?, ?, ?)", row)
    return int(made.lastrowid or 0)


def test_spend_by_document(run: Run, path: Path) -> None:
    with KnowledgeBase.open(path, readonly=False) as kb:
        chunks = dict(
            kb.connection.execute(
                "SELECT d.name, min(c.id) FROM kg_chunks c JOIN kg_documents d ON d.id = c.document GROUP BY d.id"
            ).fetchall()
        )
        kb.connection.execute("UPDATE kg_chunks SET tokens = 100 WHERE id = ?", [chunks["a"]])
        kb.connection.execute("UPDATE kg_chunks SET tokens = 300 WHERE id = ?", [chunks["b"]])
        both = ask_about(kb, chunks["a"], chunks["b"])
        one = ask_about(kb, chunks["a"])
        half_gone = ask_about(kb, chunks["b"], None)
        gone = ask_about(kb, None, None)
    with Ledger.open(path) as ledger:
        record(ledger, "extract", 1001, 400, extraction=both)
        record(ledger, "extract", 500, 0, extraction=one)
        record(ledger, "extract", 700, 0, extraction=half_gone)
        record(ledger, "extract", 50, 0, extraction=gone)
        record(ledger, "answer", 9, 1)
        rows = {row.label: row for row in spend_by(ledger.connection, "document")}
        sums = total(ledger.connection)
    names = {label: (row.calls, row.input_tokens, row.output_tokens) for label, row in rows.items()}
    assert names == {
        "notes/b.md": (2, 751 + 350, 300),
        "notes/a.md": (2, 250 + 500, 100),
        "(removed documents)": (2, 350 + 50, 0),
        "(for no single document)": (1, 9, 1),
    }
    assert sum(row.input_tokens for row in rows.values()) == sums["input_tokens"] == 2260
    assert sum(row.cost for row in rows.values()) == pytest.approx(sums["cost"])
    assert next(iter(rows)) == "notes/b.md"
    assert "(removed documents)" in run("spend", "--by", "document").output


def test_every_grouping_adds_up(run: Run, path: Path) -> None:
    with KnowledgeBase.open(path, readonly=False) as kb:
        windows = [ask_about(kb, *[1, 2, None][: size + 1]) for size in range(3)]
    with Ledger.open(path) as ledger:
        for number in range(20):
            record(ledger, ("extract", "answer")[number % 2], 37 * number, 13 * number, extraction=windows[number % 3])
            ledger.lose(ledger.reserve("x", MODEL, number, 10))
        sums = total(ledger.connection)
        for by in BY:
            rows = spend_by(ledger.connection, by)
            for name in ("input_tokens", "output_tokens", "lost_tokens"):
                assert sum(getattr(row, name) for row in rows) == sums[name]
            assert sum(row.cost for row in rows) == pytest.approx(sums["cost"])


def test_whole_numbers_are_split_without_a_rest() -> None:
    assert apportion(10, [1, 3]) == [3, 7]
    assert apportion(0, [5, 5]) == [0, 0]
    assert apportion(1, [1, 1, 1]) == [1, 0, 0]
    assert sum(apportion(1_000_003, [0.1, 2.7, 3.3, 0.0])) == 1_000_003


# Prices -----------------------------------------------------------------------------


def test_shipped_prices(run: Run) -> None:
    assert price_of("gpt-4o-mini") == Price("gpt-4o-mini", 0.15, 0.6, "2026-09-30")
    assert price_of("claude-opus-4.5").model == "anthropic/claude-opus-4-5-20251101"  # type: ignore[union-attr]
    assert price_of("gpt-4o-mini-") is None
    assert price_of("GPT-4o-mini") is None
    listed = run("prices", "list", "4o").output.splitlines()
    assert listed[0].split() == ["model", "input", "output", "as", "of"]
    rows = [line.split()[:3] for line in listed[1:]]
    assert rows == [["gpt-4o", "2.500", "10.000"], ["gpt-4o-mini", "0.150", "0.600"]]
    assert run("prices", "list", "nobody").output.startswith("No price is known for nobody.")
    assert len(json.loads(run("prices", "list", "--json").output)) > 30


def test_own_prices_win(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "user" / "graphrag-prices.toml"
    said = run("prices", "set", "my-model", "--input", "0.25", "--output", "2").output
    assert said == f"my-model: $0.25 in, $2 out, for a million tokens, in {file}\n"
    run("prices", "set", "4o-mini", "--input", "1", "--output", "1e-7")  # an alias of llm's
    own = price_of("gpt-4o-mini")
    assert own is not None
    assert (own.input, own.output, own.own) == (1.0, 0.0, True)
    file.write_text("# mine\n" + file.read_text("utf-8") + '["far one"]\ninput = 3\noutput = 4\n', "utf-8")
    run("prices", "set", "my-model", "--input", "0", "--output", "0", "--json")
    written = file.read_text("utf-8")
    assert written.startswith("# mine\n")
    assert written.count("my-model") == 1
    assert {name: entry["input"] for name, entry in tomllib.loads(written).items()} == {
        "my-model": 0.0, "gpt-4o-mini": 1.0, "far one": 3,
    }  # fmt: skip
    assert price_of("my-model").cost(10**6, 10**6) == 0.0  # type: ignore[union-attr]
    assert "far one" in run("prices", "list", "far").output
    said = run("prices", "set", "far one", "--input", "0", "--output", "0", exit_code=1).output
    assert "describes far one in more than one line" in said
    assert run("prices", "remove", "4o-mini").output == "4o-mini has no price of yours any more.\n"
    assert price_of("gpt-4o-mini") == Price("gpt-4o-mini", 0.15, 0.6, "2026-09-30")
    said = run("prices", "remove", "4o-mini", exit_code=2).output
    assert "has no price for '4o-mini'. See: llm graphrag prices list" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("= 1", "is not TOML"),
        ('"m" = 5', "m needs input and output"),
        ('"m" = { input = 1 }', "m needs input and output"),
        ('"m" = { input = 1, output = 2, currency = "eur" }', "takes aliases and as_of"),
        ('"m" = { input = "1", output = 2 }', "a price of m is no number"),
        ('"m" = { input = -1, output = 2 }', "a price of m is not 0 or more"),
        ('"m" = { input = nan, output = 2 }', "a price of m is not 0 or more"),
    ],
)
def test_a_table_that_cannot_be_read(run: Run, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "user" / "graphrag-prices.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    output = run("prices", "list", exit_code=1).output
    assert output.startswith(f"Error: {file}")
    assert said in output
    assert output.count("\n") == 1


def test_prices_that_cannot_be(run: Run) -> None:
    for value in ("-1", "nan", "inf"):
        assert (
            "Invalid value for '--input'"
            in run("prices", "set", "m", "--input", value, "--output", "1", exit_code=2).output
        )


def test_names_that_toml_would_trip_over(run: Run) -> None:
    for name in ('say "x"', "back\\slash", "ünï/cødé:latest", "a.b.c", "tab\there", "new\nline"):
        prices.set_price(name, 1, 2)
        assert price_of(name) == Price(name, 1.0, 2.0, price_of(name).as_of, True)  # type: ignore[union-attr]
        assert prices.remove_price(name)
        assert price_of(name) is None
    with pytest.raises(PriceError, match="0 or more"):
        prices.set_price("m", float("nan"), 2)


def test_a_shipped_price_is_a_list_price_of_its_model() -> None:
    """Names stand once, amounts are in USD a million tokens, replies cost more than prompts."""
    shipped = prices._shipped()
    names = [name for price in shipped for name in (price.model, *price.aliases)]
    assert len(names) == len(set(names))
    assert all(0.01 <= price.input < price.output <= 100 for price in shipped)
    assert {price.as_of for price in shipped} == {"2026-09-30"}


def test_a_run_is_stopped_by_a_price_of_ones_own(run: Run, path: Path) -> None:
    prices.set_price(MODEL, 1000, 1000)
    with Ledger.open(path) as ledger:
        ledger.set_budget(Budget.parse("$0.10"))
        with pytest.raises(ValueError, match=r"has \$0.10 left, and this call may need \$0.28"):
            ledger.reserve("x", MODEL, 100, 100)
