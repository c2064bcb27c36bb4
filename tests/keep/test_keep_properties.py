"""Random sequences of things handed in: four outcomes and only they, beside a library kept in a list."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from doorway import LATER, NOW, InProcess, documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from models.session import Database
from models.tables import Document, DocumentVersion, Source
from tasks.keep.given import Given, Subject
from tasks.keep.identity import Outcome
from tasks.keep.texts import keep_texts

pytestmark = pytest.mark.database

maybe = lambda *values: st.sampled_from([None, None, *values])  # noqa: E731 - a strategy with a name
GIVEN = st.builds(
    Given,
    scopes=st.sampled_from([("library",), ("family",), ("family", "library")]),
    text=st.sampled_from(["the tide", "the ferry", "the mole"]),
    uri=maybe("https://a.example/1", "https://a.example/2"),
    title=maybe("One", "Two"),
    subject=maybe(Subject("place", "Pier"), Subject("ship", "Pier")),
    observed_at=maybe(NOW),
    expires_at=maybe(LATER),
)


@dataclass
class Held:
    """What the model knows of one document."""

    id: UUID
    said: Given


class Model:
    """The rules of identity, said once more without a database: the first match in each scope set decides."""

    def __init__(self) -> None:
        self.held: list[Held] = []

    def expect(self, new: Given) -> tuple[Outcome, Held | None]:
        same = [it for it in self.held if it.said.scopes == new.scopes]
        for known in (
            [it for it in same if new.uri and it.said.uri == new.uri],
            [it for it in same if new.subject and it.said.subject == new.subject],
            [it for it in same if it.said.text == new.text],
        ):
            if known:
                return self.compare(new, known[0]), known[0]
        return Outcome.INSERTED, None

    def compare(self, new: Given, known: Held) -> Outcome:
        if new.text != known.said.text:
            return Outcome.REPLACED
        return Outcome.UNCHANGED if self.merged(new, known.said) == known.said else Outcome.REFRESHED

    def take(self, new: Given, known: Held | None, identity: UUID) -> None:
        if known is None:
            self.held.append(Held(identity, replace(new, title=new.title or new.text)))
        else:
            known.said = self.merged(new, known.said)

    @staticmethod
    def merged(new: Given, old: Given) -> Given:
        own = old.title if old.title != old.text else new.text  # a text without a title is its own
        return replace(
            new, uri=new.uri or old.uri, title=new.title or own, subject=new.subject or old.subject,
            observed_at=new.observed_at or old.observed_at)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(GIVEN, min_size=1, max_size=8))
def test_every_sequence_has_the_outcomes_that_the_rules_say(db: Database, sequence: list[Given]) -> None:
    with db.begin() as session:
        for table in (DocumentVersion, Document, Source):
            session.execute(delete(table))
    model, parser = Model(), InProcess()
    for new in sequence:
        outcome, known = model.expect(new)
        [kept] = asyncio.run(keep_texts(db, parser, [new], NOW))
        assert kept.outcome is outcome
        assert known is None or kept.document_id == known.id
        model.take(new, known, kept.document_id)
    rows = {row.id: row for row in documents(db)}
    assert set(rows) == {held.id for held in model.held}
    for held in model.held:
        row = rows[held.id]
        assert told(row) == told_by(held.said)
    uris = [(tuple(row.scopes), row.key) for row in rows.values()]
    assert len(set(uris)) == len(uris)


def told(row: Document) -> tuple[Any, ...]:
    subject = (row.subject_type, row.subject_title) if row.subject_title else None
    uri = None if row.url.startswith("almanac:") else row.url
    return tuple(row.scopes), uri, row.title, subject, row.observed_at, row.expires_at


def told_by(said: Given) -> tuple[Any, ...]:
    subject = tuple(said.subject) if said.subject else None
    return said.scopes, said.uri, said.title, subject, said.observed_at, said.expires_at
