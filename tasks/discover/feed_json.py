"""JSON Feed 1.0 and 1.1 (jsonfeed.org)."""

import json
from datetime import UTC, datetime
from typing import Any

from models.addresses import resolve_link
from tasks.discover.entries import Entry, believable
from tasks.discover.plain import full_text, html_of, html_text, one_line
from tasks.errors import Permanent

BEGINNING = 1000  # bytes


def read_json(body: bytes, url: str, limit: int) -> tuple[str, list[Entry]]:
    """The feed's title and its first ``limit`` entries. Raises Permanent where it is no JSON Feed."""
    try:
        feed = json.loads(body)
    except RecursionError as error:
        raise Permanent("not a feed: its JSON is nested too deeply") from error
    except ValueError as error:
        begun = b"jsonfeed.org/version/" in body[:BEGINNING]
        raise Permanent("the feed breaks off: its JSON is not whole" if begun
                        else "not a feed: neither XML nor valid JSON") from error
    listed = feed.get("items") if isinstance(feed, dict) else None
    if not (isinstance(listed, list) and is_version(feed.get("version"))):
        raise Permanent("not a feed: JSON, but no JSON Feed")
    items = [item for item in listed[:limit] if isinstance(item, dict)]
    return text(feed, "title"), [entry_of(item, url, authors(feed)) for item in items]


def is_version(version: Any) -> bool:
    return isinstance(version, str) and ("jsonfeed.org/version/" in version or version in {"1", "1.0", "1.1"})


def entry_of(item: dict[str, Any], url: str, inherited: str) -> Entry:
    summary = text(item, "summary")
    body = text(item, "content_text") or html_text(string(item, "content_html"))
    return Entry(
        guid=text(item, "id"),
        guid_is_link=True,
        link=resolve_link(url, string(item, "url") or string(item, "external_url")),
        title=text(item, "title"),
        author=authors(item) or inherited,
        summary=summary or body,
        text=f"{summary} {body}",
        full_text=full_text(string(item, "content_html") or html_of(string(item, "content_text"))),
        published_at=moment(string(item, "date_published") or string(item, "date_modified")),
        updated=text(item, "date_modified"),
    )


def string(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return str(value) if isinstance(value, str | int | float) else ""


def text(told: dict[str, Any], name: str) -> str:
    return one_line(string(told, name))


def authors(told: dict[str, Any]) -> str:
    """1.1 has a list of authors, 1.0 had one."""
    listed = told.get("authors") or [told.get("author")]
    if not isinstance(listed, list):
        return ""
    names = [text(author, "name") for author in listed if isinstance(author, dict)]
    return ", ".join(dict.fromkeys(filter(None, names)))


def moment(said: str) -> datetime | None:
    """An RFC 3339 date; without a zone it is UTC."""
    try:
        date = datetime.fromisoformat(said)
        return believable(date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
