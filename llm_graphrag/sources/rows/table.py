"""From a row to its note: which column is the title, which is text, which are the key.

The title becomes the heading, the text columns the body, and every other column a
line of metadata, from which the extractor of links makes attributes and relations as
it does for any note. A cell of several lines, or a long one, is text too: it gets a section under the
name of its column. A column that holds HTML is read as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..converters import UNPRINTABLE
from ..html import html_to_markdown, looks_like_html
from ..markdown import plain_heading
from ..quoting import MAX_VALUE, heading, is_short, metadata, nested, one_line
from .feed import Record, Remarks, Rendered, Value
from .keys import Paths

TEXT_COLUMNS = ("text", "body", "content", "description")
TITLE_COLUMNS = ("title", "name")
KEY_COLUMN = "id"
MAX_TITLE = 200
MAX_BRACKETS = 200  # in one metadata block: more is taken for an attack by the reader of metadata


@dataclass(frozen=True, slots=True)
class Columns:
    """What a person said about the columns; empty is found out."""

    text: tuple[str, ...] = ()
    title: str = ""
    key: tuple[str, ...] = ()

    def as_options(self) -> dict[str, Any]:
        """For the options of a source."""
        named = {"text": list(self.text), "title": self.title, "key": list(self.key)}
        return {name: value for name, value in named.items() if value}


Records = Callable[[Remarks], Iterator[Record]]


@dataclass
class Table:
    """A feed of rows. ``label`` names a row that has neither title nor key; ``primary`` is the table's own key."""

    name: str
    kind: str
    root: str
    label: str
    records: Records
    print_of: Callable[[], str]
    columns: Columns = field(default_factory=Columns)
    primary: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    document_kind: str = "row"
    parts_level: int = 0

    def fingerprint(self) -> str:
        return self.print_of()

    def read(self, remarks: Remarks) -> Iterator[Rendered]:
        """Documents of all rows; raises ValueError if a named column is in none of them."""
        paths = Paths()
        known: dict[str, None] = {}
        removed = count = 0
        for record in self.records(remarks):
            values, dirt = _clean(record.values)
            removed += dirt
            count += 1
            known.update(dict.fromkeys(values))
            if values:
                yield self._rendered(Record(values, record.place, record.key), paths, remarks)
        if removed:
            remarks.warn(f"{removed:,} NUL and other control characters removed")
        self._require(known, count)

    def _require(self, known: Mapping[str, None], count: int) -> None:
        named = [*self.columns.text, *([self.columns.title] if self.columns.title else []), *self.columns.key]
        for column in named:
            if count and _find(known, column) is None:
                raise ValueError(f"{self.name} has no column {column!r}. Columns: {', '.join(known)}")

    def _rendered(self, record: Record, paths: Paths, remarks: Remarks) -> Rendered:
        values = record.values
        title_column = self._title_column(values)
        title = "" if title_column is None else one_line(_text(values[title_column]))
        text_columns = self._text_columns(values, title_column)
        text = _note(values, title_column, title, text_columns)
        parts = [record.key] if record.key and not self.columns.key else self._key(values)
        path, place = paths.of(parts, text)
        if parts and place > 1:
            remarks.warn(f"key {','.join(parts)!r} stands {place} times; kept as {path}", record.place.get("line"))
        about: dict[str, Any] = dict(record.place)
        if title_column is not None:
            about["title_column"] = title_column
        if text_columns:
            about["text_columns"] = text_columns
        return Rendered(path, title or f"{self.label} {path}", text, about)

    def _title_column(self, values: Mapping[str, Value]) -> str | None:
        wanted = (self.columns.title,) if self.columns.title else TITLE_COLUMNS
        found = next((column for name in wanted if (column := _find(values, name)) is not None), None)
        if found is None or found in self.columns.text or not 0 < len(one_line(_text(values[found]))) <= MAX_TITLE:
            return None
        return found

    def _text_columns(self, values: Mapping[str, Value], title: str | None) -> list[str]:
        if self.columns.text:
            named = [_find(values, name) for name in self.columns.text]
            return [column for column in named if column is not None and column != title]
        found = (_find(values, name) for name in TEXT_COLUMNS)
        return [column for column in found if column is not None and column != title][:1]

    def _key(self, values: Mapping[str, Value]) -> list[str]:
        """The parts of the key; none if one of them is empty."""
        wanted = self.columns.key or self.primary or (KEY_COLUMN,)
        found = [_find(values, name) for name in wanted]
        parts = [_text(values[column]) if column is not None else "" for column in found]
        return parts if all(part.strip() for part in parts) else []


def _note(values: Mapping[str, Value], title_column: str | None, title: str, text_columns: Sequence[str]) -> str:
    """The Markdown of one row."""
    facts: dict[str, Value] = {}
    sections = {column: _body(_text(values[column])) for column in text_columns}
    brackets = 0
    for column, value in values.items():
        if column == title_column or column in sections:
            continue
        items = value if isinstance(value, list) else [value]
        brackets += sum(item.count("[") + item.count("{") for item in items)
        if all(is_short(item) for item in items) and brackets < MAX_BRACKETS and len(items) <= MAX_VALUE:
            facts[column] = value
        else:
            sections[column] = _body(_text(value))
    parts = [metadata(facts).rstrip("\n")] if facts else []
    alone = bool(title) and len(text_columns) == len(sections) == 1
    if title and not (alone and _begins_with(title, sections[text_columns[0]])):
        parts.append(heading(title, 1))
    if alone:
        parts += sections.values()
    else:
        for column, body in sections.items():
            parts += [heading(column, 2), nested(body, 2)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _begins_with(title: str, body: str) -> bool:
    """Whether a text brings its title along as its first heading."""
    first = body.partition("\n")[0]
    return first.startswith("# ") and plain_heading(first) == title


def _body(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (html_to_markdown(text) if looks_like_html(text) else text).strip("\n")


def _clean(values: Mapping[str, Value]) -> tuple[dict[str, Value], int]:
    """Values without control characters and without those that are blank, and how many characters that took."""
    found: dict[str, Value] = {}
    removed = 0
    for column, value in values.items():
        items = []
        for item in value if isinstance(value, list) else [value]:
            text, number = UNPRINTABLE.subn("", item.replace("\r\n", "\n").replace("\r", "\n"))
            removed += number
            if text.strip():
                items.append(text)
        if items:
            found[UNPRINTABLE.sub("", column)] = items if isinstance(value, list) else items[0]
    return found, removed


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _find(columns: Mapping[str, Any], name: str) -> str | None:
    """The column of this name, in whatever case."""
    if name in columns:
        return name
    return next((column for column in columns if column.casefold() == name.casefold()), None)


def unique_names(header: Sequence[str]) -> list[str]:
    """Names for columns: those without one are numbered, those that stand twice too.

    >>> unique_names(["Name", "", "Name"])
    ['Name', 'column 2', 'Name (2)']
    """
    names: list[str] = []
    for number, written in enumerate(header, 1):
        name = first = one_line(UNPRINTABLE.sub("", written)) or f"column {number}"
        again = 2
        while name in names:
            name, again = f"{first} ({again})", again + 1
        names.append(name)
    return names
