"""What a provider would return for a file of requests, in the shapes of OpenAI and of Anthropic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scripted_model import tokens

Line = dict[str, Any]


def requests(path: Path) -> list[Line]:
    """The lines of a file of requests."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def prompts(request: Line) -> tuple[str, str]:
    """(prompt, system) of a request of either shape."""
    if "params" in request:
        return request["params"]["messages"][0]["content"], request["params"]["system"]
    system, user = request["body"]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    return user["content"], system["content"]


def usage(request: Line, text: str) -> tuple[int, int]:
    """Tokens as the scripted model would report them."""
    prompt, system = prompts(request)
    schema = request.get("body", {}).get("response_format", {}).get("json_schema", {}).get("schema")
    read = f"{system} {prompt} {json.dumps(schema) if schema else ''}"
    return len(tokens(read)), len(tokens(text))


def reply(request: Line, text: str, model: str | None = None) -> Line:
    """The line that says that the model replied ``text``."""
    read, wrote = usage(request, text)
    if "params" in request:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model or request["params"]["model"],
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": read - 3, "cache_read_input_tokens": 3, "output_tokens": wrote},
        }  # fmt: skip
        return {"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}}
    message = {"role": "assistant", "content": text, "refusal": None}
    body = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model or request["body"]["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote},
    }  # fmt: skip
    response = {"status_code": 200, "request_id": "r1", "body": body}
    return {"id": "batch_req_1", "custom_id": request["custom_id"], "response": response, "error": None}


def error(request: Line, message: str = "no boats on this street") -> Line:
    """The line that says that the request failed."""
    if "params" in request:
        said = {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "r1"}
        return {"custom_id": request["custom_id"], "result": {"type": "errored", "error": said}}
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    response = {"status_code": 400, "request_id": "r1", "body": body}
    return {"id": "batch_req_1", "custom_id": request["custom_id"], "response": response, "error": None}


def expired(request: Line) -> Line:
    """The line that says that nobody got to the request in time."""
    if "params" in request:
        return {"custom_id": request["custom_id"], "result": {"type": "expired"}}
    said = {"code": "batch_expired", "message": "This request could not be executed before the window expired."}
    return {"id": "batch_req_1", "custom_id": request["custom_id"], "response": None, "error": said}


def answers(asked: Iterable[Line], say: Callable[[str, str], str]) -> list[Line]:
    """The replies of a model that says what ``say`` says."""
    return [reply(request, say(*prompts(request))) for request in asked]


def write(path: Path, lines: Iterable[Line | bytes]) -> Path:
    written = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path.write_bytes(b"".join(line + b"\n" for line in written))
    return path
