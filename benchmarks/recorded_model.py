"""A model that answers from readings made before: what a large model read, offline and repeatably.

It is an ordinary model of llm, registered in this process, so that prompt, call, ledger, checks and storage are the
real ones. It finds the chunks in the prompt as the prompt marks them, looks up whose text they are, and says of them
what was read then, in the reply shape of the extraction prompt. Readings without quotes are given without: the checks
then have to find the sentence themselves.

``obeys`` makes it what a constrained decoder makes of a model: what the reply's JSON schema forbids is not said, and,
where proposals are asked for, a type that is missed is proposed once.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import llm
from question_sets import read_jsonl

from llm_graphrag.text.tokens import count_tokens

__all__ = ["Reading", "RecordedModel", "read_recorded", "registered", "shown_chunks"]

Items = dict[str, list[dict[str, Any]]]

FENCE = re.compile(r"=== (\w+) ")
NUMBERED = re.compile(r"\[(\d+)\] ?(.*)")
LISTS = ("entities", "attributes", "triples", "proposals")
TYPE_KEYS = {"entities": "type", "attributes": "attribute", "triples": "relation"}
PROPOSAL_KINDS = {"entities": "entity_type", "attributes": "attribute", "triples": "relation"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in one note: items in the reply's shape, but without the numbers of chunks."""

    title: str
    note: str
    items: Items


@dataclass(frozen=True, slots=True)
class Shown:
    """A chunk as a prompt shows it."""

    number: int
    header: str
    text: str


def shown_chunks(prompt: str) -> list[Shown]:
    """The chunks of an extraction prompt, without the context before them."""
    opening = FENCE.match(prompt)
    if opening is None:
        return []
    chunks = []
    for block in re.split(rf"^=== {opening[1]} ", prompt, flags=re.MULTILINE)[1:]:
        header, _, text = block.partition("\n")
        if numbered := NUMBERED.match(header):
            chunks.append(Shown(int(numbered[1]), numbered[2], text))
    return chunks


def read_recorded(data: Path, name: str, note: Callable[[dict[str, Any]], str]) -> list[Reading]:
    """The recorded readings of a question set; ``data`` is the folder that holds ``qa`` and ``recorded``."""

    recorded = {row["id"]: row for row in read_jsonl(data / "recorded" / name / "extractions.jsonl")}
    readings = []
    for passage in read_jsonl(data / "qa" / name / "passages.jsonl"):
        row = recorded[passage["id"]]
        items = {kind: row["relations" if kind == "triples" else kind] for kind in LISTS}
        readings.append(Reading(passage["title"], note(passage), items))
    return readings


def squeezed(text: str) -> str:
    """Letters and digits alone: what a prompt leaves out of a text, or a chunk of its note, makes no difference."""
    return re.sub(r"[\W_]+", "", text)


@dataclass
class Seen:
    """What a model was asked, and what could not be answered."""

    calls: int = 0
    unknown: list[str] = field(default_factory=list)  # chunks that no reading is of
    cut: int = 0  # replies cut off at the limit
    tokens: Counter[str] = field(default_factory=Counter)


class RecordedModel(llm.Model):
    """Answers extraction prompts from ``readings``; ``count`` is its tokenizer."""

    supports_schema = True
    can_stream = False

    class Options(llm.Options):
        max_tokens: int | None = None

    def __init__(
        self,
        model_id: str,
        readings: Iterable[Reading],
        count: Callable[[str], int] = count_tokens,
        obeys: bool = True,
    ) -> None:
        self.model_id = model_id
        self.count, self.obeys = count, obeys
        self.seen = Seen()
        self._lock = threading.Lock()
        self._texts: list[tuple[str, Reading]] = []
        self._whole: dict[str, list[Reading]] = defaultdict(list)
        for reading in readings:
            text = squeezed(reading.note)
            self._texts.append((text, reading))
            self._whole[text].append(reading)

    def execute(
        self, prompt: llm.Prompt, stream: bool, response: llm.Response, conversation: llm.Conversation | None = None
    ) -> Iterator[str]:
        system, text = prompt.system or "", prompt.prompt or ""
        reply = self.reply(text, prompt.schema if self.obeys else None)
        limit, wrote = prompt.options.max_tokens, self.count(reply)
        with self._lock:
            self.seen.calls += 1
            if limit and wrote > limit:
                self.seen.cut += 1
                reply, wrote = reply[: len(reply) * limit // wrote], limit
            read = self.count(system) + self.count(text)
            self.seen.tokens.update(input=read, output=wrote)
        response.set_usage(input=read, output=wrote)
        yield reply

    def reply(self, prompt: str, schema: Mapping[str, Any] | None = None) -> str:
        """What is said of the chunks of ``prompt``, as far as ``schema`` allows it."""
        chunks: dict[int, list[Shown]] = defaultdict(list)
        readings: dict[int, Reading] = {}
        for chunk in shown_chunks(prompt):
            reading = self._find(chunk)
            if reading is None:
                with self._lock:
                    self.seen.unknown.append(chunk.text)
            else:
                readings[id(reading)] = reading
                chunks[id(reading)].append(chunk)
        said: Items = {kind: [] for kind in LISTS}
        for key, reading in readings.items():
            for kind in LISTS:
                said[kind] += [numbered(kind, item, chunks[key]) for item in reading.items.get(kind, ())]
        if schema is not None:
            said = allowed(said, schema)
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))

    def _find(self, chunk: Shown) -> Reading | None:
        """The note a chunk is of: it holds the text; if several do, the chunk's header says which."""
        text = squeezed(chunk.text)
        found = self._whole.get(text) or [reading for whole, reading in self._texts if text in whole]
        return max(found, key=lambda r: squeezed(chunk.header).startswith(squeezed(r.title)), default=None)


def numbered(kind: str, item: dict[str, Any], chunks: list[Shown]) -> dict[str, Any]:
    """An item with the number of the chunk that says it: the first that holds most of its words."""
    if kind == "entities":
        name = item["name"].casefold()
        holding = [c.number for c in chunks if name in c.text.casefold()] or [chunks[0].number]
        return {"aliases": [], **item, "chunks": holding}
    words = [str(item[key]).casefold() for key in ("head", "tail", "entity", "value", "quote") if item.get(key)]
    best = max(chunks, key=lambda c: sum(word in c.text.casefold() for word in words))
    given = {"chunk": best.number, "quote": "", "confidence": 0.9, **item}
    return proposed(given, best.text) if kind == "proposals" else given


def proposed(item: dict[str, Any], text: str) -> dict[str, Any]:
    """A proposal in the reply's shape; its quote is what its recorded example has in common with the text."""
    example = item.pop("example", "")
    if example and not item["quote"]:
        found = SequenceMatcher(None, text, example, autojunk=False).find_longest_match()
        item["quote"] = text[found.a : found.a + found.size].strip()
    return {"description": example, "instead_of": None, **item}


def allowed(said: Items, schema: Mapping[str, Any]) -> Items:
    """What a decoder lets through that keeps to ``schema``; types that are missed are proposed, if they may be."""
    lists = schema["properties"]
    kept: Items = {}
    missed: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, key in TYPE_KEYS.items():
        if kind not in lists:
            continue
        types = lists[kind]["items"]["properties"][key].get("enum")
        fits = [types is None or item[key] in types for item in said[kind]]
        kept[kind] = [item for item, fit in zip(said[kind], fits, strict=True) if fit]
        for item in (item for item, fit in zip(said[kind], fits, strict=True) if not fit):
            chunk = item["chunks"][0] if kind == "entities" else item["chunk"]
            quote = item["name"] if kind == "entities" else item["quote"]
            wish = {"kind": PROPOSAL_KINDS[kind], "name": item[key], "description": "", "confidence": 0.7}
            missed.setdefault((kind, item[key]), {**wish, "chunk": chunk, "quote": quote, "instead_of": None})
    if "proposals" in lists:
        proposals = said["proposals"] + list(missed.values())
        kept["proposals"] = proposals[: lists["proposals"].get("maxItems")]
    return kept


class _Plugin:
    def __init__(self, model: llm.Model) -> None:
        self.model = model

    @llm.hookimpl
    def register_models(self, register: Callable[..., None]) -> None:
        register(self.model)


def registered(model: llm.Model) -> str:
    """Make a model known to llm in this process, in place of one of the same name; returns its name."""
    import llm.plugins

    llm.plugins.load_plugins()
    name = f"benchmark-{model.model_id}"
    if llm.plugins.pm.has_plugin(name):
        llm.plugins.pm.unregister(name=name)
    llm.plugins.pm.register(_Plugin(model), name=name)
    return str(model.model_id)
