"""``almanac source import`` and ``export``: subscriptions, as other feed readers have them; and headers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from almanac.cli.failures import Failed, WrongUsage
from almanac.cli.screen import cut, one_line, screen
from almanac.cli.session import source_named
from almanac.client import Json, connect
from models.headers import check_headers

LARGEST = 1_000_000  # bytes, as the API takes them
HEADER = 'a name and a value, like "Name: value"'

HeaderLines = Annotated[list[str] | None, Option("--header", metavar='"NAME: VALUE"', help=(
    "say this to the source's own server, at polls and reads; it is kept and never shown again"))]


def import_file(
    path: Annotated[Path, Argument(metavar="FILE.opml", help="the OPML file that a feed reader exported")],
) -> None:
    """Add the feeds of an OPML file; its folders become tags. Each is looked at by and by."""
    done = connect().import_sources(content_of(path))
    screen.show(done, told(done))
    if done["refused"] and not done["added"] and not done["known"]:
        raise Failed("nothing of the file could be added")


def content_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > LARGEST:
        raise WrongUsage(f"{path} is larger than {LARGEST:,} bytes: part it in two")
    return content


def told(done: Json) -> str:
    counts = ", ".join(f"{len(done[what])} {what}" for what in ("added", "known", "refused"))
    lines = [f"{what}  {one_line(line)}" for what in ("known", "refused") for line in done[what]]
    return "\n".join([counts, *lines])


def export() -> None:
    """Print the sources as OPML, which import takes again; headers are left out."""
    opml = connect().export_sources()
    screen.show({"opml": opml}, opml.rstrip("\n"))


def set_headers(
    id_: Annotated[str, Argument(metavar="ID", help="a source's id, or the first characters of it")],
    header: HeaderLines = None,
) -> None:
    """Set the headers that a source is asked with, in place of those before; without --header, none."""
    headers = headers_of(header) or {}
    client, identity = source_named(id_)
    source = client.set_source_headers(identity, headers)
    names = ", ".join(source["headers"]) or "no headers"
    screen.show(source, f"{cut(source['name'], 80)} is asked with {names}")


def headers_of(lines: Sequence[str] | None) -> dict[str, str] | None:
    """``--header "Name: value"`` as headers. Raises WrongUsage, which repeats nothing: it may be a secret."""
    if lines is None:
        return None
    given: dict[str, str] = {}
    for line in lines:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or name in given:
            raise WrongUsage(f"--header takes {HEADER}" + (", each name once" if colon else ""))
        given[name] = value
    try:
        return check_headers(given)
    except ValueError as error:
        raise WrongUsage(str(error)) from error
