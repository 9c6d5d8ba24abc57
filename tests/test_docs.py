"""The pages and the program say the same: commands, links, dependencies, examples."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest
from scripted_model import llm_user  # noqa: F401 - a fixture

from llm_graphrag.knowledge_base import KnowledgeBase

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli", ROOT / "docs" / "generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return load_generator()


def test_reference_is_up_to_date(generator: ModuleType) -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == generator.render(), "run: make docs"


def test_every_command_is_documented(generator: ModuleType) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    paths = [path for path, _, _ in generator.commands()]
    assert "llm graphrag ask" in paths
    assert [path for path in paths if f"\n## {path}\n" not in page] == []


def test_every_command_has_help_with_an_example(generator: ModuleType) -> None:
    import click

    for path, command, _ in generator.commands():
        assert command.help, f"{path} has no help"
        if not isinstance(command, click.Group):
            assert path in command.help, f"the help of {path} shows no example of it"


def test_every_option_has_help(generator: ModuleType) -> None:
    import click

    for path, command, _ in generator.commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.help, f"{path} {parameter.opts[0]} has no help"


def test_reference_names_no_place_on_this_machine(generator: ModuleType) -> None:
    assert re.findall(r"/(?:home|root|Users)/\S*", generator.render()) == []


def markdown_links(text: str) -> list[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for link in markdown_links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.exists(), f"{page.name}: {link} leads nowhere"
        if fragment:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert fragment in anchors, f"{page.name}: {link} names no heading"


def test_every_page_is_in_the_index() -> None:
    index = markdown_links((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= {link.partition("#")[0] for link in index}


def test_every_dependency_has_its_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(name for group in extras.values() for name in group)]
    names = {re.split(r"[<>=!~;\[ ]", name)[0] for name in needed}
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([\w.-]+) \|", page, flags=re.MULTILINE)) - {"package"}
    assert listed == names


def test_help_is_asked_for_alike_under_llm_and_alone(llm_user: Path) -> None:  # noqa: F811
    """click keeps the help option that a command was first asked for."""
    from click.testing import CliRunner
    from llm.cli import cli

    from llm_graphrag.plugin import graphrag

    for name in ("path", "merges"):
        for option in ("-h", "--help"):
            alone = CliRunner().invoke(graphrag, [name, option])
            under = CliRunner().invoke(cli, ["graphrag", name, option])
            assert (alone.exit_code, under.exit_code) == (0, 0)
            assert alone.output.splitlines()[1:] == under.output.splitlines()[1:]
            assert "-h, --help" in alone.output


def test_documented_tables_exist_in_the_file(tmp_path: Path) -> None:
    """Every kg_ name on the page about the file is a table or view, and every view is on the page."""
    import sqlite3

    from click.testing import CliRunner

    database = tmp_path / "kb.db"
    command = next(command for path, command, _ in load_generator().commands() if path == "llm graphrag")
    result = CliRunner().invoke(command, ["init", "-d", str(database)])
    assert result.exit_code == 0, result.output
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select name, type from sqlite_master where type in ('table', 'view')").fetchall()
    page = (ROOT / "docs" / "the-file.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"\bkg_[a-z_]+\b", page))
    assert documented <= {name for name, _ in rows}


def test_example_questions_name_notes_that_exist() -> None:
    lines = (ROOT / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    assert len({question["id"] for question in questions}) == len(questions)
    assert sum(not question.get("answerable", True) for question in questions) == 1
    for question in questions:
        for stem in question["gold"]:
            assert (ROOT / "examples" / f"{stem}.md").is_file(), stem


def test_example_vault_has_the_one_broken_link_it_promises() -> None:
    vault = ROOT / "examples" / "vault"
    notes = sorted(vault.rglob("*.md"))
    names = {path.stem for path in notes} | {path.relative_to(vault).with_suffix("").as_posix() for path in notes}
    broken = set()
    for note in notes:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", note.read_text(encoding="utf-8"), flags=re.DOTALL)
        broken |= {target for target in re.findall(r"\[\[([^\]|#]+)", text) if target not in names}
    assert broken == {"Light pollution survey"}
    assert len(notes) == 34


def written_queries() -> list[tuple[str, bool]]:
    """The queries of docs/query.md and of the help of ``query``, and whether they are openCypher."""
    text = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("query.md", "cli.md"))
    found = [(sql, False) for sql in re.findall(r"```sql\n(.*?)```", text, re.DOTALL)]
    found += [(sql, False) for sql in re.findall(r'graphrag query "(SELECT[^"]*)"', text)]
    found += [(sql, False) for sql in re.findall(r'kb\.query\("(SELECT[^"]*)"\)', text)]
    return found + [(cypher, True) for cypher in re.findall(r'graphrag query --cypher "([^"]*)"', text)]


def test_written_queries_find_rows_in_the_example_vault(tmp_path: Path) -> None:
    queries = written_queries()
    assert [cypher for _, cypher in queries].count(False) >= 4 and (queries[-1][1])
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([ROOT / "examples" / "vault"])
        for query, cypher in queries:
            if not cypher or importlib.util.find_spec("kglite"):
                assert kb.query(query, cypher=cypher, seconds=20).rows, query
