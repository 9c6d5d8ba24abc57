"""What a parser hands over: one note, and everything explicit that stands in it.

A parser reads text and says what is written where; it decides nothing about
entities. Every part carries a span in code points of ``Note.text``, so that
whoever makes a fact of it can show the sentence. ``Note.text`` is the text as it
will be stored: decoded, without BOM, with ``\\n`` line ends and without NUL.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another note.

    ``target`` is the name as the note means it: without heading, block, label,
    size and ``.md``, percent-decoded for Markdown links, label and target put in
    their places for label-first dialects. ``written`` is everything between the
    brackets (or the Markdown destination) as it stands, for the rule that a note
    named ``C# notes`` wins over note ``C``, heading `` notes``.
    """

    start: int
    end: int
    syntax: str  # wikilink, embed, markdown, block (Logseq ((id))), user (Dendron @name), org
    target: str
    written: str
    heading: str | None = None
    block: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One key with one value: of frontmatter, of ``key:: value``, of a Logseq property.

    A list gives one Field an item; ``links`` are the links inside the value.
    ``start`` and ``end`` span the value, ``key_start`` and ``key_end`` the key.
    """

    key: str
    value: str
    start: int
    end: int
    key_start: int
    key_end: int
    syntax: str  # frontmatter, inline, property
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    name: str  # without '#', nested tags keep their slashes
    start: int
    end: int
    syntax: str  # text, frontmatter


@dataclass(frozen=True, slots=True)
class Alias:
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    level: int  # 1-6
    text: str  # plain text, markup removed
    start: int
    end: int  # span of the whole heading line(s)


@dataclass(frozen=True, slots=True)
class Task:
    state: str  # the character between the brackets, or a Logseq keyword
    text: str
    start: int
    end: int
    due: str | None = None  # ISO date as written after the sign


@dataclass(frozen=True, slots=True)
class Warning:
    line: int  # 1-based
    message: str


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    title: str | None = None  # frontmatter title or the first heading of level 1
    title_span: tuple[int, int] | None = None
    frontmatter: tuple[int, int] | None = None  # span incl. the markers; None if there is none
    metadata: dict[str, object] = field(default_factory=dict)  # frontmatter as plain JSON values, text kept as written
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()  # links outside fields; those of fields stand in the field
    fields: tuple[Field, ...] = ()
    tags: tuple[Tag, ...] = ()
    aliases: tuple[Alias, ...] = ()
    tasks: tuple[Task, ...] = ()
    code: tuple[tuple[int, int], ...] = ()  # spans of code, maths, comments and placeholders: nothing is read in them
    external_links: int = 0
    attachments: int = 0  # links to and embeds of files that are no notes
    quotes: tuple[tuple[int, int], ...] = ()  # spans of block quotes and callouts: said, perhaps not meant
    warnings: tuple[Warning, ...] = ()
    parts_level: int = 0  # headings down to this level begin a page, or an exchange: no chunk holds two of them
