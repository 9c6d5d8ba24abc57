"""Changes to a schema, one at a time: each takes a template and gives the changed one, checked like a file.

``changed_words`` says which words mean something else under the changed one: only what a
model wrote with one of them has to be read again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from ..text.shortened import shortened
from .template import FRONTMATTER_WORDS, AttributeType, EntityType, Relation, Template, TemplateError, folded
from .template_file import read_template, to_toml

__all__ = [
    "KINDS",
    "add",
    "add_alias",
    "changed_words",
    "find",
    "has_alias",
    "is_target",
    "named",
    "remove",
    "remove_alias",
    "rename",
    "squeezed",
]

#: kind of a type → the list of the template that holds it
KINDS = {"entity_type": "entity_types", "relation": "relations", "attribute": "attributes"}

Type = EntityType | Relation | AttributeType
_CLASSES: dict[str, type[Type]] = {"entity_type": EntityType, "relation": Relation, "attribute": AttributeType}


def named(template: Template, kind: str, name: str) -> Type | None:
    """The type of this kind that is called so itself; an alias does not count."""
    return next((item for item in _types(template, kind) if folded(item.name) == folded(name)), None)


def find(template: Template, kind: str, name: str) -> Type | None:
    """The type of this kind with this name or alias."""
    resolve = {
        "entity_type": template.resolve_type,
        "relation": template.resolve_relation,
        "attribute": template.resolve_attribute,
    }
    found: Type | None = resolve[_checked(kind)](name)
    return found


def add(template: Template, kind: str, name: str, description: str = "", /, **more: Any) -> Template:
    """With one more type; ``more`` are further fields of it, such as ``domain`` (of an attribute also ``kind``).

    Raises TemplateError if the name is taken or no usable one, or if a type of this kind has no such field.

    >>> add(Template("t", entity_types=(EntityType("person"),)), "relation", "knows").relations[0].name
    'knows'
    """
    if taken := find(template, kind, name):
        raise TemplateError(f"The schema has this {_words(kind)} already: {taken.name}.")
    if kind == "relation" and (inverse := template.resolve_inverse(name)):
        raise TemplateError(f"{name!r} is how {inverse.name} reads from tail to head already.")
    known = {field.name for field in fields(_CLASSES[kind])}
    if foreign := sorted(more.keys() - known):
        raise TemplateError(f"{_article(kind)} has no {' and no '.join(foreign).replace('is_list', 'list')}.")
    new = _CLASSES[kind](folded(name) or name, " ".join(description.split()), **more)
    return _checked_template(_with(template, kind, (*_types(template, kind), new)))


def remove(template: Template, kind: str, name: str) -> Template:
    """Without a type; what refers to it (a domain, a key of notes) is freed of it.

    Raises TemplateError if there is none.

    >>> remove(Template("t", entity_types=(EntityType("a"), EntityType("b"))), "entity_type", "a").entity_types[0].name
    'b'
    """
    gone = _found(template, kind, name)
    kept = tuple(item for item in _types(template, kind) if item.name != gone.name)
    changed = _with(template, kind, kept)
    if kind == "entity_type":
        changed = _without_ends(changed, gone.name)
    matter = {key: value for key, value in changed.frontmatter.items() if is_target(changed, value)}
    return _checked_template(replace(changed, frontmatter=matter))


def rename(template: Template, kind: str, name: str, new: str) -> Template:
    """With a type under another name; the old one stays as an alias, so that what was written with it is still read."""
    old = _found(template, kind, name)
    if (taken := find(template, kind, new)) and taken.name != old.name:
        raise TemplateError(f"The schema has this {_words(kind)} already: {taken.name}.")
    called = folded(new) or new
    if called == old.name:
        return template
    aliases = tuple(alias for alias in (*old.aliases, old.name) if folded(alias) != folded(new))
    renamed = replace(old, name=called, aliases=aliases)
    changed = _with(template, kind, tuple(renamed if t.name == old.name else t for t in _types(template, kind)))
    if kind == "entity_type":
        return _checked_template(_renamed_ends(changed, old.name, renamed.name))
    # A key of notes that means this name means the relation if there is one, else the attribute.
    meant = kind == "relation" or template.resolve_relation(old.name) is None
    matter = {k: renamed.name if meant and v == old.name else v for k, v in changed.frontmatter.items()}
    return _checked_template(replace(changed, frontmatter=matter))


def add_alias(template: Template, kind: str, name: str, alias: str) -> Template:
    """With another name for a type. Raises TemplateError if the alias means a type already."""
    old = _found(template, kind, name)
    if taken := find(template, kind, alias):
        raise TemplateError(f"{alias!r} means {taken.name} already.")
    return _replaced(template, kind, replace(old, aliases=(*old.aliases, alias)))


def has_alias(template: Template, kind: str, name: str, alias: str) -> bool:
    """Whether ``alias`` is one of the other names of the type ``name``."""
    found = find(template, kind, name)
    return found is not None and any(folded(other) == folded(alias) for other in found.aliases)


def remove_alias(template: Template, kind: str, name: str, alias: str) -> Template:
    """Without one of the names of a type."""
    old = _found(template, kind, name)
    kept = tuple(other for other in old.aliases if folded(other) != folded(alias))
    return _replaced(template, kind, replace(old, aliases=kept))


def _checked(kind: str) -> str:
    if kind not in KINDS:
        raise TemplateError(f"{kind!r} is no kind of type. Use one of {', '.join(KINDS)}.")
    return kind


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _article(kind: str) -> str:
    return f"{'A' if kind == 'relation' else 'An'} {_words(kind)}"


def is_target(template: Template, value: str) -> bool:
    """Whether a key of notes may mean ``value``."""
    resolvers = (template.resolve_relation, template.resolve_attribute, template.resolve_inverse)
    return value in FRONTMATTER_WORDS or any(resolve(value) for resolve in resolvers)


def _found(template: Template, kind: str, name: str) -> Type:
    found = find(template, kind, name)
    if found is None:
        known = ", ".join(item.name for item in _types(template, kind)) or "none"
        raise TemplateError(f"The schema has no {_words(kind)} {shortened(name)!r}. It has: {known}.")
    return found


def _types(template: Template, kind: str) -> tuple[Type, ...]:
    types: tuple[Type, ...] = getattr(template, KINDS[_checked(kind)])
    return types


def _with(template: Template, kind: str, types: tuple[Type, ...]) -> Template:
    changes: dict[str, Any] = {KINDS[kind]: types}
    return replace(template, **changes)


def _replaced(template: Template, kind: str, new: Type) -> Template:
    types = tuple(new if item.name == new.name else item for item in _types(template, kind))
    return _checked_template(_with(template, kind, types))


def _without_ends(template: Template, gone: str) -> Template:
    """No relation and no attribute names a type that is gone; one that named only it may stand at any."""
    return _ends(template, lambda names: tuple(name for name in names if name != gone))


def _renamed_ends(template: Template, old: str, new: str) -> Template:
    return _ends(template, lambda names: tuple(new if name == old else name for name in names))


def _ends(template: Template, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Template:
    return replace(
        template,
        relations=tuple(replace(r, domain=change(r.domain), range=change(r.range)) for r in template.relations),
        attributes=tuple(replace(a, domain=change(a.domain)) for a in template.attributes),
    )


def _checked_template(template: Template) -> Template:
    return read_template(to_toml(template), "The schema")


# -- which words mean something else ----------------------------------------------------

_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\[\\\"/bfnrt]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())


def squeezed(text: str) -> str:
    """A text as its letters and digits alone: every spelling of a name that is resolved alike is the same in it.

    JSON escapes are read, so that a reply may be squeezed as it stands.

    >>> {squeezed(name) for name in ("worksAt", "Works at", "works-at", "works_at", "w\\\\u006frks at")}
    {'worksat'}
    """
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: str(json.loads(f'"{escape[0]}"')), text)
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace("ـ", "")).lower().replace("ς", "σ")
        text = _BEYOND_ASCII.sub(lambda part: "".join(filter(str.isalnum, part[0])), text)
    return text.encode("utf-8", "surrogatepass").translate(None, _NO_LETTERS).decode("utf-8")


def changed_words(before: Template, after: Template) -> frozenset[str]:
    """The squeezed names, aliases and inverses of all types that are not the same in both templates."""
    words = set()
    for kind in KINDS:
        for item in {*_types(before, kind)} ^ {*_types(after, kind)}:
            words |= {squeezed(name) for name in _names(item)}
    return frozenset(words - {""})


def _names(item: Type) -> Iterator[str]:
    yield item.name
    yield from item.aliases
    if isinstance(item, Relation) and item.inverse:
        yield item.inverse
