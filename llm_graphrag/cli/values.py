"""What the value of an option may be: a wrong one is said before anything is opened, with the name of its option."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import click

from ..sources.files import printable

__all__ = ["Address", "Amount", "NewFile", "Number", "Text"]

ADDRESS = re.compile(r"\w+://\S+|[^\s/]+:\d+")


class Text(click.types.StringParamType):
    """A text that says something: an empty one is a variable of a shell that was not set, not a choice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) if str(value).strip() else self.fail("it is empty", param, ctx)


class Number(click.FloatRange):
    """A number that is one: neither nan nor inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{value!r} is not a number.", param, ctx)


class Amount(click.types.StringParamType):
    """A budget: 0.50usd, 200ktok."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..ledger import Budget

        try:
            return value if isinstance(value, Budget) else Budget.parse(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class Address(click.types.StringParamType):
    """The address of a Dask scheduler."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not ADDRESS.fullmatch(str(value)):
            self.fail(f"{value!r} is no address; one is like tcp://10.0.0.5:8786", param, ctx)
        return str(value)


class NewFile(click.Path):
    """A file to be written, in a folder that is there: known before a model is asked or anything is set aside."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        folder = Path(os.fsdecode(path)).parent
        if not folder.is_dir():
            self.fail(f"there is no folder {printable(str(folder))}", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"no file can be made in {printable(str(folder))}", param, ctx)
        return path
