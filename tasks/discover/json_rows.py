"""The jailed parser of JSON APIs: one page of an answer, of which only the mapped fields are read."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from re import compile as pattern
from typing import Any

from models.addresses import resolve_link
from tasks.discover.entries import EPOCH, Entry, believable, items_of
from tasks.discover.json_map import PARAMETER, Path, follow, path_of
from tasks.discover.plain import full_text, html_text, one_line, title_text
from tasks.errors import Permanent

MOST_ITEMS = 5_000
LARGEST = 20_000_000  # bytes
DEEPEST = 100  # objects and lists inside each other
MOST_KEYS = 5  # that a reason names
UNIX_TIME = pattern(r"-?[0-9]{9,19}(?:\.[0-9]+)?")
YEAR_5138 = 1e11  # in seconds; what is larger counts milliseconds, or less


def parse(
    body: bytes, url: str, media_type: str, charset: str | None, mapping: Mapping[str, str]
) -> dict[str, Any]:
    """What one page at ``url`` offers, read as ``mapping`` says (see ``json_map``).

    Gives ``{"items": […], "rejected": {why: number}, "next": str|None}``: at most 5,000 items, as of a feed,
    each with an address; ``next`` is what leads to the next page, none where the list is null. Raises
    Permanent where the bytes are no JSON, or hold no list where the items should be.
    """
    paths = {name: path_of(path) for name, path in mapping.items() if name != PARAMETER}
    answer = read(body, charset)
    listed = listed_items(answer, mapping.get("items"), paths.get("items", ()))
    entries, rejected = [], Counter[str]()
    for row in (listed or [])[:MOST_ITEMS]:
        entry = entry_of(row, paths, url)
        if entry.link:
            entries.append(entry)
        else:
            rejected[f"without a web address at “{mapping['url']}”"] += 1
    ends = listed is None or "next" not in paths
    cursor = None if ends else one_line(text(at(paths["next"], answer)))
    return {"items": items_of(entries), "rejected": rejected, "next": cursor or None}


def read(body: bytes, charset: str | None) -> Any:
    """The JSON, not nested too deeply; what is not a number (NaN) is missing. Raises Permanent."""
    if len(body) > LARGEST:
        raise Permanent(f"the answer is larger than {LARGEST // 1_000_000} MB")
    if not body.strip():
        raise Permanent("the answer is empty")
    try:
        answer = json.loads(decoded(body, charset), parse_constant=lambda name: None)
    except RecursionError as error:
        raise Permanent("its JSON is nested too deeply") from error
    except ValueError as error:
        raise Permanent("the answer is no JSON") from error
    check_depth(answer)
    return answer


def decoded(body: bytes, charset: str | None) -> str:
    """As JSON's encodings have it (RFC 8259 §8.1), else as declared."""
    try:
        return body.decode(json.detect_encoding(body))
    except UnicodeDecodeError:
        try:
            return body.decode(charset or "cp1252", errors="replace")
        except LookupError:
            return body.decode("cp1252", errors="replace")


def check_depth(answer: Any) -> None:
    level = [answer]
    for _ in range(DEEPEST + 1):
        level = [
            child for parent in level if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise Permanent("its JSON is nested too deeply")


def listed_items(answer: Any, name: str | None, path: Path) -> list[Any] | None:
    """The items; None for a null list, which is how some end. Raises Permanent where there is no list."""
    where = f"at “{name}”" if name else "as the whole answer"
    try:
        listed = follow(path, answer)
    except LookupError as error:
        raise Permanent(f"there is nothing {where}: {keys(answer)}") from error
    if listed is None and path:
        return None
    if not isinstance(listed, list):
        raise Permanent(f"there is no list {where}: {keys(listed)}")
    return listed


def keys(value: Any) -> str:
    """What is there instead, by its names alone."""
    if not isinstance(value, dict):
        return "it is no object" if not isinstance(value, list) else "it is a list"
    names = ", ".join(one_line(name)[:40] for name in list(value)[:MOST_KEYS])
    return f"it holds {names or 'nothing'}"


def entry_of(row: Any, paths: Mapping[str, Path], url: str) -> Entry:
    found = {name: at(path, row) for name, path in paths.items()}
    told = {name: text(value) for name, value in found.items()}
    summary, content = html_text(told.get("summary", "")), html_text(told.get("content", ""))
    date = told.get("date", "")
    return Entry(
        guid=one_line(told.get("id", "")),
        guid_is_link=False,
        link=resolve_link(url, found["url"]) if isinstance(found["url"], str) else None,
        title=title_text(told.get("title", "")),
        author=title_text(", ".join(names(found.get("author")))),
        summary=summary or content,
        text=f"{summary} {content}",
        full_text=full_text(told.get("content", "")),
        published_at=moment(date),
        updated=one_line(date),
    )


def at(path: Path, value: Any) -> Any:
    """What the path leads to, None where that is nothing."""
    try:
        return follow(path, value)
    except LookupError:
        return None


def text(value: Any) -> str:
    """A text as it stands or a number; "" for anything else."""
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def names(value: Any) -> list[str]:
    return [name for name in map(text, value if isinstance(value, list) else [value]) if name]


def moment(said: str) -> datetime | None:
    """A date in ISO 8601 or of a mail, or Unix time in seconds or smaller; without a zone it is UTC."""
    try:
        return believable(unix_time(float(said)) if UNIX_TIME.fullmatch(said) else written(said))
    except (ValueError, OverflowError):
        return None


def unix_time(number: float) -> datetime:
    while abs(number) >= YEAR_5138:
        number /= 1000
    return EPOCH + timedelta(seconds=number)


def written(said: str) -> datetime:
    try:
        date = datetime.fromisoformat(said.removesuffix(" UTC"))
    except ValueError:
        date = parsedate_to_datetime(said)
    return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
