"""The file forms of a template: TOML and three-list JSON in, TOML and JSON out.

Reading is strict on purpose. A misspelt key in a schema would otherwise show only
as facts that are silently missing after a paid run. So unknown keys, unknown types,
names that fold to one identifier and lists too long for a prompt are errors here,
each with its place and its fix. ``read_template(to_toml(t), ...) == t`` always holds.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from llm_graphrag.facts.template import (
    FRONTMATTER_WORDS,
    KINDS,
    AttributeType,
    EntityType,
    Relation,
    Template,
    TemplateError,
    folded,
)
from llm_graphrag.text.shortened import shortened

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MAX_TYPES", "read_template", "to_json", "to_three_lists", "to_toml"]

MAX_TYPES = 100
"""Most types in one list. Every prompt carries all three lists; past this they cost more than the text they bound."""

_LISTS = ("entity_types", "relations", "attributes")
_TOP_KEYS = ("name", "title", "description", *_LISTS, "frontmatter")
_ENTRY_KEYS = {
    "entity_types": ("description", "aliases"),
    "relations": ("description", "aliases", "domain", "range", "symmetric", "inverse", "list"),
    "attributes": ("description", "aliases", "domain", "kind", "list"),
}
_JSON_LISTS = {"Nodes": "entity_types", "Relations": "relations", "Attributes": "attributes"}


def read_template(text: str, source: str) -> Template:
    """Parse and check a template; ``source`` is the file name used in messages, ``.json`` selects the JSON form."""
    if source.lower().endswith(".json"):
        data = _from_json(text, source)
    else:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TemplateError(f"{source}: not valid TOML: {error}.") from None
    return _Reader(source).template(data)


def _from_json(text: str, source: str) -> dict[str, Any]:
    """The tables of a JSON file: three lists of names, or what stands in the TOML form, as ``to_json`` writes it."""
    try:
        lists = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"{source}: not valid JSON: {error}.") from None
    if isinstance(lists, dict) and any(table in lists for table in _LISTS):
        return lists
    if not isinstance(lists, dict) or set(lists) != set(_JSON_LISTS):
        raise TemplateError(
            f'{source}: expected exactly {{"Nodes": [...], "Relations": [...], "Attributes": [...]}}. '
            "For descriptions, domains and frontmatter use the TOML form."
        )
    data: dict[str, Any] = {}
    for key, table in _JSON_LISTS.items():
        names = lists[key]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TemplateError(f"{source}: {key}: expected a list of names (strings).")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise TemplateError(f"{source}: {key}: {repeated[0]!r} stands there twice. Remove one.")
        data[table] = dict.fromkeys(names, "")
    return data


class _Reader:
    """Checks one parsed file; every failure goes through ``fail`` so that it has a place."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.types: dict[str, str] = {}  # folded name or alias -> entity type

    def fail(self, table: str, key: str, message: str) -> NoReturn:
        place = ": ".join(part for part in (self.source, f"[{table}]" if table else "", key) if part)
        raise TemplateError(f"{place}: {message}")

    def template(self, data: Mapping[str, Any]) -> Template:
        self.known_keys("", "", data, _TOP_KEYS)
        tables = {table: self.entries(table, data.get(table, {})) for table in _LISTS}
        self.types = self.check_names("entity_types", tables["entity_types"])
        if not self.types:
            self.fail("entity_types", "", 'is empty. Name at least one entity type, such as person = "A human being".')
        types = tuple(EntityType(name, **self.common("entity_types", name, e)) for name, e in tables["entity_types"])
        self.check_names("attributes", tables["attributes"])
        relations = tuple(self.relation(name, entry) for name, entry in tables["relations"])
        self.check_names("relations", tables["relations"])
        attributes = tuple(self.attribute(name, entry) for name, entry in tables["attributes"])
        template = Template(
            name=self.text("", "name", data.get("name", Path(self.source).stem)),
            title=self.text("", "title", data.get("title", "")),
            description=self.text("", "description", data.get("description", "")),
            entity_types=types,
            relations=relations,
            attributes=attributes,
        )
        return replace(template, frontmatter=self.frontmatter(template, data.get("frontmatter", {})))

    def entries(self, table: str, value: object) -> list[tuple[str, dict[str, Any]]]:
        """The rows of one table, the short form ``name = "description"`` made long."""
        if not isinstance(value, dict):
            self.fail(table, "", f'expected a table of name = "description", not {_shape(value)}.')
        if len(value) > MAX_TYPES:
            self.fail(table, "", f"{len(value)} types, at most {MAX_TYPES} fit a prompt. Remove or merge the rarest.")
        rows = []
        for name, entry in value.items():
            entry = {"description": entry} if isinstance(entry, str) else entry
            if not isinstance(entry, dict):
                self.fail(table, name, f"expected a description or a table, not {_shape(entry)}.")
            self.known_keys(table, name, entry, _ENTRY_KEYS[table])
            rows.append((name, entry))
        return rows

    def check_names(self, table: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, str]:
        seen: dict[str, str] = {}
        for name, entry in rows:
            for spelling in (name, *self.words(table, name, "aliases", entry)):
                identifier = folded(spelling)
                if not identifier or len(spelling) > 80 or not spelling.isprintable():
                    self.fail(table, name, f"{spelling!r} is no usable name. Use 1 to 80 printable letters or digits.")
                if identifier in seen:
                    both = f"{spelling!r} and {seen[identifier]!r} both read as {identifier!r}"
                    self.fail(table, name, f"{both}. Rename or remove one.")
                seen[identifier] = name
        return seen

    def relation(self, name: str, entry: dict[str, Any]) -> Relation:
        symmetric = self.flag("relations", name, "symmetric", entry)
        inverse = entry.get("inverse")
        if inverse is not None:
            inverse = self.text("relations", f"{name}.inverse", inverse)
            if symmetric:
                self.fail("relations", name, "symmetric and inverse exclude each other. Remove one.")
            if not folded(inverse) or folded(inverse) == folded(name):
                self.fail("relations", name, f"inverse = {inverse!r} must be another name than the relation's own.")
        domain, range_ = (self.type_names("relations", name, end, entry) for end in ("domain", "range"))
        if symmetric and set(domain) != set(range_):
            self.fail("relations", name, "a symmetric relation needs the same domain and range.")
        return Relation(
            name,
            **self.common("relations", name, entry),
            domain=domain,
            range=range_,
            symmetric=symmetric,
            inverse=inverse,
            is_list=self.flag("relations", name, "list", entry),
        )

    def attribute(self, name: str, entry: dict[str, Any]) -> AttributeType:
        kind = entry.get("kind", "text")
        if kind not in KINDS:
            self.fail("attributes", name, f"kind = {kind!r} is unknown. Use one of {', '.join(KINDS)}.")
        return AttributeType(
            name,
            **self.common("attributes", name, entry),
            domain=self.type_names("attributes", name, "domain", entry),
            kind=kind,
            is_list=self.flag("attributes", name, "list", entry),
        )

    def frontmatter(self, template: Template, value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            self.fail("frontmatter", "", f'expected a table of key = "relation or attribute", not {_shape(value)}.')
        targets: dict[str, str] = {}
        for key, written in value.items():
            target = self.text("frontmatter", key, written)
            identifier = folded(key)
            if not identifier:
                self.fail("frontmatter", key, "no usable key. Use letters or digits.")
            if identifier in targets:
                self.fail("frontmatter", key, f"another key also reads as {identifier!r}. Remove one.")
            if target in FRONTMATTER_WORDS:
                targets[identifier] = target
                continue
            found = template.resolve_relation(target) or template.resolve_attribute(target)
            inverse = template.resolve_inverse(target)
            if found is None and inverse is None:
                words = ", ".join(FRONTMATTER_WORDS)
                self.fail("frontmatter", key, f"{target!r} is no relation or attribute here, and none of {words}.")
            targets[identifier] = found.name if found else str(inverse and inverse.inverse)
        return targets

    def type_names(self, table: str, name: str, key: str, entry: dict[str, Any]) -> tuple[str, ...]:
        resolved = []
        for word in self.words(table, name, key, entry):
            if folded(word) not in self.types:
                known = ", ".join(dict.fromkeys(self.types.values()))
                self.fail(table, name, f"{key} names {shortened(word)!r}, which is not in [entity_types]: {known}.")
            resolved.append(self.types[folded(word)])
        return tuple(dict.fromkeys(resolved))

    def common(self, table: str, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        description = self.text(table, f"{name}.description", entry.get("description", ""))
        if "\n" in description:
            self.fail(table, name, "the description must be one line.")
        return {"description": description, "aliases": self.words(table, name, "aliases", entry)}

    def words(self, table: str, name: str, key: str, entry: dict[str, Any]) -> tuple[str, ...]:
        value = entry.get(key, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            self.fail(table, f"{name}.{key}", f"expected a string or a list of strings, not {_shape(value)}.")
        return tuple(value)

    def flag(self, table: str, name: str, key: str, entry: dict[str, Any]) -> bool:
        value = entry.get(key, False)
        if not isinstance(value, bool):
            self.fail(table, f"{name}.{key}", f"expected true or false, not {_shape(value)}.")
        return value

    def text(self, table: str, key: str, value: object) -> str:
        if not isinstance(value, str):
            self.fail(table, key, f"expected a string, not {_shape(value)}.")
        return value

    def known_keys(self, table: str, name: str, data: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in data:
            if key not in known:
                self.fail(table, name, f"unknown key {key!r}. Known are {', '.join(known)}.")


def _shape(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return "a string" if isinstance(value, str) else repr(value)


def to_toml(template: Template) -> str:
    """The template as TOML that ``read_template`` reads back to an equal one."""
    lines = [f"{key} = {_toml(getattr(template, key))}" for key in ("name", "title", "description")]
    for table in _LISTS:
        lines += ["", f"[{table}]"]
        for item in getattr(template, table):
            lines.append(f"{_toml_key(item.name)} = {_entry(item, _ENTRY_KEYS[table])}")
    if template.frontmatter:
        lines += ["", "[frontmatter]"]
        lines += [f"{_toml_key(key)} = {_toml(target)}" for key, target in template.frontmatter.items()]
    return "\n".join(lines) + "\n"


def to_json(template: Template) -> str:
    """The template as JSON of what stands in the TOML form; ``read_template`` reads it back to an equal one."""
    data: dict[str, Any] = {key: getattr(template, key) for key in ("name", "title", "description")}
    for table, keys in _ENTRY_KEYS.items():
        items = getattr(template, table)
        data[table] = {item.name: {"description": item.description, **_rest(item, keys)} for item in items}
    return json.dumps(data | {"frontmatter": template.frontmatter}, ensure_ascii=False, indent=2) + "\n"


def _rest(item: EntityType | Relation | AttributeType, keys: tuple[str, ...]) -> dict[str, Any]:
    """What is to be said of a type besides its description: what is not the default."""
    values = {key: getattr(item, "is_list" if key == "list" else key) for key in keys}
    return {key: value for key, value in values.items() if value and key != "description" and (key, value) != _TEXT}


def _entry(item: EntityType | Relation | AttributeType, keys: tuple[str, ...]) -> str:
    rest = _rest(item, keys)
    if not rest:
        return _toml(item.description)
    pairs = {"description": item.description, **rest}
    return "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in pairs.items()) + " }"


_TEXT = ("kind", "text")  # the default, left out


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # a JSON string is a TOML basic string


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def to_three_lists(template: Template) -> str:
    """The template as three-list JSON: names only, the rest has no place in that form."""
    lists = {key: [item.name for item in getattr(template, table)] for key, table in _JSON_LISTS.items()}
    return json.dumps(lists, ensure_ascii=False, indent=2) + "\n"
