import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm_graphrag.text.cjk import has_cjk, search_text
from llm_graphrag.text.fts import MAX_TERMS, advanced_query, fts_query, query_terms

DOCUMENTS = (
    "The ferry leaves Bergen at 12:30, it's late.",
    "std::map and C++ templates; see tcl::dict",
    "The café in Bergen sells cinnamon buns",
    "北海道大学で猫を飼う",
    "서울에서 만나요",
    "ภาษาไทยง่าย",
    "Ｂｅｒｇｅｎ guide",
)


def table(documents: tuple[str, ...]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "create virtual table documents using fts5(body, tokenize='porter unicode61 remove_diacritics 2')"
    )
    connection.executemany(
        "insert into documents (rowid, body) values (?, ?)",
        [(i, search_text(text) or text) for i, text in enumerate(documents)],
    )
    return connection


@pytest.fixture(scope="module")
def fts() -> Iterator[sqlite3.Connection]:
    connection = table(DOCUMENTS)
    yield connection
    connection.close()


SHARED = table(DOCUMENTS)


def found(connection: sqlite3.Connection, query: str | None) -> list[int]:
    if query is None:
        return []
    rows = connection.execute("select rowid from documents where documents match ? order by rowid", [query])
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("question", "mode", "expected"),
    [
        ("what's in Bergen?", "or", [0, 2, 6]),
        ("ferry OR buns", "or", [0, 2]),
        ("12:30", "and", [0]),
        ("tcl::dict", "and", [1]),
        ("dict::tcl", "and", []),
        ("C++", "or", [1]),
        ("it's late", "and", [0]),
        ("cinnamon BUN", "and", [2]),  # stemmed
        ("cafe", "or", [2]),  # without accent
        ("Bergen sells", "phrase", [2]),
        ("sells Bergen", "phrase", []),
        ("大学", "or", [3]),
        ("海道大", "phrase", [3]),
        ("猫", "or", [3]),
        ("海大", "and", []),
        ("서울", "or", [4]),
        ("ไทย", "and", [5]),
        ("bergen guide", "phrase", [6]),
        ("Ｂergen", "or", [0, 2, 6]),
    ],
)
def test_finds(fts: sqlite3.Connection, question: str, mode: str, expected: list[int]) -> None:
    assert found(fts, fts_query(question, mode)) == expected


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert fts_query("Where is the harbour?") == '"harbour"'
    assert fts_query("who is it") == '"who" OR "is" OR "it"'
    assert fts_query("who is it", mode="and") == '"who" AND "is" AND "it"'


@pytest.mark.parametrize("text", ["", "  ", "?", "*", '"', "😀", "\x00", "\ud83d", "::", "_", "()"])
@pytest.mark.parametrize("mode", ["or", "and", "phrase"])
def test_nothing_to_search_for(text: str, mode: str) -> None:
    assert fts_query(text, mode) is None


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'or', 'and' or 'phrase', not 'any'"):
        fts_query("x", "any")


def test_long_questions_are_capped() -> None:
    text = " ".join(f"word{i}" for i in range(10_000))
    assert query_terms(text) == [f"word{i}" for i in range(MAX_TERMS)]
    for mode in ("or", "and", "phrase"):
        assert found(SHARED, fts_query(text, mode)) == []
    assert found(SHARED, fts_query("y" * 100_000)) == []


HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            ["AND", "OR", "NOT", "NEAR(", "NEAR/3", '"', "*", "^", "(", ")", "col:", "{a b}:", "-", "+", "\0"]
        ),
        st.sampled_from(
            ["C#", "o'clock", "a.b", "\udfff", "水", "水火", "ก\u0e34น", "\u0301", "हिन्दी", "½", "x*", "--"]
        ),
    ),
    max_size=12,
).map(" ".join)


@given(HOSTILE, st.sampled_from(["or", "and", "phrase"]))
@example("NEAR(a b, 3)", "or")
@example("\u0e34\u0e35", "and")
@example("𞤀𞤁", "and")
def test_no_question_can_raise(text: str, mode: str) -> None:
    query = fts_query(text, mode)
    assert query is None or query
    found(SHARED, query)


@given(st.text(alphabet="水火木金土abc é", min_size=1, max_size=12), st.data())
def test_every_part_of_a_document_finds_it(text: str, data: st.DataObject) -> None:
    words = [word for word in text.split() if has_cjk(word) and not any(c in "abcé" for c in word)]
    if not words:
        return
    word = data.draw(st.sampled_from(words))
    start = data.draw(st.integers(0, len(word) - 1))
    part = word[start : data.draw(st.integers(start + 1, len(word)))]
    connection = table((text,))
    for mode in ("or", "and", "phrase"):
        assert found(connection, fts_query(part, mode)) == [0]
    connection.close()


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("ferry late", '"ferry" AND "late"', [0]),
        ("ferry OR buns", '"ferry" OR "buns"', [0, 2]),
        ("bergen NOT ferry", '("bergen" NOT "ferry")', [2, 6]),
        ("(ferry OR buns) AND bergen", '("ferry" OR "buns") AND "bergen"', [0, 2]),
        ('"sells cinnamon"', '"sells cinnamon"', [2]),
        ("cinna*", '"cinna"*', [2]),
        ("std::map", '"std map"', [1]),
        ("body:ferry", '"body ferry"', []),
        ("a NEAR/2 b", '"a" AND "NEAR 2" AND "b"', []),
        ("or and not", '"or" AND "and" AND "not"', []),
        ("大学 AND 猫", '"大学" AND "猫"*', [3]),
        ("ferry OR late OR bergen NOT café", '"ferry" OR "late" OR ("bergen" NOT "café")', [0, 6]),
    ],
)
def test_advanced(fts: sqlite3.Connection, text: str, query: str, expected: list[int]) -> None:
    assert advanced_query(text) == query
    assert found(fts, advanced_query(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The query is empty."),
        ("NOT ferry", "A word is missing before NOT at position 1."),
        ("ferry AND", "A word is missing after AND at position 7."),
        ("ferry AND OR x", "A word is missing before OR at position 11."),
        ("(ferry OR x", "The parenthesis at position 1 is not closed."),
        ("ferry)", "The closing parenthesis at position 6 has no opening one."),
        ("()", r"A word is missing before \) at position 2."),
        ('say "hello', "The quotation mark at position 5 is not closed."),
        ("ferry + late", r"There is nothing to search for in \+ at position 7."),
        ("(" * 30 + "a" + ")" * 30, "The parentheses are nested too deeply at position 21."),
        ("a " * 200, "The query has more than 128 words and phrases."),
    ],
)
def test_a_mistake_is_one_sentence_with_its_position(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        advanced_query(text)


@given(HOSTILE)
@example("a NOT " * 127 + "a")
def test_advanced_queries_parse_in_fts5_or_are_refused(text: str) -> None:
    try:
        query = advanced_query(text)
    except ValueError as error:
        message = str(error)
        message.encode()
        assert message.endswith(".") and "\n" not in message
    else:
        found(SHARED, query)


def test_search_text_is_none_without_need() -> None:
    assert search_text("Ærø café, naïve") is None
    assert search_text("猫") == "猫"
    assert search_text("Ｘ線") == "X 線"
