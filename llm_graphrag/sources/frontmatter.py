"""The metadata block at the top of a note, with the place of every value.

YAML is read as a tree of nodes only: nothing is constructed, so the text of a value
stays as it was written (0.90, Yes, 12:30:45, an impossible date) and no tag can run
code. Each node knows where it stands, which gives the spans.

``[[a, b]]`` without quotes is a nested list to YAML and one link to everybody else.
Such links, and ``{{placeholders}}``, are disguised before parsing, character for
character, and restored afterwards, so offsets stay true.

A block that is no metadata (never closed, a rule followed by text) is body. A block
that YAML refuses is read again entry by entry, so that one bad line costs one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import yaml

from .note import Alias, Tag, Warning

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPEN = re.compile(r"---[ \t]*\n")
_UNCLOSED = re.compile(r"---[ \t]*\n[\w\"'@$][^:\n]{0,200}:(?:[ \t].*)?$", re.MULTILINE)
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^(?:([\w\"'@$][^:\n]{0,200}?)[ \t]*:(?=[ \t]|$)|(?=[^\s#\-]))", re.MULTILINE)
_KEY_LINE = re.compile(r"([\w\"'@$][^:\n]{0,200}?)[ \t]*:(?:[ \t]+(.*))?$")
_DISGUISE = re.compile(
    r"(?<![^\s\[,{:])\"(?:[^\"\\]|\\.)*\"|(?<![^\s\[,{:])'(?:[^'\n]|'')*'"
    r"|(\[\[(?!\[)[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*\]\]|\{\{[^{}\n]*\}\}|<%[^\n]*?%>)"
)
_SPECIALS = "[]{},:#&*!|>'\"%@`?-\\"
_HIDE = {ord(char): 0xE000 + index for index, char in enumerate(_SPECIALS)}
_SHOW = {code: char for char, code in _HIDE.items()}
_CORE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in "str int float bool null timestamp seq map merge value set omap pairs binary".split()
)
_PLACEHOLDER = re.compile(r"(?:\{\{.*\}\}|<%.*%>)\Z", re.DOTALL)
#: More values than any note has; anchors that multiply beyond this are cut off.
_MAX_VALUES = 5_000
_MAX_DEPTH = 40
_MAX_SIZE = 1_000_000
_MAX_BRACKETS = 400


@dataclass(frozen=True, slots=True)
class Entry:
    """One scalar of the metadata: its key (nested keys joined by dots), text, and where both stand."""

    key: str
    value: str
    start: int
    end: int
    key_start: int
    key_end: int


@dataclass(slots=True)
class Frontmatter:
    body: int = 0  # where the body begins
    span: tuple[int, int] | None = None
    entries: list[Entry] = field(default_factory=list)  # without tags and aliases
    metadata: dict[str, object] = field(default_factory=dict)
    tags: list[Tag] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)


def read_frontmatter(text: str) -> Frontmatter:
    """Read the metadata block of ``text``, and a second one if it follows directly."""
    result = Frontmatter()
    if not (block := _block(text, 0)):
        if _UNCLOSED.match(text):
            result.warnings.append(Warning(1, "metadata block is not closed by a line '---'; read as text"))
        return result
    _Reader(text, result).read(*block)
    if result.span is None:
        return result
    gap = re.compile(r"\s*").match(text, result.body)
    second = _block(text, gap.end()) if gap else None
    if second and _is_mapping(text, *second):
        line = text.count("\n", 0, gap.end() if gap else 0) + 1
        result.warnings.append(Warning(line, f"second metadata block at line {line}"))
        _Reader(text, result).read(*second)
    return result


def _block(text: str, start: int) -> tuple[int, int, int] | None:
    """Start and end of the content of a block that opens at ``start``, and the end of the block."""
    opening = _OPEN.match(text, start)
    if not opening or (start and text[start - 1] != "\n"):
        return None
    closing = _CLOSE.search(text, opening.end(), opening.end() + _MAX_SIZE)
    return (opening.end(), closing.start(), closing.end()) if closing else None


def _compose(text: str, start: int, end: int) -> yaml.Node | None:
    content = text[start:end]
    if content.count("[") + content.count("{") > _MAX_BRACKETS:
        raise yaml.YAMLError("too deeply nested")
    disguised = _DISGUISE.sub(lambda match: match[0].translate(_HIDE) if match[1] else match[0], content)
    return yaml.compose(disguised, Loader=_Loader)


def _is_mapping(text: str, start: int, end: int, _: int) -> bool:
    try:
        return isinstance(_compose(text, start, end), yaml.MappingNode)
    except (yaml.YAMLError, RecursionError, ValueError):
        return False


class _Reader:
    def __init__(self, text: str, result: Frontmatter) -> None:
        self.text, self.result = text, result
        self._values = 0
        self._shift = 0

    def read(self, start: int, end: int, close: int) -> None:
        """Read the block whose content is ``[start, end)``; leave the result alone if it is no metadata."""
        result = self.result
        try:
            node = _compose(self.text, start, end)
            if node is not None and not isinstance(node, yaml.MappingNode):
                return
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            if not self._looks_like_metadata(start, end):
                return
            line = self._line(start) + getattr(getattr(error, "problem_mark", None), "line", 0)
            problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
            result.warnings.append(Warning(line, f"metadata is not valid YAML ({problem}); read line by line"))
            self._read_entries(start, end)
        else:
            if node is not None:
                self._mapping(node, start)
        result.span = (result.span[0] if result.span else 0, close)
        result.body = min(close + 1, len(self.text))

    def _looks_like_metadata(self, start: int, end: int) -> bool:
        content = [line for line in self.text[start:end].split("\n") if line.strip()]
        likely = [line for line in content if line[0] in " \t-#" or _KEY_LINE.match(line)]
        first = next((line for line in content if not line.startswith("#")), "")
        return bool(_KEY_LINE.match(first)) and len(likely) * 3 >= len(content) * 2

    def _read_entries(self, start: int, end: int) -> None:
        """Parse each top-level entry alone; what YAML refuses is taken as one line of text."""
        heads = [match.start() for match in _ENTRY.finditer(self.text, start, end)] + [end]
        for first, last in pairwise(heads):
            try:
                node = _compose(self.text, first, last)
            except (yaml.YAMLError, RecursionError, ValueError):
                node = None
            if isinstance(node, yaml.MappingNode):
                self._mapping(node, first)
            elif match := _KEY_LINE.match(self.text, first, self._line_end(first, last)):
                self._shift = 0
                value = match[2].strip() if match[2] else ""
                place = match.start(2) if match[2] else match.end()
                self._pair(_scalar_at(match[1], match.start(1)), _scalar_at(value, place))

    def _line_end(self, start: int, end: int) -> int:
        stop = self.text.find("\n", start, end)
        return end if stop < 0 else stop

    def _mapping(self, node: yaml.MappingNode, shift: int) -> None:
        self._shift = shift
        for key, value in _merged_pairs(node):
            self._pair(key, value)

    def _pair(self, key_node: yaml.Node, value_node: yaml.Node) -> None:
        result = self.result
        key_start, key_end = self._span(key_node)
        key = self._scalar(key_node).strip() if isinstance(key_node, yaml.ScalarNode) else self.text[key_start:key_end]
        if not key:
            return
        if key in result.metadata:
            line = self._line(key_start)
            result.warnings.append(Warning(line, f"metadata key {key!r} at line {line} replaces an earlier one"))
            self._forget(key)
        entries = list(self._entries(key, (key_start, key_end), value_node, 0))
        result.metadata[key] = self._plain(value_node, 0)
        if key.lower() in ("tag", "tags"):
            result.tags += _tags(self.text, entries, isinstance(value_node, yaml.ScalarNode))
        elif key.lower() in ("alias", "aliases"):
            result.aliases += _aliases(self.text, entries, isinstance(value_node, yaml.ScalarNode))
        else:
            result.entries += [entry for entry in entries if not _PLACEHOLDER.match(entry.value)]

    def _forget(self, key: str) -> None:
        gone = [entry for entry in self.result.entries if entry.key == key or entry.key.startswith(key + ".")]
        self.result.entries = [entry for entry in self.result.entries if entry not in gone]

    def _entries(self, key: str, place: tuple[int, int], node: yaml.Node, depth: int) -> Iterator[Entry]:
        self._values += 1
        if self._values > _MAX_VALUES or depth > _MAX_DEPTH:
            if self._values == _MAX_VALUES + 1:
                self.result.warnings.append(Warning(self._line(place[0]), f"too many values in metadata key {key!r}"))
            return
        if node.tag not in _CORE_TAGS:
            line = self._line(self._shift + node.start_mark.index)
            self.result.warnings.append(Warning(line, f"YAML tag {node.tag!r} of metadata key {key!r} refused"))
        elif isinstance(node, yaml.ScalarNode):
            value, (start, end) = self._scalar(node).strip(), self._span(node)
            if value and not (not node.style and value in ("~", "null", "Null", "NULL")):
                yield Entry(key, value, start, end, *place)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from self._entries(key, place, item, depth + 1)
        else:
            for name, item in _merged_pairs(node):
                yield from self._entries(f"{key}.{self._scalar(name)}", self._span(name), item, depth + 1)

    def _plain(self, node: yaml.Node, depth: int) -> object:
        """The value as JSON would hold it, every scalar as the text that was written."""
        if self._values > _MAX_VALUES or depth > _MAX_DEPTH or node.tag not in _CORE_TAGS:
            return None
        if isinstance(node, yaml.ScalarNode):
            value = self._scalar(node)
            return None if not node.style and value in ("", "~", "null", "Null", "NULL") else value
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, depth + 1) for item in node.value]
        return {self._scalar(name): self._plain(item, depth + 1) for name, item in _merged_pairs(node)}

    def _scalar(self, node: yaml.Node) -> str:
        return str(node.value).translate(_SHOW) if isinstance(node, yaml.ScalarNode) else ""

    def _span(self, node: yaml.Node) -> tuple[int, int]:
        start, end = self._shift + node.start_mark.index, self._shift + node.end_mark.index
        style = getattr(node, "style", None)
        if style in ("'", '"') and end - start >= 2:
            start, end = start + 1, end - 1
        elif style in ("|", ">"):
            start = self.text.find("\n", start, end) + 1 or start
        written = self.text[start:end]
        stripped = written.strip()
        start += len(written) - len(written.lstrip()) if stripped else 0
        return start, start + len(stripped)

    def _line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1


def _scalar_at(value: str, start: int) -> yaml.ScalarNode:
    """A node that no YAML parser made."""
    first, last = (yaml.Mark("", index, 0, 0, None, 0) for index in (start, start + len(value)))
    return yaml.ScalarNode("tag:yaml.org,2002:str", value, first, last)


def _merged_pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """The pairs of a mapping, those of its ``<<`` first, so that its own win."""
    own = [pair for pair in node.value if pair[0].tag != "tag:yaml.org,2002:merge"]
    if len(own) == len(node.value):
        return own
    names = {str(key.value) for key, _ in own}
    sources = [value for key, value in node.value if key.tag == "tag:yaml.org,2002:merge"]
    sources = [item for source in sources for item in (source.value if source.id == "sequence" else [source])]
    inherited = [pair for source in sources if source.id == "mapping" for pair in source.value]
    return [pair for pair in inherited if str(pair[0].value) not in names] + own


def _tags(text: str, entries: list[Entry], scalar: bool) -> Iterator[Tag]:
    """Obsidian splits a string of tags at commas and spaces; an item of a list is one tag."""
    for entry in entries:
        pattern = r"\[\[[^\[\]]*\]\]|[^,\s]+" if scalar else r"\S(?:.*\S)?"
        for match in re.compile(pattern).finditer(text, entry.start, entry.end):
            name = match[0].lstrip("#").removeprefix("[[").removesuffix("]]").strip()
            if name and not _PLACEHOLDER.match(name):
                start = match.start() + match[0].index(name)
                yield Tag(name, start, start + len(name), "frontmatter")


def _aliases(text: str, entries: list[Entry], scalar: bool) -> Iterator[Alias]:
    """A string of aliases is split at commas; an item of a list is one alias."""
    for entry in entries:
        written = text[entry.start : entry.end]
        if not scalar or "," not in written or '"' in text[entry.start - 1 : entry.start]:
            if not _PLACEHOLDER.match(entry.value):
                yield Alias(entry.value.removeprefix("[[").removesuffix("]]"), entry.start, entry.end)
            continue
        for match in re.compile(r"[^,\s](?:[^,]*[^,\s])?").finditer(text, entry.start, entry.end):
            yield Alias(match[0], match.start(), match.end())
