"""``almanac document`` and ``almanac read``: single addresses and what they said."""

from typing import Annotated

import typer

from almanac.cli.failures import Failed, WrongUsage
from almanac.cli.screen import cut, facts, moment, screen, short, table, waits_for, wrapped
from almanac.cli.session import document_named, source_named
from almanac.cli.waiting import of_document, until_settled
from almanac.client import Client, Json, connect
from models.addresses import check_address
from models.states import DocumentState

app = typer.Typer(help="What was read: one document an address, with its versions.")
Id = Annotated[str, typer.Argument(metavar="ID", help="a document's id, or the first characters of it")]

ENDED_WELL = {DocumentState.INDEXED, DocumentState.READ, DocumentState.DUPLICATE}


def read(
    url: Annotated[str, typer.Argument(metavar="URL", help="the address of a page")],
    wait: Annotated[bool, typer.Option(help="wait until it is read and indexed")] = True,
) -> None:
    """Read one page into the library."""
    try:
        check_address(url)
    except ValueError as error:
        raise WrongUsage(str(error)) from error
    client = connect()
    document = client.read(url)
    finish(client, document, wait)


def finish(client: Client, document: Json, wait: bool, outcome: Json | None = None) -> None:
    """Show what became of a document; Failed, with its reason, when it cannot answer.

    ``outcome`` is what handing it in came to.
    """
    if wait:
        identity, title = document["id"], f"reading {document['url']}"
        document = until_settled(client, lambda: client.document(identity), of_document, title)
        if document["state"] not in ENDED_WELL:
            raise Failed(f"{document['state'].replace('_', ' ')}: {document['reason']}", document)
    came_to = [("kept", outcome["outcome"])] if outcome else []
    told = [*came_to, *standing(document), ("title", document["title"]), ("id", document["id"])]
    screen.show(document | (outcome or {}), facts(told))


def standing(document: Json) -> list[tuple[str, object]]:
    """How a document stands: where it answers, that says more than how the latest look at it ended."""
    version = document["version"]
    if document["state"] == DocumentState.INDEXED and version:
        why = ("version", f"{version['number']}, read {moment(version['read_at'])}")
    else:
        why = ("reason", reason_of(document))
    return [("state", document["state"]), why]


def reason_of(document: Json) -> str:
    """Why a document is in its state, and what it waits for where a limit holds it back."""
    held = document["held"]
    return " ".join([f"{document['reason']};", waits_for(held)] if held else [document["reason"] or ""])


def standing_of(document: Json) -> str:
    """The reason; before it, of an address that fails, that what it said before answers all the same."""
    return ("still answers; " if answers_still(document) else "") + reason_of(document)


def answers_still(document: Json) -> bool:
    return bool(document["failing_since"] and document["version_id"])


@app.command("list")
def list_documents(
    state: Annotated[DocumentState | None, typer.Option(help="only those in this state")] = None,
    source: Annotated[str | None, typer.Option(metavar="ID", help="only those of this source")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="N", help="how many, newest first")] = 100,
) -> None:
    """List documents with their states and reasons."""
    client, of_source = source_named(source) if source is not None else (connect(), None)
    page = client.documents(state=state, source=of_source, limit=limit)
    rows = [
        (short(document["id"]), document["state"], cut(document["title"] or document["url"], 50),
         moment(document["read_at"]), cut(standing_of(document), 70))
        for document in page["documents"]
    ]
    text = table(("ID", "STATE", "TITLE", "READ", "REASON"), rows, "No documents.")
    screen.show(page, text + (f"\n… and more: --limit {limit} was reached" if page["next"] else ""))


@app.command()
def show(id_: Id) -> None:
    """Show one document: its state, why, and what it says."""
    client, identity = document_named(id_)
    document = client.document(identity)
    version = document["version"] or {"text": ""}
    described = facts([
        ("id", document["id"]), ("title", document["title"]), ("address", document["url"]),
        ("source", document["source"]),
        ("author", document["author"]), ("state", document["state"]), ("reason", reason_of(document)),
        ("published", moment(document["published_at"])), ("read", moment(document["read_at"])),
        ("fails", failing(document)),
        ("next attempt", moment(document["due_at"])), ("failed attempts", document["attempts"] or None),
        ("duplicate of", document["duplicate_of"]),
    ])
    screen.show(document, "\n\n".join(filter(None, [described, wrapped(version["text"], "")])))


def failing(document: Json) -> str:
    """Since when its address fails, and that what it said before answers all the same."""
    if not (since := moment(document["failing_since"])):
        return ""
    return f"since {since}" + (
        f"; what it said on {moment(document['read_at'])} still answers" if answers_still(document) else "")


@app.command()
def versions(id_: Id) -> None:
    """List what a document said at different times."""
    client, identity = document_named(id_)
    found = client.versions(identity)
    rows = [
        (version["number"], moment(version["read_at"]), moment(version["indexed_at"]),
         version["content_hash"][:12], cut(version["title"], 60))
        for version in found
    ]
    headings = ("VERSION", "READ", "INDEXED", "HASH", "TITLE")
    screen.show({"versions": found}, table(headings, rows, "Nothing has been read there yet."))


@app.command()
def retry(
    id_: Id, wait: Annotated[bool, typer.Option(help="wait until it is read and indexed")] = True
) -> None:
    """Read a document again, whatever became of it before."""
    client, identity = document_named(id_)
    finish(client, client.retry_document(identity), wait)


@app.command()
def remove(id_: Id) -> None:
    """Remove a document from the library; its source does not bring it back."""
    client, identity = document_named(id_)
    screen.show({"id": identity} | client.remove_document(identity), f"Removed {short(identity)}")
