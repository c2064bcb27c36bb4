"""``almanac document`` and ``almanac read``: single addresses and what they said."""

from typing import Annotated

import typer

from almanac.cli.failures import Failed, WrongUsage
from almanac.cli.screen import cut, facts, moment, plain, screen, short, table, waits_for, wrapped
from almanac.cli.session import document_named, source_named
from almanac.cli.waiting import of_document, until_ended, until_settled
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
    screen.show((outcome or {}) | document, facts(told))


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
    version = document["version"] or {"text": "", "site_name": None, "modified_at": None}
    described = facts([
        ("id", document["id"]), ("title", document["title"]), ("address", document["url"]),
        ("source", document["source"]), ("site", version["site_name"]),
        ("author", document["author"]), ("state", document["state"]), ("reason", reason_of(document)),
        ("interest", document["interest"] and f"{document['interest']:.2f}"),
        ("published", moment(document["published_at"])), ("modified", moment(version["modified_at"])),
        ("read", moment(document["read_at"])),
        ("fails", failing(document)),
        ("next attempt", moment(document["due_at"])), ("failed attempts", document["attempts"] or None),
        ("duplicate of", document["duplicate_of"]), *understood(version.get("analysis")),
    ])
    screen.show(document, "\n\n".join(filter(None, [described, wrapped(version["text"], "")])))


def understood(analysis: Json | None) -> list[tuple[str, object]]:
    """What the analysis says, where there is one."""
    if analysis is None:
        return []
    kind = f"{analysis['content_type'].replace('_', ' ')} ({analysis['confidence']:.0%} sure)"
    return [
        ("kind", " because of ".join(filter(None, [kind, ", ".join(analysis["reasons"])]))),
        ("category", analysis["category"]), ("topics", ", ".join(analysis["topics"])),
        ("keywords", ", ".join(analysis["keywords"])), ("names", ", ".join(analysis["entities"])),
        ("language", analysis["language"]), ("summary", analysis["summary"]),
        ("analysed", f"{moment(analysis['analysed_at'])} by {analysis['analyser']}"),
        ("note", analysis["note"]),
    ]


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
def diff(
    id_: Id,
    old: Annotated[int | None, typer.Argument(metavar="FROM", help="a version's number", min=1)] = None,
    new: Annotated[int | None, typer.Argument(metavar="TO", help="a later version's number", min=1)] = None,
) -> None:
    """Show what changed between two versions, block by block: the last two, unless others are named."""
    client, identity = document_named(id_)
    found = client.diff(identity, old, new)
    blocks = (f"{SIGNS[it['change']]} {marked(it)}" for it in found["changes"] if it["change"] != "same")
    heads = (f"{sign} version {it['number']}, read {moment(it['read_at'])}"
             for sign, it in (("-", found["from"]), ("+", found["to"])))
    screen.show(found, "\n".join([*heads, "", *map(plain, blocks)]))


SIGNS = {"moved": ">", "changed": "~", "added": "+", "removed": "-"}
MARKS = {"=": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}  # as in wdiff


def marked(change: Json) -> str:
    """A block's text; of a changed one, what went and what came is marked."""
    words = change.get("words", [["=", change["text"]]])
    return "".join(MARKS[sign].format(text) for sign, text in words)


@app.command()
def retry(
    id_: Id, wait: Annotated[bool, typer.Option(help="wait until it is read and indexed")] = True,
    analyse: Annotated[bool, typer.Option("--analyse", help="only analyse again what it says")] = False,
) -> None:
    """Read a document again, whatever became of it before."""
    client, identity = document_named(id_)
    if analyse:
        run = client.analyse_document(identity)["flow_run_id"]
        if wait:
            until_ended(client, run, "analysing")
        show(identity)
        return
    finish(client, client.retry_document(identity), wait)


@app.command()
def remove(id_: Id) -> None:
    """Remove a document from the library; its source does not bring it back."""
    client, identity = document_named(id_)
    screen.show({"id": identity} | client.remove_document(identity), f"Removed {short(identity)}")
