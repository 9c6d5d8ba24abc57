import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.sources.note import Heading
from llm_graphrag.text.chunks import Chunk, chunk, sections
from llm_graphrag.text.normalise import is_blank
from llm_graphrag.text.tokens import count_tokens

HEADING = re.compile(r"^(#{1,6}) (.*)\n?", re.MULTILINE)


def headings(text: str) -> list[Heading]:
    return [Heading(len(m[1]), m[2], m.start(), m.end()) for m in HEADING.finditer(text)]


def pieces(text: str, target: int = 250, frontmatter_end: int = 0) -> list[str]:
    return [text[c.start : c.end] for c in chunk(text, headings(text), target, frontmatter_end)[1]]


def prose(words: int, word: str = "word") -> str:
    return " ".join([word] * words)


def test_sections_form_a_tree() -> None:
    text = "intro\n# A\na\n### B\nb\n## C\nc\n# D\n"
    found = sections(text, headings(text))
    assert [(s.seq, s.parent, s.level, s.heading) for s in found] == [
        (0, None, 1, "A"),
        (1, 0, 3, "B"),
        (2, 0, 2, "C"),
        (3, None, 1, "D"),
    ]
    assert [text[s.start : s.end] for s in found] == ["# A\na\n", "### B\nb\n", "## C\nc\n", "# D\n"]


def test_chunks_end_at_headings_and_tiny_sections_take_the_next_in() -> None:
    one, two = prose(30), prose(40, "term")
    text = f"# Title\n\n## One\n\n{one}\n\n## Two\n\n{two}\n"
    outline, chunks = chunk(text, headings(text), target_tokens=50)
    assert [text[c.start : c.end] for c in chunks] == [f"# Title\n\n## One\n\n{one}\n\n", f"## Two\n\n{two}\n"]
    assert [(c.section, c.line) for c in chunks] == [(1, 1), (2, 7)]
    assert outline[1].heading == "One"
    assert chunks[0].tokens == 34 and chunks[1].tokens == 42


def test_cut_at_paragraph_then_line_then_sentence_then_word() -> None:
    assert pieces("aa bb cc.\n\ndd ee ff.\n", 4) == ["aa bb cc.\n\n", "dd ee ff.\n"]
    assert pieces("aa bb cc dd\nee ff gg hh\nii jj kk ll\n", 5) == ["aa bb cc dd\n", "ee ff gg hh\n", "ii jj kk ll\n"]
    assert pieces("Aa bb cc dd. Ee ff gg hh. Ii jj kk ll.", 5) == ["Aa bb cc dd. ", "Ee ff gg hh. ", "Ii jj kk ll."]
    assert pieces("aa bb cc dd ee ff gg hh", 4) == ["aa bb cc dd ", "ee ff gg hh"]


def test_text_without_spaces() -> None:
    assert pieces("東京は大きい町です。大阪も大きい町です。", 10) == ["東京は大きい町です。", "大阪も大きい町です。"]
    assert pieces("猫" * 25, 10) == ["猫" * 10, "猫" * 10, "猫" * 5]
    assert "".join(pieces("x" * 1000, 10)) == "x" * 1000
    assert max(map(count_tokens, pieces("x" * 1000, 10))) == 10


def test_a_combining_sequence_is_not_cut() -> None:
    text = "e\u0301" * 40
    assert all(not piece.startswith("\u0301") for piece in pieces(text, 5))
    family = "👩\u200d👩\u200d👧"
    assert all(piece.startswith("👩\u200d👩") for piece in pieces(family * 20, 12))


def test_a_fence_that_fits_is_not_cut() -> None:
    fence = "```\nalpha beta\n\ngamma delta\n\nzeta eta\n```\n"
    text = f"{prose(12)}\n\n{fence}\n{prose(12)}\n"
    assert sum(fence in piece for piece in pieces(text, 14)) == 1
    assert sum(fence in piece for piece in pieces(text, 4)) == 0


def test_a_heading_is_not_left_alone() -> None:
    text = f"## Plan\n\n{prose(90)}\n"
    assert all(piece.strip() != "## Plan" for piece in pieces(text, 40))


def test_small_frontmatter_stays_with_what_follows() -> None:
    matter = "---\nkind: boat\n---\n"
    text = f"{matter}# Name\n\n{prose(30)}\n"
    assert pieces(text, 60, len(matter)) == [text]
    large = f"---\nkey: value here\n\nnote: {prose(25)}\n---\n"
    text = f"{large}{prose(45)}\n"
    assert pieces(text, 40, len(large))[0].startswith(large)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n", "\u3000"])
def test_white_space_has_no_chunks(text: str) -> None:
    assert chunk(text) == ([], [])


def test_target_must_be_positive() -> None:
    with pytest.raises(ValueError, match="target_tokens must be at least 1, not 0"):
        chunk("x", target_tokens=0)


NOTE = st.lists(
    st.one_of(
        st.text(max_size=10),
        st.sampled_from(
            [
                "\n",
                "\n\n",
                "# A\n",
                "## B b\n",
                "```\n",
                "- item ",
                "word " * 9,
                "Ends. ",
                "水火木。",
                "ab\u0301\u0301",
                "x" * 90,
            ]
        ),
    ),
    max_size=40,
).map("".join)


@given(NOTE, st.integers(1, 40), st.integers(0, 30))
def test_chunks_are_disjoint_and_cover_the_text(text: str, target: int, frontmatter: int) -> None:
    frontmatter_end = min(frontmatter, len(text))
    found = [heading for heading in headings(text) if heading.start >= frontmatter_end]
    outline, chunks = chunk(text, found, target, frontmatter_end)
    if is_blank(text):
        assert chunks == []
        return
    assert "".join(text[c.start : c.end] for c in chunks) == text
    assert chunk(text, found, target, frontmatter_end) == (outline, chunks)
    for seq, part in enumerate(chunks):
        assert part.seq == seq
        assert part.start < part.end
        assert part.line == text[: part.start].count("\n") + 1
        assert part.tokens == count_tokens(text[part.start : part.end]) <= max(2 * target, 3)
        assert text[part.start : part.end].strip()
        if part.section is not None:
            assert outline[part.section].start < part.end and outline[part.section].end > part.start


SECTION = (
    st.integers(12, 60)
    .flatmap(
        lambda size: st.lists(
            st.sampled_from(["tea", "boat ", "rope.\n\n", "sail\n", "Wind. "]), min_size=size, max_size=size
        )
    )
    .map(lambda words: " ".join(words) + "\n")
)


@given(st.lists(SECTION, min_size=3, max_size=5), SECTION, st.data())
def test_an_edit_changes_only_the_chunks_of_its_section(bodies: list[str], edit: str, data: st.DataObject) -> None:
    target = 24
    place = data.draw(st.integers(0, len(bodies) - 1))

    def by_section(parts: list[str]) -> dict[int | None, list[str]]:
        text = "".join(f"# S{i}\n\n{part}" for i, part in enumerate(parts))
        out: dict[int | None, list[str]] = {}
        part: Chunk
        for part in chunk(text, headings(text), target)[1]:
            out.setdefault(part.section, []).append(text[part.start : part.end])
        return out

    before = by_section(bodies)
    after = by_section([*bodies[:place], edit, *bodies[place + 1 :]])
    for section in range(len(bodies)):
        if section != place:
            assert before[section] == after[section]


@given(st.text(), st.text())
def test_token_counts_are_almost_additive(one: str, two: str) -> None:
    whole = count_tokens(one + two)
    assert max(count_tokens(one), count_tokens(two)) <= whole + 1
    assert abs(count_tokens(one) + count_tokens(two) - whole) <= 1


def test_token_counts() -> None:
    assert count_tokens("The lamp, the oar.") == 6
    assert count_tokens("internationalisation") == 3
    assert count_tokens("水火 ab") == 3
    assert count_tokens("12345") == 2
    assert count_tokens("приветствие") == 3


def test_parts_are_never_joined() -> None:
    text = "---\ntitle: x\n---\n\n## Page 1\n\nOne.\n\n### a\n\nx\n\n## Page 2\n\nTwo.\n\n## Page 3\n\nThree.\n"
    found = headings(text)
    joined = [text[c.start : c.end] for c in chunk(text, found, 100)[1]]
    apart = [text[c.start : c.end] for c in chunk(text, found, 100, parts_level=2)[1]]
    assert (len(joined), "".join(joined)) == (1, text)
    assert (["".join(apart)], [part.count("## Page") for part in apart]) == ([text], [1, 1, 1])
    assert apart[0].endswith("### a\n\nx\n\n")
