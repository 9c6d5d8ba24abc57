"""Text into HTML that nobody else wrote: spans of evidence and names marked, Markdown made harmless.

``marked_text`` cuts a text at every place where a line, a quote or a name starts or ends
and escapes each piece by itself, so overlapping spans need no nesting and no markup in
the text survives. ``rendered`` is for reading: Markdown with HTML switched off, pictures
shown as links (nothing is loaded from elsewhere), and only http, https and mailto linked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from .document_queries import Naming, Passage
from .records import EntityRef

if TYPE_CHECKING:
    from markdown_it.token import Token

SCHEMES = ("http://", "https://", "mailto:")
REL = "noopener nofollow"


def is_web_address(text: str) -> bool:
    """Whether a link to it may be made: http, https or mailto, and one word."""
    lowered = text[:8].lower()
    return lowered.startswith(SCHEMES) and not any(c.isspace() or c in "<>\"'`" for c in text)


def value(text: str) -> Markup:
    """A literal value, linked if it is an address and isolated from the direction of what surrounds it."""
    shown = Markup("<bdi>{}</bdi>").format(text)
    if is_web_address(text):
        return Markup('<a href="{}" rel="{}">{}</a>').format(text, REL, shown)
    return shown


def heading_path(heading: str, title: str = "") -> str:
    """``A > B`` as a path, without the document's title, which stands beside it."""
    steps = heading.split(" > ")
    return " › ".join(steps[1:] if title and steps[0] == title else steps)


def dollars(amount: float) -> str:
    """An amount of money as the command line shows it."""
    from llm_graphrag.store.budgets import USD, shown

    return shown(amount, USD)


def parts(pieces: Sequence[tuple[str, bool]]) -> Markup:
    """A snippet: marked pieces in <mark>."""
    return Markup("").join(Markup("<mark>{}</mark>").format(text) if on else escape(text) for text, on in pieces)


def marked_text(passage: Passage, entity_url: Callable[[EntityRef], str], chosen: int | None = None) -> Markup:
    """The lines of a chunk with its evidence and names marked; ``chosen`` is the evidence to point out."""
    text = passage.text
    spans = [(s.start, min(s.end, len(text)), s.evidence) for s in passage.statements if 0 <= s.start < s.end]
    names = _disjoint(passage.namings, len(text))
    cuts = {0, len(text)} | {at for start, end, _ in spans for at in (start, end)}
    cuts |= {at for naming in names for at in (naming.start, naming.end)}
    out: list[Markup] = []
    at, number = 0, passage.line
    anchored: set[int] = set()
    for line in text.split("\n"):
        end = at + len(line)
        places = sorted(cut for cut in cuts | {at, end} if at <= cut <= end)
        pieces = [
            _piece(text[a:b], a, b, spans, names, anchored, entity_url, chosen)
            for a, b in zip(places, places[1:], strict=False)
        ]
        out.append(
            Markup('<div class="line{}" data-line="{}" dir="auto">{}</div>').format(
                _line_class(line), number, Markup("").join(pieces) or Markup("<br>")
            )
        )
        at, number = end + 1, number + 1
    if out and text.endswith("\n"):
        out.pop()
    return Markup("").join(out)


def _disjoint(namings: Sequence[Naming], length: int) -> list[Naming]:
    """Names that do not overlap: the earlier one, and of two that start together the longer."""
    kept: list[Naming] = []
    for naming in sorted(namings, key=lambda n: (n.start, -n.end)):
        if 0 <= naming.start < naming.end <= length and (not kept or naming.start >= kept[-1].end):
            kept.append(naming)
    return kept


def _piece(
    text: str,
    start: int,
    end: int,
    spans: list[tuple[int, int, int]],
    names: list[Naming],
    anchored: set[int],
    entity_url: Callable[[EntityRef], str],
    chosen: int | None,
) -> Markup:
    """One piece between two cuts: inside a name a link, inside a quote marked, anchors where a quote starts."""
    html = escape(text.replace("\r", ""))
    named = next((naming for naming in names if naming.start <= start and end <= naming.end), None)
    if named is not None:
        html = Markup('<a class="mention" href="{}" title="{}">{}</a>').format(
            entity_url(named.entity), named.entity.name, html
        )
    covering = [evidence for a, b, evidence in spans if a <= start and end <= b]
    if covering:
        lit = " lit" if chosen in covering else ""
        html = Markup('<mark class="evidence{}">{}</mark>').format(lit, html)
        new = [evidence for evidence in covering if evidence not in anchored]
        anchored.update(new)
        html = Markup("").join(Markup('<span class="anchor" id="evidence-{}"></span>').format(e) for e in new) + html
    return html


def _line_class(line: str) -> str:
    level = len(line) - len(line.lstrip("#"))
    return f" heading h{level}" if 0 < level <= 6 and line[level : level + 1] in (" ", "\t") else ""


def rendered(text: str) -> Markup:
    """Markdown for reading; frontmatter is left out."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).use(front_matter_plugin)
    parser.add_render_rule("image", _image)
    tokens = parser.parse(text)
    for token in tokens:
        _tame(token.children or [])
    # html is off, so the renderer escapes everything that comes from the text
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _tame(tokens: list[Token]) -> None:
    """Links to the web get a rel; all others become plain text."""
    opened: list[Token] = []
    for token in tokens:
        if token.type == "link_open":
            opened.append(token)
            if is_web_address(str(token.attrs.get("href", ""))):
                token.attrs["rel"] = REL
            else:
                token.tag, token.attrs = "span", {"class": "unlinked"}
        elif token.type == "link_close" and opened:
            token.tag = opened.pop().tag


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A picture is a link to it: a page must not fetch from elsewhere because a note says so."""
    source, label = str(tokens[index].attrs.get("src", "")), tokens[index].content or "picture"
    if not is_web_address(source):
        return str(escape(label))
    return str(Markup('<a class="picture" href="{}" rel="{}">{}</a>').format(source, REL, label))
