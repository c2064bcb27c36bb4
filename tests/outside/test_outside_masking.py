"""What leaves holds no mail address, no phone number, no key and no listed name, however it is written."""

import pytest

from tasks.outside.masking import mask, names_of

NAMES = names_of("Ada Krol, Zoë\nJean-Luc Picard,,")


@pytest.mark.parametrize(("question", "leaves"), [
    ("Is ada.krol+x@mail.example.org blocked?", "Is [mail address] blocked?"),
    ("mail to <ada@krol.example>, please", "mail to <[mail address]>, please"),
    ("ada [at] krol [dot] example", "[mail address]"),
    ("ada@localhost, ben@localhost, ADA@localhost", "[mail address], [mail address 2], [mail address]"),
    ("ada\uff20krol.example", "[mail address]"),
    ("Call +49 (0)30 1234-5678 now", "Call [phone number] now"),
    ("who is 0151/23456789?", "who is [phone number]?"),
    ("(555) 123-4567", "[phone number]"),
    ("call me at 5551234", "call me at [phone number]"),
    ("123-45-6789", "[phone number]"),
    ("555.123.4567", "[phone number]"),
    ("\uff10\uff11\uff15\uff11 23 45 67 89", "[phone number]"),
    ("card 4111 1111 1111 1111", "card [phone number]"),
    ("why is sk-TESTONLY-5d1f9a refused", "why is [key] refused"),
    ("AIzaSyTESTONLY_planted_0123456789abcdef", "[key]"),
    ("header tok_TESTONLY_9f3a", "header [key]"),
    ("my password is hunter2!", "my password is [key]"),
    ("api_key=abcdef", "api_key=[key]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[key]"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEv\n-----END PRIVATE KEY-----", "[key]"),
    ("0123456789abcdef0123456789abcdef", "[key]"),
    ("Does ADA  krol's aunt know Zoe or zoë?", "Does [name]'s aunt know [name 2] or [name 2]?"),
    ("Jean Luc-Picard and A\u200bda Krol", "[name] and [name 2]"),
    ("A\u0301da Krol", "[name]"),
])
def test_a_personal_detail_is_a_word_in_brackets(question: str, leaves: str) -> None:
    assert mask(question, NAMES).text == leaves


@pytest.mark.parametrize("question", [
    "What is the capital of Mongolia?",
    "What happened on 2026-05-20 and 20.05.2026, and in 1914-1918 or 2019 / 2020 / 2021?",
    "Is pi 3.14159265 and light 299792458 m/s, and is 1.000.000.000 a milliard?",
    "What is CVE-2024-12345 in HTTP/1.1, RFC 9110, and GPT-4?",
    "Why does iPhone 15 lose 50 % at -20 °C?",
    "Who was Adam Krolik? What is a zoea?",
    "naïve café — « été » \u200d 你好",
])
def test_what_is_no_personal_detail_leaves_as_it_is(question: str) -> None:
    assert mask(question, NAMES) == (question, [])


def test_details_that_overlap_are_one() -> None:
    assert mask("is zoe@krol.example here, or +49 zoe 12", ["zoe", "zoe@krol"]).text == (
        "is [mail address] here, or +49 [name] 12")


def test_a_question_of_nothing_but_details_asks_nothing() -> None:
    assert not mask("ada@krol.example, 0151 23456789?", NAMES).says_something
    assert mask("Who is ada@krol.example?", NAMES).says_something
