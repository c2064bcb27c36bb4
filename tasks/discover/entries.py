"""The items of a feed, whatever its format, and what identifies each inside its source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from models.addresses import check_address, identity_key
from models.blocks import digest

PLACEHOLDERS = {"", "#", "-", "0", "n/a", "na", "nil", "none", "null", "tba", "tbd", "undefined", "unknown"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OLDEST = datetime(1500, 1, 1, tzinfo=UTC)
LONGEST_GUID = 500
LONGEST_TITLE, LONGEST_AUTHOR, LONGEST_SUMMARY = 500, 200, 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as its feed tells it; every text is plain and on one line, "" where there is none."""

    guid: str
    guid_is_link: bool  # unless the feed says that it is none
    link: str | None  # absolute http(s)
    title: str
    author: str
    summary: str
    text: str  # everything that it says of itself
    full_text: str | None  # that of the page, as HTML of structure alone
    published_at: datetime | None
    updated: str  # as the feed writes it

    @property
    def address(self) -> str | None:
        """Where the item is read: its link, else a guid that is a whole address, never one made up."""
        return self.link or (whole_address(self.guid) if self.guid_is_link else None)


def whole_address(text: str) -> str | None:
    """``text`` as an absolute http(s) address, if it is one."""
    try:
        return check_address(text)
    except ValueError:
        return None


def items_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The entries as the parser hands them over.

    A guid identifies only where no other item of the feed has it; else the address does, else the content.
    """
    told = {(entry.guid, entry.address) for entry in entries}
    holders = Counter(guid for guid, _ in told)
    return [item_of(entry, guid_is_own=holders[entry.guid] == 1) for entry in entries]


def item_of(entry: Entry, guid_is_own: bool) -> dict[str, Any]:
    said = (entry.title, entry.author, entry.text, entry.updated)
    address = entry.address
    if guid_is_own and entry.guid.lower() not in PLACEHOLDERS:
        key = f"guid:{entry.guid if len(entry.guid) <= LONGEST_GUID else digest(entry.guid)}"
    else:
        key = f"link:{identity_key(address)}" if address else f"text:{digest(entry.title + entry.text)}"
    return {
        "item_key": key,
        "item_hash": digest("\n".join(said)),
        "url": address,
        "title": entry.title[:LONGEST_TITLE] or None,
        "author": entry.author[:LONGEST_AUTHOR] or None,
        "summary": entry.summary[:LONGEST_SUMMARY] or None,
        "published_at": entry.published_at.isoformat() if entry.published_at else None,
        "full_text": entry.full_text,
    }


def believable(moment: datetime) -> datetime | None:
    """None for what stands for "no date": the epoch in any time zone, and the first years of the calendar."""
    if abs(moment - EPOCH) <= timedelta(days=1) or moment < OLDEST:
        return None
    return moment
