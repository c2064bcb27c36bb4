"""What a look at a source takes and gives; the database knows nothing of these, nor they of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from models.states import PollOutcome
from tasks.ports import Fetcher, Parser, Validators


@dataclass(frozen=True, slots=True)
class Look:
    """Where to look, and what the last good look left behind."""

    url: str
    validators: Validators = field(default_factory=Validators)  # empty: ask without conditions
    body_hash: str | None = None
    body_at: datetime | None = None  # when a body last came
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # of the owner's, for its server
    map: Mapping[str, str] = field(default_factory=dict)  # of a JSON API: json_map
    parts: Mapping[str, Any] = field(default_factory=dict)  # by address: kinds.sitemap, kinds.json_api
    include: Sequence[str] = ()  # the source's globs
    fragment_routes: bool = False  # addresses that differ in "#/…" alone are pages of their own
    limit: int = 100  # new items that are taken
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Item:
    """An address that a source offers.

    Without an ``item_hash`` only reading it tells whether it changed; one of "" says nothing of changes.
    """

    url: str
    key: str
    item_key: str
    item_hash: str | None = None
    title: str | None = None
    author: str | None = None
    summary: str | None = None
    published_at: datetime | None = None
    full_text: str | None = None  # what the page may be missing: HTML of structure alone
    part: str | None = None  # which of the source's parts names it


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
    moved_to: str | None = None  # where the address says it has gone for good
    warning: str = ""  # one sentence on what was not looked at, although the rest is good
    partial: bool = False  # of some parts only: that it offers less than usual means nothing
    parts: Mapping[str, Any] | None = None  # for the next look; none leaves the stored ones as they are

    @property
    def seen(self) -> int:
        """How many items were offered."""
        return len(self.items) + self.left_out


Discover = Callable[[Fetcher, Parser, Look], Awaitable[Offer]]
"""A kind of source: one look at it. Raises StageErrors where there is no answer to judge."""
