"""The map of a JSON API: for each field of an item, the path to it. Nothing in it is evaluated."""

import re
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]

NEEDED = "url"
PARAMETER = "cursor"  # the one name in a map that is no path: where a cursor is put
PATHS = ("items", NEEDED, "title", "summary", "content", "date", "author", "id", "next")
FIELDS = (*PATHS, PARAMETER)
LONGEST = 200
STEP = re.compile(r'(?:^|(?<=.)\.)(?:"((?:[^"\\]|\\["\\])+)"|([^."\[\]]+))|\[([0-9]{1,6})\]')
ESCAPED = re.compile(r'\\(["\\])')
INDEX = re.compile("[0-9]{1,6}")
QUERY_NAME = re.compile(r"[!-~]+")


def check_map(given: Mapping[str, str]) -> dict[str, str]:
    """The map, each value trimmed. Raises ValueError, one clear sentence, for one that cannot be followed."""
    if not given:
        raise ValueError("a json source needs a map: say at least where an item's address is, like url=link")
    if unknown := next((name for name in given if name not in FIELDS), None):
        raise ValueError(f"“{unknown}” is no field of a map: choose {', '.join(FIELDS[:-1])} or {FIELDS[-1]}")
    checked = {name: value.strip() for name, value in given.items()}
    if NEEDED not in checked:
        raise ValueError("the map does not say where an item's address is: add url, like url=link")
    for name, value in checked.items():
        if len(value) > LONGEST:
            raise ValueError(f"the path of {name} has at most {LONGEST} characters")
        if name == PARAMETER:
            check_parameter(value, checked)
        else:
            path_of(value)
    return checked


def check_parameter(name: str, checked: Mapping[str, str]) -> None:
    if "next" not in checked:
        raise ValueError("the map names a query parameter for the cursor, but not where one is: add next")
    if not QUERY_NAME.fullmatch(name) or set("&=#?") & set(name):
        raise ValueError(f"“{name}” is no name of a query parameter: write it like page or after")


def path_of(text: str) -> Path:
    """The keys that lead to a value: ``data.posts``, ``meta."dc.title"``, ``authors[0].name``.

    A key with a dot, a quote or a bracket stands in double quotes. Raises ValueError.
    """
    path, end = [], 0
    while end < len(text):
        step = STEP.match(text, end)
        if step is None:
            raise ValueError(
                f"the path “{text}” is broken at “{text[end:end + 20]}”: write it like data.posts, "
                'meta."dc.title" or authors[0].name')
        quoted, bare, index = step.groups()
        path.append(ESCAPED.sub(r"\1", quoted) if quoted else bare or index)
        end = step.end()
    if not path:
        raise ValueError("a path of the map is empty: name the key, like data.posts")
    return tuple(path)


def follow(path: Path, value: Any) -> Any:
    """What the path leads to: keys of objects, positions in lists. Raises LookupError where it ends early."""
    for key in path:
        match value:
            case dict():
                value = value[key]
            case list() if INDEX.fullmatch(key):
                value = value[int(key)]
            case _:
                raise LookupError(key)
    return value
