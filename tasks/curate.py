"""The owner's commands on rows: sources, documents, and the tokens of those who may ask.

A command on what is unknown, removed, or outside the scopes of whoever gives it does nothing and says so.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.duplicates import let_go
from models.headers import check_headers, header_record
from models.lease import GIVEN_BACK
from models.sealing import NotOpened, seal_values
from models.session import Database
from models.states import HANDED_IN, ArtifactState, ChunkState, DocumentState, SourceKind, Verdict
from models.tables import LIBRARY_SCOPE, ApiToken, Artifact, Chunk, Document, DocumentVersion, Source, Table
from tasks.errors import Away

TOKEN_PREFIX = "alm_"  # noqa: S105 - what tokens begin with, so that one that leaked is recognised
MAX_NAME = 200  # characters
MAX_SCOPES = 32
BETWEEN_USES = timedelta(minutes=1)  # a token's last use is not written down more often


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal took out of the answers."""

    documents: int
    chunks: int
    comes_back: bool = False  # at the next start: Almanac's own documentation does

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a token belongs to."""

    id: UUID
    name: str
    scopes: list[str]


def pause_source(db: Database, source_id: UUID, scopes: Sequence[str]) -> bool:
    """Look at the source no more until it is resumed; what it brought goes on answering."""
    return _change_source(db, source_id, scopes, paused=True)


def resume_source(db: Database, source_id: UUID, scopes: Sequence[str]) -> bool:
    """Look at the source again, at once where its time has passed."""
    return _change_source(db, source_id, scopes, paused=False)


def set_headers(db: Database, source_id: UUID, scopes: Sequence[str], headers: Mapping[str, str]) -> bool:
    """Ask with these headers, and none of those before. Raises ValueError for one that may not be set, and
    Away where they cannot be sealed.
    """
    checked, own = check_headers(headers), _own_source(source_id, scopes)
    try:
        with db.begin() as session:
            ring = db.sealing(session)
            source = session.scalar(select(Source).where(own).with_for_update())
            if source:
                source.headers = seal_values(ring, checked, header_record(source.id, source.url))
    except NotOpened as error:
        raise Away(f"the headers cannot be sealed: {error}") from error
    return source is not None


def remove_source(db: Database, source_id: UUID, scopes: Sequence[str], now: datetime) -> Removed | None:
    """Take the source and its documents out of the answers; the rows stay, the index follows."""
    removal = update(Source).where(_own_source(source_id, scopes)).values(
        removed_at=now, next_poll_at=None, headers={})
    with db.begin() as session:
        if kind := session.scalar(removal.returning(Source.kind)):
            removed = _remove(session, Document.source_id == source_id, "its source was removed", now)
            return replace(removed, comes_back=kind == SourceKind.DOCUMENTATION)
    return None


def retry_document(db: Database, document_id: UUID, scopes: Sequence[str], now: datetime) -> bool:
    """Make the document due as if it had never been tried, whatever its state; what answers goes on.

    A version that could not be indexed, and a file that could not be converted, are tried again, too; a
    version that a gate refused is judged again. What was handed in has no address that is read.
    """
    afresh = {"due_at": now, "attempts": 0, "etag": None, "last_modified": None,
              "reason": "to be read again, as its owner asks"}
    own = _own_document(document_id, scopes), Document.state != DocumentState.REMOVED
    owns = DocumentVersion.document_id.in_(select(Document.id).where(*own))
    failed = owns, or_(DocumentVersion.failure.is_not(None), DocumentVersion.verdict == Verdict.QUARANTINED)
    handed_in = Document.source_id.in_(select(Source.id).where(Source.kind.in_(HANDED_IN)))
    files = Artifact.id.in_(select(Document.artifact_id).where(*own)), Artifact.key.is_not(None)
    again = {"state": ArtifactState.PENDING, "attempts": 0, "reason": None, "due_at": now}
    with db.begin() as session:
        session.execute(update(DocumentVersion).where(*failed).values(failure=None, verdict=None))
        session.execute(update(Artifact).where(*files, Artifact.state == ArtifactState.FAILED).values(again))
        session.execute(update(Document).where(*own, ~handed_in).values(**afresh))
        return session.scalar(select(Document.id).where(*own)) is not None


def remove_document(db: Database, document_id: UUID, scopes: Sequence[str], now: datetime) -> Removed | None:
    """Take the document out of the answers; its row stays, so that its source does not bring it back."""
    with db.begin() as session:
        removed = _remove(session, _own_document(document_id, scopes), "removed by its owner", now)
    return removed if removed.documents else None


def make_token(
    db: Database, name: str, scopes: Sequence[str] = (LIBRARY_SCOPE,)
) -> tuple[dict[str, Any], str]:
    """A new token's row, in the shape of ``list_tokens``, and the token, which nobody can show again."""
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = ApiToken(id=uuid4(), name=_name(name), hash=_hash(plain), scopes=_scopes(scopes))
    with db.begin() as session:
        session.add(row)
        session.flush()
        return _told(row), plain


def ensure_token(db: Database, plain: str, name: str = "the data folder's token") -> None:
    """Let the token that is kept in a file be valid, and one that it replaced no longer. Never revives."""
    row = {"id": uuid4(), "name": name, "hash": _hash(plain), "scopes": [LIBRARY_SCOPE]}
    replaced = (ApiToken.name == name, ApiToken.hash != row["hash"], ApiToken.revoked_at.is_(None))
    with db.begin() as session:
        session.execute(insert(ApiToken).values(**row).on_conflict_do_nothing(index_elements=["hash"]))
        session.execute(update(ApiToken).where(*replaced).values(revoked_at=func.now()))


def list_tokens(db: Database) -> list[dict[str, Any]]:
    """Every token, oldest first: id, name, scopes, created_at, last_used_at, revoked_at; never its secret."""
    with db.begin() as session:
        rows = session.scalars(select(ApiToken).order_by(ApiToken.created_at, ApiToken.id))
        return [_told(row) for row in rows]


def revoke_token(db: Database, token_id: UUID) -> bool:
    """End a token now and for good; whether there is such a token."""
    end = update(ApiToken).where(ApiToken.id == token_id).values(
        revoked_at=func.coalesce(ApiToken.revoked_at, func.now())
    )
    with db.begin() as session:
        return session.connection().execute(end).rowcount > 0


def owner_of(db: Database, plain: str) -> Principal | None:
    """Whom a token belongs to; none for an unknown or a revoked one, after the same work."""
    rows = db.execute(
        select(ApiToken.id, ApiToken.name, ApiToken.scopes, _used_lately().label("used_lately"))
        .where(ApiToken.hash == _hash(plain), ApiToken.revoked_at.is_(None))
    )
    for row in rows:  # one at most: the hash is unique
        if not row.used_lately:
            db.execute(update(ApiToken).where(ApiToken.id == row.id).values(last_used_at=func.now()))
        return Principal(row.id, row.name, row.scopes)
    return None


def _change_source(db: Database, source_id: UUID, scopes: Sequence[str], **values: object) -> bool:
    change = update(Source).where(_own_source(source_id, scopes)).values(**values)
    with db.begin() as session:
        return session.connection().execute(change).rowcount > 0


def _own_source(source_id: UUID, scopes: Sequence[str]) -> ColumnElement[bool]:
    readable = Source.scopes.contained_by(list(scopes))
    return and_(Source.id == source_id, Source.removed_at.is_(None), readable)


def _own_document(document_id: UUID, scopes: Sequence[str]) -> ColumnElement[bool]:
    return and_(Document.id == document_id, Document.scopes.contained_by(list(scopes)))


def _remove(session: Session, which: ColumnElement[bool], reason: str, now: datetime) -> Removed:
    """Documents become tombstones; those that repeated one of them are read in its stead."""
    tombstone = GIVEN_BACK | {
        "state": DocumentState.REMOVED, "reason": reason, "version_id": None, "due_at": None}
    ids = select(Document.id).where(which)
    moving = Chunk.state.in_([ChunkState.LIVE, ChunkState.PENDING])

    def change(table: type[Table], *conditions: ColumnElement[bool], **values: object) -> int:
        return session.connection().execute(update(table).where(*conditions).values(**values)).rowcount

    documents = change(Document, which, Document.state != DocumentState.REMOVED, **tombstone)
    let_go(session, ids, "what it repeated was removed", now)
    change(DocumentVersion, DocumentVersion.document_id.in_(ids), DocumentVersion.superseded_at.is_(None),
           superseded_at=now)
    chunks = change(Chunk, Chunk.document_id.in_(ids), moving, state=ChunkState.RETIRING)
    return Removed(documents, chunks)


def _used_lately() -> ColumnElement[bool]:
    return func.coalesce(ApiToken.last_used_at > func.now() - BETWEEN_USES, False)


def _told(row: ApiToken) -> dict[str, Any]:
    moments = {name: getattr(row, name) for name in ("created_at", "last_used_at", "revoked_at")}
    return {"id": str(row.id), "name": row.name, "scopes": row.scopes} | {
        name: moment and moment.isoformat() for name, moment in moments.items()
    }


def _hash(plain: str) -> str:
    return sha256(plain.encode(errors="surrogatepass")).hexdigest()


def _name(name: str) -> str:
    if not (name := name.strip()) or len(name) > MAX_NAME or "\0" in name:
        raise ValueError(f"the name must have 1 to {MAX_NAME} characters: say whom the token is for")
    return name


def _scopes(scopes: Sequence[str]) -> list[str]:
    wanted = sorted(set(scopes))
    if not 1 <= len(wanted) <= MAX_SCOPES or not all(scope.strip() for scope in wanted):
        raise ValueError(f"a token needs 1 to {MAX_SCOPES} scopes, each with a name")
    return wanted
