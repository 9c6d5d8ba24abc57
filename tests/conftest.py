"""Fixtures that tests of the knowledge base share: a folder of notes, an open file, the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from llm_graphrag.knowledge_base import KnowledgeBase

Vault = Callable[..., Path]
Run = Callable[..., Result]


def write_notes(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write texts by relative path; a text is stored as UTF-8 as it stands, bytes as they are."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return root


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """``vault({path: text}, name="vault")`` writes notes and returns their folder; call it again to change some."""

    def write(files: Mapping[str, str | bytes], name: str = "vault") -> Path:
        return write_notes(tmp_path / name, files)

    return write


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """An empty knowledge base in a file, open to write."""
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("add", folder, exit_code=0)`` calls ``llm graphrag`` on the default file, in ``tmp_path/user``."""
    from llm_graphrag.plugin import graphrag

    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "user"))
    monkeypatch.delenv("LLM_GRAPHRAG_DB", raising=False)

    def call(*arguments: object, exit_code: int = 0, input: bytes | str | None = None) -> Result:
        result = CliRunner().invoke(graphrag, [str(argument) for argument in arguments], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == exit_code, result.output
        return result

    return call
