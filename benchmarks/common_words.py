"""Derive ``llm_graphrag/facts/common_words.txt``: English words that are commonly not names.

usage: python benchmarks/common_words.py DATA [OUTPUT]

A word that is written in lower case nearly everywhere, also where a capital would not
be forced by the start of a sentence, is no name when it opens one. DATA is a folder
of English text: every ``*.md`` and every ``passages.jsonl`` under it is counted
(a folder named ``pages.xx`` holds another language and is passed over). Only these
statistics, the bare words, are kept.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

COUNT = 4000
MIN_DOCUMENTS = 6
MAX_CAPITAL_SHARE = 0.3  # capitalised in mid-sentence, of all uses in mid-sentence
MAX_PER_FOLDER = 1500  # so that no collection drowns the others

_NOISE = re.compile(r"^---\n.*?\n---\n|```.*?(?:```|\Z)|`[^`\n]*`|\{\{.*?\}\}|https?://\S+|<[^>\n]*>", re.DOTALL)
_HEADING = re.compile(r"^\s*#.*$", re.MULTILINE)
_MID_SENTENCE = re.compile(r"(?<=[a-z,;] )[A-Za-z][a-z]+(?![\w'’])|(?<=[a-z,;] )[a-z](?![\w'’])")


def texts(data: Path) -> Iterator[str]:
    """The texts to count, in a stable order."""
    folders: Counter[Path] = Counter()
    for path in sorted(data.rglob("*.md")):
        if any(re.fullmatch(r"pages\.\w+", part) for part in path.parts):
            continue
        folders[path.relative_to(data).parents[-2]] += 1
        if folders[path.relative_to(data).parents[-2]] <= MAX_PER_FOLDER:
            yield path.read_text(encoding="utf-8", errors="replace")
    for path in sorted(data.rglob("passages.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number < MAX_PER_FOLDER:
                    yield json.loads(line)["text"]


def common_words(data: Path) -> list[str]:
    """The commonest words that are nearly always in lower case, in alphabetical order."""
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts(data):
        words = set(_MID_SENTENCE.findall(_HEADING.sub("", _NOISE.sub(" ", text))))
        lower.update(word for word in words if word.islower())
        capital.update(word.lower() for word in words if not word.islower())
    kept = [
        word
        for word, count in sorted(lower.items(), key=lambda item: (-item[1], item[0]))
        if count >= MIN_DOCUMENTS and capital[word] / (count + capital[word]) <= MAX_CAPITAL_SHARE
    ]
    return sorted(kept[:COUNT])


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    default = Path(__file__).parents[1] / "llm_graphrag" / "facts" / "common_words.txt"
    output = Path(sys.argv[2]) if len(sys.argv) == 3 else default
    words = common_words(Path(sys.argv[1]))
    output.write_text("\n".join(words) + "\n", encoding="utf-8")
    print(f"{len(words)} words written to {output}")


if __name__ == "__main__":
    main()
