"""``almanac keep``: hand in a text, an address or a file."""

import mimetypes
import sys
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any

import typer

from almanac.cli.document import finish
from almanac.cli.failures import Failed, WrongUsage
from almanac.cli.screen import cut, screen, short, table
from almanac.client import ApiProblem, connect

mimetypes.add_type("text/markdown", ".md")
mimetypes.add_type("application/epub+zip", ".epub")
UNKNOWN = "application/octet-stream"


def keep(
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="a text; - reads it from stdin")] = None,
    uri: Annotated[str | None, typer.Option(
        metavar="URL", help="where the text is from; without a text, what is there is kept")] = None,
    file: Annotated[list[Path] | None, typer.Option(
        metavar="PATH", help="a file of this machine; may be given several times")] = None,
    title: Annotated[str | None, typer.Option(metavar="T")] = None,
    about: Annotated[str | None, typer.Option(metavar="WORDS", help="the file in your own words")] = None,
    scope: Annotated[list[str] | None, typer.Option(metavar="NAME", help="who may read it")] = None,
    observed_at: Annotated[str | None, typer.Option(metavar="T", help="when it was seen to be so")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="T", help="until when it answers")] = None,
    preserve_source: Annotated[bool, typer.Option(
        "--preserve-source", help="keep the original of the URL too")] = False,
    wait: Annotated[bool, typer.Option(help="wait until it is read and indexed")] = True,
) -> None:
    """Hand in a text, an address or a file; what is known already is kept once."""
    given = {
        "text": read_text() if text == "-" else text, "uri": uri, "title": title, "about": about,
        "scopes": scope or None, "observed_at": moment(observed_at), "expires_at": moment(expires_at),
        "preserve_source": preserve_source or None,
    }
    if not (text or uri or file):
        raise WrongUsage("there is nothing to keep: give --text, --uri or --file")
    if file and len(file) > 1:
        if title or about:
            raise WrongUsage("--title and --about are said of one file: keep it by itself")
        keep_several(file, given)
        return
    declaration = {"upload": declared(file[0])} if file else {}
    client = connect()
    done = client.keep(**given, **declaration)
    if file and "upload" in done:
        done = client.upload(done["upload"]["url"], file[0])
    finish(client, client.document(done["document_id"]), wait, done)


def keep_several(files: list[Path], given: dict[str, Any]) -> None:
    """One after the other; what they say answers by and by. One that is refused ends it, and is named."""
    declarations = [declared(file) for file in files]
    client, kept = connect(), []
    for file, declaration in zip(files, declarations, strict=True):
        try:
            ticket = client.keep(**given, upload=declaration)["upload"]
            kept.append(client.upload(ticket["url"], file) | {"file": str(file)})
        except ApiProblem as error:
            told = f"{file}: {error.detail} {len(kept)} of {len(files)} are kept"
            raise Failed(told, {"kept": kept}) from error
    rows = [(short(each["document_id"]), each["outcome"], cut(each["file"], 70)) for each in kept]
    screen.show({"kept": kept}, table(("ID", "KEPT", "FILE"), rows, ""))


def read_text() -> str:
    """All of stdin. Raises WrongUsage for what is no text."""
    try:
        said = sys.stdin.read()
        said.encode()  # what was no UTF-8 may have come through as halves of characters
    except UnicodeError as error:
        raise WrongUsage("stdin is no UTF-8 text: keep a file with --file") from error
    return said


def moment(typed: str | None) -> str | None:
    """A time as the API takes it; without a zone it is UTC. Raises WrongUsage."""
    if typed is None:
        return None
    try:
        when = datetime.fromisoformat(typed)
    except ValueError as error:
        raise WrongUsage(
            f"“{typed}” is no time: write it like 2026-03-01 or 2026-03-01T12:00+01:00") from error
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).isoformat()


def declared(file: Path) -> dict[str, Any]:
    """What is said of a file before it is sent. Raises WrongUsage where there is no file."""
    if not file.is_file():
        raise WrongUsage(f"{file} is no file: name one that is there, and no folder or device")
    with file.open("rb") as opened:
        summed = file_digest(opened, "sha256").hexdigest()
    return {"name": file.name, "media_type": mimetypes.guess_type(file.name)[0] or UNKNOWN,
            "size": file.stat().st_size, "sha256": summed}
