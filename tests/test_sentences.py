import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.text.sentences import sentence_around, sentence_spans


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Vik met J. R. Moe. They ate.", ["Dr. Vik met J. R. Moe.", "They ate."]),
        ("It cost 3.50 euro, e.g. too much. Fine!", ["It cost 3.50 euro, e.g. too much.", "Fine!"]),
        ("See fig. 3 and p. 12. No. 7 is best.", ["See fig. 3 and p. 12.", "No. 7 is best."]),
        ("He said no. Then he left.", ["He said no.", "Then he left."]),
        ("Tea, milk, etc. We paid. Nuts etc. are free.", ["Tea, milk, etc.", "We paid.", "Nuts etc. are free."]),
        ("“Who?” she asked. “Me.” He sat.", ["“Who?” she asked.", "“Me.”", "He sat."]),
        ("no capitals here. still two sentences.", ["no capitals here.", "still two sentences."]),
        ("Well... maybe. In 1999. The end", ["Well... maybe.", "In 1999.", "The end"]),
        ("猫がいる。犬もいる！「鳥は？」と聞いた。", ["猫がいる。", "犬もいる！", "「鳥は？」", "と聞いた。"]),
        ("هل أنت هنا؟ نعم.", ["هل أنت هنا؟", "نعم."]),
        ("Wrapped prose goes\non here. And\nends.", ["Wrapped prose goes\non here.", "And\nends."]),
        ("# Title\nText.\n## Next", ["# Title", "Text.", "## Next"]),
        ("- one\n- two, which\n  goes on\n- three", ["- one", "- two, which\n  goes on", "- three"]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("| a. B | c |\n|---|---|\n| d | e |", ["| a. B | c |", "|---|---|", "| d | e |"]),
        (
            "---\nname: A. B. C\nrole: x. Y\n---\nBody. End.",
            ["---", "name: A. B. C", "role: x. Y", "---", "Body.", "End."],
        ),
        ("```\nx. Y\nz\n```\nAfter. All.", ["```", "x. Y", "z", "```", "After.", "All."]),
        ("born:: Oslo\nplace:: Rome. Italy", ["born:: Oslo", "place:: Rome. Italy"]),
        ("> quoted words\n> go on. Yes.\nplain", ["> quoted words\n> go on.", "Yes.", "plain"]),
        ("one  \ntwo", ["one", "two"]),
        (" \n\t", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


NOTE = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            ["\n", "\n\n", ". ", "? ", "- ", "# ", "> ", "| ", "```\n", "---\n", "Mr. ", "1. ", "。", "A.", "  \n"]
        ),
    ),
    max_size=25,
).map("".join)


@given(NOTE)
def test_spans_are_ordered_trimmed_and_hold_all_text(text: str) -> None:
    spans = sentence_spans(text)
    kept = 0
    for start, end in spans:
        assert kept <= start < end <= len(text)
        assert not text[kept:start].strip()
        assert text[start:end] == text[start:end].strip()
        kept = end
    assert not text[kept:].strip()


@given(NOTE, st.data())
def test_sentence_around_holds_the_span_within_the_limit(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    limit = data.draw(st.integers(1, 60))
    low, high = sentence_around(text, sentence_spans(text), start, end, limit)
    assert high - low <= max(limit, end - start)
    if text[start:end].strip():
        left = start + len(text[start:end]) - len(text[start:end].lstrip())
        right = left + len(text[start:end].strip())
        assert low <= left and right <= high
        assert text[low:high] == text[low:high].strip()


def test_sentence_around_two_sentences_and_clipping() -> None:
    text = "Ida rows. Ole swims far out. Liv sleeps."
    spans = sentence_spans(text)
    start, end = sentence_around(text, spans, 4, 13)
    assert text[start:end] == "Ida rows. Ole swims far out."
    start, end = sentence_around(text, spans, 29, 32)
    assert text[start:end] == "Liv sleeps."
    long = "alpha beta gamma delta " * 40 + "needle epsilon " + "zeta eta theta " * 40
    at = long.index("needle")
    start, end = sentence_around(long, sentence_spans(long), at, at + 6, max_chars=60)
    assert text != long and "needle" in long[start:end] and 40 <= end - start <= 60
    assert long[start - 1] == " " and long[end] == " "


def test_sentence_around_refuses_a_span_outside() -> None:
    with pytest.raises(ValueError, match=r"\[3, 9\) is no span of a text of 5 characters"):
        sentence_around("Hello", [(0, 5)], 3, 9)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Directed by R.G. Springsteen in 1950. It won.", ["Directed by R.G. Springsteen in 1950.", "It won."]),
        ("Jan (c. 1593 – 1640) painted. He died.", ["Jan (c. 1593 – 1640) painted.", "He died."]),
        ("He moved to the U.S. They stayed.", ["He moved to the U.S.", "They stayed."]),
        ("Use it (eg. a lamp) now. Done.", ["Use it (eg. a lamp) now.", "Done."]),
        ("He works for A.B. The pay is low.", ["He works for A.B.", "The pay is low."]),
        ("Take vitamin c. The end.", ["Take vitamin c.", "The end."]),
    ],
)
def test_initials_and_years_do_not_end_a_sentence(text: str, wanted: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == wanted
