"""Org files (Logseq, org-roam): headings with their tags, links, properties, tasks.

Only what makes a graph is read. ``file:`` links and bare names lead to notes,
``id:`` links to nothing a name could find, everything with another scheme leads
outside. Source and example blocks, verbatim text and comments are closed.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from .dialects import Dialect
from .fields import Spans, make_fields
from .inline import BracketField
from .links import ATTACHMENTS, NOTE_EXTENSIONS, strip_extension
from .note import Field, Heading, Link, Note, Tag, Task

_CLOSED = re.compile(
    r"^[ \t]*#\+begin_(src|example|export|comment|query)\b.*?(?:^[ \t]*#\+end_\1[ \t]*$|\Z)"
    r"|^[ \t]*(?:#|:)[ \t][^\n]*$"
    r"|(?<![\w=~])([=~])(?=\S)[^\n=~]*(?<=\S)\2(?![\w=~])",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(
    r"^(\*+)[ \t]+(?:(TODO|DOING|NEXT|DONE|NOW|LATER|WAITING|WAIT|CANCELED|CANCELLED)[ \t]+)?"
    r"(?:\[#[A-Za-z]\][ \t]+)?([^\n]*?)(?:[ \t]+:((?:[\w@#%\-]+:)+))?[ \t]*$",
    re.MULTILINE,
)
_LINK = re.compile(r"\[\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])?\]|\(\(([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4,12}){4})\)\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_KEYWORD = re.compile(r"^[ \t]*#\+(title|filetags):[ \t]*([^\n]*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_DRAWER = re.compile(r"^[ \t]*:PROPERTIES:[ \t]*\n((?:[ \t]*:[^\n]*\n)*?)[ \t]*:END:", re.IGNORECASE | re.MULTILINE)
_PROPERTY = re.compile(r"^[ \t]*:([^\s:][^:\n]*):[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
_HASHTAG = re.compile(r"(?<![\w#/&=\[(])#(?:\[\[([^\[\]\n]+)\]\]|([\w\-/]*[^\W\d][\w\-/]*))")
_LOOKS_ORG = re.compile(r"\A\s*(?:\*+ \S|#\+\w+:|:PROPERTIES:)")
_ORG_ONLY = re.compile(
    r"^[ \t]*:PROPERTIES:[ \t]*$|^#\+TITLE:|\]\[[^\]\n]*\]\]|^#\+BEGIN_", re.IGNORECASE | re.MULTILINE
)
_DEADLINE = re.compile(r"\s*(?:SCHEDULED:[^\n]*?)?DEADLINE:[ \t]*<(\d{4}-\d\d-\d\d)")
_BOOKKEEPING = frozenset(("id", "custom_id", "collapsed", "created-at", "updated-at"))


def looks_like_org(text: str, name: str) -> bool:
    """By its extension; for a name without one by what it begins with and holds."""
    if name.lower().endswith(NOTE_EXTENSIONS):
        return name.lower().endswith(".org")
    return bool(_LOOKS_ORG.match(text) and _ORG_ONLY.search(text))


def parse_org(text: str, dialect: Dialect) -> Note:
    """Read an org text."""
    code = [match.span() for match in _CLOSED.finditer(text) if not match[0].lstrip().lower().startswith("#+title")]
    closed = Spans(code)
    found = [item for match in _LINK.finditer(text) if not closed.holds(match.start()) and (item := _link(match))]
    links = [item for item in found if isinstance(item, Link)]
    fields = _properties(text, closed, links)
    taken = Spans((field.start, field.end) for field in fields)
    headings, tags, tasks = _headings(text, closed)
    title, title_span = None, None
    for match in _KEYWORD.finditer(text):
        if match[1].lower() == "title" and match[2]:
            title, title_span = match[2], match.span(2)
        elif match[1].lower() == "filetags":
            parts = re.compile(r"[^:\s]+").finditer(text, *match.span(2))
            tags += [Tag(part[0], *part.span(), "text") for part in parts]
    if dialect.properties:
        tags += [Tag(match[1] or match[2], *match.span(), "text") for match in _HASHTAG.finditer(text)
                 if not closed.holds(match.start())]  # fmt: skip
    return Note(
        text=text, title=title, title_span=title_span, headings=tuple(headings),
        links=tuple(link for link in links if not taken.holds(link.start)), fields=tuple(fields),
        tags=tuple(sorted(tags, key=lambda tag: tag.start)), tasks=tuple(tasks), code=tuple(closed.merged),
        external_links=sum(item == "external" for item in found),
    )  # fmt: skip


def _link(match: re.Match[str]) -> Link | str | None:
    if match[3]:
        return Link(*match.span(), "block", match[3], match[0], block=match[3])
    written, label = match[1].strip(), match[2] or None
    target, heading = written, None
    if written.startswith("file:"):
        target, _, heading_part = written[len("file:") :].partition("::")
        heading = heading_part.lstrip("*") or None
    elif written.startswith(("id:", "#", "*")):
        return None
    elif _SCHEME.match(written) and (written[written.index(":") + 1 :].startswith("//") or " " not in written):
        return "external"
    name = strip_extension(target.strip())
    if not name or ("." in target and target.rpartition(".")[2].lower() in ATTACHMENTS):
        return None
    return Link(*match.span(), "org", name, match[1], heading, None, label)


def _properties(text: str, closed: Spans, links: list[Link]) -> list[Field]:
    found = [
        BracketField(*match.span(2), *match.span(1))
        for drawer in _DRAWER.finditer(text)
        for match in _PROPERTY.finditer(text, *drawer.span(1))
        if match[1].lower() not in _BOOKKEEPING and not closed.holds(match.start())
    ]
    return make_fields(text, found, links, "property")


def _headings(text: str, closed: Spans) -> tuple[list[Heading], list[Tag], list[Task]]:
    headings: list[Heading] = []
    tags: list[Tag] = []
    tasks: list[Task] = []
    matches = list(_HEADING.finditer(text))
    drops = [match.start() for match in matches if closed.holds(match.start())]
    for match in matches:
        index = bisect_right(drops, match.start())
        if index and drops[index - 1] == match.start():
            continue
        plain = _LINK.sub(lambda link: link[2] or link[1] or "", match[3]).strip()
        headings.append(Heading(min(len(match[1]), 6), plain, *match.span()))
        if match[4]:
            names = re.compile(r"[^:]+").finditer(text, *match.span(4))
            tags += [Tag(name[0], *name.span(), "text") for name in names]
        if match[2]:
            due = _DEADLINE.match(text, match.end())
            tasks.append(Task(match[2], match[3], match.start(2), match.end(3), due[1] if due else None))
    return headings, tags, tasks
