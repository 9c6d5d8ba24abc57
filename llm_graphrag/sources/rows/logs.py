"""Conversations out of llm's own log, written by any version of it: one document each.

llm kept exchanges in ``responses`` until 0.35, and keeps them in ``threads``, ``turns``,
``messages`` and ``parts`` since; a file may hold both, and a conversation may have begun
in one and gone on in the other. What was asked and what was answered becomes a section
an exchange; system prompts, reasoning, tool calls and attachments are left out, and
so is what we asked models ourselves, for any knowledge base: a note that is extracted
must not come back as a conversation about it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...store.model_calls import OWN_THREAD
from ..converters import UNPRINTABLE
from ..quoting import MAX_VALUE, Value, heading, metadata, nested, one_line
from . import sqlite
from .feed import Remarks, Rendered, UnreadableError
from .keys import Paths

NAME = KIND = "llm-logs"
MAX_TITLE = 100
MAX_STEPS = 10_000  # messages of one turn

OLD = """
  SELECT coalesce(r.conversation_id, r.id) AS conversation, coalesce(c.name, '') AS name, r.id AS id, r.model AS model,
    r.datetime_utc AS at, coalesce(r.prompt, '') AS prompt, coalesce(r.response, '') AS response
  FROM responses r LEFT JOIN conversations c ON c.id = r.conversation_id"""

NEW = """
  SELECT coalesce(t.thread_id, t.id) AS conversation, coalesce(h.name, '') AS name, t.id AS id, t.model AS model,
    t.datetime_utc AS at, t.parent_message_hash AS asked, t.tip_message_hash AS tip
  FROM turns t LEFT JOIN threads h ON h.id = t.thread_id
  WHERE coalesce(t.thread_id, '') <> :own || t.id"""

#: What was typed, as llm's own search sees it: without the fragments that were put into it.
TEXTS = """
  SELECT message_hash, coalesce(text, (SELECT group_concat(json_extract(value, '$.literal'), '')
    FROM json_each(payload, '$.text_ref'))) FROM parts WHERE type = 'text' ORDER BY message_hash, position"""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt with its answer."""

    id: str
    model: str
    at: str
    prompt: str
    response: str


@dataclass
class Logs:
    """A feed of conversations."""

    path: Path
    root: str
    name: str = NAME
    kind: str = KIND
    document_kind: str = "conversation"
    parts_level: int = 2
    options: dict[str, Any] = field(default_factory=dict)

    def fingerprint(self) -> str:
        return sqlite.fingerprint(self.path)

    def read(self, remarks: Remarks) -> Iterator[Rendered]:
        """Every conversation, in the order in which they began."""
        with closing(sqlite.open_to_read(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            try:
                found = _conversations(connection)
            except sqlite3.Error as error:
                raise UnreadableError(f"not a log of llm that can be read: {error}") from error
        paths = Paths()
        for id_, (name, exchanges) in found.items():
            text, title = render(name, exchanges)
            path, _ = paths.of([id_], text)
            yield Rendered(path, title or f"Conversation {path}", text, {"exchanges": len(exchanges)})


def _conversations(connection: sqlite3.Connection) -> dict[str, tuple[str, list[Exchange]]]:
    """Name and exchanges by id of the conversation, in the order of time."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    found: list[tuple[str, str, Exchange]] = []
    if {"responses", "conversations"} <= tables:
        found += _responses(connection)
    if {"threads", "turns", "messages", "parts"} <= tables:
        found += _turns(connection)
    elif not found and "responses" not in tables:
        raise UnreadableError("not a log of llm: it has neither the table responses nor the table turns")
    names: dict[str, str] = {}
    exchanges: dict[str, dict[str, Exchange]] = {}
    for conversation, name, exchange in sorted(found, key=lambda item: (_moment(item[2].at), item[2].id)):
        names[conversation] = names.get(conversation) or name
        exchanges.setdefault(conversation, {}).setdefault(exchange.id, exchange)
    return {id_: (names[id_], list(of.values())) for id_, of in exchanges.items()}


def _responses(connection: sqlite3.Connection) -> Iterator[tuple[str, str, Exchange]]:
    for row in connection.execute(OLD):
        yield row["conversation"], row["name"], _exchange(row, row["prompt"], row["response"])


def _turns(connection: sqlite3.Connection) -> Iterator[tuple[str, str, Exchange]]:
    messages = {row[0]: (row[1], row[2]) for row in connection.execute("SELECT hash, parent_hash, role FROM messages")}
    texts: dict[str, str] = {}
    for hash_, text in connection.execute(TEXTS):
        texts[hash_] = texts.get(hash_, "") + (text or "")
    for row in connection.execute(NEW, {"own": OWN_THREAD}):
        asked = row["asked"] if messages.get(row["asked"], ("", ""))[1] == "user" else ""
        answers: list[str] = []
        at = row["tip"]
        while at in messages and at != row["asked"] and len(answers) < MAX_STEPS:  # back from the tip to the prompt
            parent, role = messages[at]
            answers.append(texts.get(at, "") if role == "assistant" else "")
            at = parent
        yield row["conversation"], row["name"], _exchange(row, texts.get(asked, ""), "".join(reversed(answers)))


def _exchange(row: sqlite3.Row, prompt: str, response: str) -> Exchange:
    return Exchange(str(row["id"]), row["model"] or "", row["at"] or "", prompt, response)


def _moment(at: str | None) -> str:
    """A time for sorting: both generations write UTC, with and without its sign."""
    return (at or "").replace(" ", "T").removesuffix("+00:00").removesuffix("Z")


def render(name: str, exchanges: list[Exchange]) -> tuple[str, str]:
    """The note of one conversation, and its title; empty if nothing was said."""
    title = one_line(UNPRINTABLE.sub("", name or exchanges[0].prompt))
    title = title if len(title) <= MAX_TITLE else title[:MAX_TITLE].rsplit(" ", 1)[0] + "…"
    models = list(dict.fromkeys(exchange.model[:MAX_VALUE] for exchange in exchanges if exchange.model))
    times = [_moment(exchange.at)[:19] for exchange in exchanges if exchange.at]
    about: dict[str, Value] = {}
    if models:
        about["model"] = models[0] if len(models) == 1 else models
    if times:
        about |= {"started": times[0], "ended": times[-1]}
    parts = [metadata(about).rstrip("\n")]
    if title:
        parts.append(heading(title, 1))
    for number, exchange in enumerate(exchanges, 1):
        parts.append(f"## Exchange {number}")
        for word, text in (("Prompt", exchange.prompt), ("Answer", exchange.response)):
            said = UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
            if said.strip():
                parts += [f"### {word}", nested(said, 3)]
    return "\n\n".join(part for part in parts if part) + "\n", title
