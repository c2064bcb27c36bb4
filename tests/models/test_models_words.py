"""What is a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.words import FUNCTION_WORDS, PLAIN_TOKEN, TOKEN, folded, telling, words

texts = st.text(st.characters(codec="utf-8"), max_size=60)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Boundary layers", "boundary layers"),
        ("Café ŒUVRE naïve Straße", "cafe œuvre naive strasse"),
        ("e\u0301te\u0301", "ete"),
        ("CVE-2024-1234.", "cve 2024 1234 cve20241234"),
        ("wi\u2010fi, Wi-Fi", "wi fi wifi wi fi wifi"),
        ("max_bytes=10", "max bytes maxbytes 10"),
        ("E1234X 0x80070005", "e1234x 0x80070005"),
        ("3,5 and 3.5", "3 5 3.5 and 3 5 3.5"),
        ("10.0.0.1", "10 0 0 1 10.0.0.1"),
        ("C++, C# and F#", "c c++ c c# and f f#"),
        ("AC/DC's O\u2019Neill", "ac dc acdc o neill oneill"),
        ("item #5, well... (so)", "item 5 well so"),
        ("docs.example.org/a?b=c", "docs example org a docsexampleorga b c"),
        ("東京都 に", "東京 京都 に"),
        ("हिन्दी में", "हिन्दी में"),
        ("Москва́ й", "москва и"),
        ("مُحَمَّد", "محمد"),
        ("한국어", "한국어"),
        ("— … !", ""),
    ],
)
def test_a_word_is_letters_and_digits_and_what_is_written_together_is_one_more(text: str, found: str) -> None:
    assert list(words(text)) == found.split()


@given(st.text(st.sampled_from("aBc01 _-.,:/'@&+#\n!"), max_size=60))
def test_the_quick_pattern_finds_what_the_other_does(text: str) -> None:
    assert PLAIN_TOKEN.findall(folded(text)) == TOKEN.findall(folded(text))


def test_function_words_tell_nothing_unless_there_are_no_others() -> None:
    assert telling("What is the flow over it?") == ["flow", "over"]
    assert telling("To be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_function_words_are_written_as_words_are_found() -> None:
    assert {found for word in FUNCTION_WORDS for found in words(word)} == FUNCTION_WORDS


@given(texts)
def test_words_are_found_in_words_again(text: str) -> None:
    assert all(folded(word) == word and word.split() == [word] for word in words(text))


@given(texts, texts)
def test_parted_by_a_line_two_texts_have_the_words_of_both(one: str, other: str) -> None:
    assert [*words(f"{one}\n{other}")] == [*words(one), *words(other)]
