"""Messages about names of hundreds of letters stay readable, whatever command says them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from llm_graphrag.text.shortened import LONGEST, listed

RELATION, TYPE, NAME = "r" * 500, "t" * 500, "n" * 500


@pytest.fixture
def graph(run: Callable[..., Result], tmp_path: Path) -> Callable[..., Result]:
    rows = [f"A,{RELATION},{NAME},", f"A,{'s' * 500},C,", f"A,knows,Mercury,{TYPE}", "A,knows,Mercury,planet"]
    (tmp_path / "g.csv").write_text("\n".join(["head,relation,tail,tail_type", *rows]), "utf-8")
    run("import", tmp_path / "g.csv", "--no-schema")
    return run


@pytest.mark.parametrize(("arguments", "status", "said"), [
    (("follow", "A", "zzzz"), 1, f"It has: knows, {'r' * (LONGEST - 1)}…, {'s' * (LONGEST - 1)}…."),
    (("follow", "A", "r" * 450), 1, f"Did you mean {'r' * (LONGEST - 1)}…?"),
    (("follow", "A", "--question", "how tall is A"), 1, f"From there lead: knows, {'r' * (LONGEST - 1)}…"),
    (("follow", "A", f"zzzz{RELATION}"), 1, f"no relation 'zzzz{'r' * (LONGEST - 5)}…'"),
    (("follow", "C", RELATION), 0, "leads nowhere from there"),
    (("follow", "Mercury", "^knows"), 1, f"Mercury ({'t' * (LONGEST - 1)}…) #"),
    (("entity", "n" * 499), 1, f"Nothing is called {'n' * (LONGEST - 1)}…. Did you mean {'n' * (LONGEST - 1)}…?"),
    (("contradictions", "--entity", "n" * 499), 1, f"Nothing is called {'n' * (LONGEST - 1)}…."),
    (("link", "A", "--type", "ship"), 2, f"Types here: planet, {'t' * (LONGEST - 1)}…."),
    (("path", "n" * 499, "A"), 1, "Nothing is called nnn"),
    (("search", "knows", "--type", "x" * 500), 0, f"is called '{'x' * (LONGEST - 1)}…'."),
    (("merges", "by-hand", "x" * 500, "A"), 1, f"There is no entity '{'x' * (LONGEST - 1)}…'."),
])  # fmt: skip
def test_what_a_message_lists_is_cut(
    graph: Callable[..., Result], arguments: tuple[str, ...], status: int, said: str
) -> None:
    output = graph(*arguments, exit_code=status).output
    assert said in output
    assert not any(letter * 260 in output for letter in "rstnx")


def test_of_many_names_some_are_listed() -> None:
    assert listed([f"n{n}" for n in range(22)]).endswith("n18, n19 and 2 more")
    assert listed([]) == ""
