"""Bytes to text, without ever guessing silently.

A folder of notes is read on every platform in the same way, whatever its locale:
a byte order mark decides, then strict UTF-8, then Windows-1252 as a fallback that
is named in the notes of the result. What is no text in any of these is refused
with the offset of the first byte that cannot stand in a text.

The text that comes out has ``\\n`` line ends, no byte order mark at its start, no
NUL (U+FFFD stands in its place, so that offsets do not move) and no lone surrogate,
because SQLite stops at the one and refuses the other.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
#: A text may hold a few stray control characters; more than one in this many characters is a binary file.
_CONTROL_SHARE = 20
_CONTROL_ALLOWED = 4


@dataclass(frozen=True, slots=True)
class Decoded:
    """``text`` read as ``encoding``; ``notes`` say what was done to it, ``nuls`` how many NULs were replaced."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()
    bom: bool = False
    nuls: int = 0


class UndecodableError(ValueError):
    """The bytes are no text; ``offset`` is the first byte that shows it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at byte {offset}")
        self.offset = offset


def decode(data: bytes) -> Decoded:
    """Decode the bytes of one file.

    Raises
    ------
    UndecodableError
        If the bytes are neither marked UTF-8/16/32, nor UTF-8, nor Windows-1252, or look binary.
    """
    notes: list[str] = []
    mark, encoding = _marked(data)
    body = data[len(mark) :]
    if not mark:
        encoding = _unmarked_utf16(body)
        if encoding != "utf-8":
            notes.append(f"read as {encoding} without a byte order mark")
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise UndecodableError(f"not valid {encoding}", len(mark) + error.start) from None
        text = _fallback(body, len(mark))
        notes.append(f"not UTF-8 at byte {len(mark) + error.start}, read as cp1252")
        encoding = "cp1252"
    _refuse_binary(text, encoding, len(mark))
    if mark and text.startswith("\ufeff"):
        text = text[1:]
    nuls = text.count("\0")
    if nuls:
        notes.append(f"{nuls} NUL replaced by U+FFFD")
        text = text.replace("\0", "\ufffd")
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, tuple(notes), bool(mark), nuls)


def _marked(data: bytes) -> tuple[bytes, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", "utf-8"


def _unmarked_utf16(data: bytes) -> str:
    """Western text in UTF-16 has a NUL in every second byte and hardly any in the others."""
    head = data[:4096]
    if len(head) < 4 or len(data) % 2:
        return "utf-8"
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > half * 0.7 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.7 and odd < half * 0.05:
        return "utf-16-be"
    return "utf-8"


def _fallback(body: bytes, shift: int) -> str:
    try:
        return body.decode("cp1252")
    except UnicodeDecodeError as error:
        raise UndecodableError("neither UTF-8 nor cp1252", shift + error.start) from None


def _refuse_binary(text: str, encoding: str, shift: int) -> None:
    controls = len(_CONTROL.findall(text))
    if controls > _CONTROL_ALLOWED and controls * _CONTROL_SHARE > len(text):
        first = _CONTROL.search(text)
        offset = len(text[: first.start()].encode(encoding)) if first else 0
        raise UndecodableError(f"binary, not text ({controls} control characters)", shift + offset)
