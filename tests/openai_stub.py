"""A server on this machine that speaks OpenAI's chat completions, says what a test wants, and counts for itself.

::

    with OpenAIStub(["one", Answer(status=429, headers={"Retry-After": "1"}), "two"]) as stub:
        stub.write_models(llm_user)       # llm knows it as "stub"
        ...
    assert stub.total_tokens == ...
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

TOKEN = re.compile(r"\w{1,5}|[^\w\s]")


def count(text: str) -> int:
    """Tokens as this provider counts them: a little more than most do."""
    return len(TOKEN.findall(text))


@dataclass(frozen=True)
class Answer:
    """One answer: a reply, or an error where ``status`` is not 200; ``cut`` breaks the connection half-way."""

    text: str = "ok"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    usage: bool = True
    cut: bool = False
    code: str = "stub_error"


@dataclass(frozen=True)
class Served:
    """A request that was answered with a reply, and what it would cost."""

    body: dict[str, Any]
    input_tokens: int
    output_tokens: int


class OpenAIStub:
    """``answers``: a list that is used up in order, or a function of the request's body; items are texts or Answers."""

    def __init__(self, answers: list[str | Answer] | Callable[[dict[str, Any]], str | Answer]) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.served: list[Served] = []
        self.times: list[float] = []  # of the requests, time.monotonic()

    def __enter__(self) -> OpenAIStub:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def total_tokens(self) -> int:
        return sum(served.input_tokens + served.output_tokens for served in self.served)

    def write_models(self, user: Path, model_id: str = "stub", *, schema: bool = True, stream: bool = True) -> None:
        """Make llm know this server as a model."""
        lines = [
            f"- model_id: {model_id}", f"  model_name: {model_id}", f'  api_base: "{self.url}"',
            f"  supports_schema: {str(schema).lower()}", f"  can_stream: {str(stream).lower()}",
        ]  # fmt: skip
        (user / "extra-openai-models.yaml").write_text("\n".join(lines) + "\n", "utf-8")

    def answer(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            self.requests.append(body)
            self.times.append(time.monotonic())
            said = self._answers(body) if callable(self._answers) else self._answers.pop(0)
        return said if isinstance(said, Answer) else Answer(said)

    def serve(self, body: dict[str, Any], answer: Answer) -> dict[str, int]:
        """Charge for a reply."""
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        read = " ".join(message["content"] for message in body["messages"]) + (json.dumps(schema) if schema else "")
        served = Served(body, count(read), count(answer.text))
        with self._lock:
            self.served.append(served)
        both = served.input_tokens + served.output_tokens
        return {
            "prompt_tokens": served.input_tokens,
            "completion_tokens": served.output_tokens,
            "total_tokens": both,
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = stub.answer(body)
                time.sleep(answer.delay)
                try:
                    _respond(self, stub, body, answer)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        return Handler


def _respond(handler: BaseHTTPRequestHandler, stub: OpenAIStub, body: dict[str, Any], answer: Answer) -> None:
    if answer.status != 200:
        error = {"error": {"message": f"the stub says {answer.status}", "code": answer.code, "type": answer.code}}
        _send(handler, answer.status, json.dumps(error).encode(), answer.headers)
        return
    usage = stub.serve(body, answer)
    named = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        message = {"role": "assistant", "content": answer.text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {**named, "object": "chat.completion", "choices": [choice], "usage": usage}
        _send(handler, 200, json.dumps(whole).encode(), answer.headers)
        return
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    words = re.findall(r"\S*\s*", answer.text)[:-1]
    for word in words[: len(words) // 2] if answer.cut else words:
        delta = {"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}
        _event(handler, {**named, "object": "chat.completion.chunk", "choices": [delta]})
    if answer.cut:
        raise ConnectionResetError
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    _event(handler, {**named, "object": "chat.completion.chunk", "choices": [end]})
    if answer.usage and body.get("stream_options", {}).get("include_usage"):
        _event(handler, {**named, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    _chunk(handler, b"data: [DONE]\n\n")
    _chunk(handler, b"")


def _event(handler: BaseHTTPRequestHandler, value: dict[str, Any]) -> None:
    _chunk(handler, b"data: " + json.dumps(value).encode() + b"\n\n")


def _chunk(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
    handler.wfile.flush()


def _send(handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)
