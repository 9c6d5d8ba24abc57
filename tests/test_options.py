"""An option that would do nothing without another, or with it, is refused and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, Vault

NONE_ASKED = "is for a model, and none is asked. Name one: -m MODEL"
OF_CALLS = "is for calls, and --from-replies makes none."


@pytest.mark.parametrize(("arguments", "said"), [
    ("ask who --deep-windows 2", "--deep-windows is of --deep; add that, or leave it out."),
    ("ask who -m mock --deep-windows 4", "--deep-windows is of --deep; add that, or leave it out."),
    ("ask who --deep", f"--deep {NONE_ASKED}"),
    ("ask who --timeout 180", f"--timeout {NONE_ASKED}"),
    ("ask who -o temperature 0", f"-o {NONE_ASKED}"),
    ("query select --timeout 3", f"--timeout {NONE_ASKED}"),
    ("query --schema --limit 200", "--limit does nothing with --schema, which stands alone, or with --json."),
    ("query --schema --cypher", "--cypher does nothing with --schema, which stands alone, or with --json."),
    ("search who --no-type-filter", "--no-type-filter leaves --type out, and there is none."),
    ("history --keep 3 --all", "--all does nothing with --keep, which prints no lines"),
    ("add - --prune", "--prune is for folders and files, and does nothing with -"),
    ("add - --title name", "--title is for folders and files, and does nothing with -"),
    ("add . --name clipping.md", "--name names what comes through -, and nothing does"),
    ("extract --from-replies -m mock", f"-m {OF_CALLS}"),
    ("extract --from-replies --workers 2", f"--workers {OF_CALLS}"),
    ("extract --forget-exported --timeout 9", "--timeout is for calls, and --forget-exported makes none."),
    ("extract --estimate --batch-format openai", "--batch-format goes with --export-requests."),
])  # fmt: skip
def test_what_would_do_nothing(run: Run, arguments: str, said: str) -> None:
    done = run(*arguments.split(), exit_code=2, input="text")
    assert done.stderr.endswith(f"Error: {said}\n")


def test_what_does_something(run: Run, vault: Vault, tmp_path: Path) -> None:
    run("add", vault({"a.md": "Ana knows [[Ben]]."}))
    run("add", "-", "--name", "b.md", "--private", input="Ben knows [[Cleo]].")
    assert "b.md" in run("search", "Cleo", "--type", "nothing", "--no-type-filter").stdout
    run("history", "--last", "1", "--all")
    run("query", "--schema", "--json")
