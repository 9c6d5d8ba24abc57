"""Texts to distil from, and what the teacher says of them: the slow half of benchmarks/distil_static.py.

    python benchmarks/distil_texts.py texts texts.jsonl --wordnet DICT NAME=FOLDER ...   short pieces of ordinary text
    python benchmarks/distil_texts.py teach texts.jsonl OUT --onnx MODEL --tokenizer FILE [--part 0/2]

``texts`` cuts Markdown, reStructuredText and plain text into pieces of a sentence to a paragraph, takes as many from
each folder as its size earns (square root), adds WordNet's glosses for words that folders of notes do not use, and
shuffles all with a fixed seed. ``teach`` writes the teacher's vectors in shards; it may be stopped at any time and goes
on where it stopped, since any beginning of a shuffled list is a fair sample. ``--part`` splits it among processes.
The first shard ("tokens") holds the teacher's vector of every entry of the vocabulary by itself.
Needs numpy, tokenizers and onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SHARD = 250  # texts a file
MARKUP = re.compile(r"```.*?```|<!--.*?-->|https?://\S+|!?\[\[|\]\]|:\w+:(?=`)|[`*_#>|]+|^---\n.*?\n---\n", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
GLOSS = re.compile(r"^\d+ \d+ (\w) ([0-9a-f]{2}) (.*?) \d{3} .*?\| (.*)$")


def pieces(text: str, rng: random.Random) -> Iterator[str]:
    """Runs of one to five sentences of a paragraph, 5 to 110 words."""
    for paragraph in re.split(r"\n\s*\n", MARKUP.sub(" ", text)):
        sentences = SENTENCE_END.split(" ".join(paragraph.split()))
        while sentences:
            take = rng.choice((1, 2, 3, 5))
            words = " ".join(sentences[:take]).split()[:110]
            del sentences[:take]
            letters = sum(map(str.isalpha, " ".join(words)))
            if len(words) >= 5 and letters > 3 * len(words):
                yield " ".join(words)


def glosses(folder: Path) -> Iterator[str]:
    """``word, synonym: gloss; example`` of every synset."""
    for file in sorted(folder.glob("data.*")):
        for line in file.read_text(encoding="latin-1").splitlines():
            if match := GLOSS.match(line):
                words = match[3].split()[: 2 * int(match[2], 16) : 2]
                names = ", ".join(re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words)
                yield f"{names}: {match[4].strip()}"


def write_texts(out: Path, wordnet: Path | None, folders: dict[str, Path], count: int) -> None:
    """Half the texts from WordNet (when there is one), half from the folders."""
    rng = random.Random(0)
    sources: list[tuple[str, list[str]]] = []
    for name, folder in folders.items():
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".md", ".txt", ".rst", ".org"))
        found = sorted({piece for file in files for piece in pieces(file.read_text("utf-8", "replace"), rng)})
        sources.append((name, found))
    share = sum(len(found) ** 0.5 for _, found in sources)
    rows: list[dict[str, str]] = []
    for name, found in sources:
        take = min(len(found), int(count / (2 if wordnet else 1) * len(found) ** 0.5 / share))
        print(f"{name}: {take} of {len(found)} pieces")
        rows += [{"source": name, "text": text} for text in rng.sample(found, take)]
    if wordnet:
        found = list(glosses(wordnet))
        rows += [{"source": "wordnet", "text": text} for text in rng.sample(found, min(count // 2, len(found)))]
    rng.shuffle(rows)
    out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


class Teacher:
    """all-MiniLM-L6-v2 in ONNX form: mean of the last hidden state, normalised; 256 tokens at most."""

    def __init__(self, onnx: Path, tokenizer: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(onnx), options)
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def run(self, ids: Any) -> Any:
        """Unit vectors of rows of equally many token ids."""
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": mask * 0}
        mean = self.session.run(None, feed)[0].mean(axis=1)
        return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)

    def encode(self, texts: list[str]) -> Any:
        """One text at a time: on a processor that is faster than batches."""
        return np.vstack([self.run(np.array([self.tokenizer.encode(text).ids], np.int64)) for text in texts])

    def tokens(self) -> Any:
        """The vector of each vocabulary entry standing alone between [CLS] and [SEP]."""
        first, last = (self.tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        size = self.tokenizer.get_vocab_size()
        ids = np.array([[first, token, last] for token in range(size)], np.int64)
        return np.vstack([self.run(ids[start : start + 32]) for start in range(0, size, 32)])


def teach(texts: Path, out: Path, teacher: Teacher, part: str) -> None:
    """Write shard after shard; those already there are left alone."""
    out.mkdir(exist_ok=True)
    index, parts = map(int, part.split("/"))
    rows = [json.loads(line)["text"] for line in texts.read_text(encoding="utf-8").splitlines()]
    if index == 0 and not (out / "tokens.npy").exists():
        np.save(out / "tokens.npy", teacher.tokens().astype(np.float16))
    for shard in range(index, len(rows) // SHARD, parts):
        target = out / f"{shard:05d}.npy"
        if not target.exists():
            vectors = teacher.encode(rows[shard * SHARD : (shard + 1) * SHARD])
            np.save(target, vectors.astype(np.float16))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    cut = commands.add_parser("texts")
    cut.add_argument("out", type=Path)
    cut.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    cut.add_argument("--wordnet", type=Path)
    cut.add_argument("--count", type=int, default=120_000)
    ask = commands.add_parser("teach")
    ask.add_argument("texts", type=Path)
    ask.add_argument("out", type=Path)
    ask.add_argument("--onnx", type=Path, required=True)
    ask.add_argument("--tokenizer", type=Path, required=True)
    ask.add_argument("--part", default="0/1")
    options = parser.parse_args()
    if options.command == "texts":
        folders = {name: Path(folder) for name, folder in (item.split("=", 1) for item in options.folders)}
        write_texts(options.out, options.wordnet, folders, options.count)
    else:
        teach(options.texts, options.out, Teacher(options.onnx, options.tokenizer), options.part)


if __name__ == "__main__":
    main()
