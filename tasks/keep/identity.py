"""Which document a thing is that is handed in, and what handing it in comes to.

Inside one exact scope set a document is known by its file, else by its URI, else by its subject, else by its
text: the first that is known already decides.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, and_, any_, literal, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

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


class Known(NamedTuple):
    """A document that was handed in, as far as its identity goes."""

    id: UUID
    content: Content
    key: str
    url: str
    title: str | None
    subject: Subject | None
    observed_at: datetime | None
    expires_at: datetime | None
    artifact_id: UUID | None = None
    preserved: bool | None = None  # its file; none where there is none


# UUIDv8 (RFC 9562 §5.8): the first 128 bits of SHA-256, but for version and variant.
HASHES = """
    SELECT encode(set_byte(set_byte(substr(sum, 1, 16), 6, (get_byte(sum, 6) & 15) | 128),
                           8, (get_byte(sum, 8) & 63) | 128), 'hex')::uuid AS hash
    FROM (SELECT place, sha256(convert_to(given, 'UTF8')) AS sum
          FROM unnest(%(texts)b::text[]) WITH ORDINALITY AS texts (given, place)) AS summed
    ORDER BY place
"""


def hashes(db: Database, texts: Sequence[str]) -> list[UUID]:
    """The hash of each text's UTF-8 bytes, from one statement.

    It is in the driver's own words, whose ``b`` sends the texts as they are: to quote them would take as long
    as to hash them.
    """
    with db.at_once() as session:
        rows = session.connection().exec_driver_sql(HASHES, {"texts": list(texts)})
        return [row.hash for row in rows]


def key_of(uri: str) -> str:
    return PREFIX + identity_key(uri)


def look_up(session: Session, scopes: Sequence[str], items: Sequence[tuple[Given, Content]]) -> "Shelf":
    """All documents of this scope set that any of these might be, from one statement."""
    return Shelf(find(
        session, scopes,
        hashes={content.given_hash for _, content in items if content.given_hash},
        keys={key_of(given.uri) for given, _ in items if given.uri},
        subjects={given.subject.title for given, _ in items if given.subject},
        files={content.sha256 for _, content in items if content.sha256},
    ))


def find(
    session: Session, scopes: Sequence[str], hashes: Collection[UUID] = (), keys: Collection[str] = (),
    subjects: Collection[str] = (), files: Collection[str] = (),
) -> Iterator[Known]:
    """What was handed in for this scope set and is known by any of these, the oldest first."""
    of_files = select(Artifact.id).where(among(Artifact.sha256, files), Artifact.scopes == list(scopes))
    asked = [
        (hashes, among(Document.given_hash, hashes)), (keys, among(Document.key, keys)),
        (subjects, among(Document.subject_title, subjects)), (files, Document.artifact_id.in_(of_files)),
    ]
    rows = session.connection().execute(
        select(Document.id, Document.given_hash, Artifact.sha256, Document.key, Document.url, Document.title,
               Document.subject_type, Document.subject_title, Document.observed_at, Document.expires_at,
               Document.artifact_id, Artifact.preserve)
        .join(Source, and_(Source.id == Document.source_id, Source.kind == SourceKind.KEPT,
                           Source.removed_at.is_(None)))
        .outerjoin(Artifact, Artifact.id == Document.artifact_id)
        .where(or_(*(condition for values, condition in asked if values)),
               Document.scopes == list(scopes), Document.state != DocumentState.REMOVED)
        .order_by(Document.discovered_at, Document.id)
    )
    for identity, given_hash, sha256, key, url, title, kind, about, *rest in rows:
        yield Known(identity, Content(given_hash, sha256), key, url, title,
                    Subject(kind, about) if kind and about else None, *rest)


def among(column: InstrumentedAttribute[Any], values: Collection[Any]) -> ColumnElement[bool]:
    """One parameter, however many values there are."""
    return column == any_(literal(list(values), ARRAY(column.type)))


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


def is_known_as_it_is(given: Given, content: Content, known: Known) -> bool:
    """Whether a document of the same text is the one that is meant, and nothing is said otherwise of it."""
    meant = known.url == given.uri if given.uri else not given.subject
    return meant and content == known.content and not moved(given, known)


def moved(given: Given, known: Known) -> list[str]:
    """What is said otherwise of a document whose content is the same."""
    elsewhere = given.uri and given.uri != known.url and key_of(given.uri) != known.key
    said = (
        ("title", given.title and given.title != known.title),
        ("uri", elsewhere),
        ("subject", given.subject and given.subject != known.subject),
        ("observed_at", given.observed_at and given.observed_at != known.observed_at),
        ("original", given.preserve_source and known.preserved is False),
        ("expires_at", given.upload is None and given.expires_at != known.expires_at),
    )
    return [name for name, differs in said if differs]
