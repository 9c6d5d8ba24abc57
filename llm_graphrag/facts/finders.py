"""Ways to find what looks like a name: our rules, or an NLP pipeline.

``phrases`` is always there: capitalised and quoted phrases and acronyms, in any
language that has capitals. ``spacy`` asks a spaCy pipeline for named entities; it
is an extra (``llm install 'llm-graphrag[spacy]'`` and a pipeline, such as
``python -m spacy download en_core_web_sm``), about fifteen times slower, better on
names without capitals and on sentence starts. Others register through the hook.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pluggy

from ..hookspecs import NameFinder
from .lexical import candidate_phrases

hookimpl = pluggy.HookimplMarker("llm_graphrag")

PHRASES = "phrases"
PIPELINE_VARIABLE = "LLM_GRAPHRAG_SPACY"
PIPELINE = "en_core_web_sm"
PIECE = 100_000  # characters
NUMBERS = {"CARDINAL", "ORDINAL", "PERCENT", "QUANTITY", "MONEY", "DATE", "TIME"}


@hookimpl
def register_extractors(register: Callable[[str, NameFinder], None]) -> None:
    register(PHRASES, phrases)
    register("spacy", spacy_names)


def phrases(text: str) -> Iterator[tuple[int, int]]:
    """Spans of capitalised and quoted phrases and acronyms."""
    for name in candidate_phrases(text):
        yield name.start, name.end


def spacy_names(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the named entities of the spaCy pipeline in $LLM_GRAPHRAG_SPACY (default en_core_web_sm).

    Raises ValueError if spaCy or the pipeline is not installed.
    """
    pipeline = _pipeline(os.environ.get(PIPELINE_VARIABLE, PIPELINE))
    for offset, piece in _pieces(text):
        for entity in pipeline(piece).ents:
            start = offset + entity.start_char + len(entity.text) - len(entity.text.lstrip())
            if entity.label_ not in NUMBERS and entity.text.strip():
                yield start, start + len(entity.text.strip())


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut long text at line ends: a pipeline takes so much at a time."""
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + PIECE) + 1 if len(text) - start > PIECE else len(text)
        end = end if end > start else start + PIECE
        yield start, text[start:end]
        start = end


@cache
def _pipeline(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ValueError("spaCy is not installed. Install it with: llm install 'llm-graphrag[spacy]'") from error
    try:
        return spacy.load(name, exclude=["parser", "lemmatizer", "attribute_ruler"])
    except OSError as error:
        raise ValueError(f"spaCy has no pipeline {name!r}. Get it with: python -m spacy download {name}") from error
