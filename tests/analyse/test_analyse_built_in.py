"""The built-in analyser: what kind of thing an article is, what it is about, and why it thinks so."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.analysis import Analysis, Article
from models.states import ContentType, SourceKind
from tasks.analyse import classify
from tasks.analyse.built_in import BuiltIn
from tasks.analyse.classify import Model
from tasks.analyse.entities import entities
from tasks.analyse.features import features
from tasks.analyse.keywords import keywords
from tasks.analyse.sentences import sentences
from tasks.analyse.summary import CHARACTERS, summary
from tasks.analyse.topics import categories, category_of

PIER = (
    "The pier at Harwick was closed on Monday. Engineers found rust in eleven of its legs, said Ada Krol of "
    "the port authority. The pier will be repaired before Easter. Mrs. Krol called the rust a surprise."
)


def article(text: str, title: str = "", **more: Any) -> Article:
    return Article(title, text, **more)


def judged(analyser: BuiltIn, it: Article) -> Analysis:
    (analysis,) = analyser.analyse([it])
    return analysis


@pytest.mark.parametrize(
    ("title", "text", "more", "expected"),
    [
        (
            "Ferry runs aground off Dale",
            "A ferry with 80 passengers ran aground on Sunday, police said. Nobody was hurt, "
            "the coastguard confirmed. Officials told reporters that the captain had been questioned.",
            {"kind": SourceKind.FEED, "published_at": datetime(2026, 3, 1, tzinfo=UTC)},
            ContentType.NEWS,
        ),
        (
            "Register by 30 April",
            "Applications are open until 30 April. Tickets cost 20 until Friday, then 30. Book now, "
            "places are limited. The office is closed on Monday 4 May.",
            {},
            ContentType.TIME_SENSITIVE,
        ),
        (
            "Why I hate meetings",
            "I think we should abolish them. In my view nobody learns anything, and it is a disgrace. "
            "But perhaps I am wrong. We deserve better than this absurd habit.",
            {"author": "A. Krol"},
            ContentType.OPINION,
        ),
        (
            "rotate(path)",
            "Returns the path of the new file. Parameters: path, required; keep, optional, default 7. "
            "See also: open().",
            {"kind": SourceKind.DOCUMENTATION, "url": "https://docs.x.example/reference/rotate"},
            ContentType.REFERENCE,
        ),
        (
            "How to patch a tyre",
            "First take off the wheel. Then pull out the tube and hold it under water. Mark the hole, "
            "let it dry, and rub it with sandpaper. Put on the glue and wait until it does not stick.",
            {},
            ContentType.EVERGREEN,
        ),
    ],
)
def test_a_kind_is_told_by_wording_address_and_metadata(
    built_in: BuiltIn, title: str, text: str, more: dict[str, Any], expected: ContentType
) -> None:
    analysis = judged(built_in, article(text, title, **more))
    assert analysis.content_type == expected
    assert 0.4 < analysis.confidence <= 1
    assert analysis.reasons


def test_the_reasons_are_what_weighed_most_and_can_be_recomputed() -> None:
    found = features(
        article("Police said on Monday that nobody was hurt, officials confirmed.", "Fire at the mill")
    )
    model = classify.model("wording")
    verdict = model.judge(found, None)
    assert verdict.content_type == ContentType.NEWS
    assert verdict.reasons[0] == "words of reporting"
    without = Model(
        model.intercept, {k: w for k, w in model.features.items() if k != verdict.reasons[0]}, None
    )
    again = without.judge(found, None)
    assert again.content_type != ContentType.NEWS or again.confidence < verdict.confidence


def test_the_weights_name_exactly_the_features_that_there_are() -> None:
    told = set(features(article("")))
    assert set(classify.model("wording").features) == set(classify.model("embedding").features) == told
    assert set(classify.model("plain").features) == set(features(article(""), plain=True)) < told


@pytest.mark.parametrize(
    ("embedder", "language", "expected"),
    [
        ("all-MiniLM-L6-v2", "en", "embedding"),
        ("all-MiniLM-L6-v2", None, "embedding"),
        ("another", "en", "wording"),
        ("all-MiniLM-L6-v2", "de", "plain"),
        ("another", "fi", "plain"),
    ],
)
def test_what_was_learned_of_one_embedder_or_of_english_is_used_for_no_other(
    embedder: str, language: str | None, expected: str
) -> None:
    assert classify.chosen(embedder, language) == expected


def test_topics_are_of_the_list_and_the_category_is_the_first_ones(built_in: BuiltIn) -> None:
    analysis = judged(built_in, article("Trains, railways, buses and timetables of public transport."))
    assert analysis.topics[0] == "rail and buses"
    assert analysis.category == "transport" == category_of()[analysis.topics[0]]
    assert all(topics for topics in categories().values())


def test_an_article_without_a_word_has_an_analysis_all_the_same(built_in: BuiltIn) -> None:
    analysis = judged(built_in, article(""))
    assert (analysis.summary, analysis.keywords, analysis.entities) == ("", [], [])
    assert analysis.topics


def test_a_summary_is_sentences_of_the_text_in_their_order() -> None:
    long = article(
        " ".join([PIER, *(f"Boat number {i} went out to fish at dawn with its crew." for i in range(40))])
    )
    said = summary(long)
    assert 0 < len(said) <= CHARACTERS
    told = list(sentences(long))
    chosen = list(sentences(article(said)))
    assert [told.index(it) for it in chosen] == sorted(told.index(it) for it in chosen)


def test_an_abbreviation_or_an_initial_ends_no_sentence() -> None:
    said = list(
        sentences(article('Mrs. Krol met J. B. Priest. They spoke. "Never!" she said. And then? Silence…'))
    )
    assert said == [
        "Mrs. Krol met J. B. Priest.",
        "They spoke.",
        '"Never!"',
        "she said.",
        "And then?",
        "Silence…",
    ]


def test_a_summary_prefers_what_the_others_repeat() -> None:
    dam = (
        "The new dam will flood the valley of the Orla, as the farmers there have feared for a long time. "
        "Farmers in the valley of the Orla fear the new dam, which will flood their farms and their village. "
        "The dam on the Orla was planned for years, and the farmers of the valley were never asked about it. "
    )
    aside = (
        "A tired grey cat sat on some wall near our hotel, looking at nothing in particular until nightfall."
    )
    said = summary(article(dam + aside + " " + aside.replace("cat", "dog").replace("wall", "roof")))
    assert said.count("Orla") >= 3


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (PIER, "en", {"Harwick", "Ada Krol"}),
        (
            "The Bank of England and Per Lindqvist met. Yesterday the BBC asked why.",
            "en",
            {"Bank of England", "Per Lindqvist", "BBC"},
        ),
        ("We went on Monday. Nobody came in March. It rained.", "en", set()),
        (
            "Der Hund sah die Katze neben Angela Merkel im Garten, sagte die NATO.",
            "de",
            {"Angela Merkel", "NATO"},
        ),
        ("EVERYTHING IS ON SALE TODAY AT THE BIG SHOP.", "en", set()),
        ("新しいダムは谷を水没させる。", "ja", set()),
        (
            "Ludwig van Beethoven lived in Vienna; O\u2019Brien\u2019s "
            "shop was there.",
            "en",
            {"Ludwig van Beethoven", "Vienna", "O'Brien"},
        ),
    ],
)
def test_names_are_found_by_rule(text: str, language: str, expected: set[str]) -> None:
    assert set(entities(article(text, language=language))) == expected


def test_keywords_are_what_is_said_often_early_and_in_the_title() -> None:
    text = "Wind farms need grids. The wind farms off Dale stand still. A grid for wind farms costs money."
    found = keywords(article(text, "Wind farms without a grid"))
    assert found[0] == "wind farms"
    assert "grid" in found or "grids" in found
    assert len({word[:6] for phrase in found for word in phrase.split()}) == sum(
        len(it.split()) for it in found
    )


def test_stop_words_of_the_texts_own_language_are_no_keywords() -> None:
    found = keywords(
        article("Die Brücke wurde gesperrt. Die Brücke wird nicht vor dem Sommer geöffnet.", language="de")
    )
    assert found[0] == "brücke"
    assert not {"die", "wurde", "nicht", "dem"} & set(found)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "A " * 500_000,
        "Ab " * 300_000,
        "Of of de la the " * 60_000,
        "." * 1_000_000,
        "é? " * 300_000,
        "said " * 200_000,
        "Mr. " * 250_000,
        "'" * 1_000_000,
        "1 1 1 january " * 70_000,
        "x.y-z" * 200_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_no_text_makes_it_slow(built_in: BuiltIn, text: str) -> None:
    started = time.process_time()
    analysis = judged(built_in, article(text, text[:300], url="https://x.example/" + text[:2000]))
    assert max(map(len, [*analysis.entities, *analysis.keywords, ""])) <= 130
    assert time.process_time() - started < 5


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=400), st.text(max_size=80), st.sampled_from(["en", "de", "ja", None]))
def test_whatever_the_text_it_is_analysed(
    built_in: BuiltIn, text: str, title: str, language: str | None
) -> None:
    analysis = judged(built_in, article(text, title, language=language))
    assert 0 <= analysis.confidence <= 1
    assert len(analysis.summary) <= CHARACTERS
