"""Templates: schemas as files that a person can read, edit and commit.

A template names the entity types, relations and attributes that a model may use,
and says which keys of a note's frontmatter mean which of them. The files that are
shipped stand in ``templates/``; a path to a file of one's own works in their place.

The one idea: a template is checked completely when it is read, so that nothing
later has to ask whether a domain exists or a name is ambiguous. Every name is found
by its folded form or by an alias ("Reports to" finds ``reports_to``). What is wrong
raises a ``TemplateError`` that names file, table and key and says what to do.

Two forms are read: TOML, and the plain JSON of three lists of names
``{"Nodes": [...], "Relations": [...], "Attributes": [...]}``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TypeVar

from llm_graphrag.text.normalise import fold_identifier

__all__ = [
    "FRONTMATTER_WORDS",
    "KINDS",
    "AttributeType",
    "EntityType",
    "Relation",
    "Template",
    "TemplateError",
    "list_templates",
    "load_template",
]

KINDS = ("text", "date", "number", "url")

FRONTMATTER_WORDS = ("type", "alias", "tag")
"""What a frontmatter key may stand for besides a relation or an attribute."""


class TemplateError(ValueError):
    """A template cannot be used; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class EntityType:
    """A kind of node, such as ``person``."""

    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A kind of edge. Empty ``domain`` or ``range`` allows every entity type.

    ``inverse`` is how the relation reads from tail to head (``part_of`` and
    ``has_part``); it is a name for the same edge, not a second relation.
    """

    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    symmetric: bool = False
    inverse: str | None = None
    is_list: bool = False  # a note's value "A, B" means two tails


@dataclass(frozen=True, slots=True)
class AttributeType:
    """A kind of literal value; ``kind`` is one of ``KINDS``."""

    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    kind: str = "text"
    is_list: bool = False


Named = TypeVar("Named", EntityType, Relation, AttributeType)


def folded(name: str) -> str:
    """The identifier a name reads as; empty if it holds no letter or digit, which no name of a template does."""
    try:
        return fold_identifier(name)
    except ValueError:
        return ""


def _index(items: Iterable[Named]) -> dict[str, Named]:
    """Folded name or alias to item; a name wins over another item's alias."""
    items = tuple(items)
    found = {folded(alias): item for item in items for alias in item.aliases}
    return found | {folded(item.name): item for item in items}


@dataclass(frozen=True)
class Template:
    """A schema with a name. ``frontmatter`` maps a folded note key to what it means.

    >>> template = load_template("general")
    >>> template.frontmatter_target("Authors")
    'authored_by'
    >>> template.resolve_relation("Works for").name
    'works_at'
    """

    name: str
    title: str = ""
    description: str = ""
    entity_types: tuple[EntityType, ...] = ()
    relations: tuple[Relation, ...] = ()
    attributes: tuple[AttributeType, ...] = ()
    frontmatter: dict[str, str] = field(default_factory=dict)
    _types: dict[str, EntityType] = field(init=False, repr=False, compare=False)
    _relations: dict[str, Relation] = field(init=False, repr=False, compare=False)
    _inverses: dict[str, Relation] = field(init=False, repr=False, compare=False)
    _attributes: dict[str, AttributeType] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        inverses = {folded(r.inverse): r for r in self.relations if r.inverse}
        for name, value in (
            ("_types", _index(self.entity_types)),
            ("_relations", _index(self.relations)),
            ("_inverses", inverses),
            ("_attributes", _index(self.attributes)),
        ):
            object.__setattr__(self, name, value)  # the class is frozen; these are looked up, never changed

    def resolve_type(self, name: str) -> EntityType | None:
        """The entity type of this name or alias, or None."""
        return self._types.get(folded(name))

    def resolve_relation(self, key: str) -> Relation | None:
        """The relation of this name or alias, or None."""
        return self._relations.get(folded(key))

    def resolve_inverse(self, key: str) -> Relation | None:
        """The relation that reads as ``key`` from tail to head, or None: swap the ends, then store it."""
        return self._inverses.get(folded(key))

    def resolve_attribute(self, key: str) -> AttributeType | None:
        """The attribute of this name or alias, or None."""
        return self._attributes.get(folded(key))

    def frontmatter_target(self, key: str) -> str | None:
        """What a note key means: a relation, an attribute, the inverse of a relation, or a word of
        ``FRONTMATTER_WORDS``; None if the template does not know the key.

        The ``[frontmatter]`` table is asked first, then relations, attributes and inverses by name and alias.
        """
        name = folded(key)
        if name in self.frontmatter:
            return self.frontmatter[name]
        if name in self._relations:
            return self._relations[name].name
        if name in self._attributes:
            return self._attributes[name].name
        return self._inverses[name].inverse if name in self._inverses else None


def load_template(name_or_path: str | Path) -> Template:
    """Read a shipped template by name, or any template file by path (``.toml`` or ``.json``).

    Raises ``TemplateError`` if there is no such template or if it is wrong.
    """
    from llm_graphrag.facts.template_file import read_template  # the file format needs the classes above

    shipped = _shipped()
    if str(name_or_path) in shipped:
        name = str(name_or_path)
        text = resources.files("llm_graphrag.templates").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        return read_template(text, f"{name}.toml")
    path = Path(name_or_path).expanduser()
    if path.is_file():
        try:
            return read_template(path.read_text(encoding="utf-8-sig"), str(path))
        except UnicodeDecodeError as error:
            raise TemplateError(f"{path}: not UTF-8 at byte {error.start}. Save the file as UTF-8.") from None
        except OSError as error:
            raise TemplateError(f"{path}: cannot be read: {error.strerror}.") from None
    near = difflib.get_close_matches(str(name_or_path), shipped, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TemplateError(
        f"No template and no file named {str(name_or_path)!r}.{hint} Shipped templates: {', '.join(shipped)}."
    )


def list_templates() -> list[Template]:
    """The templates that are shipped, ``general`` first, then by name."""
    return sorted((load_template(name) for name in _shipped()), key=lambda t: (t.name != "general", t.name))


def _shipped() -> list[str]:
    names = (entry.name for entry in resources.files("llm_graphrag.templates").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))
