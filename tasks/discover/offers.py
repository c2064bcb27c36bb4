"""What a look at a source takes and gives; the database knows nothing of these, nor they of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.states import PollOutcome
from tasks.ports import Fetcher, Parser, Validators


@dataclass(frozen=True, slots=True)
class Look:
    """Where to look, and what the last good look left behind."""

    url: str
    validators: Validators = field(default_factory=Validators)  # empty: ask without conditions
    body_hash: str | None = None
    body_at: datetime | None = None  # when a body last came


@dataclass(frozen=True, slots=True)
class Item:
    """An address that a source offers. Without an ``item_hash`` only reading it tells whether it changed."""

    url: str
    key: str
    item_key: str
    item_hash: str | None = None
    title: str | None = None
    author: str | None = None
    summary: str | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What a look came to.

    ``outcome`` NEW means that ``items`` are to be compared with what is known. ``validators`` of None leave
    the stored ones as they are.
    """

    outcome: PollOutcome
    reason: str = ""
    items: tuple[Item, ...] = ()
    left_out: int = 0  # besides them, as ``reason`` says: without an address, repeated
    title: str | None = None
    validators: Validators | None = None
    body_hash: str | None = None
    status: int | None = None
    retry_after: timedelta | None = None
    asked: bool = True  # no: its host is in a pause, or others were in front, and only the wait is known
    again_at: datetime | None = None  # the next look is settled already: its document's own retry

    @property
    def seen(self) -> int:
        """How many items were offered."""
        return len(self.items) + self.left_out


Discover = Callable[[Fetcher, Parser, Look], Awaitable[Offer]]
"""A kind of source: one look at it. Raises StageErrors where there is no answer to judge."""
