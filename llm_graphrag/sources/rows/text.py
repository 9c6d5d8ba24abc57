"""The text of a file of rows: decoded as notes are, or as a person says.

A row that is half read is worse than a note that is: so where notes would be refused as binary,
or read in an encoding that is only likely, a file of rows is refused with the encoding that
is suspected and the option that reads it.
"""

from __future__ import annotations

import codecs
import hashlib
from pathlib import Path

from ..encoding import UndecodableError, decode
from .feed import Remarks, UnreadableError

MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def read_text(path: Path, encoding: str, remarks: Remarks) -> str:
    """The text of a file with ``\\n`` line ends and no NUL. Raises UnreadableError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error
    if encoding:
        return _as_told(data, encoding, remarks)
    marked = data.startswith(MARKS)
    suspected = "" if marked else suspected_utf16(data)
    if suspected and (len(data) % 2 or not _decodes(data, suspected)):
        raise UnreadableError(
            f"looks like {suspected} without a byte order mark, and damaged ({len(data):,} bytes). If it is,"
            f" add it with --encoding {suspected}; else save it as UTF-8"
        )
    nuls = 0 if marked or suspected else data.count(b"\0")
    try:
        decoded = decode(data.replace(b"\0", b"") if nuls else data)
    except UndecodableError as error:
        raise UnreadableError(f"not text: {error}. If it is in another encoding, name it with --encoding") from error
    if nuls:
        remarks.warn(f"{nuls:,} NUL removed")
    for note in decoded.notes:
        remarks.warn(note)
    return decoded.text


def _as_told(data: bytes, encoding: str, remarks: Remarks) -> str:
    try:
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError) as error:
        raise ValueError(f"--encoding {encoding!r} is no encoding that Python knows, or not one of text") from error
    wrong = text.count("\ufffd")
    if wrong:
        remarks.warn(f"{wrong:,} places are not valid {encoding}; U+FFFD stands there")
    nuls = text.count("\0")
    if nuls:
        remarks.warn(f"{nuls:,} NUL removed")
    return text.removeprefix("\ufeff").replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


def suspected_utf16(data: bytes) -> str:
    """``utf-16-le`` or ``utf-16-be`` if every second byte is mostly NUL and the others are hardly ever; else empty.

    >>> suspected_utf16("Id;Navn\\n".encode("utf-16-le") + b"x"), suspected_utf16(b"a,b\\0\\n"), suspected_utf16(b"")
    ('utf-16-le', '', '')
    """
    head = data[:4096]
    half = len(head) // 2
    if half < 2:
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > half * 0.6 and even < half * 0.1:
        return "utf-16-le"
    if even > half * 0.6 and odd < half * 0.1:
        return "utf-16-be"
    return ""


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def file_hash(path: Path) -> str:
    """The fingerprint of a file: the hash of its bytes; empty if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
