"""A citation is the record behind a label: what the stored version says, and what became of it since."""

import json
from typing import Any
from uuid import uuid4

import pytest

from models.blocks import digest
from models.states import DocumentState
from models.tables import Chunk, DocumentVersion
from tasks.answer.cite import cite

pytestmark = pytest.mark.database

ASKED = "ferry strike"


def version_of(library: Any, citation: Any) -> DocumentVersion:
    with library.db.begin() as session:
        return session.get(DocumentVersion, citation.version_id)


@pytest.mark.parametrize(
    "paragraphs",
    [
        ("ferry strike",),
        ("before 🐦 it", "ferry strike", "after é it"),
        ("long " * 400, "ferry strike", "𝄞 tail " * 400),
        ("ferry strike", "x" * 499),
    ],
    ids=["alone", "among others", "far from both ends", "at the start"],
)
def test_the_text_and_what_stands_around_it_are_the_versions_own(
    library: Any, paragraphs: tuple[str, ...]
) -> None:
    library.document(library.source(), *paragraphs)
    citation = library.cite(library.ask(ASKED), "K1")
    text = version_of(library, citation).text
    start, end = citation.origin.start, citation.origin.end
    assert citation.text == text[start:end] == ASKED
    assert citation.origin.content_hash == digest(text)
    around_end = citation.around_start + len(citation.around)
    assert citation.around == text[citation.around_start : around_end]
    assert citation.around_start == max(start - 500, 0)
    marked = citation.to_json()["around"]
    assert marked["before"] + citation.text + marked["after"] == marked["text"]
    assert around_end == min(end + 500, len(text))


def test_it_says_where_the_excerpt_is_from(library: Any) -> None:
    document = library.document(library.source("The Tidings"), ASKED, title='"A" ](title)', author="Ada",
                                days_old=1, url="https://example.org/a (1)#x")
    found = library.ask(ASKED)
    given = found.excerpts[0].origin.to_json()
    told = json.loads(json.dumps(library.cite(found, "K1").to_json()))
    assert {name: told[name] for name in given} == given
    assert (told["title"], told["url"], told["source"], told["author"], told["published_at"]) == (
        '"A" ](title)', "https://example.org/a (1)#x", "The Tidings", "Ada", "2026-05-19T12:00:00+00:00"
    )
    assert (told["retrieval_id"], told["label"], told["used"], told["document_id"], told["version"]) == (
        str(found.retrieval_id), "K1", True, str(document.id), 1
    )
    assert told["around"] == {"text": ASKED, "start": 0, "end": len(ASKED), "before": "", "after": ""}
    assert told["changed_since"] is False


def test_what_was_dropped_can_be_looked_up_too(library: Any) -> None:
    library.document(library.source(), ASKED, "ferry strike again")
    citation = library.cite(library.ask(ASKED, k=1), "K2")
    assert (citation.text, citation.used) == ("ferry strike again", False)


def test_a_label_that_was_not_given_does_not_exist(library: Any) -> None:
    library.document(library.source(), ASKED)
    found = library.ask(ASKED)
    assert library.cite(found, "K1")
    for label in ("K2", "K0", "k1", "K01", "1", "", "K1 ", "K1' OR '1'='1"):
        assert library.cite(found, label) is None


def test_a_label_of_another_retrieval_does_not_exist(library: Any) -> None:
    library.document(library.source(), ASKED)
    first = library.ask(ASKED)
    library.document(library.source(), "terns nest here")
    second = library.ask("terns nest here")
    assert library.cite(first, "K1").text == ASKED
    assert library.cite(second, "K1").text == "terns nest here"


def test_only_who_may_read_what_the_asker_could_read_sees_it(library: Any) -> None:
    library.document(library.source(), ASKED)
    found = library.ask(ASKED, scopes=("library", "ada"))
    assert library.cite(found, "K1") is None
    assert library.cite(found, "K1", ["ada"]) is None
    assert library.cite(found, "K1", ["ada", "library", "family"])


def test_a_document_withdrawn_from_the_reader_is_no_longer_cited(library: Any) -> None:
    document = library.document(library.source(), ASKED)
    found = library.ask(ASKED)
    library.change(document, scopes=["ada"])
    assert library.cite(found, "K1") is None


def test_what_is_removed_is_dropped_and_not_left_dangling(library: Any) -> None:
    source = library.source()
    document = library.document(source, ASKED)
    found = library.ask(ASKED)
    library.change(document, state=DocumentState.REMOVED)
    assert library.cite(found, "K1") is None
    library.change(document, state=DocumentState.INDEXED)
    library.change(source, removed_at=document.discovered_at)
    assert library.cite(found, "K1") is None


def test_after_a_change_the_old_text_is_still_there_and_the_change_is_said(library: Any) -> None:
    document = library.document(library.source(), ASKED)
    found = library.ask(ASKED)
    library.say(document, "the ferry sails again")
    citation = library.cite(found, "K1")
    assert (citation.text, citation.version, citation.changed_since) == (ASKED, 1, True)
    library.say(document, ASKED)
    assert library.cite(found, "K1").changed_since is False


def test_a_merged_document_is_cited_at_the_one_that_survived(library: Any) -> None:
    survivor = library.document(library.source("Survivor"), "ferry strike, in full", url="https://example.org/full")
    middle = library.document(library.source("Middle"), "terns")
    document = library.document(library.source("First"), ASKED)
    found = library.ask(ASKED)
    library.change(middle, state=DocumentState.DUPLICATE, duplicate_of=survivor.id)
    library.change(document, state=DocumentState.DUPLICATE, duplicate_of=middle.id, version_id=None)
    citation = library.cite(found, "K1")
    assert (citation.document_id, citation.origin.url, citation.origin.source) == (
        survivor.id, "https://example.org/full", "Survivor"
    )
    assert (citation.text, citation.changed_since) == (ASKED, True)
    library.change(survivor, state=DocumentState.REMOVED)
    assert library.cite(found, "K1") is None


def test_documents_merged_in_a_circle_are_cited_nowhere(library: Any) -> None:
    one = library.document(library.source(), ASKED)
    other = library.document(library.source(), "terns")
    found = library.ask(ASKED)
    library.change(one, duplicate_of=other.id)
    library.change(other, duplicate_of=one.id)
    assert library.cite(found, "K1") is None


def test_a_retired_chunk_is_still_history_that_can_be_cited(library: Any) -> None:
    document = library.document(library.source(), ASKED)
    found = library.ask(ASKED)
    with library.db.begin() as session:
        session.query(Chunk).filter_by(document_id=document.id).update({"state": "retired"})
    assert library.cite(found, "K1").text == ASKED


def test_a_retrieval_that_never_was_cites_nothing(library: Any) -> None:
    assert cite(library.db.caller(["library"]), uuid4(), "K1") is None
