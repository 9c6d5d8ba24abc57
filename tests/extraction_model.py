"""What an honest model would reply about notes of a few simple sentences: ``say`` is for the scripted model.

"Mira knows Otto." "Otto lives in Porto." "Mira is 42." are read, and nothing else; a
reply depends on the text of a window alone, so runs may be compared.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SCHEMA = """
[entity_types]
person = "A human being."
place = "A town."

[relations]
knows = { description = "They have met.", domain = "person", range = "person" }
lives_in = { description = "Where somebody lives.", domain = "person", range = "place" }

[attributes]
age = { description = "In years.", domain = "person", kind = "number" }
"""

MARKER = re.compile(r"^=== \w+ \[(\d+)\][^\n]*\n", re.MULTILINE)
SAID = re.compile(r"\b(\w+) (knows|lives in|is) (\w+)\.")


def chunks(prompt: str) -> dict[int, str]:
    """The numbered texts of a prompt."""
    parts = MARKER.split(prompt)
    return {int(number): text.split("\n=== ")[0] for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def reading(prompt: str) -> dict[str, list[dict[str, Any]]]:
    entities: dict[tuple[str, str], list[int]] = {}
    reply: dict[str, list[dict[str, Any]]] = {"entities": [], "attributes": [], "triples": [], "proposals": []}
    for number, text in chunks(prompt).items():
        for match in SAID.finditer(text):
            head, verb, tail = match.groups()
            place = {"chunk": number, "quote": match[0], "confidence": 0.9}
            entities.setdefault((head, "person"), []).append(number)
            if verb == "is":
                reply["attributes"].append({"entity": head, "attribute": "age", "value": tail, **place})
                continue
            entities.setdefault((tail, "person" if verb == "knows" else "place"), []).append(number)
            reply["triples"].append({"head": head, "relation": verb.replace(" ", "_"), "tail": tail, **place})
    reply["entities"] = [
        {"name": name, "type": type_, "aliases": [], "chunks": sorted(set(numbers))}
        for (name, type_), numbers in entities.items()
    ]
    return reply


def say(prompt: str, system: str | None = None) -> str:
    return json.dumps(reading(prompt))


def schema_file(folder: Path) -> Path:
    path = folder / "people.toml"
    path.write_text(SCHEMA, encoding="utf-8")
    return path


NAMES = ("Mira", "Otto", "Pia", "Jonas", "Ada", "Bela", "Cora", "Dan", "Eva", "Finn")
PLACES = ("Porto", "Bergen", "Graz", "Turku")


def notes(number: int, padding: int = 0) -> dict[str, str]:
    """``number`` notes, each with three sentences that ``say`` reads; ``padding`` words make them longer."""
    made = {}
    for n in range(number):
        one, other = NAMES[n % 10], NAMES[(n * 7 + 3) % 10]
        other = other if other != one else NAMES[(n + 1) % 10]
        text = f"{one} knows {other}. {other} lives in {PLACES[n % 4]}. {one} is {20 + n}."
        made[f"n{n:03d}.md"] = f"# Entry {n}\n\n{text}\n" + ("\nIt rained all day and the boats stayed in." * padding)
    return made
