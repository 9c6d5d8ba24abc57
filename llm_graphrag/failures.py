"""What an exception of a model means: try again or not, charged or not, for this call or for all.

Every model plugin raises what its own client raises: exceptions of httpx, openai,
anthropic, requests, urllib, boto, or llm's own, some wrapped in others. None of these is
imported here. What they have in common is read instead: a status somewhere, headers
somewhere, and telling names of classes, in the exception and in what caused it.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from .text.error_text import error_text

__all__ = ["CallFailed", "Failure", "ModelError", "ReadElsewhere", "Stopped", "failure_of", "seconds_before_next"]

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second attempt, doubled for each further one, with as much again at random; and at most."""

LONGEST_PAUSE = 120.0
"""Most seconds that a Retry-After is waited for; whoever says more is asked again all the same."""

RETRIED = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
FATAL = {401, 402, 403, 404, 407}
#: A server in between lost sight of the model, which may have answered, and charged.
LOST_BEHIND = {502, 504, *range(520, 528), 598, 599}

UNSENT = re.compile(
    "^(ConnectError|ConnectTimeout|ConnectTimeoutError|PoolTimeout|ConnectionRefusedError|NewConnectionError|gaierror"
    "|NameResolutionError|EndpointConnectionError|NeedsKeyException|UnknownModelError|NotImplementedError)$"
)
NO_KEY = re.compile("^(NeedsKeyException|UnknownModelError|NoCredentialsError)$")
BROKEN = re.compile(
    "Timeout|Connect|NetworkError|ReadError|WriteError|CloseError|ProtocolError|IncompleteRead|ChunkedEncoding"
    "|BrokenPipe|ConnectionError"
)
QUOTA = "insufficient_quota"


class ModelError(ValueError):
    """A model cannot be used, or failed; the message is one line that says what to do where that is known."""


class CallFailed(ModelError):
    """A call failed for good. If ``fatal``, no other call to this model will do better."""

    def __init__(self, message: str, *, fatal: bool = False, status: int | None = None, attempts: int = 1) -> None:
        super().__init__(message)
        self.fatal = fatal
        self.status = status
        self.attempts = attempts


class Stopped(Exception):
    """The run was told to stop before the call was made."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that failed. ``charged``: the model may have worked, and nobody will say what it cost."""

    message: str
    status: int | None
    charged: bool
    retry: bool
    fatal: bool
    retry_after: float | None  # seconds


class ReadElsewhere(Exception):
    """Stands for an exception that was read where it was raised: on a machine whose classes are not known here."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException, received: bool, secrets: Sequence[str | None] = ()) -> Failure:
    """Read an exception; ``received`` says whether a part of the reply had come before it.

    ``secrets`` are keys that must not be in the message.
    """
    if isinstance(error, ReadElsewhere):
        return error.failure
    chain = list(_chain(error))
    status = next((code for cause in chain if (code := _status(cause)) is not None), None)
    names = [kind.__name__ for cause in chain for kind in type(cause).__mro__]
    unsent = not received and any(map(UNSENT.match, names))
    broken = any(map(BROKEN.search, names))
    no_quota = any(QUOTA in (str(getattr(cause, "code", "")), str(getattr(cause, "type", ""))) for cause in chain)
    no_quota = no_quota or (status == 429 and QUOTA in str(error))
    no_key = any(map(NO_KEY.match, names))
    fatal = no_key or no_quota or status in FATAL
    turned_away = status is not None and status not in LOST_BEHIND
    retry = not fatal and (status in RETRIED if status is not None else broken)
    return Failure(
        message=_message(error, status, secrets),
        status=status,
        charged=received or not (unsent or turned_away),
        retry=retry,
        fatal=fatal,
        retry_after=next((found for cause in chain if (found := _retry_after(cause)) is not None), None),
    )


def seconds_before_next(failure: Failure, number: int) -> float:
    """How long to wait after attempt ``number``, from 1: what the server asked for, else longer each time.

    A part is random, so that workers that failed together do not come back together.
    """
    if failure.retry_after is not None:
        return failure.retry_after + random.uniform(0, FIRST_WAIT)
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (number - 1) * random.uniform(1, 2))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came of, once each."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return int(value)
    if isinstance(response, Mapping):  # botocore
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return found if isinstance(found, int) and 400 <= found < 600 else None
    return None


def _retry_after(error: BaseException) -> float | None:
    """Seconds to wait, as the server asked for them, within reason."""
    values: list[tuple[Any, float]] = [(getattr(error, "retry_after", None), 1.0)]
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if headers is not None and hasattr(headers, "get"):
            lower = {str(name).lower(): headers.get(name) for name in headers}
            values += [(lower.get("retry-after-ms"), 0.001), (lower.get("retry-after"), 1.0)]
    for said, scale in values:
        seconds = _seconds(said)
        if seconds is not None:
            return min(max(seconds * scale, 0.0), LONGEST_PAUSE)
    return None


def _seconds(value: object) -> float | None:
    """A number of seconds, or a date, as seconds from now."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(str(value))
        return number if number == number else None
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(str(value)).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None


def _message(error: BaseException, status: int | None, secrets: Sequence[str | None]) -> str:
    """One line; the name of the exception where it says nothing itself."""
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    text = error_text(said, secrets) or type(error).__name__
    return text if status is None or str(status) in text else error_text(f"{status}: {text}")
