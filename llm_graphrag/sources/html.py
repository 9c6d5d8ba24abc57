"""HTML to Markdown: text, headings, lists, links and tables stay, what a browser does not show goes.

JustHTML parses as a browser does, removes what is unsafe and writes the Markdown. We
take out navigation and forms first, write data tables as Markdown tables (tables that
only arrange a page are taken apart), and undo the escapes that are needed by a
renderer only, because names and quotes should read as the page shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..hookspecs import Converted
from .quoting import fence_of, metadata

if TYPE_CHECKING:
    from justhtml import JustHTML
    from justhtml.dom import Node

HIDDEN = "script, style, noscript, template, svg, math, iframe, object, nav, button, select, textarea, input"
_MARKED = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LOOKS_LIKE_HTML = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|p|h[1-6]|ul|ol|table|article|section|blockquote)\b[^>]*>"
    r".*</?[a-z0-9]+>\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_PLACE = re.compile("\ue000([0-9]+)\ue001")
_INNER_UNDERSCORE = re.compile(r"(?<=\w)\\_(?=\w)")
_BLANK_LINES = re.compile(r"\n{3,}")


def convert_html(data: bytes) -> Converted:
    """A page as Markdown, its title as metadata."""
    from justhtml import JustHTML

    warnings: tuple[str, ...] = ()
    try:
        page = JustHTML(_utf8(data), sanitize=False)
    except UnicodeDecodeError:
        page = JustHTML(data, sanitize=False)  # by its meta element, as a browser does
        warnings = (f"not UTF-8, read as {page.encoding}",)
    found = page.query_one("title")
    title = " ".join(found.to_text().split()) if found is not None else ""
    return Converted(metadata({"title": title} if title else {}) + _markdown(page), warnings)


def html_to_markdown(html: str) -> str:
    """A piece of HTML, such as the body of a note in a table, as Markdown."""
    from justhtml import JustHTML

    return _markdown(JustHTML(html, sanitize=False, fragment=True))


def looks_like_html(text: str) -> bool:
    """Whether a text is HTML as a whole, and not Markdown with a little of it.

    >>> [looks_like_html(text) for text in ("<div><b>Shopping</b></div>", "Use <b>this</b>", "<p> is a tag")]
    [True, False, False]
    """
    return bool(_LOOKS_LIKE_HTML.match(text))


def _utf8(data: bytes) -> str:
    for mark, encoding in _MARKED:
        if data.startswith(mark):
            return data.decode(encoding)
    return data.decode("utf-8-sig")


def _markdown(page: JustHTML) -> str:
    from justhtml.dom import Text

    for node in page.query(HIDDEN):
        _remove(node)
    for image in page.query("img"):
        if image.parent is not None:
            image.parent.replace_child(Text((image.attrs or {}).get("alt") or ""), image)
    for link in page.query("a"):
        if ((link.attrs or {}).get("href") or "").strip().lower().startswith(("javascript:", "data:", "vbscript:")):
            link.attrs = {}
    tables = list(_tables(page))
    lines: list[str] = []
    fence = ""
    for line in page.to_markdown().split("\n"):
        fence = fence_of(line, fence)
        lines.append(line if fence else _unescape(line))
    text = _PLACE.sub(lambda match: tables[int(match[1])] if int(match[1]) < len(tables) else "", "\n".join(lines))
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def _remove(node: Node) -> None:
    if node.parent is not None:
        node.parent.remove_child(node)


def _tables(page: JustHTML) -> Iterator[str]:
    """Markdown of each data table, in whose place a sign with its number is left."""
    from justhtml.dom import Element, Text

    number = 0
    for table in reversed(page.query("table")):  # inner ones first
        rows = [[_cell(cell) for cell in row.query("td, th")] for row in table.query("tr")]
        rows = [row for row in rows if any(row)]
        if "\ue000" in table.to_text() or max(map(len, rows), default=0) < 2 or table.parent is None:
            _take_apart(table)
            continue
        paragraph = Element("p", None, "html")
        paragraph.append_child(Text(f"\ue000{number}\ue001"))
        table.parent.replace_child(paragraph, table)
        width = max(map(len, rows))
        lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
        yield "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
        number += 1


def _cell(cell: Node) -> str:
    return " ".join(_unescape(cell.to_markdown()).replace("|", "\\|").split())


def _take_apart(table: Node) -> None:
    """A table that only arranges things becomes the blocks it holds."""
    for node in [table, *table.query("caption, thead, tbody, tfoot, tr, td, th")]:
        node.name = "div"


def _unescape(line: str) -> str:
    return _INNER_UNDERSCORE.sub("_", line.replace("&amp;", "&"))
