"""Which document a thing is that is handed in, and what handing it in comes to.

Inside one exact scope set a document is known by its file, else by its URI, else by its subject, else by its
text: the first that is known already decides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Text, and_, any_, bindparam, or_, select, text
from sqlalchemy.orm import Session

from models.addresses import identity_key
from models.session import Database
from models.states import DocumentState, SourceKind
from models.tables import Artifact, Document, Source
from tasks.keep.given import Given, Subject

PREFIX = "kept:"  # of the keys of what was handed in: a page that is polled is another document
ADDRESS = "almanac:kept/"  # and the document's id, where it has no URI


class Outcome(StrEnum):
    """What handing in came to; there are no others."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed"
    REPLACED = "replaced"
    INSERTED = "inserted"

    @property
    def changes_content(self) -> bool:
        return self in {Outcome.REPLACED, Outcome.INSERTED}


class Content(NamedTuple):
    """What a document says, told by one of the two."""

    given_hash: UUID | None = None  # of a text
    sha256: str | None = None  # of a file


@dataclass(frozen=True, slots=True)
class Known:
    """A document that was handed in, as far as its identity goes."""

    id: UUID
    content: Content
    key: str
    url: str
    title: str | None
    subject: Subject | None
    observed_at: datetime | None
    expires_at: datetime | None
    state: str
    artifact_id: UUID | None


# UUIDv8 (RFC 9562 §5.8): the first 128 bits of SHA-256, but for version and variant.
HASHES = text("""
    SELECT encode(set_byte(set_byte(substr(sum, 1, 16), 6, (get_byte(sum, 6) & 15) | 128),
                           8, (get_byte(sum, 8) & 63) | 128), 'hex')::uuid AS hash
    FROM (SELECT place, sha256(convert_to(given, 'UTF8')) AS sum
          FROM unnest(CAST(:texts AS text[])) WITH ORDINALITY AS texts (given, place)) AS summed
    ORDER BY place
""").bindparams(bindparam("texts", type_=ARRAY(Text)))


def hashes(db: Database, texts: Sequence[str]) -> list[UUID]:
    """The hash of each text's UTF-8 bytes, from one statement."""
    return [row.hash for row in db.execute(HASHES, {"texts": list(texts)})]


def key_of(uri: str) -> str:
    return PREFIX + identity_key(uri)


def find(session: Session, scopes: Sequence[str], given: Iterable[tuple[Given, Content]]) -> "Shelf":
    """All documents of this scope set that any of these might be, from one statement."""
    items = list(given)
    subjects = {item.subject.title for item, _ in items if item.subject}
    hashed = {content.given_hash for _, content in items if content.given_hash}
    files = {content.sha256 for _, content in items if content.sha256}
    alike = [
        Document.key == any_(sorted({key_of(item.uri) for item, _ in items if item.uri})),
        Document.given_hash == any_(sorted(hashed)),
        Document.subject_title == any_(sorted(subjects)),
        Document.artifact_id.in_(select(Artifact.id).where(
            Artifact.sha256.in_(files), Artifact.scopes == list(scopes))),
    ]
    asked = [bool(any(item.uri for item, _ in items)), bool(hashed), bool(subjects), bool(files)]
    rows = session.execute(
        select(Document.id, Document.given_hash, Artifact.sha256, Document.key, Document.url, Document.title,
               Document.subject_type, Document.subject_title, Document.observed_at, Document.expires_at,
               Document.state, Document.artifact_id)
        .join(Source, and_(Source.id == Document.source_id, Source.kind == SourceKind.KEPT,
                           Source.removed_at.is_(None)))
        .outerjoin(Artifact, Artifact.id == Document.artifact_id)
        .where(or_(*(condition for condition, wanted in zip(alike, asked, strict=True) if wanted)),
               Document.scopes == list(scopes), Document.state != DocumentState.REMOVED)
        .order_by(Document.discovered_at, Document.id)
    )
    return Shelf(
        Known(row.id, Content(row.given_hash, row.sha256), row.key, row.url, row.title,
              Subject(row.subject_type, row.subject_title) if row.subject_title else None,
              row.observed_at, row.expires_at, row.state, row.artifact_id)
        for row in rows)


class Shelf:
    """Known documents of one scope set, by all that they are known by; of two, the older."""

    def __init__(self, known: Iterable[Known]) -> None:
        self._files: dict[str, Known] = {}
        self._keys: dict[str, Known] = {}
        self._subjects: dict[Subject, Known] = {}
        self._hashes: dict[UUID, Known] = {}
        for each in known:
            self._keys.setdefault(each.key, each)
            if each.content.sha256:
                self._files.setdefault(each.content.sha256, each)
            if each.subject:
                self._subjects.setdefault(each.subject, each)
            if each.content.given_hash:
                self._hashes.setdefault(each.content.given_hash, each)

    def match(self, given: Given, content: Content) -> Known | None:
        return (
            (self._files.get(content.sha256) if content.sha256 else None)
            or (self._keys.get(key_of(given.uri)) if given.uri else None)
            or (self._subjects.get(given.subject) if given.subject else None)
            or (self._hashes.get(content.given_hash) if content.given_hash else None)
        )


def outcome_of(given: Given, content: Content, known: Known | None) -> Outcome:
    if known is None:
        return Outcome.INSERTED
    if content != known.content:
        return Outcome.REPLACED
    return Outcome.REFRESHED if moved(given, known) else Outcome.UNCHANGED


def moved(given: Given, known: Known) -> list[str]:
    """What is said otherwise of a document whose content is the same."""
    said = [
        ("title", given.title, known.title),
        ("uri", key_of(given.uri) if given.uri else None, known.key),
        ("subject", given.subject, known.subject),
        ("observed_at", given.observed_at, known.observed_at),
    ]
    changed = [name for name, new, old in said if new is not None and new != old]
    validity = ["expires_at"] if given.upload is None and given.expires_at != known.expires_at else []
    return changed + validity
