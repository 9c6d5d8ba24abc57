"""How good and how fast the bundled embedding model is, beside the encoder that it was distilled from.

    python benchmarks/static_model.py --data FOLDER                                    the static model alone
    python benchmarks/static_model.py --data FOLDER --onnx MODEL --tokenizer FILE      and its teacher, in the same run
    ... --write                                                                        into BENCHMARKS.md and model.json

FOLDER (or $BENCH_DATA) holds one folder a set with passages.jsonl {id, title, text} and questions.jsonl {id, question,
gold_ids, split}. A passage is its title, a newline, its text; passages are ranked by cosine. recall@5: share of the
gold passages among the first five, mean over questions. No text of these sets was used to make the model (its
weighting and width were chosen with an eye on them). Speed is texts of 120 words per second of processor time on one
thread. Set OMP_NUM_THREADS=1 to keep numpy to it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from report import table, write_section

sys.path.insert(0, str(Path(__file__).parent.parent))

from llm_graphrag.static_model.encoder import StaticEncoder

FOLDER = Path(__file__).resolve().parent.parent / "llm_graphrag" / "static_model"
SETS = ("xquad_en", "cookbook_docs")
SPLITS = ("validation", "train", "all")
Encode = Callable[[list[str]], Any]
COLD = """
import time; import numpy; start = time.perf_counter()
from llm_graphrag.static_model.encoder import load; load().encode(["Who repaired the Heron?"])
print(time.perf_counter() - start)
"""


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def recalls(data: Path, name: str, encode: Encode) -> dict[str, float]:
    """recall@5 of a set by split."""
    passages = read_jsonl(data / name / "passages.jsonl")
    questions = read_jsonl(data / name / "questions.jsonl")
    places = encode([f"{row['title']}\n{row['text']}" for row in passages])
    asked = encode([row["question"] for row in questions])
    ranked = np.argsort(-(asked @ places.T), axis=1, kind="stable")[:, :5]
    found: dict[str, list[float]] = {split: [] for split in SPLITS}
    for question, row in zip(questions, ranked, strict=True):
        gold = set(question["gold_ids"])
        share = len(gold & {passages[place]["id"] for place in row}) / len(gold)
        found["all"].append(share)
        found[question["split"]].append(share)
    return {split: statistics.mean(shares) for split, shares in found.items()}


def texts_of_120_words(data: Path, count: int) -> list[str]:
    """Different texts, cut out of the passages of the first set."""
    words = " ".join(row["text"] for row in read_jsonl(data / SETS[0] / "passages.jsonl")).split()
    step = max(1, (len(words) - 120) // count)
    return [" ".join(words[start : start + 120]) for start in range(0, len(words) - 120, step)][:count]


def speed(encode: Encode, texts: list[str], repeats: int = 3) -> float:
    """Texts per second of processor time, the median of the repeats."""
    rates = []
    for _ in range(repeats):
        start = time.process_time()
        encode(texts)
        rates.append(len(texts) / (time.process_time() - start))
    return statistics.median(rates)


def cold_start() -> float:
    """Milliseconds from numpy imported to the first vector, in a new process; the best of five."""
    runs = [subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True) for _ in range(5)]
    return 1000 * min(float(run.stdout) for run in runs)


def measure(data: Path, encoders: dict[str, Encode]) -> tuple[str, dict[str, Any]]:
    """The report and the numbers: quality by set and split, then speed."""
    quality = {name: {label: recalls(data, name, encode) for label, encode in encoders.items()} for name in SETS}
    rows: list[list[object]] = []
    for name, by_model in quality.items():
        for label, values in by_model.items():
            rows.append([name, label, *(f"{100 * values[split]:.1f}" for split in SPLITS)])
        if len(by_model) > 1:
            ours, teacher = by_model.values()
            rows.append([name, "ratio", *(f"{ours[split] / teacher[split]:.3f}" for split in SPLITS)])
    body = table(["set", "model", *(f"recall@5 {split}" for split in SPLITS)], rows)
    counts = {"static": 4000, "teacher": 40}
    rates = {label: speed(encode, texts_of_120_words(data, counts[label])) for label, encode in encoders.items()}
    lines = [f"{label}: {rate:,.0f} texts of 120 words per second of processor time" for label, rate in rates.items()]
    if len(rates) > 1:
        lines.append(f"ratio: {rates['static'] / rates['teacher']:,.0f} times")
    lines.append(f"first vector {cold_start():.0f} ms after numpy was imported")
    size = sum(file.stat().st_size for file in FOLDER.iterdir() if file.suffix in {".npy", ".txt"})
    lines.append(f"size of the model: {size / 1e6:.1f} MB")
    facts = {
        name: {label: round(values["all"], 3) for label, values in found.items()} for name, found in quality.items()
    }
    return body + "\n\n" + "\n".join(f"- {line}" for line in lines), facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("BENCH_DATA"), required="BENCH_DATA" not in os.environ
    )
    parser.add_argument("--onnx", type=Path, help="all-MiniLM-L6-v2 as ONNX")
    parser.add_argument("--tokenizer", type=Path, help="its tokenizer.json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    encoders: dict[str, Encode] = {"static": StaticEncoder(FOLDER).encode}
    if options.onnx:
        from distil_texts import Teacher

        encoders["teacher"] = Teacher(options.onnx, options.tokenizer).encode
    body, facts = measure(Path(options.data), encoders)
    print(body)
    if options.write:
        command = "python benchmarks/static_model.py --data FOLDER --onnx MODEL --tokenizer FILE --write"
        write_section("The bundled embedding model", command, body)
        model = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))
        model["recall_at_5"] = facts
        (FOLDER / "model.json").write_text(json.dumps(model, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
