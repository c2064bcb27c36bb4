"""``almanac token``: who may speak to the API."""

from typing import Annotated

import typer

from almanac.cli.failures import WrongUsage
from almanac.cli.screen import cut, moment, screen, short, table
from almanac.cli.session import token_named
from almanac.client import connect

app = typer.Typer(help="Who may speak to the API.")


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="whom the token is for")],
    scope: Annotated[list[str] | None, typer.Option(metavar="NAME", help="what it may read")] = None,
    write: Annotated[list[str] | None, typer.Option(
        metavar="NAME", help="what it may write, and read; without it, whatever it reads")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="it writes nothing")] = False,
    principal: Annotated[str | None, typer.Option(
        "--for", metavar="WHO", help="a member of organizations: it does no more than they may")] = None,
) -> None:
    """Make a token. It is shown this once only."""
    if not name.strip():
        raise WrongUsage("the name is empty: say whom the token is for")
    if write and read_only:
        raise WrongUsage("--write and --read-only exclude each other: give one of them")
    writes = [] if read_only else write or None
    made = connect().add_token(name, scopes=scope or None, writes=writes, principal=principal)
    screen.show(made, f"{made['token']}")
    screen.note(f"Keep it now: it is not shown again. `almanac token revoke {short(made['id'])}` ends it.")


@app.command("list")
def list_tokens() -> None:
    """List the tokens, without their secrets."""
    tokens = connect().tokens()
    rows = [
        (short(token["id"]), cut(token["name"], 40), cut(token["principal"], 20), ",".join(token["scopes"]),
         ",".join(token["writes"]) or "nothing", moment(token["created_at"]),
         moment(token["last_used_at"]) or "never", "revoked" if token["revoked_at"] else "")
        for token in tokens
    ]
    headings = ("ID", "NAME", "OF", "READS", "WRITES", "MADE", "LAST USED", "")
    screen.show({"tokens": tokens}, table(headings, rows, "No tokens but the one in the data folder."))


@app.command()
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="a token's id, or its first characters")]
) -> None:
    """End a token now."""
    client, identity = token_named(id_)
    client.revoke_token(identity)
    screen.show({"id": identity, "revoked": True}, f"Revoked {short(identity)}")
