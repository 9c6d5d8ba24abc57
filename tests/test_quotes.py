import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.text.quotes import find_quote

TEXT = "Mira said “we’ll sail at dawn”, and — as\n  always — nobody be\u00adlieved her. The cafe\u0301 closed at nine."


@pytest.mark.parametrize(
    ("quote", "stands", "score"),
    [
        ("nobody", None, 1.0),
        ('Mira said "we\'ll sail at dawn"', "Mira said “we’ll sail at dawn”", 1.0),
        ("as always - nobody believed her", "as\n  always — nobody be\u00adlieved her", 1.0),
        ("The caf\u00e9 closed", "The cafe\u0301 closed", 1.0),
        ('"nobody believed her..."', "nobody be\u00adlieved her", 1.0),
        (
            "nobody belived her. The café closed at nin",
            "nobody be\u00adlieved her. The cafe\u0301 closed at nin",
            0.9762,
        ),
        ("closed at nine", "closed at nine", 1.0),
    ],
)
def test_finds_where_the_quote_stands(quote: str, stands: str | None, score: float) -> None:
    found = find_quote(quote, TEXT)
    assert found is not None
    start, end, reached = found
    if stands is not None:
        assert TEXT[start:end] == stands
    assert reached == score


@pytest.mark.parametrize("quote", ["", "  ", "Mira sang", "we sailed at dusk yesterday", "…", "NOBODY BELIEVED HER"])
def test_a_quote_that_does_not_stand_there_is_not_found(quote: str) -> None:
    assert find_quote(quote, TEXT) is None


def test_first_of_equal_places_and_empty_text() -> None:
    assert find_quote("ab", "ab ab") == (0, 2, 1.0)
    assert find_quote("anything at all here", "") is None


def test_fuzzy_is_aligned_to_whole_words() -> None:
    text = "Before. The lighthouse keeper counted seven ships on Monday. After."
    found = find_quote("The lighthouse keeper counts seven ships on Monday", text)
    assert found is not None
    start, end, score = found
    assert text[start:end] == "The lighthouse keeper counted seven ships on Monday"
    assert score == 0.96


def reference(pattern: str, text: str) -> int:
    """Smallest edit distance of pattern to a part of text, by the textbook table."""
    row = [0] * (len(text) + 1)
    for i, a in enumerate(pattern, 1):
        above, row = row, [i]
        for j, b in enumerate(text, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return min(row)


@given(st.text("abcd", min_size=10, max_size=24), st.text("abcd", max_size=60))
def test_fuzzy_agrees_with_the_textbook(quote: str, text: str) -> None:
    distance = reference(quote, text)
    found = find_quote(quote, text, min_score=0.7)
    if distance <= len(quote) * 0.3:
        assert found is not None
        start, end, score = found
        assert score == round(1 - distance / len(quote), 4)
        assert reference(quote, text[start:end]) == distance
    else:
        assert found is None


@given(st.text(max_size=30), st.text(min_size=1, max_size=20), st.text(max_size=30))
def test_every_part_of_a_text_is_found_with_score_one(before: str, quote: str, after: str) -> None:
    text = before + quote + after
    found = find_quote(quote, text)
    if quote.strip():
        assert found is not None and found[2] == 1.0
        assert text[found[0] : found[1]] == quote.strip()
    else:
        assert found is None
