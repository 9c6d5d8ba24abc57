"""Make the model in llm_graphrag/static_model from all-MiniLM-L6-v2 (Apache-2.0).

    python benchmarks/distil_texts.py texts ...; python benchmarks/distil_texts.py teach ...      first, see there
    python benchmarks/distil_static.py texts.jsonl TEACH --tokenizer tokenizer.json [--dimensions 256]

A static model is a table: one vector a word piece; a text is the sum of its rows, each times the square root of how
often the piece occurs, normalised. How the table comes to be:

1. Start: the teacher's vector of each piece alone, weighted by how rare the piece is (a / (a + p), Arora et al. 2017,
   "A simple but tough-to-beat baseline for sentence embeddings"), as model2vec does.
2. Projection: the directions in which the teacher's sentences differ most (principal axes, not centred, so that cosines
   are kept as well as so few numbers can).
3. Fit: gradient descent on the rows, so that the sum agrees with the teacher's vector of the whole text (cosine) and
   texts of a batch resemble each other as they do for the teacher (Kullback-Leibler divergence of the softmaxed
   similarities). Rows that the texts use little are held near their start, which is rescaled to fit.
4. Eight bits: each row becomes int8 with a scale of its own.

No text is stored, only what it does to the table. Question sets with gold passages are no training texts.
The step size was chosen by the cosine on held-out texts; the square root and the width by recall on xquad_en and
cookbook_docs (benchmarks/static_model.py). Needs numpy and torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from llm_graphrag.static_model.word_pieces import WordPieces

HERE = Path(__file__).resolve().parent.parent / "llm_graphrag" / "static_model"
SIF = 1e-3
TEMPERATURE = 0.05
PROVENANCE = {
    "model_id": "graphrag-static-1",
    "teacher": "sentence-transformers/all-MiniLM-L6-v2",
    "licence": "Apache-2.0",
    "made_with": "benchmarks/distil_texts.py, benchmarks/distil_static.py",
}


def vocabulary(tokenizer: Path) -> list[str]:
    """All pieces of the teacher's tokenizer in its order."""
    found = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    return sorted(found, key=found.__getitem__)


def useful(piece: str) -> bool:
    """Neither one of BERT's special tokens nor one of its thousand unused ones."""
    return not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)


class Texts:
    """Texts as distinct piece ids with the square roots of their counts, beside the teacher's vectors of the texts."""

    def __init__(self, texts: Path, teach: Path, pieces: WordPieces) -> None:
        rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
        counted: list[Counter[int]] = []
        vectors = []
        sources: Counter[str] = Counter()
        for file in sorted(teach.glob("[0-9]*.npy")):
            shard = np.load(file).astype(np.float32)
            first = int(file.stem) * 250
            for row in rows[first : first + len(shard)]:
                known = [piece for piece in pieces.ids(row["text"]) if piece >= 0]
                counted.append(Counter(known or [0]))
            sources.update(row["source"] for row in rows[first : first + len(shard)])
            vectors.append(shard)
        self.sources = dict(sources.most_common())
        self.vectors = torch.tensor(np.vstack(vectors))
        self.ids = [torch.tensor(list(counts)) for counts in counted]
        self.weights = [torch.tensor(list(counts.values())).float().sqrt() for counts in counted]
        self.counts = torch.bincount(torch.cat(self.ids), minlength=len(pieces.position)).float()

    def batch(self, chosen: Any) -> tuple[Any, Any, Any]:
        """Flat ids, their weights, and where each text starts, as an embedding bag wants them."""
        ids, weights = ([side[i] for i in chosen.tolist()] for side in (self.ids, self.weights))
        sizes = torch.tensor([0] + [len(row) for row in ids[:-1]])
        return torch.cat(ids), torch.cat(weights), sizes.cumsum(0)


def start_table(tokens: Any, counts: Any, axes: Any) -> Any:
    """Rows before the fit: the teacher's word vectors, projected, weighted by rarity (rank where a count is small)."""
    rank = torch.arange(len(counts)).float()
    zipf = 1 / (rank + 10)
    share = (counts + 1e5 * zipf / zipf.sum()) / (counts.sum() + 1e5)
    centred = tokens - tokens.mean(dim=0)
    return (SIF / (SIF + share))[:, None] * (centred @ axes)


def axes_of(vectors: Any, dimensions: int) -> Any:
    """The principal axes (columns) of unit vectors, not centred."""
    _, _, axes = torch.linalg.svd(vectors.T @ vectors)
    return axes[:dimensions].T.contiguous()


def loss(student: Any, teacher: Any) -> Any:
    """Cosine distance to the teacher plus divergence of the similarities within the batch."""
    distance = 1 - (student * teacher).sum(dim=1).mean()
    ours, theirs = ((side @ side.T / TEMPERATURE) for side in (student, teacher))
    mask = torch.eye(len(student), dtype=torch.bool)
    ours, theirs = (side.masked_fill(mask, -1e4).log_softmax(dim=1) for side in (ours, theirs))
    return distance + 0.1 * torch.nn.functional.kl_div(ours, theirs, log_target=True, reduction="batchmean")


def fit(table: Any, texts: Texts, targets: Any, epochs: int, rate: float) -> tuple[Any, float]:
    """Gradient descent on the rows; the last twentieth of the texts is held out and its loss printed."""
    torch.manual_seed(0)
    rows = torch.nn.Parameter(table.clone())
    adam = torch.optim.Adam([rows], lr=rate)
    last = len(targets) - len(targets) // 20
    held = torch.arange(last, min(len(targets), last + 2000))
    steps = epochs * (last // 512)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, rate, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        order = torch.randperm(last)
        for begin in range(0, last - 511, 512):
            chosen = order[begin : begin + 512]
            value = loss(pool(rows, *texts.batch(chosen)), targets[chosen])
            adam.zero_grad()
            value.backward()
            adam.step()
            schedule.step()
        with torch.no_grad():
            close = (pool(rows, *texts.batch(held)) * targets[held]).sum(dim=1).mean()
        print(
            f"epoch {epoch}: loss {value.item():.4f}, cosine to the teacher on held-out texts {close:.4f}", flush=True
        )
    return rows.detach(), close.item()


def pool(rows: Any, ids: Any, weights: Any, starts: Any) -> Any:
    """Unit vectors of texts: the weighted sums of their rows."""
    sums = torch.nn.functional.embedding_bag(ids, rows, starts, mode="sum", per_sample_weights=weights)
    return torch.nn.functional.normalize(sums, dim=1)


def quantise(table: Any) -> tuple[Any, Any]:
    """int8 rows and one float32 scale a row."""
    scales = np.abs(table).max(axis=1).clip(1e-9) / 127
    return np.rint(table / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def write(folder: Path, pieces: list[str], table: Any, facts: dict[str, Any]) -> None:
    """The model's files, with their checksums in model.json."""
    vectors, scales = quantise(table)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "scales.npy", scales)
    (folder / "vocabulary.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8", newline="\n")
    names = ("vectors.npy", "scales.npy", "vocabulary.txt")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    facts = facts | {"dimensions": table.shape[1], "pieces": len(pieces), "sha256": sums}
    (folder / "model.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("teach", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    every = vocabulary(options.tokenizer)
    kept = [number for number, piece in enumerate(every) if useful(piece)]
    names = [every[number] for number in kept]
    texts = Texts(options.texts, options.teach, WordPieces(names))
    tokens = torch.tensor(np.load(options.teach / "tokens.npy").astype(np.float32)[kept])
    axes = axes_of(texts.vectors, options.dimensions)
    targets = texts.vectors @ axes
    print(
        f"{len(targets)} texts; {options.dimensions} axes keep {targets.square().sum(dim=1).mean():.3f} of the squares"
    )
    targets = torch.nn.functional.normalize(targets, dim=1)
    table = start_table(tokens, texts.counts, axes)
    table, close = fit(table, texts, targets, options.epochs, options.rate)
    facts = PROVENANCE | {"texts": texts.sources, "cosine_to_teacher_on_held_out_texts": round(close, 3)}
    write(options.out, names, table.numpy(), facts)


if __name__ == "__main__":
    main()
