"""Answers of external AIs as documents: kept under a source of their own, and found again."""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.blocks import digest, text_of
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState, ErrandOutcome, SourceKind
from models.tables import Document, DocumentVersion, Errand, Source
from tasks.ports import Embedder, Parser

SOURCE_NAME = "Answers from external AI"
WEIGHT = 0.1  # of the source: any page of the owner's counts more
ADDRESS = "almanac:external/"
URGENT = 100  # somebody has just asked it
LONGEST_TITLE = 300
ALIKE = 0.83  # cosine of two questions that may be one
ASKING = {"who": "who", "whom": "who", "whose": "who", "when": "when", "where": "where", "why": "why"}
LOOKED_AT = 50  # earlier questions
WORD = re.compile(r"\w+")


class Answered(NamedTuple):
    """An answer that was kept."""

    document_id: UUID
    text: str
    question: str
    provider: str
    model: str
    state: str  # of the document

    @property
    def waits(self) -> str | None:
        """Why it does not answer by itself."""
        if self.state == DocumentState.QUARANTINED:
            return "a quality gate holds it back (`almanac quality report`)"
        return None


def keep(
    db: Database, parser: Parser, question: str, text: str, scopes: Sequence[str], said_by: str,
    now: datetime, expires_at: datetime | None = None,
) -> UUID:
    """The document of a new answer, which waits for the index. Raises Permanent where it says nothing."""
    parsed = asyncio.run(parser.parse("note", text.encode(), {"extractor": "external AI"}))
    extracted, identity = Extracted.from_json(parsed), uuid4()
    body, title = text_of(extracted.blocks), title_of(question)
    address, scopes = f"{ADDRESS}{identity}", sorted(set(scopes))
    with db.begin() as session:
        session.add(Document(
            id=identity, source_id=source_of(session, scopes), scopes=scopes, url=address, key=address,
            title=title, author=said_by, published_at=now, discovered_at=now, read_at=now,
            observed_at=now, expires_at=expires_at, priority=URGENT, state=DocumentState.READ,
            reason=f"an answer of {said_by}; waits for the index"))
        session.flush()
        session.add(DocumentVersion(
            id=uuid4(), document_id=identity, scopes=scopes, number=1,
            blocks=[block.to_json() for block in extracted.blocks], text=body, content_hash=digest(body),
            title=title, author=said_by, published_at=now, language=extracted.language, final_url=address,
            extractor=extracted.extractor, read_at=now))
    return identity


def author(provider: str, model: str) -> str:
    return f"{provider} ({model})"


def citation(document_id: UUID, question: str, provider: str, model: str) -> dict[str, Any]:
    """The fields of a citation that its document will have."""
    return {"title": title_of(question), "url": f"{ADDRESS}{document_id}", "source": SOURCE_NAME,
            "author": author(provider, model), "external": True}


def title_of(question: str) -> str:
    return " ".join(question.split())[:LONGEST_TITLE]


def source_of(session: Session, scopes: Sequence[str]) -> UUID:
    """The source of such answers for this scope set: made when it is first needed, and never polled."""
    url = ADDRESS + "+".join(quote(scope, safe="") for scope in scopes)
    session.execute(insert(Source).values(
        kind=SourceKind.EXTERNAL, url=url, name=SOURCE_NAME, scopes=list(scopes), weight=WEIGHT,
        every_seconds=None, next_poll_at=None,
    ).on_conflict_do_nothing(index_elements=[Source.kind, Source.url],
                             index_where=Source.removed_at.is_(None)))
    mine = select(Source.id).where(
        Source.kind == SourceKind.EXTERNAL, Source.url == url, Source.removed_at.is_(None))
    return session.execute(mine).scalar_one()


def find(
    db: Database, embedder: Embedder, question: str, scopes: Sequence[str], near: Sequence[UUID]
) -> Answered | None:
    """The answer to this question, or to one like it, that is here already.

    Looked at are the same words, what retrieval has found ``near``, and what is not indexed yet.
    """
    told = [Answered._make(row) for row in db.execute(earlier(question, scopes, near))]
    if same := next((each for each in told if plain(each.question) == plain(question)), None):
        return same
    told = [each for each in told if may_be_one(each.question, question)]
    if not told:
        return None
    vectors = np.stack([embedder.embed_query(each.question).ravel() for each in told])
    alike = vectors @ embedder.embed_query(question).ravel()
    best = int(np.argmax(alike))
    return told[best] if alike[best] >= ALIKE else None


def may_be_one(one: str, other: str) -> bool:
    """Whether two questions that are alike ask for the same: for a person or a time, with the same figures.

    With the cosine, chosen on them: all of 15 pairs of one question, and 2 of 17 pairs of two (“When did the
    wall fall?”, “When was the wall built?”). The cosine alone takes 5 of the latter.
    """
    words, others = (set(WORD.findall(text.lower())) for text in (one, other))
    kind, kinds = ({ASKING[word] for word in some if word in ASKING} for some in (words, others))
    figures = {word for word in words ^ others if word[0].isdigit()}
    return not figures and not (kind and kinds and not kind & kinds)


def earlier(question: str, scopes: Sequence[str], near: Sequence[UUID]) -> Any:
    newest = DocumentVersion.superseded_at.is_(None), DocumentVersion.document_id == Document.id
    mine = list(scopes)
    return (
        select(Document.id, DocumentVersion.text, Errand.question, Errand.provider, Errand.model,
               Document.state)
        .join(Document, Document.id == Errand.document_id).join(DocumentVersion, newest[1])
        .join(Source, Source.id == Document.source_id)
        .where(Errand.outcome == ErrandOutcome.ANSWERED, newest[0], Document.state != DocumentState.REMOVED,
               Source.removed_at.is_(None), Errand.scopes.contained_by(mine),
               Document.scopes.contained_by(mine),
               or_(Document.expires_at.is_(None), Document.expires_at > func.now()),
               or_(Document.id.in_(near), Document.version_id.is_(None),
                   func.lower(Errand.question) == question.lower()))
        .order_by(Errand.sent_at.desc()).limit(LOOKED_AT))


def plain(question: str) -> str:
    return " ".join(question.lower().split()).rstrip(" ?.!")
