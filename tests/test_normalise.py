import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.text.normalise import clean_name, fold_identifier, name_key


@pytest.mark.parametrize(
    "names",
    [
        ("Harbour Light", "harbour  light", "HARBOUR\nLIGHT", "“Harbour Light”", "(Harbour Light)", "Harbour Light,"),
        ("post-war", "post\u2013war", "post\u2011war", "post\u2212war"),  # the kinds of dash
        ("Ｎｏｒｔｈ", "north"),
        ("\u202eVera\u202c", "Ve\u200bra", "vera\ufe0f"),
        ("ΟΔΟΣ", "οδος", "οδοσ"),
        ("caf\u00e9", "cafe\u0301"),
        ("Vera’s boat", "Vera's boat"),
        ("سـلام", "سلام"),
        ("[[Inbox]]", "Inbox"),
        ("'Moby'", "Moby"),
    ],
)
def test_spellings_of_one_name_have_one_key(names: tuple[str, ...]) -> None:
    assert {name_key(name) for name in names} == {name_key(names[0])}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Weiß", "Weiss"),
        ("İzmir", "izmir"),
        ("kırmızı", "kirmizi"),
        ("Æsir", "Aesir"),
        ("Jürgen", "Jurgen"),
        ("C", "C#"),
        ("C", "C++"),
        (".NET", "NET"),
        ("A*", "A"),
        ("Venus (planet)", "Venus"),
        ("Dog", "Dogs"),
    ],
)
def test_different_letters_and_signs_stay_apart(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("C#", "c#"),
        ("C++", "c++"),
        ("100%", "100%"),
        ("what?", "what"),
        (".", "."),
        ("..", ".."),
        ("🍀", "🍀"),
        ("f(x)", "f(x)"),
        ("(a) or (b)", "(a) or (b)"),
        ("list[]", "list[]"),
        ("Rome)", "rome"),
        ("Rome (Italy", "rome (italy"),
        ("Wait...", "wait"),
        ("「東京」", "東京"),
        ("?!", "?!"),
        ("\u200b", ""),
        ("", ""),
    ],
)
def test_key(name: str, key: str) -> None:
    assert name_key(name) == key


@given(st.text())
def test_key_is_idempotent_and_one_line(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert key == " ".join(key.split())
    key.encode()  # can be stored


@given(st.text(alphabet="()[]{}\"'“”.,;:!? ab\u200b*«»", max_size=12))
def test_key_of_punctuation_is_idempotent_and_not_emptied(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert bool(key) == bool(name.replace("\u200b", "").strip())


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_letters_are_never_lost(name: str) -> None:
    assert name_key(name) or set(name) <= {"ـ"}


@given(st.text())
def test_clean_name_is_nfc_idempotent_and_storable(name: str) -> None:
    clean = clean_name(name)
    assert clean_name(clean) == clean
    assert unicodedata.is_normalized("NFC", clean)
    clean.encode()


def test_clean_name_keeps_case_accents_and_length() -> None:
    assert clean_name(" Zoë\t O\u2019Hara\x00 ") == "Zoë O\u2019Hara"
    assert clean_name("\ud800x") == "\ufffdx"
    assert len(clean_name("n" * 500)) == 500


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("Born in", "born_in"),
        ("born-in", "born_in"),
        ("BORN__IN!", "born_in"),
        ("Größe", "größe"),
        ("родился в", "родился_в"),
        ("出生 于", "出生_于"),
        ("हिन्दी नाम", "हिन्दी_नाम"),
        ("2nd place", "2nd_place"),
    ],
)
def test_identifier(name: str, identifier: str) -> None:
    assert fold_identifier(name) == identifier
    assert fold_identifier(identifier) == identifier


@pytest.mark.parametrize("name", ["", "  ", "--", "🍀", "_"])
def test_identifier_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="holds no letter or digit"):
        fold_identifier(name)
