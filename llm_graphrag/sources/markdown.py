"""One note, read: text in, everything explicit in it out, each with its span.

The work is divided: ``frontmatter`` reads the metadata block, ``blocks`` finds where
inline markup may stand, ``inline`` reads links, tags and bracketed fields there, and
``fields`` the ``Key:: value`` lines and tasks. This module puts the parts together:
links that stand in the value of a field belong to that field, and nothing is taken
twice. ``parse_note`` never raises, whatever the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from .blocks import Blocks, Region, split_blocks
from .dialects import Dialect
from .fields import Spans, line_fields, make_fields, only_links, property_tags, split_value, tasks
from .frontmatter import Entry, Frontmatter, read_frontmatter
from .inline import BracketField, InlineScanner
from .note import Alias, Field, Heading, Link, Note, Tag
from .org import looks_like_org, parse_org

_ATX = re.compile(
    r"\A[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*#{1,6}(?:[ \t]+|\Z)"  # the signs before
    r"|(?:(?:(?<=[ \t])|[ \t]+)#+)?(?:[ \t]+\^[\w\-]+)?[ \t]*\Z"  # those after, and the name of a block
)
_UNDERLINE = re.compile(r"\n[ \t>]*(?:=+|-+)[ \t]*\Z")
_PREFIX = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_MARKUP = re.compile(
    r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"  # the label, or the name
    r"|!\[[^\[\]]*\]\([^()]*\)|\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])"
    r"|</?[A-Za-z][^<>]*>|\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|==|`+|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)"
    r"|\\([!-/:-@\[-`{-~])"
)


def parse_note(text: str, dialect: Dialect, name: str = "") -> Note:
    """Read one note.

    Parameters
    ----------
    text
        The note as :func:`~llm_graphrag.sources.encoding.decode` gives it.
    dialect
        How the notes of its folder are written.
    name
        File name or relative path; only its extension is looked at.
    """
    if looks_like_org(text, name):
        return parse_org(text, dialect)
    matter = read_frontmatter(text)
    blocks = split_blocks(text, matter.body, dialect.indented_code)
    scanner = InlineScanner(text, dialect, blocks.references)
    values = InlineScanner(text, dialect)
    written = _frontmatter_fields(text, matter, values)
    for region in blocks.regions:
        scanner.scan(region.start, region.end)
    fields, links = _inline_fields(text, blocks, scanner, dialect)
    headings = _headings(text, blocks.regions, Spans(scanner.masks))
    tags, aliases = _properties(text, dialect, fields, blocks, matter)
    closed = Spans([*blocks.code, *scanner.masks])
    title, title_span = _title(matter, headings, fields if dialect.properties else [])
    return Note(
        text=text, title=title, title_span=title_span, frontmatter=matter.span, metadata=matter.metadata,
        headings=tuple(headings), links=tuple(links), fields=tuple(written + fields),
        tags=tuple(matter.tags + sorted(scanner.tags + tags, key=lambda tag: tag.start)),
        aliases=tuple(matter.aliases + aliases),
        tasks=tuple(tasks(text, blocks.regions, closed, dialect)) if blocks.regions else (),
        code=tuple(closed.merged), external_links=scanner.external + values.external,
        attachments=scanner.attachments + values.attachments, quotes=tuple(blocks.quotes),
        warnings=tuple(matter.warnings),
    )  # fmt: skip


def _frontmatter_fields(text: str, matter: Frontmatter, values: InlineScanner) -> list[Field]:
    """The fields of the metadata, with the links in their values."""
    fields: list[Field] = []
    for entry in matter.entries:
        first = len(values.links)
        if "[" in entry.value or "://" in entry.value:
            values.rescan(entry.start, entry.end)
        fields += _frontmatter_field(text, entry, values.links[first:])
    return fields


def _frontmatter_field(text: str, entry: Entry, links: Sequence[Link]) -> list[Field]:
    if links and only_links(text, entry.start, entry.end, links):
        found = split_value(text, BracketField(entry.start, entry.end, entry.key_start, entry.key_end), links, "")
        spans = [(item.value, item.start, item.end, item.links) for item in found]
    else:
        spans = [(entry.value, entry.start, entry.end, tuple(links))]
    return [Field(entry.key, value, start, end, entry.key_start, entry.key_end, "frontmatter", inside)
            for value, start, end, inside in spans]  # fmt: skip


def _inline_fields(
    text: str, blocks: Blocks, scanner: InlineScanner, dialect: Dialect
) -> tuple[list[Field], list[Link]]:
    """The fields of the body, and the links that stand in none of them."""
    links = sorted(scanner.links, key=lambda link: link.start)
    masks = Spans(scanner.masks)
    bracketed = [field for field in scanner.fields if not masks.holds(field.start)]
    brackets = [(field.key_start, field.end) for field in bracketed]
    closed = Spans([*scanner.masks, *scanner.opaque, *brackets])
    found = [*bracketed, *line_fields(text, blocks.regions, closed)]
    if not found:
        return [], links
    syntax = "property" if dialect.properties else "inline"
    fields = make_fields(text, sorted(found, key=lambda field: field.start), links, syntax)
    held = {link.start for field in fields for link in field.links}
    return fields, [link for link in links if link.start not in held]


def _headings(text: str, regions: Iterable[Region], masks: Spans) -> list[Heading]:
    headings: list[Heading] = []
    for region in regions:
        if region.kind == "heading" and not masks.holds(region.start):
            written = text[region.start : region.end]
            start = region.start + len(written) - len(written.lstrip())
            if words := plain_heading(written):
                headings.append(Heading(region.level, words, start, region.end))
    return headings


def plain_heading(written: str) -> str:
    """The words of a heading line, ATX or underlined, without its markup."""
    words = _UNDERLINE.sub("", written)
    words = _PREFIX.sub("", words, count=1) if words != written else _ATX.sub("", words)
    if any(sign in words for sign in "[*_`~=<\\"):
        words = _MARKUP.sub(lambda match: match[1] or match[2] or match[3] or "", words)
    return " ".join(words.split())


def _properties(
    text: str, dialect: Dialect, fields: list[Field], blocks: Blocks, matter: Frontmatter
) -> tuple[list[Tag], list[Alias]]:
    """Logseq keeps tags and aliases in properties; they leave the fields."""
    if not dialect.properties:
        return [], []
    end = _first_block(text, blocks, matter.body)
    tags: list[Tag] = []
    aliases: list[Alias] = []
    for field in [field for field in fields if field.key.lower() in ("tags", "tag", "alias", "aliases")]:
        place = BracketField(field.start, field.end, field.key_start, field.key_end)
        names = list(property_tags(text, place))
        if field.key.lower().startswith("tag"):
            tags += names
        elif field.start < end:
            aliases += [Alias(tag.name, tag.start, tag.end) for tag in names]
        else:
            continue
        fields.remove(field)
    return tags, aliases


def _first_block(text: str, blocks: Blocks, body: int) -> int:
    """The end of the first region: what stands in it belongs to the page as a whole."""
    starts = [region.start for region in blocks.regions]
    index = bisect_left(starts, body)
    return blocks.regions[index].end if index < len(starts) else len(text)


def _title(
    matter: Frontmatter, headings: Sequence[Heading], fields: Sequence[Field]
) -> tuple[str | None, tuple[int, int] | None]:
    """The title of the metadata, of a page property, or the first heading of level 1."""
    items: list[Entry | Field] = [*matter.entries, *fields]
    for item in items:
        if item.key.lower() == "title":
            return item.value, (item.start, item.end)
    for heading in headings:
        if heading.level == 1 and heading.text:
            return heading.text, (heading.start, heading.end)
    return None, None
