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
) -> None:
    """Make a token. It is shown this once only."""
    if not name.strip():
        raise WrongUsage("the name is empty: say whom the token is for")
    made = connect().add_token(name, scope)
    screen.show(made, f"{made['token']}")
    screen.note(f"Keep it now: it is not shown again. `almanac token revoke {short(made['id'])}` ends it.")


@app.command("list")
def list_tokens() -> None:
    """List the tokens, without their secrets."""
    tokens = connect().tokens()
    rows = [
        (short(token["id"]), cut(token["name"], 40), ",".join(token["scopes"]), moment(token["created_at"]),
         moment(token["last_used_at"]) or "never", "revoked" if token["revoked_at"] else "")
        for token in tokens
    ]
    headings = ("ID", "NAME", "SCOPES", "MADE", "LAST USED", "")
    screen.show({"tokens": tokens}, table(headings, rows, "No tokens but the one in the data folder."))


@app.command()
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="a token's id, or its first characters")]
) -> None:
    """End a token now."""
    client, identity = token_named(id_)
    client.revoke_token(identity)
    screen.show({"id": identity, "revoked": True}, f"Revoked {short(identity)}")
