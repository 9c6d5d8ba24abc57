"""Changes to a schema, one at a time: each takes a template and gives the changed one, checked like a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .template import AttributeType, EntityType, Relation, Template, TemplateError, folded
from .template_file import read_template, to_toml

__all__ = ["KINDS", "add", "add_alias", "find", "remove", "remove_alias", "rename"]

#: kind of a type → the list of the template that holds it
KINDS = {"entity_type": "entity_types", "relation": "relations", "attribute": "attributes"}

Type = EntityType | Relation | AttributeType
_CLASSES: dict[str, type[Type]] = {"entity_type": EntityType, "relation": Relation, "attribute": AttributeType}


def find(template: Template, kind: str, name: str) -> Type | None:
    """The type of this kind with this name or alias."""
    resolve = {
        "entity_type": template.resolve_type,
        "relation": template.resolve_relation,
        "attribute": template.resolve_attribute,
    }
    found: Type | None = resolve[_checked(kind)](name)
    return found


def add(template: Template, kind: str, name: str, description: str = "", **more: Any) -> Template:
    """With one more type; ``more`` are further fields of it, such as ``domain``.

    Raises TemplateError if the name is taken or no usable one.

    >>> add(Template("t", entity_types=(EntityType("person"),)), "relation", "knows").relations[0].name
    'knows'
    """
    if taken := find(template, kind, name):
        raise TemplateError(f"The schema has this {_words(kind)} already: {taken.name}.")
    new = _CLASSES[kind](folded(name) or name, " ".join(description.split()), **more)
    return _checked_template(_with(template, kind, (*_types(template, kind), new)))


def remove(template: Template, kind: str, name: str) -> Template:
    """Without a type; what refers to it (a domain, a key of notes) is freed of it. Raises TemplateError if there is none.

    >>> remove(Template("t", entity_types=(EntityType("a"), EntityType("b"))), "entity_type", "a").entity_types[0].name
    'b'
    """
    gone = _found(template, kind, name)
    kept = tuple(item for item in _types(template, kind) if item.name != gone.name)
    changed = _with(template, kind, kept)
    if kind == "entity_type":
        changed = _without_ends(changed, gone.name)
    names = {gone.name, getattr(gone, "inverse", None)}
    matter = {key: value for key, value in changed.frontmatter.items() if kind == "entity_type" or value not in names}
    return _checked_template(replace(changed, frontmatter=matter))


def rename(template: Template, kind: str, name: str, new: str) -> Template:
    """With a type under another name; the old one stays as an alias, so that what was written with it is still read."""
    old = _found(template, kind, name)
    if (taken := find(template, kind, new)) and taken.name != old.name:
        raise TemplateError(f"The schema has this {_words(kind)} already: {taken.name}.")
    aliases = tuple(alias for alias in (*old.aliases, old.name) if folded(alias) != folded(new))
    renamed = replace(old, name=folded(new) or new, aliases=aliases)
    changed = _with(template, kind, tuple(renamed if t.name == old.name else t for t in _types(template, kind)))
    if kind == "entity_type":
        return _checked_template(_renamed_ends(changed, old.name, renamed.name))
    matter = {key: renamed.name if value == old.name else value for key, value in changed.frontmatter.items()}
    return _checked_template(replace(changed, frontmatter=matter))


def add_alias(template: Template, kind: str, name: str, alias: str) -> Template:
    """With another name for a type. Raises TemplateError if the alias means a type already."""
    old = _found(template, kind, name)
    if taken := find(template, kind, alias):
        raise TemplateError(f"{alias!r} means {taken.name} already.")
    return _replaced(template, kind, replace(old, aliases=(*old.aliases, alias)))


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


def _found(template: Template, kind: str, name: str) -> Type:
    found = find(template, kind, name)
    if found is None:
        known = ", ".join(item.name for item in _types(template, kind)) or "none"
        raise TemplateError(f"The schema has no {_words(kind)} {name!r}. It has: {known}.")
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


def _ends(template: Template, change: Any) -> Template:
    return replace(
        template,
        relations=tuple(replace(r, domain=change(r.domain), range=change(r.range)) for r in template.relations),
        attributes=tuple(replace(a, domain=change(a.domain)) for a in template.attributes),
    )


def _checked_template(template: Template) -> Template:
    return read_template(to_toml(template), "schema.toml")
