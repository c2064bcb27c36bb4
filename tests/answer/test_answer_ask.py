"""An answer in a model's words: whatever the model does, the reader gets the excerpts and the truth."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from models.states import DocumentState
from models.tables import Document
from tasks.answer.ask import INSTRUCTIONS, Answer, answer
from tasks.answer.question import Question
from tasks.errors import NeedsCredential, Permanent, Transient

pytestmark = pytest.mark.database

ASKED = "ferry strike"


class Says:
    """A model that says always the same; what it was given is kept."""

    name = "parrot"

    def __init__(self, said: str | Exception, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.said, self.meanwhile = said, meanwhile
        self.given: list[Sequence[Mapping[str, str]]] = []

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> str:
        self.given.append(messages)
        self.meanwhile()
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def told(library: Any, model: Says | None, query: str = ASKED, previous: str | None = None) -> Answer:
    question = Question(query, previous)
    return answer(library.db, model, question, library.ask(query, previous=previous))


@pytest.fixture
def stocked(library: Any) -> Any:
    library.document(library.source(), "ferry strike goes on", title="Strike", url="https://tidings.example/1")
    return library


@pytest.mark.parametrize(
    ("said", "shown", "note"),
    [
        ("It goes on [K1].", "It goes on [K1].", None),
        ("“ferry strike goes on” [K1]", "“ferry strike goes on” [K1]", None),
        ("It goes on [K1], and ends soon [K4].", "It goes on [K1], and ends soon.",
         "Labels that do not exist were taken out (K4)."),
        ("See https://lies.example/ [K1].", "See (address removed) [K1].",
         "Addresses that are not in the excerpts were taken out (https://lies.example/)."),
        ("“The strike is over” [K1].", "“The strike is over” [K1].",
         "No excerpt says what is quoted (“The strike is over”)."),
        ("It goes on.", "It goes on.", "It names no excerpt for what it says: do not rely on it."),
        ("It is over [K9].", "It is over.",
         "Labels that do not exist were taken out (K9); it names no excerpt for what it says: do not rely on "
         "it."),
        ("It\0 goes \ud800on [K1].", "It goes on [K1].", None),
    ],
)
def test_what_a_model_says_is_shown_as_far_as_the_records_bear_it(
    stocked: Any, said: str, shown: str, note: str | None
) -> None:
    given = told(stocked, Says(said))
    assert given.checked is not None
    assert (given.checked.text, given.note, given.model) == (shown, note, "parrot")


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (None, "No model is set, so these are the excerpts themselves: ALMANAC_LLM_URL names one."),
        ("NOT IN THE LIBRARY.",
         "The model finds no answer in the library, so these are the excerpts themselves."),
        ("[K7]", "The model named only what does not exist, so these are the excerpts themselves."),
        (" \0 ", "The model answered with nothing, so these are the excerpts themselves."),
        (Transient("the model server did not answer within 1 seconds"),
         "The model server did not answer within 1 seconds; these are the excerpts themselves."),
        (NeedsCredential("the key is refused"), "The key is refused; these are the excerpts themselves."),
        (Permanent("it will not"), "It will not; these are the excerpts themselves."),
    ],
)
def test_without_an_answer_there_are_the_excerpts_and_an_honest_line(
    stocked: Any, said: str | Exception | None, note: str
) -> None:
    given = told(stocked, None if said is None else Says(said))
    assert (given.checked, given.note) == (None, note)
    json = given.to_json()
    assert (json["answer"], json["check"], len(json["excerpts"])) == (None, None, 1)


def test_a_model_is_not_asked_where_nothing_is_relevant(stocked: Any) -> None:
    model = Says("Owls are birds.")
    given = told(stocked, model, "barn owls")
    assert model.given == []
    assert (given.checked, given.note) == (None, given.retrieval.nothing)


def test_the_question_comes_last_and_the_pages_stand_fenced_before_it(stocked: Any) -> None:
    model = Says("It goes on [K1].")
    given = told(stocked, model, "strike", previous="ferry?")
    [[rules, asked]] = model.given
    assert rules == {"role": "system", "content": INSTRUCTIONS}
    assert asked["content"] == (
        f"{given.retrieval.prompt}\n\nThe message before it: ferry?\n\nThe question: strike")


def test_what_was_removed_while_the_model_wrote_is_not_cited(stocked: Any) -> None:
    found = stocked.ask(ASKED)
    with stocked.db.begin() as session:
        document = session.get(Document, found.excerpts[0].document_id)
    model = Says("It goes on [K1].", lambda: stocked.change(document, state=DocumentState.REMOVED))
    given = told(stocked, model)
    assert given.checked is None
    assert given.note == "What the model was given has been removed since, and its answer with it."


def test_the_json_is_a_retrievals_with_the_answer(stocked: Any) -> None:
    json = told(stocked, Says("It goes on [K1].")).to_json()
    assert json.keys() == {"answer", "model", "check", "note", "retrieval_id", "recent", "elapsed_ms",
                           "excerpts", "dropped", "prompt", "nothing", "tools", "came_from", "external"}
    assert json["check"] == {"labels": ["K1"], "unknown": [], "addresses": [], "quotes": [], "sound": True}
    assert json["elapsed_ms"]["total"] >= json["elapsed_ms"]["model"] > 0
