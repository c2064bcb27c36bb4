"""How much of a credential is used: by the minute in memory, by the day in PostgreSQL.

What a call will take is guessed and taken before it, and set right by what its provider reports.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from threading import Lock
from time import monotonic
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import and_, func, select, true, update
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import Credential, CredentialDay
from tasks.outside.providers import LIMITS, zone_of

MINUTE = 60.0


@dataclass(slots=True, eq=False)
class Spent:
    """One call, and its tokens as far as they are known."""

    at: float
    tokens: int


class Minutes:
    """What each credential was used for in the last minute. A restart forgives it. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._spent: defaultdict[UUID, deque[Spent]] = defaultdict(deque)
        self._resting: dict[UUID, float] = {}

    def take(self, row: Credential, tokens: int) -> Spent | None:
        """Room for one call, taken; None where there is none in this minute."""
        with self._lock:
            spent = self._lately(row.id)
            calls, most = row.requests_per_minute, row.tokens_per_minute
            if (self._rests(row.id) or (calls is not None and len(spent) >= calls)
                    or (most is not None and sum(each.tokens for each in spent) + tokens > most)):
                return None
            spent.append(Spent(self._clock(), tokens))
            return spent[-1]

    def give_back(self, row: Credential, spent: Spent) -> None:
        """A call that was not made after all."""
        with self._lock:
            if spent in self._lately(row.id):
                self._spent[row.id].remove(spent)

    def rest(self, credential_id: UUID, seconds: float = MINUTE) -> None:
        """It counts as used up for so long."""
        with self._lock:
            until = self._clock() + seconds
            self._resting[credential_id] = max(until, self._resting.get(credential_id, until))

    def used(self, row: Credential) -> tuple[int, int]:
        """Requests and tokens of the last minute; of one that rests, all that there are."""
        with self._lock:
            spent = self._lately(row.id)
            used = len(spent), sum(each.tokens for each in spent)
            if not self._rests(row.id):
                return used
        return (max(used[0], row.requests_per_minute or 0), max(used[1], row.tokens_per_minute or 0))

    def _rests(self, credential_id: UUID) -> bool:
        return self._resting.get(credential_id, 0.0) > self._clock()

    def _lately(self, credential_id: UUID) -> deque[Spent]:
        spent = self._spent[credential_id]
        while spent and spent[0].at <= self._clock() - MINUTE:
            spent.popleft()
        return spent


@dataclass(slots=True)
class Taken:
    """Room for one call, as it was taken."""

    credential_id: UUID
    day: date
    spent: Spent


def take(db: Database, minutes: Minutes, row: Credential, tokens: int, now: datetime) -> Taken | str:
    """Room for one call of about so many tokens; else which limit leaves none. Nothing is taken then."""
    spent = minutes.take(row, tokens)
    if spent is None:
        return "its limit of this minute is reached"
    day = day_of(row, now)
    if not take_of_day(db, row, day, tokens):
        minutes.give_back(row, spent)
        return "its limit of this day is reached"
    return Taken(row.id, day, spent)


def take_of_day(db: Database, row: Credential, day: date, tokens: int) -> bool:
    """One statement, so that no two calls take the same room, whatever process they are of."""
    if row.tokens_per_day is not None and tokens > row.tokens_per_day:
        return False
    today = CredentialDay
    calls, most = row.requests_per_day, row.tokens_per_day
    room = [*([today.requests < calls] if calls is not None else []),
            *([today.tokens + tokens <= most] if most is not None else [])]
    taking = insert(today).values(credential_id=row.id, day=day, requests=1, tokens=tokens)
    return bool(db.execute(taking.on_conflict_do_update(
        index_elements=[today.credential_id, today.day],
        set_={"requests": today.requests + 1, "tokens": today.tokens + tokens},
        where=and_(true(), *room),
    ).returning(today.requests)))


def settle(db: Database, taken: Taken, tokens: int | None) -> None:
    """Set right what a call has taken, by what its provider reports; else the guess stands."""
    if tokens is None or tokens == taken.spent.tokens:
        return
    more, taken.spent.tokens = tokens - taken.spent.tokens, tokens
    today = CredentialDay
    db.execute(update(today).where(today.credential_id == taken.credential_id, today.day == taken.day)
               .values(tokens=func.greatest(today.tokens + more, 0)))


def used(db: Database, minutes: Minutes, row: Credential, now: datetime) -> dict[str, int]:
    """What is used of each of LIMITS."""
    today = db.execute(select(CredentialDay.requests, CredentialDay.tokens).where(
        CredentialDay.credential_id == row.id, CredentialDay.day == day_of(row, now)))
    return dict(zip(LIMITS, (*minutes.used(row), *(today[0] if today else (0, 0))), strict=True))


def day_of(row: Credential, now: datetime) -> date:
    """The provider's day."""
    return now.astimezone(ZoneInfo(zone_of(row.provider))).date()


def days(db: Database, ids: list[UUID], now: datetime, back: int = 30) -> list[dict[str, Any]]:
    """What each of the last days took, the newest first."""
    today = CredentialDay
    rows = db.execute(select(today.credential_id, today.day, today.requests, today.tokens).where(
        today.credential_id.in_(ids), today.day > (now - timedelta(days=back)).date())
        .order_by(today.day.desc(), today.credential_id))
    return [{"credential_id": str(row.credential_id), "day": row.day.isoformat(), "requests": row.requests,
             "tokens": row.tokens} for row in rows]
