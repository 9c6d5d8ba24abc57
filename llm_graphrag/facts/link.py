"""Extractor ``link``: the structure a person wrote down becomes claims, word for word.

Wikilinks, Markdown links and embeds are triples to the note they name, whether or
not anybody wrote that note. Frontmatter, inline fields and properties are triples
where they hold a link or where the template says that the key is a relation, and
attributes otherwise; the key keeps its own name unless the template maps it. Tags,
tasks, aliases and types follow. Nothing is guessed: a comma list is split only
where the template says that the key holds a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..sources.note import Field, Link, Note
from ..text.normalise import clean_name, fold_identifier
from .claims import ALSO_KNOWN_AS, EMBEDS, IS_A, LINKS_TO, TAGGED, TASK, Claim
from .template import FRONTMATTER_WORDS, Template

ORIGIN = "link"
SYNTAX_OF_PATHS = ("markdown", "org")
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Target:
    """Where a key of frontmatter or an inline field leads under a template."""

    kind: str  # relation, attribute, type, alias, tag
    name: str
    is_list: bool = False
    reversed: bool = False


def claims(note: Note, template: Template) -> Iterator[Claim]:
    """All explicit claims of one note, in document order of each kind."""
    for link in note.links:
        claim = _link_claim(link, EMBEDS if link.syntax == "embed" else LINKS_TO, link.start, link.end, {})
        if claim:
            yield claim
    for field in note.fields:
        yield from _field_claims(field, target_of(field.key, template), template)
    for tag in note.tags:
        yield Claim("attribute", None, TAGGED, tag.name, tag.start, tag.end, ORIGIN, detail={"syntax": tag.syntax})
    for alias in note.aliases:
        yield _alias(alias.name, alias.start, alias.end, "frontmatter")
    if note.title and note.title_span:
        yield _alias(note.title, *note.title_span, "title")
    for task in note.tasks:
        detail: dict[str, Any] = {"syntax": "task", "state": task.state}
        if task.due:
            detail["due"] = task.due
        if task.text.strip():
            yield Claim("attribute", None, TASK, task.text.strip(), task.start, task.end, ORIGIN, detail=detail)


def target_of(key: str, template: Template) -> Target | None:
    """What the template makes of ``key``; None if the key holds no letter or digit."""
    try:
        folded = fold_identifier(key)
    except ValueError:
        return None
    mapped = template.frontmatter_target(key)
    if mapped is None:
        return Target("attribute", folded)
    if mapped in FRONTMATTER_WORDS:
        return Target(mapped, mapped, is_list=mapped != IS_A)
    relation = template.resolve_relation(mapped)
    if relation is not None:
        return Target("relation", mapped, relation.is_list)
    inverse = template.resolve_inverse(mapped)
    if inverse is not None:
        return Target("relation", inverse.name, inverse.is_list, reversed=True)
    attribute = template.resolve_attribute(mapped)
    return Target("attribute", mapped, attribute is not None and attribute.is_list)


def _field_claims(field: Field, target: Target | None, template: Template) -> Iterator[Claim]:
    if target is None or not field.value.strip():
        return
    detail = {"syntax": field.syntax, "key": field.key}
    if field.links and target.kind not in (IS_A, ALSO_KNOWN_AS, "tag"):
        for link in field.links:
            claim = _link_claim(link, target.name, field.start, field.end, detail, target.reversed)
            if claim:
                yield claim
        return
    for value, start, end in _values(field, target.is_list):
        yield from _value_claim(value, start, end, target, detail, template)


def _value_claim(
    value: str, start: int, end: int, target: Target, detail: dict[str, Any], template: Template
) -> Iterator[Claim]:
    name = clean_name(value)
    if target.kind == "tag":
        yield Claim("attribute", None, TAGGED, value.lstrip("#"), start, end, ORIGIN, detail=detail)
    elif target.kind == ALSO_KNOWN_AS and name:
        yield _alias(name, start, end, str(detail["syntax"]))
    elif target.kind == IS_A:
        type_ = _type_name(_plain(value), template)
        if type_:
            yield Claim("type", None, IS_A, type_, start, end, ORIGIN, detail=detail)
    elif target.kind == "relation" and name and len(name) <= MAX_NAME:
        yield Claim("triple", None, target.name, name, start, end, ORIGIN, reversed=target.reversed, detail=detail)
    else:
        yield Claim("attribute", None, target.name, value, start, end, ORIGIN, detail=detail)


def _values(field: Field, is_list: bool) -> Iterator[tuple[str, int, int]]:
    if not is_list or "," not in field.value:
        yield field.value.strip(), field.start, field.end
        return
    for part in field.value.split(","):
        if part.strip():
            yield part.strip(), field.start, field.end


def _type_name(value: str, template: Template) -> str:
    """The template's type of that name or alias, else the word itself; empty if it holds no letter."""
    known = template.resolve_type(value)
    if known is not None:
        return known.name
    try:
        return fold_identifier(value)
    except ValueError:
        return ""


def _plain(value: str) -> str:
    return value.replace("[[", "").replace("]]", "")


def _link_claim(
    link: Link, relation: str, start: int, end: int, extra: dict[str, Any], reversed_: bool = False
) -> Claim | None:
    name = unwritten_name(link)
    if link.syntax == "block" or not name or len(name) > MAX_NAME:
        return None
    detail: dict[str, Any] = {"syntax": link.syntax, **extra, "at": [link.start, link.end]}
    if extra:
        detail["link"] = link.syntax
        detail["syntax"] = extra["syntax"]
    for part in ("heading", "block", "label"):
        if getattr(link, part):
            detail[part] = getattr(link, part)
    if link.target != name:
        detail["target"] = link.target
    if link.written.split("|")[0].strip() != link.target:
        detail["written"] = link.written
    return Claim(
        "triple", None, relation, name, start, end, ORIGIN, target=link.target, reversed=reversed_, detail=detail
    )


def unwritten_name(link: Link) -> str:
    """The name of the entity if no note answers to the link: a path gives its last part, a wikilink all of it."""
    target = link.target
    if link.syntax in SYNTAX_OF_PATHS or target.startswith(("./", "../")):
        target = target.rstrip("/").rsplit("/", 1)[-1]
    return clean_name(target)


def _alias(name: str, start: int, end: int, syntax: str) -> Claim:
    return Claim("alias", None, ALSO_KNOWN_AS, clean_name(name), start, end, ORIGIN, detail={"syntax": syntax})
