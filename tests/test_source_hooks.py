"""A package can read further formats through ``register_sources``, and come before our own converters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pluggy
import pytest
from conftest import Vault
from source_files import texts

from llm_graphrag.hookspecs import Converted, Converter
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.plugins import converters, manager

hookimpl = pluggy.HookimplMarker("llm_graphrag")


class Plugin:
    @hookimpl
    def register_sources(self, register: Callable[[Sequence[str], Converter], None]) -> None:
        register([".shout", ".SCREAM"], self.shout)
        register([".htm"], self.shout)

    @staticmethod
    def shout(data: bytes) -> Converted:
        if not data:
            raise ValueError("nobody shouts")
        if data == b"bug":
            raise KeyError("bug")
        return Converted(f"# {data.decode().lower()}\r\n\0[[Ana]]", ("it was loud",))


@pytest.fixture
def plugin() -> Iterator[Plugin]:
    installed = Plugin()
    manager().register(installed)
    yield installed
    manager().unregister(installed)


def test_our_own_come_through_the_hook() -> None:
    assert {".html", ".htm", ".xhtml", ".pdf", ".docx"} <= set(converters())


def test_files_of_a_plugin_are_found_and_read(kb: KnowledgeBase, vault: Vault, plugin: Plugin) -> None:
    folder = vault(
        {"a.shout": "HELLO", "b.scream": "HEY", "c.htm": "<p>X", "d.shout": "", "e.shout": "bug", "f.loud": ""}
    )
    report = kb.add([folder])
    assert texts(kb) == {
        "vault/a.shout": "# hello\n[[Ana]]",
        "vault/b.scream": "# hey\n[[Ana]]",
        "vault/c.htm": "# <p>x\n[[Ana]]",
    }
    assert [(r.path, r.message) for r in report.skipped] == [
        ("d.shout", "nobody shouts"),
        ("e.shout", "cannot be converted: KeyError: 'bug'"),
    ]
    assert {remark.message for remark in report.warnings} == {"it was loud"}
    assert kb.totals()["triples"] == 3
    assert kb.check() == []
