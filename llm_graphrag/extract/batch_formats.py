"""How providers write batches: requests and replies as JSON lines, in the shapes of OpenAI and of Anthropic.

OpenAI (also Groq, vLLM and others): ``{"custom_id", "method", "url",
"body"}`` goes out; ``{"custom_id", "response": {"status_code", "body"}, "error"}`` comes
back, what failed perhaps in a file of its own. Anthropic: ``{"custom_id", "params"}``, and
``{"custom_id", "result": {"type", "message"}}``. Which of the two a line is of can be
seen from it. Lines come from a file that anybody may have written: everything about
them is checked, and a line that is not right is refused alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..calls import LIMIT_OPTIONS, Request
from ..text.error_text import error_text

__all__ = [
    "ANTHROPIC",
    "ERROR",
    "FORMATS",
    "MOST_BYTES",
    "MOST_REQUESTS",
    "OPENAI",
    "REPLY",
    "UNASKED",
    "Answered",
    "LineError",
    "as_written",
    "key_of",
    "provider_name",
    "read_line",
    "request_body",
    "request_line",
    "same_model",
]

OPENAI, ANTHROPIC = FORMATS = ("openai", "anthropic")

MOST_REQUESTS = {OPENAI: 50_000, ANTHROPIC: 100_000}
MOST_BYTES = {OPENAI: 200_000_000, ANTHROPIC: 256_000_000}
"""What a provider takes in one batch, as documented in 2026."""

URL = "/v1/chat/completions"

REPLY, ERROR, UNASKED = "reply", "error", "unasked"
"""What a line says: the model replied; the request failed; or nobody got to it (expired, cancelled)."""

EXPIRED = ("batch_expired", "batch_cancelled", "batch_canceled")
LEFT_OUT = ("json_object", "image_detail", "chat_completions", "reasoning_summary")  # of llm, not of the provider
ANTHROPIC_OPTIONS = ("temperature", "top_p", "top_k", "stop_sequences")
MOST_TOKENS = 1_000_000_000  # what is more is no count

VERSION = re.compile(r"(-\d+)*")


class LineError(ValueError):
    """A line is no reply; the message says why."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a line of replies says about one request; tokens are None where they are not said."""

    custom_id: str
    kind: str
    text: str = ""
    error: str = ""
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


# -- requests --------------------------------------------------------------------------


def as_written(format: str, request: Request) -> Request:
    """A request as a batch of this format can hold it.

    Anthropic's structured outputs know less of JSON schema than our replies are bounded by, so there the system
    prompt alone says what a reply looks like, as to every model that takes no schema.
    """
    return replace(request, schema=None) if format == ANTHROPIC else request


def request_body(format: str, model: Any, request: Request, options: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """What a provider is asked: ``model`` is llm's, ``options`` those that a person gave for it.

    Raises ValueError for an option that has no place in the request.
    """
    said = {name: value for name, value in options.items() if name not in (*LIMIT_OPTIONS, *LEFT_OUT)}
    name, user = provider_name(model), {"role": "user", "content": request.prompt}
    if format == ANTHROPIC:
        _refuse_unknown(name, said)
        system = {"system": request.system} if request.system else {}
        return {"model": name, "max_tokens": limit, **system, "messages": [user], **said}
    # Models that reason do not take max_tokens; some providers with the same interface know nothing else.
    limiting = "max_completion_tokens" if "reasoning_effort" in model.Options.model_fields else "max_tokens"
    first = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {"model": name, "messages": [*first, user], limiting: limit}
    if request.schema is not None:
        schema = {"name": "output", "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {**body, **said}


def _refuse_unknown(name: str, options: Mapping[str, Any]) -> None:
    unknown = sorted(set(options) - set(ANTHROPIC_OPTIONS))
    if unknown:
        raise ValueError(
            f"The option {unknown[0]} of {name} cannot be written into a batch for Anthropic; leave it out "
            "(llm models options list shows those that llm keeps), or extract without a batch"
        )


def provider_name(model: Any) -> str:
    """What the provider calls a model of llm's."""
    return str(getattr(model, "claude_model_id", None) or getattr(model, "model_name", None) or model.model_id)


def key_of(body: Mapping[str, Any]) -> str:
    """A name for a request that depends on what is asked alone, and is a custom_id to both providers."""
    content = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return f"kg-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def request_line(format: str, custom_id: str, body: str) -> bytes:
    """A line of a file of requests; ``body`` is JSON already."""
    head = f'"params": {body}' if format == ANTHROPIC else f'"method": "POST", "url": "{URL}", "body": {body}'
    return f'{{"custom_id": "{custom_id}", {head}}}\n'.encode()


# -- replies ---------------------------------------------------------------------------


def read_line(line: bytes) -> Answered:
    """What a line of replies says. Raises LineError."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LineError("is not JSON") from error
    if not isinstance(value, dict):
        raise LineError("is no JSON object")
    custom_id = value.get("custom_id")
    if not isinstance(custom_id, str) or not custom_id:
        raise LineError("has no custom_id")
    if isinstance(value.get("result"), dict):
        return _anthropic_reply(custom_id, value["result"])
    if isinstance(value.get("response"), dict) or value.get("error"):
        return _openai_reply(custom_id, value.get("response"), value.get("error"))
    if "body" in value or "params" in value:
        raise LineError("is a request; the replies are in the file that the provider returns")
    raise LineError("has neither a response nor a result")


def _openai_reply(custom_id: str, response: Any, error: Any) -> Answered:
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if error or status != 200:
        code = error.get("code") if isinstance(error, dict) else None
        inner = body.get("error") if isinstance(body, dict) else None
        kind = UNASKED if code in EXPIRED else ERROR
        return Answered(custom_id, kind, error=_message(error, inner, status))
    if not isinstance(body, dict):
        raise LineError("has a response without a body")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise LineError("has a response without a message")
    used = _usage(body, "prompt_tokens", "completion_tokens")
    text, refusal = _text(message.get("content")), message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        return Answered(custom_id, ERROR, "", _message(f"refused: {refusal}"), _model(body), *used)
    return Answered(custom_id, REPLY, text, "", _model(body), *used)


def _anthropic_reply(custom_id: str, result: Mapping[str, Any]) -> Answered:
    kind = result.get("type")
    if kind in ("expired", "canceled"):
        return Answered(custom_id, UNASKED, error=str(kind))
    if kind == "errored":
        error = result.get("error")
        inner = error.get("error") if isinstance(error, dict) else None
        return Answered(custom_id, ERROR, error=_message(inner, error))
    message = result.get("message")
    if kind != "succeeded" or not isinstance(message, dict):
        raise LineError("has a result that is none of succeeded, errored, canceled and expired")
    used = _usage(message, "input_tokens", "output_tokens", ("cache_creation_input_tokens", "cache_read_input_tokens"))
    text = _text(message.get("content"))
    if not text and message.get("stop_reason") == "refusal":
        return Answered(custom_id, ERROR, "", "refused", _model(message), *used)
    return Answered(custom_id, REPLY, text, "", _model(message), *used)


def _text(content: Any) -> str:
    """A text, or the texts among the parts of a content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _model(holder: Mapping[str, Any]) -> str | None:
    model = holder.get("model")
    return model if isinstance(model, str) and model else None


def _usage(
    holder: Mapping[str, Any], read: str, wrote: str, more: tuple[str, ...] = ()
) -> tuple[int | None, int | None]:
    """Tokens as they were counted, those from a cache too; None for what is no number."""
    said = holder.get("usage")
    usage = said if isinstance(said, dict) else {}
    first = _count(usage.get(read))
    if first is not None:
        first += sum(_count(usage.get(name)) or 0 for name in more)
    return first, _count(usage.get(wrote))


def _count(value: Any) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if fits else None


def _message(*errors: Any) -> str:
    """The first of some errors that says anything, in one line."""
    for error in errors:
        said = error.get("message") or error.get("code") or error.get("type") if isinstance(error, dict) else error
        if said:
            return error_text(said)
    return "the request failed, and nothing says why"


def same_model(asked: str, replied: str) -> bool:
    """Whether a model that replied is the one that was asked: the same name, or a dated version of it.

    >>> same_model("gpt-4o", "gpt-4o-2024-08-06"), same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    >>> same_model("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929")
    True
    """
    wanted, came = (re.sub(r"[^a-z0-9]+", "-", name.lower().rpartition("/")[2]) for name in (asked, replied))
    wanted = wanted.removesuffix("-latest")
    return came.startswith(wanted) and VERSION.fullmatch(came[len(wanted) :]) is not None
