"""A source shown before it is added, and asked about where somebody sits at a terminal."""

import sys
from typing import Any

import typer

from almanac.cli.failures import WrongUsage
from almanac.cli.screen import facts, plain, screen, shortened, table
from almanac.client import Client, Json

WIDTH = 100


def map_of(pairs: list[str] | None) -> dict[str, str] | None:
    """``--map url=link`` as a map. Raises WrongUsage."""
    if pairs is None:
        return None
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals:
            raise WrongUsage(f"--map takes a field and its path, like url=link, not “{pair}”")
        if name in given:
            raise WrongUsage(f"--map says twice where {name} is")
        given[name] = path
    return given


def someone_asked() -> bool:
    """Whether there is somebody who can look and answer."""
    return not screen.json and sys.stdin.isatty() and sys.stderr.isatty()


def agreed(client: Client, url: str, **choices: Any) -> bool:
    """Show what would be added, and ask."""
    return agreed_to(client.preview_source(url, **choices), "Add it?")


def agreed_to(preview: Json, question: str) -> bool:
    """Show what was found, and ask."""
    print(plain(described(preview)), file=sys.stderr)
    return typer.confirm(question, default=True, err=True)


def chosen(client: Client, url: str, **choices: Any) -> Json:
    """Show what there is to add, and ask which where there is more than one. Raises WrongUsage."""
    preview = client.preview_source(url, **choices)
    offers: list[Json] = [preview, *preview["others"]]
    rows = [(place, each["kind"], each["offered"], shortened(each["name"], 50), each["url"])
            for place, each in enumerate(offers, 1)]
    print(table(("", "KIND", "ITEMS", "NAME", "ADDRESS"), rows, ""), file=sys.stderr)
    if len(offers) == 1:
        return preview
    number: int = typer.prompt("Add which?", default=1, type=int, err=True)
    if not 1 <= number <= len(offers):
        raise WrongUsage(f"choose 1 to {len(offers)}")
    picked: Json = offers[number - 1]
    return picked


def also_found(source: Json) -> str:
    """What else could have been added; nothing where there was nothing."""
    others = [f"{each['url']} ({shortened(each['name'], 50)})" for each in source["others"]]
    return f"also found, and not added: {', '.join(others)}" if others else ""


def described(preview: Json) -> str:
    """What was found, and the first items field by field: a field that is not there shows as missing."""
    head = facts([
        ("kind", preview["kind"]), ("address", preview["url"]), ("name", preview["name"]),
        ("items", preview["offered"]), ("noted", preview["reason"]),
    ])
    return "\n\n".join([head, *map(described_item, preview["items"])])


def described_item(item: Json) -> str:
    told = ((name.replace("_", " "), value or "(none)") for name, value in item.items())
    return facts((name, shortened(value, WIDTH)) for name, value in told)
