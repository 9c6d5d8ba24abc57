"""Counting tokens as a provider does: with a tokenizer if there is one, else by the estimate of text/tokens.py."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

from llm_graphrag.text.tokens import count_tokens

__all__ = ["counter"]


def counter(path: Path | None) -> Callable[[str], int]:
    """How many tokens a text has; ``path`` is a tokenizer.json, or a wheel that holds one (that of anthropic 0.25)."""
    if path is None:
        return count_tokens
    from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]

    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if name.endswith("/tokenizer.json")]
            tokenizer = Tokenizer.from_str(wheel.read(names[0]).decode("utf-8"))
    else:
        tokenizer = Tokenizer.from_file(str(path))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
