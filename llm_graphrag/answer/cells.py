"""Where a quote from a table stands: its row in the file, and its column.

What is stored of a row is a small note (sources/rows/table.py): a metadata block with
a line a column, the title as a heading, longer cells under the names of their columns.
A line number of that note leads nowhere, so a citation gives row and column.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .result import Citation

__all__ = ["column_of", "with_cells"]

ROWS = """
    SELECT c.id, c.text, c.heading, d.metadata
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document AND d.kind = 'row'
"""

_KEY = re.compile(r"[\"']?([^\s#-][^:\"']*)[\"']?:(?:\s|$)")


def with_cells(connection: sqlite3.Connection, citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """The citations, those of rows with row and column."""
    chunks = json.dumps([citation.chunk for citation in citations])
    rows = {row[0]: row[1:] for row in connection.execute(ROWS, {"chunks": chunks})}
    return tuple(
        _with_cell(citation, *rows[citation.chunk]) if citation.chunk in rows else citation for citation in citations
    )


def _with_cell(citation: Citation, text: str, heading: str, metadata: str) -> Citation:
    about = json.loads(metadata)
    return replace(citation, row=about.get("row"), column=column_of(about, text, citation.start, heading))


def column_of(about: Mapping[str, Any], text: str, start: int, heading: str) -> str:
    """The column in which a place of a row's chunk stands; empty if it cannot be told.

    >>> about = {"title_column": "name", "text_columns": ["notes"], "columns": {"town": "Porto"}}
    >>> text = "---\\ntown: Porto\\n---\\n\\n# Ana\\n\\nLikes tea.\\n"
    >>> [column_of(about, text, text.index(word), "") for word in ("town", "Ana", "tea")]
    ['town', 'name', 'notes']
    """
    columns, title, texts = about.get("columns") or {}, about.get("title_column", ""), about.get("text_columns") or []
    path = heading.split(" > ")
    body = texts[0] if len(texts) == 1 else ""
    found = path[1] if len(path) > 1 else body
    block = False
    for line in text[: _line_end(text, start)].split("\n"):
        key = _KEY.match(line)
        if line == "---":
            block, found = not block, body
        elif block and key is not None and key[1] in columns:
            found = key[1]
        elif line.startswith("# "):
            found = title
        elif line.startswith("## "):
            found = line[3:].strip()
        elif found == title and line.strip():
            found = body
    return found


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
