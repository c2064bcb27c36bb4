"""``almanac quality``: what the gates refused, and what its owner decides."""

from typing import Annotated

import typer

from almanac.cli.document import Id, finish
from almanac.cli.screen import cut, screen, short, table
from almanac.cli.session import document_named
from almanac.client import Json, connect
from models.states import Severity, Verdict

app = typer.Typer(help="What the quality gates refused, and why.")


@app.command()
def report(
    verdict: Annotated[Verdict | None, typer.Option(help="only what has this verdict")] = None,
    severity: Annotated[Severity | None, typer.Option(help="only what is as bad as this")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="N", help="how many, newest first")] = 100,
) -> None:
    """List what the gates found: each reason, the value that was observed, and the passage."""
    found = connect().quality_report(verdict=verdict, severity=severity, limit=limit)
    rows = [
        (short(it["document_id"]), it["verdict"] or it["severity"], cut(it["title"] or it["url"], 40),
         cut(it["reason"], 70), cut(it["passage"], 60))
        for it in found["results"]
    ]
    text = table(("ID", "VERDICT", "TITLE", "REASON", "PASSAGE"), rows, "The gates found nothing.")
    more = f"\n… and more: --limit {limit} was reached" if found["next"] else ""
    screen.show(found, text + more + flagged(found["sources"]))


def flagged(sources: list[Json]) -> str:
    rows = [(short(it["source_id"]), cut(it["source"], 40), it["reason"]) for it in sources]
    return "\n\n" + table(("SOURCE", "NAME", "REASON"), rows, "") if rows else ""


@app.command()
def release(
    id_: Id, wait: Annotated[bool, typer.Option(help="wait until it is indexed")] = True
) -> None:
    """Let what was refused of a document be indexed as it is."""
    client, identity = document_named(id_)
    finish(client, client.release(identity), wait)


@app.command()
def reject(id_: Id) -> None:
    """Confirm that what was refused of a document is not to be indexed."""
    client, identity = document_named(id_)
    screen.show(client.reject(identity), f"Rejected {short(identity)}")
