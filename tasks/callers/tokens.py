"""Tokens: each belongs to a principal, is shown once, and says what its bearer may read and write."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Text, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.session import Database
from models.tables import LIBRARY_SCOPE, OWNER, ApiToken, Membership, Organization, Principal

TOKEN_PREFIX = "alm_"  # noqa: S105 - what tokens begin with, so that one that leaked is recognised
DATA_FOLDER = "the data folder's token"
MAX_NAME = 200  # characters
MAX_SCOPES = 32
BETWEEN_USES = timedelta(minutes=1)  # a token's last use is not written down more often


class Taken(ValueError):
    """There is one of this name already."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who holds a token, and what they may do now: what it says, as far as its principal may."""

    id: UUID  # of the token
    name: str  # of the token
    principal: str
    scopes: list[str]  # that are read
    writes: list[str]
    public: list[str]  # organizations: what is scoped to one of them alone is read by all
    identity: UUID  # whose credentials are its own: its principal's, or the token's, where the owner lent it


def make_token(
    db: Database, name: str, scopes: Sequence[str] | None = None, writes: Sequence[str] | None = None,
    principal: str = OWNER,
) -> tuple[dict[str, Any], str]:
    """A new token's row, in the shape of ``list_tokens``, and the token, which nobody can show again.

    It reads ``scopes`` and what it ``writes``: where neither is named, the library's scope, or all that the
    principal is a member of. Without ``writes`` it writes wherever it reads and may; the owner may all.
    Raises ValueError, one clear sentence; Taken, where it is for the name.
    """
    plain, name = TOKEN_PREFIX + secrets.token_urlsafe(32), checked_name(name)
    named = None if scopes is None and not writes else checked_scopes([*(scopes or ()), *(writes or ())])
    with db.begin() as session:
        identity = session.scalar(select(Principal.id).where(Principal.name == principal))
        held = None if principal == OWNER else _held(session, identity)
        reads, may_write = _granted(principal, held, named, writes)
        if session.scalar(select(ApiToken.id).where(ApiToken.name == name, _is_good())):
            raise Taken(f"there is a token of the name {name} already: choose another, or revoke it")
        row = ApiToken(id=uuid4(), name=name, hash=_hash(plain), principal_id=identity, scopes=reads,
                       writes=may_write)
        session.add(row)
        session.flush()
        return _told(row, principal), plain


def _held(session: Session, principal: UUID | None) -> dict[str, bool]:
    """The organizations that a principal is a member of, and whether it writes into them."""
    rows = session.execute(
        select(Organization.name, Membership.writes)
        .join(Membership, Membership.organization_id == Organization.id)
        .where(Membership.principal_id == principal))
    return {row.name: row.writes for row in rows}


def _granted(
    principal: str, held: Mapping[str, bool] | None, named: list[str] | None, writes: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """What is read and written, sorted; ``held`` is none for the owner."""
    if held is None:
        reads = named or [LIBRARY_SCOPE]
        return reads, reads if writes is None else sorted(set(writes))
    if foreign := set(named or ()) - held.keys():
        raise ValueError(f"{principal} is no member of {min(foreign)}: `almanac organization admit` first")
    if not held:
        raise ValueError(f"{principal} is a member of nothing: `almanac organization admit` first")
    reads = named or sorted(held)
    may_write = [scope for scope in reads if held[scope]]
    if refused := set(writes or ()) - set(may_write):
        raise ValueError(f"{principal} may not write into {min(refused)}: `almanac organization admit` with "
                         "--write first")
    return reads, may_write if writes is None else sorted(set(writes))


def ensure_token(db: Database, plain: str, name: str = DATA_FOLDER) -> None:
    """Let the token that is kept in a file be valid, and one that it replaced no longer. Never revives."""
    row = {"id": uuid4(), "name": name, "hash": _hash(plain), "scopes": [LIBRARY_SCOPE],
           "writes": [LIBRARY_SCOPE]}
    replaced = (ApiToken.name == name, ApiToken.hash != row["hash"], _is_good())
    with db.begin() as session:
        session.execute(update(ApiToken).where(*replaced).values(revoked_at=func.now()))
        owner = session.scalar(select(Principal.id).where(Principal.name == OWNER))
        session.execute(insert(ApiToken).values(**row, principal_id=owner)
                        .on_conflict_do_nothing(index_elements=["hash"]))


def list_tokens(db: Database) -> list[dict[str, Any]]:
    """Every token, oldest first: id, name, principal, scopes, writes, created_at, last_used_at, revoked_at;
    never its secret.
    """
    with db.begin() as session:
        rows = session.execute(
            select(ApiToken, Principal.name).join(Principal, Principal.id == ApiToken.principal_id)
            .order_by(ApiToken.created_at, ApiToken.id))
        return [_told(row, principal) for row, principal in rows]


def revoke_token(db: Database, token_id: UUID) -> bool:
    """End a token now and for good; whether there is such a token."""
    end = update(ApiToken).where(ApiToken.id == token_id).values(
        revoked_at=func.coalesce(ApiToken.revoked_at, func.now())
    )
    with db.begin() as session:
        return session.connection().execute(end).rowcount > 0


def owner_of(db: Database, plain: str) -> Bearer | None:
    """Who holds a token; none for an unknown or a revoked one, after the same work, and for one whose
    principal has been dismissed from all that it reads.
    """
    for row in db.execute(BEARER, {"hash": _hash(plain)}):  # one at most: the hash is unique
        if not row.used_lately:
            db.execute(update(ApiToken).where(ApiToken.id == row.id).values(last_used_at=func.now()))
        reads, writes = _may(row)
        if reads:
            identity = row.id if row.principal == OWNER else row.principal_id
            return Bearer(row.id, row.name, row.principal, reads, writes, row.public, identity)
    return None


def _may(row: Any) -> tuple[list[str], list[str]]:
    """What is read and written now. The owner may what the token says; that of the data folder, all that the
    owner is a member of, too.
    """
    if row.principal != OWNER:
        return sorted({*row.scopes} & {*row.member_of}), sorted({*row.writes} & {*row.writes_into})
    if row.name == DATA_FOLDER:
        return sorted({*row.scopes, *row.member_of}), sorted({*row.writes, *row.writes_into})
    return row.scopes, row.writes


def _bearer() -> Any:
    def names(*which: Any) -> Any:
        return func.array(select(Organization.name).where(*which).scalar_subquery())

    def member_of(*which: Any) -> Any:
        mine = select(Membership.organization_id).where(
            Membership.principal_id == ApiToken.principal_id, *which).correlate(ApiToken)
        return names(Organization.id.in_(mine))

    return (
        select(ApiToken.id, ApiToken.name, ApiToken.scopes, ApiToken.writes, ApiToken.principal_id,
               Principal.name.label("principal"),
               _used_lately().label("used_lately"), names(Organization.public).label("public"),
               member_of().label("member_of"), member_of(Membership.writes).label("writes_into"))
        .join(Principal, Principal.id == ApiToken.principal_id)
        .where(ApiToken.hash == bindparam("hash", type_=Text), _is_good()))


def _is_good() -> ColumnElement[bool]:
    return ApiToken.revoked_at.is_(None)


def _used_lately() -> ColumnElement[bool]:
    return func.coalesce(ApiToken.last_used_at > func.now() - BETWEEN_USES, False)


def _told(row: ApiToken, principal: str) -> dict[str, Any]:
    moments = {name: getattr(row, name) for name in ("created_at", "last_used_at", "revoked_at")}
    return {"id": str(row.id), "name": row.name, "principal": principal, "scopes": row.scopes,
            "writes": row.writes} | {name: moment and moment.isoformat() for name, moment in moments.items()}


def _hash(plain: str) -> str:
    return sha256(plain.encode(errors="surrogatepass")).hexdigest()


def checked_name(name: str) -> str:
    if not (name := name.strip()) or len(name) > MAX_NAME or "\0" in name:
        raise ValueError(f"the name must have 1 to {MAX_NAME} characters: say whom the token is for")
    return name


def checked_scopes(scopes: Sequence[str]) -> list[str]:
    wanted = sorted(set(scopes))
    if not 1 <= len(wanted) <= MAX_SCOPES or not all(scope.strip() for scope in wanted):
        raise ValueError(f"a token needs 1 to {MAX_SCOPES} scopes, each with a name")
    return wanted


BEARER = _bearer()
