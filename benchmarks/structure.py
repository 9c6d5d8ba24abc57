"""Compare what the parser finds with independent counts of the same collections.

    python benchmarks/structure.py DATA [COLLECTION ...]

DATA holds one folder a collection, the notes under ``<collection>/data``, and
``structure.json`` with the counts of a regex reader. The table shows for each
collection the count of the reader, ours, and the difference in per cent; the last
columns show how many notes were read in how many seconds of processor time.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from llm_graphrag.sources.dialects import detect
from llm_graphrag.sources.encoding import decode
from llm_graphrag.sources.files import FoundFile, walk
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.sources.note import Note

#: The reader read templates too.
TEMPLATES = ("!/Templates/", "!templates.*", "!templates.md", "!template.*.md")
ROWS = ("wikilinks + embeds", "md_internal", "fm_wikilinks", "inline_fields", "headings", "tags", "tasks")


def count(note: Note) -> Counter[str]:
    """What one note holds, under the names of the rows."""
    body = [field for field in note.fields if field.syntax != "frontmatter"]
    metadata = [link for field in note.fields if field.syntax == "frontmatter" for link in field.links]
    links = [*note.links, *(link for field in body for link in field.links)]
    return Counter(
        {
            "wikilinks + embeds": sum(link.syntax in ("wikilink", "embed") for link in [*links, *metadata]),
            "md_internal": sum(link.syntax == "markdown" for link in links),
            "fm_wikilinks": len(metadata),
            "inline_fields": len({field.key_start for field in body}),
            "headings": len(note.headings),
            "tags": sum(tag.syntax == "text" for tag in note.tags),
            "tasks": len(note.tasks),
        }
    )


def expected(counts: dict[str, int]) -> dict[str, int]:
    """The reader's counts under the names of the rows; it counts wikilinks of the metadata among all."""

    def get(*keys: str) -> int:
        return sum(counts.get(key, 0) for key in keys)

    return {
        "wikilinks + embeds": get("wikilinks", "embeds"),
        "md_internal": get("md_internal"),
        "fm_wikilinks": get("fm_wikilinks"),
        "inline_fields": get("inline_fields_line", "inline_fields_bracket"),
        "headings": get("headings"),
        "tags": get("tags"),
        "tasks": get("tasks", "logseq_tasks"),
    }


def measure(folder: Path) -> tuple[Counter[str], str, float]:
    """Our counts of one collection, its dialect, and the seconds spent parsing."""
    dialect = detect(folder)
    total: Counter[str] = Counter()
    seconds = 0.0
    for found in walk(folder, extensions=(".md",), ignore=TEMPLATES):
        if isinstance(found, FoundFile):
            text = decode(found.path.read_bytes()).text
            began = time.process_time()
            note = parse_note(text, dialect, found.relative)
            seconds += time.process_time() - began
            total += count(note)
            total["notes"] += 1
    return total, dialect.name, seconds


def main(data: Path, names: list[str]) -> None:
    structure = json.loads((data / "structure.json").read_text("utf-8"))
    for name in names or sorted(structure):
        ours, dialect, seconds = measure(data / name / "data")
        print(f"{name} ({dialect}): {ours['notes']} notes of {structure[name]['counts']['notes']}, {seconds:.2f} s")
        theirs = expected(structure[name]["counts"])
        for row in ROWS:
            if theirs[row] or ours[row]:
                change = f"{100 * (ours[row] - theirs[row]) / theirs[row]:+.1f} %" if theirs[row] else "-"
                print(f"  {row:20}{theirs[row]:8}{ours[row]:8}  {change}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
