"""The ranking as its owner sets it: what counts, what is refused, and what a retrieval pays for it."""

import re
from datetime import UTC, datetime, timedelta
from math import nan
from typing import Any

import pytest
from sqlalchemy import event

from models.states import ContentType
from tasks.answer import tuning
from tasks.answer.about import asked_words
from tasks.answer.freshness import HALF_LIVES
from tasks.answer.matches import matches
from tasks.answer.rank import WEIGHTS
from tasks.answer.tuning import DAY, Tuning

ASKED = "harbour ferry strike crew wages talks"


def test_what_is_stored_comes_back_the_same() -> None:
    changed = Tuning().changed({"topic": 0.3}, {"news": 1.5, "opinion": None, "reference": 400})
    assert Tuning.of(changed.to_json()) == changed
    assert changed.weights.topic == 0.3
    assert changed.weights.similarity == WEIGHTS.similarity
    assert changed.half_lives[ContentType.NEWS] == 1.5 * DAY
    assert ContentType.OPINION not in changed.half_lives
    assert changed.half_lives[ContentType.TIME_SENSITIVE] == HALF_LIVES[ContentType.TIME_SENSITIVE]
    assert Tuning.of(None) == Tuning()


@pytest.mark.parametrize(
    ("weights", "half_lives", "why"),
    [
        ({"beauty": 0.5}, {}, "there is no weight 'beauty': there are similarity, topic"),
        ({"topic": 1.5}, {}, "the weight topic is 1.5: give a number from 0 to 1"),
        ({"topic": nan}, {}, "the weight topic is nan"),
        ({}, {"gossip": 3}, "there is no content type 'gossip': there are news"),
        ({}, {"news": 0}, "the half-life of news is 0 days: give an hour"),
        ({}, {"news": 36500}, "to ten years"),
        ({}, {"news": nan}, "the half-life of news is nan days"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(weights: Any, half_lives: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        Tuning().changed(weights, half_lives)


@pytest.mark.database
def test_what_was_set_last_counts_for_everybody(library: Any) -> None:
    source = library.source()
    for days, title in ((0, "new"), (30, "old")):
        library.analyse(library.document(source, ASKED, title=title, days_old=days), "news")
    first = library.ask(ASKED, explain=True)
    assert first.weights["freshness"] == WEIGHTS.freshness
    now = first.excerpts[0].origin.published_at
    tuning.keep(library.db, Tuning().changed({"freshness": 0.9}, {}), "a test", now)
    tuning.keep(library.db, Tuning().changed({"freshness": 0.5}, {"news": None}), "owner", now + timedelta(1))
    found = library.ask(ASKED, explain=True)
    assert found.weights["freshness"] == 0.5
    assert found.excerpts[0].score.freshness == 1.0
    assert "0.50 * freshness 1.0000" in (found.excerpts[0].explanation or "")
    assert tuning.current(library.db)[1] == now + timedelta(1)


@pytest.mark.database
def test_a_retrieval_reads_it_without_a_statement_more(library: Any) -> None:
    library.document(library.source(), ASKED)
    tuning.keep(library.db, Tuning().changed({"topic": 0.3}, {}), "owner", datetime.now(UTC))
    said: list[str] = []
    readers = library.db.caller(["library"]).engine
    event.listen(readers, "before_cursor_execute", lambda *args: said.append(args[2].split()[0]))
    assert library.ask(ASKED, explain=True).weights["topic"] == 0.3
    assert said == ["WITH", "INSERT"]


def test_the_words_of_a_question_are_found_where_they_stand() -> None:
    text = "The Ferries\u2019 crew: FERRY strikes, and a ferryman\u2019s strike."
    found = matches(asked_words("When does the ferry's crew strike?", None), text)
    assert [text[start:end] for start, end in found] == ["Ferries", "crew", "FERRY", "strikes", "strike"]
    assert matches(frozenset(), text) == []


@pytest.mark.database
def test_only_who_asks_for_it_learns_the_weights_and_where_the_words_stand(library: Any) -> None:
    library.document(library.source(), ASKED)
    plain, told = library.ask(ASKED).to_json(), library.ask(ASKED, explain=True).to_json()
    assert "weights" not in plain
    assert "matches" not in plain["excerpts"][0]
    assert told["weights"]["similarity"] == WEIGHTS.similarity
    assert told["excerpts"][0]["matches"][0] == (0, len("harbour"))
