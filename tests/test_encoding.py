"""Bytes to text: what is decoded, as what, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.sources.dialects import PLAIN
from llm_graphrag.sources.encoding import UndecodableError, decode
from llm_graphrag.sources.markdown import parse_note


def test_cp1252_is_a_named_fallback() -> None:
    decoded = decode(b"Pages 3 \x96 9, \x93so\x94.")
    assert decoded.text == "Pages 3 – 9, “so”."
    assert decoded.encoding == "cp1252"
    assert decoded.notes == ("not UTF-8 at byte 8, read as cp1252",)


def test_latin1_letters_are_read() -> None:
    assert decode("Jürgen, Zoë".encode("latin-1")).text == "Jürgen, Zoë"


@pytest.mark.parametrize(
    ("data", "offset"),
    [(bytes(range(256)), 0x81), (b"caf\xe9 \x81", 5), (b"ok " + b"\x01\x02\x03" * 20, 3), (b"\xff\xfea", 2)],
)
def test_what_is_no_text_is_refused_with_the_offset(data: bytes, offset: int) -> None:
    with pytest.raises(UndecodableError, match=f"at byte {offset}$") as caught:
        decode(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(encoding: str) -> None:
    decoded = decode("Åse 😀\r\nx".encode(encoding))
    assert (decoded.text, decoded.bom) == ("Åse 😀\nx", True)


def test_utf16_without_a_mark() -> None:
    decoded = decode("Sam met Rita.".encode("utf-16-le"))
    assert (decoded.text, decoded.encoding, decoded.bom) == ("Sam met Rita.", "utf-16-le", False)


def test_line_ends_and_nul() -> None:
    decoded = decode(b"one\r\ntwo\rthree\0four")
    assert decoded.text == "one\ntwo\nthree\ufffdfour"
    assert (decoded.nuls, decoded.notes) == (1, ("1 NUL replaced by U+FFFD",))


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \n\t", "\u200b".encode()])
def test_empty_files_are_texts(data: bytes) -> None:
    assert decode(data).text.strip(" \n\t\u200b") == ""


def test_frontmatter_behind_bom_and_crlf() -> None:
    note = parse_note(decode(b"\xef\xbb\xbf---\r\ntitle: Nora\r\ntags: [x, y]\r\n---\r\nSaw [[Olaf]]\r\n").text, PLAIN)
    assert note.title == "Nora"
    assert [tag.name for tag in note.tags] == ["x", "y"]
    assert [link.target for link in note.links] == ["Olaf"]


@given(st.binary(max_size=300))
def test_any_bytes_give_clean_text_or_an_offset(data: bytes) -> None:
    try:
        text = decode(data).text
    except UndecodableError as error:
        assert 0 <= error.offset <= len(data)
    else:
        assert "\0" not in text and "\r" not in text
        text.encode("utf-8")


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=200))
def test_utf8_is_read_as_it_is(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded.text == text.removeprefix("\ufeff")
