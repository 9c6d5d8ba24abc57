"""Settings of a knowledge base: defaults here, own values as rows of ``kg_settings``."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields

from .store.settings import get_setting, put_setting

PREFIX = "setting."


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set for one knowledge base."""

    chunk_tokens: int = 250
    """Target size of a chunk, in estimated tokens. Changing it reads every document again."""

    embedding_model: str = "graphrag-static"
    """What makes the vectors: the bundled model, an embedding model of llm, or "" for none."""

    window_tokens: int = 2_000
    """Most tokens of text that one extraction call shows to a model."""

    extraction_mode: str = "suggest"
    """What a model may write: types of the schema and proposals (suggest), of the schema alone (strict), any (open)."""

    min_confidence: float = 0.8
    """How confident models have to be together of a type they propose, for it to reach review."""

    min_support: int = 2
    """How many documents have to ask for a type that models propose, for it to reach review."""

    names: str = "phrases"
    """How names are found in text: our rules, or another finder that is installed (facts/finders.py)."""


def load(connection: sqlite3.Connection) -> Settings:
    """The settings of a file: its own values where it has them."""
    values = {}
    for field in fields(Settings):
        value = get_setting(connection, PREFIX + field.name)
        if value is not None:
            values[field.name] = value
    return Settings(**values)


def save(connection: sqlite3.Connection, settings: Settings) -> None:
    """Store every setting that differs from its default."""
    for field in fields(Settings):
        value = getattr(settings, field.name)
        if value != field.default or get_setting(connection, PREFIX + field.name) is not None:
            put_setting(connection, PREFIX + field.name, value)
