"""The jailed parser that shows what a JSON API answers before there is a map: its lists, and their fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from re import compile as pattern
from typing import Any

from tasks.discover.json_map import Path
from tasks.discover.json_rows import moment, read, text
from tasks.discover.plain import one_line

MOST_LISTS, MOST_FIELDS, ROWS = 10, 60, 3
DEEP = 4  # keys inside each other that are looked into
LONGEST = 200  # characters of a value that are shown
LONGEST_KEY = 40
ADDRESS = pattern(r"https?://\S+")
PLAIN = pattern(r'[^."\[\]\s]+')
MEANT = {  # by field of the map: names that often hold it, the likeliest first
    "title": ("title", "name", "headline", "subject"),
    "summary": ("summary", "description", "excerpt", "abstract", "teaser"),
    "content": ("content", "content_html", "body", "html", "text"),
    "date": ("date_published", "published_at", "published", "pubdate", "date", "created_at", "created",
             "created_utc", "time"),
    "author": ("author", "author.name", "authors", "byline", "creator", "by", "by.name"),
    "id": ("id", "guid", "uuid", "objectid"),
}
ADDRESSES = ("url", "link", "permalink", "html_url", "web_url", "href", "canonical_url", "links.html", "uri")


def parse(body: bytes, url: str, media_type: str, charset: str | None) -> dict[str, Any]:
    """What the answer of an API at ``url`` holds.

    Gives ``{"lists": [{"items", "count", "fields": [{"path", "values"}], "map"}]}``, the likeliest list
    first: ``items`` is the path to it ("" for the whole answer), ``values`` are those of its first three
    items, and ``map`` is a guess. Raises Permanent where the bytes are no JSON.
    """
    lists = [described(path, rows) for path, rows in lists_in(read(body, charset))]
    lists.sort(key=lambda each: ("url" not in each["map"], -len(each["map"]), -each["count"]))
    return {"lists": lists[:MOST_LISTS]}


def lists_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """The lists of objects, outermost first; what is inside their items is no list of its own."""
    if isinstance(value, list):
        if rows := [row for row in value if isinstance(row, dict)]:
            yield path, rows
    elif isinstance(value, dict) and len(path) < DEEP:
        for key in filter(sayable, value):
            yield from lists_in(value[key], (*path, key))


def described(path: Path, rows: list[Any]) -> dict[str, Any]:
    values: dict[str, list[str]] = {}
    for number, row in enumerate(rows[:ROWS]):
        for field, value in leaves(row):
            name = written(field)
            if name in values or len(values) < MOST_FIELDS:
                said = values.setdefault(name, [""] * min(ROWS, len(rows)))
                said[number] = one_line(value)[:LONGEST]
    items = written(path)
    return {"items": items, "count": len(rows),
            "fields": [{"path": name, "values": said} for name, said in values.items()],
            "map": ({"items": items} if items else {}) | guess(values)}


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Texts and numbers with the path to each; of a list its first element."""
    match value:
        case dict() if len(path) < DEEP:
            for key in filter(sayable, value):
                yield from leaves(value[key], (*path, key))
        case [first, *_] if len(path) < DEEP:
            yield from leaves(first, (*path, "0"))
        case _ if path and (said := text(value)):
            yield path, said


def sayable(key: str) -> bool:
    """Whether a map can name it."""
    return bool(key) and key == one_line(key)[:LONGEST_KEY]


def written(path: Path) -> str:
    """The path as ``json_map.path_of`` reads it."""
    return ".".join(key if PLAIN.fullmatch(key) else '"' + key.replace("\\", r"\\").replace('"', r"\"") + '"'
                    for key in path)


def guess(values: Mapping[str, list[str]]) -> dict[str, str]:
    """The map that is probably meant; without ``url`` where nothing looks like an address."""
    addresses = [name for name, said in values.items() if every(is_address, said)]
    url = likeliest(addresses, ADDRESSES) or next(iter(addresses), None) or likeliest(values, ADDRESSES)
    found = {"url": url} if url else {}
    for field, names in MEANT.items():
        fits = [name for name, said in values.items()
                if name != url and (field != "date" or every(is_date, said))]
        if name := likeliest(fits, names):
            found[field] = name
    return found


def likeliest(there: Iterable[str], names: tuple[str, ...]) -> str | None:
    known = {name.lower().removesuffix(".0"): name for name in there}
    return next((known[name] for name in names if name in known), None)


def every(is_one: Callable[[str], bool], values: list[str]) -> bool:
    """Whether all that there are, are."""
    return any(values) and all(map(is_one, filter(None, values)))


def is_address(said: str) -> bool:
    return bool(ADDRESS.fullmatch(said))


def is_date(said: str) -> bool:
    return moment(said) is not None
