"""A model of llm's that says what a test has written down for it, in this process or in another.

In this process: the fixture ``scripted`` registers one, in an llm of its own::

    def test_it(scripted):
        model = scripted(["first", HttpError(429, retry_after=2), Delay(0.5, "second"), Hang()])
        ... llm.get_model("scripted") ...
        assert model.calls[0].prompt == "..."

In another: ``subprocess.run(command("graphrag", "extract"), env=environment(replies=path))``
runs ``llm`` with the same model, whose replies stand in a JSON file (see ``from_json``).
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llm
import pytest
from llm.plugins import load_plugins, pm

TOKEN = re.compile(r"\w{1,6}|[^\w\s]")


@dataclass(frozen=True)
class Delay:
    """Waits, then says what stands in it."""

    seconds: float
    then: Any = "ok"


@dataclass(frozen=True)
class Hang:
    """Says ``first``, and then nothing more for as long as anyone could wait."""

    first: str = ""
    seconds: float = 3600.0


@dataclass(frozen=True)
class Break:
    """Says ``first``, then raises."""

    first: str
    error: BaseException


class HttpError(Exception):
    """An error as HTTP clients raise it: a status and headers."""

    def __init__(
        self, status: int, message: str = "", *, retry_after: str | float | None = None, code: str = ""
    ) -> None:
        super().__init__(message or f"the server said {status}")
        self.status_code = status
        self.code = code
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


@dataclass(frozen=True)
class Call:
    """What the model was asked."""

    prompt: str
    system: str | None
    schema: Mapping[str, Any] | None
    options: Mapping[str, Any]
    thread: str
    at: float = field(default_factory=time.monotonic)


def tokens(text: str | None) -> list[str]:
    """How this model cuts a text: not as llm_graphrag estimates it."""
    return TOKEN.findall(text or "")


class ScriptedModel(llm.Model):
    """Says ``replies``: a text, a list of items that are used up in order, or a function of (prompt, system).

    An item is a text, an exception, a Delay, a Hang or a Break. ``usage`` may be False,
    or a function of (prompt with system and schema, reply) that returns the two counts.
    With ``limit`` it has the option max_tokens and keeps to it, cutting the reply.
    """

    can_stream = True

    def __init__(
        self,
        replies: Any = "ok",
        *,
        model_id: str = "scripted",
        schema: bool = True,
        usage: bool | Callable[[str, str], tuple[int, int]] = True,
        limit: bool = True,
        stream: bool = True,
        log: Path | None = None,
    ) -> None:
        self.model_id = model_id
        self.supports_schema = schema
        self.can_stream = stream
        self.usage = usage
        self.calls: list[Call] = []
        self.log = log
        self._replies = replies if isinstance(replies, str) or callable(replies) else list(replies)
        self._lock = threading.Lock()
        self.Options = Limited if limit else Unlimited  # type: ignore[misc]

    @property
    def prompts(self) -> list[str]:
        return [call.prompt for call in self.calls]

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        options = {name: value for name, value in dict(prompt.options).items() if value is not None}
        call = Call(prompt.prompt, prompt.system or None, prompt.schema, options, threading.current_thread().name)
        said = yield from _say(self._next(call), options.get("max_tokens"))
        if self.usage:
            read = f"{prompt.system or ''} {prompt.prompt} {json.dumps(prompt.schema) if prompt.schema else ''}"
            counts = self.usage(read, said) if callable(self.usage) else (len(tokens(read)), len(tokens(said)))
            response.set_usage(input=counts[0], output=counts[1])

    def _next(self, call: Call) -> Any:
        with self._lock:
            self.calls.append(call)
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(
                        json.dumps({"prompt": call.prompt, "system": call.system, "options": call.options}) + "\n"
                    )
            if isinstance(self._replies, list):
                if not self._replies:
                    raise AssertionError("the script has no more replies")
                return self._replies.pop(0)
        return self._replies if isinstance(self._replies, str) else self._replies(call.prompt, call.system)


class Limited(llm.Options):
    max_tokens: int | None = None
    temperature: float | None = None


class Unlimited(llm.Options):
    temperature: float | None = None


def _say(item: Any, limit: int | None) -> Iterator[str]:
    """Yield an item word by word; returns what was said."""
    while isinstance(item, Delay):
        time.sleep(item.seconds)
        item = item.then
    if isinstance(item, BaseException):
        raise item
    if isinstance(item, Hang | Break):
        if item.first:
            yield item.first
        if isinstance(item, Break):
            raise item.error
        time.sleep(item.seconds)
        return item.first
    if limit is not None and len(tokens(item)) > limit:
        item = item[: [match.end() for match in TOKEN.finditer(item)][limit - 1]]
    yield from re.findall(r"\S*\s*", item)[:-1]
    return str(item)


@contextmanager
def registered(*models: llm.Model, aliases: Sequence[str] = ()) -> Iterator[None]:
    """Models are known to llm inside this."""

    class Plugin:
        @llm.hookimpl
        def register_models(self, register: Any) -> None:
            for model in models:
                register(model, aliases=aliases)

    load_plugins()
    plugin = Plugin()
    pm.register(plugin)
    try:
        yield
    finally:
        pm.unregister(plugin)


@pytest.fixture
def llm_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An llm with its own folder, no keys and no settings; the path of the folder."""
    folder = tmp_path / "user"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("LLM_USER_PATH", str(folder))
    monkeypatch.delenv("LLM_GRAPHRAG_DB", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return folder


@pytest.fixture
def scripted(llm_user: Path) -> Iterator[Callable[..., ScriptedModel]]:
    """``scripted(replies, model_id="scripted", aliases=(), …)`` makes a model and registers it for this test."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def make(replies: Any = "ok", *, aliases: Sequence[str] = (), **kwargs: Any) -> ScriptedModel:
            model = ScriptedModel(replies, **kwargs)
            stack.enter_context(registered(model, aliases=aliases))
            return model

        yield make


# In another process ------------------------------------------------------------------


def command(*arguments: object) -> list[str]:
    """``llm`` with these arguments and the scripted model."""
    return [sys.executable, "-m", "scripted_model", *map(str, arguments)]


def environment(
    user: Path,
    *,
    replies: Path | None = None,
    function: str = "",
    log: Path | None = None,
    delay: float = 0.0,
    schema: bool = True,
    usage: bool = True,
    limit: bool = True,
) -> dict[str, str]:
    """Environment of such a process. ``replies`` is a JSON file, or ``function`` names a "module:function"."""
    folder = str(Path(__file__).parent)
    settings = {
        "replies": "" if replies is None else str(replies), "function": function, "delay": delay,
        "log": "" if log is None else str(log), "schema": schema, "usage": usage, "limit": limit,
    }  # fmt: skip
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
    removed = {"OPENAI_API_KEY", "LLM_GRAPHRAG_DB"}
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    return {**kept, "PYTHONPATH": path, "LLM_USER_PATH": str(user), "SCRIPTED_MODEL": json.dumps(settings)}


def from_json(value: Any) -> Any:
    """A text, {"status": 429, "retry_after": 1}, {"hang": true}, {"delay": 1, "then": …} or {"json": …} as an item."""
    if not isinstance(value, dict):
        return str(value)
    if "status" in value:
        return HttpError(value["status"], value.get("message", ""), retry_after=value.get("retry_after"))
    if "hang" in value:
        return Hang()
    if "delay" in value:
        return Delay(value["delay"], from_json(value.get("then", "ok")))
    return json.dumps(value["json"], ensure_ascii=False)


def from_environment() -> ScriptedModel:
    """The model that ``environment`` describes.

    The file of replies is a list, used up in order, or an object of which the first key
    that occurs in the prompt gives the reply; the key "" always occurs.
    """
    settings = json.loads(os.environ.get("SCRIPTED_MODEL", "{}"))
    replies: Any = "ok"
    if settings.get("function"):
        module, _, name = settings["function"].partition(":")
        replies = getattr(importlib.import_module(module), name)
    elif settings.get("replies"):
        written = json.loads(Path(settings["replies"]).read_text("utf-8"))
        if isinstance(written, list):
            replies = [from_json(item) for item in written]
        else:
            replies = lambda prompt, system: from_json(next(item for key, item in written.items() if key in prompt))  # noqa: E731
    said = replies
    if settings.get("delay"):
        wait = settings["delay"]
        if isinstance(said, list):
            replies = [Delay(wait, item) for item in said]
        else:
            replies = lambda prompt, system: Delay(wait, said if isinstance(said, str) else said(prompt, system))  # noqa: E731
    log = Path(settings["log"]) if settings.get("log") else None
    switches = {name: settings.get(name, True) for name in ("schema", "usage", "limit")}
    return ScriptedModel(replies, log=log, **switches)


def main() -> None:
    """``llm``, with the model of the environment under the name scripted."""
    from llm.cli import cli

    with registered(from_environment()):
        cli(prog_name="llm")


if __name__ == "__main__":
    sys.modules.setdefault("scripted_model", sys.modules["__main__"])
    main()
