"""The vault: keys of external AIs go in, and come out only to be sent to the provider that they are for.

It also has the headers of sources sealed, whose values may be secrets. What is sealed is bound to its record
(``models.sealing``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, delete, func, or_, select, true, update
from sqlalchemy.orm import Session

from models.headers import header_record
from models.sealing import KeyRing, NotOpened, is_sealed, open_values, seal_values, sealed_in
from models.session import SEALING, Database
from models.tables import Credential, Source
from tasks.errors import Away, Permanent, Transient
from tasks.outside import usage
from tasks.outside.providers import (
    FIRST,
    LIMITS,
    NewCredential,
    check_priority,
    check_server,
    checked_key,
    checked_limits,
    last_four,
    title_of,
)
from tasks.ports import Keys

CHANGEABLE = frozenset({"priority", "enabled", "model", *LIMITS})
ROTATION = "rotation of the master key"
LISTED = 20  # of what is lost, by name
REMEDY = ("put the master key back as it was (keys/master.key in the data folder, or ALMANAC_MASTER_KEY), or "
          "remove what is lost and add it again")


@contextmanager
def sealable() -> Iterator[None]:
    """Raises Away where there is no master key to seal with."""
    try:
        yield
    except NotOpened as error:
        raise Away(f"the vault cannot be opened: {error}; {REMEDY}") from error


def nobodys(host: str, port: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Vault:
    """Everything sealed of one database. Thread-safe. Raises Away where there is no master key."""

    db: Database
    keys: Keys
    is_owners: Callable[[str, int], bool] = nobodys  # whether the owner has named a server as their own
    minutes: usage.Minutes = field(default_factory=usage.Minutes)

    def add(self, new: NewCredential, key: str, principal_id: UUID | None) -> dict[str, Any]:
        """Seal a key, for everybody or for one principal; the credential without it. Raises ValueError."""
        key = checked_key(key)
        check_server(new.url or "", self.is_owners)
        row = Credential(
            id=uuid4(), principal_id=principal_id, provider=new.provider, url=new.url, model=new.model,
            priority=new.priority, enabled=new.enabled, last_four=last_four(key), **new.limits)
        with sealable(), self.db.begin() as session:
            self._have_a_key(session)
            row.sealed = self._ring(session).seal(key, record_of(row))
            session.add(row)
        return self.told(row)

    def change(self, credential_id: UUID, mine: ColumnElement[bool], changes: Mapping[str, Any],
               key: str | None = None) -> dict[str, Any] | None:
        """Change what is named of CHANGEABLE, or put another key in its place; None: there is none such.

        Switching it on lets one be tried again that its provider has refused. Raises ValueError.
        """
        if strange := changes.keys() - CHANGEABLE:
            raise ValueError(f"{min(strange)} cannot be changed: there are {', '.join(sorted(CHANGEABLE))}")
        checked_limits({name: value for name, value in changes.items() if name in LIMITS})
        check_priority(changes.get("priority", 0))
        with sealable(), self.db.begin() as session:
            row = session.scalar(select(Credential).where(Credential.id == credential_id, mine)
                                 .with_for_update())
            if row is None:
                return None
            for name, value in changes.items():
                setattr(row, name, value)
            if key is not None:
                key = checked_key(key)
                row.sealed, row.last_four = self._ring(session).seal(key, record_of(row)), last_four(key)
            if key is not None or changes.get("enabled"):
                row.refused = None
        return self.told(row)

    def remove(self, credential_id: UUID, mine: ColumnElement[bool]) -> bool:
        """Forget it; whether there was one."""
        gone = delete(Credential).where(Credential.id == credential_id, mine).returning(Credential.id)
        return bool(self.db.execute(gone))

    def listed(self, mine: ColumnElement[bool]) -> list[dict[str, Any]]:
        """In the order in which they are asked; never a key."""
        return [self.told(row) for row in self.rows(mine)]

    def rows(self, *conditions: ColumnElement[bool]) -> list[Credential]:
        """Personal ones first, by priority, Google Gemini before its equals, the oldest first."""
        order = (Credential.principal_id.is_(None), Credential.priority.desc(), Credential.provider != FIRST,
                 Credential.created_at, Credential.id)
        with self.db.at_once() as session:
            return list(session.scalars(select(Credential).where(*conditions).order_by(*order)))

    def told(self, row: Credential) -> dict[str, Any]:
        used = usage.used(self.db, self.minutes, row, datetime.now(UTC))
        try:
            self.key_of(row)
            trouble = row.refused
        except Permanent as error:
            trouble = error.reason
        return {
            "id": str(row.id), "provider": row.provider, "title": title_of(row.provider), "url": row.url,
            "model": row.model, "owner": "global" if row.principal_id is None else "personal",
            "last_four": row.last_four, "priority": row.priority, "enabled": row.enabled, "trouble": trouble,
            "limits": {name: getattr(row, name) for name in LIMITS}, "used": used,
        }

    def key_of(self, row: Credential) -> str:
        """The key, to be sent to ``row.url``. Raises Permanent, one sentence, where it cannot be opened."""
        try:
            return self.keys().open(row.sealed, record_of(row))
        except NotOpened as error:
            raise Permanent(f"its key cannot be opened: {error}") from None

    def prepare(self) -> str | None:
        """Make the first master key, end a rotation that was broken off, seal what is plain or under an
        older key, and say what cannot be opened: to be called when a process starts.
        """
        try:
            with sealable():
                with self.db.begin() as session:
                    self._have_a_key(session)
                self.seal_anew()
        except Away as error:
            return error.reason
        return self.lost()

    def rotate(self) -> dict[str, int]:
        """Put a new master key in the place of the old one: how many secrets were sealed anew, and how many
        could not be opened, which stay as they are.

        It may be broken off at any moment: every secret can be opened, and the next one goes on.
        """
        if self.keys.are_given:
            raise ValueError("the master key is in ALMANAC_MASTER_KEY: write a new one in front of it there, "
                             "with a comma between, start Almanac again, and then leave out the old one")
        with sealable(), self.db.lock(ROTATION) as mine:
            if not mine:
                raise Transient("the master key is being rotated already: wait for it")
            if lost := self.lost():
                raise Away(lost)
            self.keys.add()
            return self._seal_all()

    def seal_anew(self) -> None:
        with self.db.lock(ROTATION) as mine:
            if mine:
                self._seal_all()

    def _seal_all(self) -> dict[str, int]:
        sealed, left = 0, 0
        for table, with_secrets, reseal in PLACES:
            for (identity,) in self.db.execute(select(table.id).where(with_secrets).order_by(table.id)):
                with self.db.begin() as session:
                    row = session.get(table, identity, with_for_update=True)
                    try:
                        sealed += row is not None and reseal(self._ring(session), row)
                    except NotOpened:
                        left += 1
        if not left:
            self._let_old_keys_go()
        return {"sealed": sealed, "left": left}

    def _let_old_keys_go(self) -> None:
        """Once nobody is sealing, and only if all that is sealed is under the newest key."""
        with self.db.begin() as session:
            session.execute(select(func.pg_advisory_xact_lock(SEALING)))
            ring = self.keys()
            if all(ring.is_current(sealed) for _, sealed in everything(session)):
                self.keys.drop_old()

    def lost(self) -> str | None:
        """What cannot be opened, and what to do; None where everything can."""
        ring: KeyRing | None = None
        why: set[str] = set()
        with self.db.at_once() as session:
            try:
                ring = self.keys()
            except NotOpened as error:
                why.add(str(error))
            gone = [name for name, sealed in everything(session) if ring is None or not ring.holds(sealed)]
        if not gone:
            return None
        named = sorted(set(gone))
        some = ", ".join(named[:LISTED]) + (f" and {len(named) - LISTED} more" if len(named) > LISTED else "")
        reason = f" ({'; '.join(why)})" if why else ""
        return f"the master key is lost{reason}, and with it {some}: {REMEDY}"

    def _have_a_key(self, session: Session) -> None:
        """A first key where nothing is sealed yet. Raises Away where one was there, and is lost."""
        if len(self.keys()):
            return
        session.execute(select(func.pg_advisory_xact_lock(SEALING)))
        if next(everything(session), None):
            raise Away(self.lost() or "the master key is lost")
        self.keys.make()

    def _ring(self, session: Session) -> KeyRing:
        return self.db.sealing(session)


def of_caller(principal_id: UUID, is_owner: bool) -> ColumnElement[bool]:
    """The credentials that a caller may see and change: their own, and the owner those for everybody."""
    own = Credential.principal_id == principal_id
    return or_(own, Credential.principal_id.is_(None)) if is_owner else own


def record_of(row: Credential) -> Sequence[str]:
    """A credential's identity: its key is good for this row, this address and this owner alone."""
    return ("credential", str(row.id), row.provider, row.url, str(row.principal_id or ""))


def everything(session: Session) -> Iterator[tuple[str, bytes]]:
    """All that is sealed, and what an owner calls it."""
    for provider, last, key in session.execute(
            select(Credential.provider, Credential.last_four, Credential.sealed)):
        yield f"the key of {title_of(provider)} …{last}", key
    for name, headers in session.execute(
            select(Source.name, Source.headers).where(Source.headers != {})):
        sealed = filter(is_sealed, headers.values())
        yield from ((f"the headers of {name}", as_it_is(each)) for each in sealed)


def as_it_is(stored: Mapping[str, str]) -> bytes:
    """What was sealed; nothing, which no key opens, of what cannot have been."""
    try:
        return sealed_in(stored)
    except NotOpened:
        return b""


def reseal_credential(ring: KeyRing, row: Credential) -> bool:
    """Whether it had to be sealed anew. Raises NotOpened, and then nothing was changed."""
    if ring.is_current(row.sealed):
        return False
    row.sealed = ring.seal(ring.open(row.sealed, record_of(row)), record_of(row))
    return True


def reseal_headers(ring: KeyRing, row: Source) -> bool:
    """The same for all headers of a source, and for those that were stored before there was a vault."""
    if all(is_sealed(each) and ring.is_current(sealed_in(each)) for each in row.headers.values()):
        return False
    record = header_record(row.id, row.url)
    row.headers = seal_values(ring, open_values(ring, row.headers, record), record)
    return True


PLACES: Sequence[tuple[Any, ColumnElement[bool], Callable[[KeyRing, Any], bool]]] = (
    (Credential, true(), reseal_credential), (Source, Source.headers != {}, reseal_headers))


def refuse(db: Database, credential_id: UUID, reason: str) -> None:
    """Note that its provider will not have it."""
    db.execute(update(Credential).where(Credential.id == credential_id).values(refused=reason))
