"""What models cost: a short table that is shipped, and the user's own, which wins.

Prices are in USD for a million tokens, of the prompt and of the reply. A model is found
by its exact name, or by another name that the table lists for it; a similar name is
another model, and a wrong price is worse than none. The user's table is
``graphrag-prices.toml`` in llm's user directory, one model a line, so that a line can
be changed here and the rest of the file stays as it was written.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Price", "PriceError", "own_path", "price_of", "prices", "remove_price", "set_price"]

MILLION = 1_000_000
NAME = "graphrag-prices.toml"
KEYS = {"input", "output", "aliases", "as_of"}


class PriceError(ValueError):
    """A table of prices cannot be read or changed; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens of one model, and since when that is known."""

    model: str
    input: float
    output: float
    as_of: str = ""
    own: bool = False  # from the user's table
    aliases: tuple[str, ...] = ()

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """USD for one call.

        >>> Price("m", 2.5, 10).cost(1_000, 200)
        0.0045
        """
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


def price_of(model_id: str) -> Price | None:
    """The price of a model by its exact name, or None if it is not known."""
    for table in (_own(), _shipped()):
        for price in table:
            if model_id == price.model or model_id in price.aliases:
                return price
    return None


def prices() -> list[Price]:
    """All prices in force, by name; of a model that stands in both tables the user's."""
    own = _own()
    said = {name for price in own for name in (price.model, *price.aliases)}
    return sorted([*own, *(price for price in _shipped() if price.model not in said)], key=lambda price: price.model)


def own_path() -> Path:
    """Where the user's table is: in the folder that llm uses, found as llm does, but without importing it."""
    named = os.environ.get("LLM_USER_PATH")
    if named:
        return Path(named) / NAME
    import click

    return Path(click.get_app_dir("io.datasette.llm")) / NAME


def set_price(model: str, input: float, output: float) -> Price:
    """Write a price into the user's table, in place of an earlier one."""
    price = Price(model, input, output, datetime.now(timezone.utc).date().isoformat(), own=True)
    if not all(math.isfinite(amount) and amount >= 0 for amount in (input, output)):
        raise PriceError("a price is 0 or more, in USD for a million tokens")
    line = (
        f"{json.dumps(model)} = {{ input = {_number(input)}, output = {_number(output)}, as_of = '{price.as_of}' }}\n"
    )
    lines = _lines()
    at = _line_of(model, lines)
    if at is None:
        _put([*lines, line])
    else:
        _put([*lines[:at], line, *lines[at + 1 :]])
    return price


def remove_price(model: str) -> bool:
    """Take a model out of the user's table; False if it is not in it."""
    lines = _lines()
    at = _line_of(model, lines)
    if at is None:
        return False
    _put(lines[:at] + lines[at + 1 :])
    return True


def _number(value: float) -> str:
    """A decimal number as TOML, without an exponent."""
    text = f"{value:.6f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _lines() -> list[str]:
    path = own_path()
    if not path.exists():
        return ["# USD for a million tokens. llm graphrag prices set MODEL --input USD --output USD\n"]
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _line_of(model: str, lines: list[str]) -> int | None:
    """Which line holds a model. Raises PriceError if it is there, but not as one line."""
    for number, line in enumerate(lines):
        try:
            found = tomllib.loads(line)
        except tomllib.TOMLDecodeError:
            continue
        if isinstance(found.get(model), dict) and found[model]:
            return number
    if any(price.model == model for price in _own()):
        raise PriceError(f"{own_path()} describes {model} in more than one line; change it there by hand")
    return None


def _put(lines: list[str]) -> None:
    path = own_path()
    text = "".join(lines)
    _read(text, str(path), own=True)  # never leave a table behind that cannot be read
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text, "utf-8")
    new.replace(path)


@cache
def _shipped() -> tuple[Price, ...]:
    text = files(__package__).joinpath("prices.toml").read_text("utf-8")
    return _read(text, "prices.toml", own=False)


def _own() -> tuple[Price, ...]:
    path = own_path()
    try:
        state = path.stat()
        return _own_as_of(path, state.st_mtime_ns, state.st_size)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise PriceError(f"{path} cannot be read: {error}") from error


@lru_cache(maxsize=4)
def _own_as_of(path: Path, changed: int, size: int) -> tuple[Price, ...]:
    return _read(path.read_text("utf-8"), str(path), own=True)


def _read(text: str, where: str, own: bool) -> tuple[Price, ...]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PriceError(f"{where} is not TOML: {error}") from error
    as_of = str(table.pop("as_of", ""))
    return tuple(_price(model, entry, where, as_of, own) for model, entry in table.items())


def _price(model: str, entry: Any, where: str, as_of: str, own: bool) -> Price:
    form = f'write "{model}" = {{ input = 2.5, output = 10.0 }}, in USD for a million tokens'
    if not isinstance(entry, Mapping) or set(entry) - KEYS or not {"input", "output"} <= set(entry):
        raise PriceError(f"{where}: {model} needs input and output and takes aliases and as_of; {form}")
    amounts = [entry["input"], entry["output"]]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in amounts):
        raise PriceError(f"{where}: a price of {model} is no number; {form}")
    if any(not math.isfinite(value) or value < 0 for value in amounts):
        raise PriceError(f"{where}: a price of {model} is not 0 or more; {form}")
    aliases = tuple(map(str, entry.get("aliases", ())))
    return Price(model, float(amounts[0]), float(amounts[1]), str(entry.get("as_of", as_of)), own, aliases)
