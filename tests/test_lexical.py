import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts.lexical import NameMatcher, abbreviations, candidate_phrases, common_words


def names(text: str) -> list[str]:
    return [name.text for name in candidate_phrases(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ida rows.", ["Ida"]),
        ("Install the package", []),
        ("Open the door. Run it.", []),
        ("We met Ida's brother Ole in Ålesund.", ["Ida", "Ole", "Ålesund"]),
        ("The University of Bergen opened.", ["University of Bergen"]),
        ("She read Vincent van Gogh and Omar bin Said.", ["Vincent van Gogh", "Omar bin Said"]),
        ("Order of Malta met. Battle of Hastings won.", ["Order of Malta", "Battle of Hastings"]),
        ("Operation Mincemeat worked; the operation was bold.", ["Operation Mincemeat"]),
        ("In Norway, Ida swam.", ["Norway", "Ida"]),
        ("Ole admired Elizabeth I in May.", ["Ole", "Elizabeth I"]),
        ("However, Ida left.", ["Ida"]),
        ("Install Docker on Debian.", ["Docker", "Debian"]),
        ("They flew Apollo 11 and Falcon 9.", ["Apollo 11", "Falcon 9"]),
        ("Ask Dr. Liv Moe or J. R. Hart.", ["Dr. Liv Moe", "J. R. Hart"]),
        ("It was Jean-Luc O'Hara of AT&T.", ["Jean-Luc O'Hara of AT&T"]),
        ("On Monday in March 2021 I slept.", []),
        ("Я видел Анну Каренину и Москву.", ["Анну Каренину", "Москву"]),
        ("είδα την Αθήνα", ["Αθήνα"]),
        ("- Ida\n- Buy milk\n- Call Ole", ["Ida", "Ole"]),
        ("I'm here. Don't go.", []),
        ("Zorbing is fun; zorbing is new.", []),
        ("Zorbing is fun.", ["Zorbing"]),
        ("we met ida", []),
    ],
)
def test_capitalised_phrases(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it uses HTTP2 and the U.S. post", ["HTTP2", "U.S."]),
        ("the NASA crew", ["NASA"]),
        ("NOTE: read this. OR ELSE", []),
        ("asked the WHO about it", ["WHO"]),
    ],
)
def test_acronyms(text: str, expected: list[str]) -> None:
    assert [name.text for name in candidate_phrases(text) if name.kind == "acronym"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('her book "The Salt Road" sold', ["The Salt Road"]),
        ("the film «Белое солнце» and „Das Boot“", ["Белое солнце", "Das Boot"]),
        ("映画「羅生門」を見た", ["羅生門"]),
        ('he said "I will not come back." and left', []),
        ('a "very good" thing', []),
        ('<a class="Big Button">', []),
        ('she wrote "one two three four five six seven eight Nine" once', []),
    ],
)
def test_quoted(text: str, expected: list[str]) -> None:
    assert [name.text for name in candidate_phrases(text) if name.kind == "quoted"] == expected


def test_headings_in_title_case_do_not_make_one_long_name() -> None:
    assert names("# Getting Started With Kubernetes\n\nIt runs.") == ["Kubernetes"]
    assert names("## Common Problems And Answers\n") == []
    assert names("# Ida Vik\n") == ["Ida Vik"]
    assert names("# Blue Water Trust\n\nthe Blue Water Trust met") == ["Blue Water Trust", "Blue Water Trust"]


def test_nothing_in_skipped_spans_and_none_across_them() -> None:
    text = "see `Ida Vik` or Ole `x` Moe"
    spans = [(4, 13), (21, 24)]
    assert [(n.start, n.text) for n in candidate_phrases(text, spans)] == [(17, "Ole"), (25, "Moe")]


@given(
    st.text(alphabet="AaBbÅ .,\n#-\"“”'’s1()ДÉ\u00a0東", max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3),
)
def test_names_are_spans_of_the_text_outside_skipped_spans(text: str, skip: list[tuple[int, int]]) -> None:
    found = list(candidate_phrases(text, skip))
    assert found == list(candidate_phrases(text, skip))
    assert [name.start for name in found] == sorted(name.start for name in found)
    for name in found:
        assert name.text == text[name.start : name.end] == name.text.strip() != ""
        assert not any(start < name.end and name.start < end for start, end in skip if start < end)


def test_common_words_are_lower_case_words() -> None:
    words = common_words()
    assert {"the", "install", "package"} <= words
    assert not {"ida", "norway", "paris", "january"} & words
    assert all(word == word.lower() for word in words)


def find(known: list[str], text: str, skip: tuple[tuple[int, int], ...] = ()) -> list[tuple[str, tuple[str, ...]]]:
    matcher = NameMatcher((name, name) for name in known)
    return [(text[match.start : match.end], match.values) for match in matcher.find(text, skip)]


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        (["Ida", "Ida Vik"], "Ida Vik's boat and Ida’s", [("Ida Vik", ("Ida Vik",)), ("Ida", ("Ida",))]),
        (["Ida Vik"], "IDA  VIK, Ida\nVik", [("IDA  VIK", ("Ida Vik",)), ("Ida\nVik", ("Ida Vik",))]),
        (["Ida Vik"], "Ida.\n\nVik and Ida, Vik", []),
        (["find", "ls", "Git"], "find it, Find it, ls, git, Git", [("Git", ("Git",))]),
        (["sourdough bread"], "Sourdough bread", [("Sourdough bread", ("sourdough bread",))]),
        (["AI"], "AI is here", []),
        (["Open Door"], "an open door, the Open Door", [("Open Door", ("Open Door",))]),
        (["C++", "Node.js"], "(C++) or node js or Node.js.", [("C++", ("C++",)), ("Node.js", ("Node.js",))]),
        (["Oslo"], "Oslofjord Oslo_x _Oslo_ Oslo-based", [("Oslo", ("Oslo",)), ("Oslo", ("Oslo",))]),
        (["post-war Oslo"], "post–war Oslo", [("post–war Oslo", ("post-war Oslo",))]),
        (["東京", "東京大学", "京"], "私は東京大学と東京都へ", [("東京大学", ("東京大学",)), ("東京", ("東京",))]),
        (["Zoë"], "Zoe\u0308 met Zoë", [("Zoe\u0308", ("Zoë",)), ("Zoë", ("Zoë",))]),
        (["Ida", "IDA"], "Ida", [("Ida", ("Ida", "IDA"))]),
        (["محمد علي"], "قال محمد علي نعم", [("محمد علي", ("محمد علي",))]),
        (["Weiß"], "Weiss", []),
        (["", "?!", " "], "?! what", []),
        (["Fireball"], "*fireball* _fireball_ **fireball**, fireball", [("fireball", ("Fireball",))] * 3),
        (["Fireball"], "*a fireball* *fireball spell* snake_fireball_case", []),
        (["Install", "find"], "I *install* it, you _find_ it; *Install*", [("Install", ("Install",))]),
    ],
)
def test_matcher(known: list[str], text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert find(known, text) == expected


def test_matcher_skips_spans() -> None:
    assert find(["Ida Vik"], "`Ida Vik` Ida Vik", ((0, 9),)) == [("Ida Vik", ("Ida Vik",))]
    matcher = NameMatcher([("Ida Vik", 1)])
    assert [m.start for m in matcher.find("`Ida Vik` Ida Vik", [(0, 9)])] == [10]


@given(
    st.lists(st.text(alphabet="AbC c'+東京-.", max_size=8), max_size=8),
    st.text(alphabet="AbC c'+東京-.\n", max_size=40),
)
def test_matches_are_disjoint_and_ordered(known: list[str], text: str) -> None:
    matches = NameMatcher((name, i) for i, name in enumerate(known)).find(text)
    kept = 0
    for match in matches:
        assert kept <= match.start < match.end <= len(text)
        assert match.values
        kept = match.end


def test_abbreviations() -> None:
    text = "The Norwegian Sea Rescue Society (NSRS) and structured query language (SQL); Ida (NYC), a note (see X)."
    pairs = [(text[a:b], text[c:d]) for (a, b), (c, d) in abbreviations(text)]
    assert pairs == [("Norwegian Sea Rescue Society", "NSRS"), ("structured query language", "SQL")]
