"""``almanac organization``: scopes that several people share."""

from typing import Annotated

import typer

from almanac.cli.screen import cut, screen, table
from almanac.client import Json, connect

app = typer.Typer(help="Scopes that several people share: who is in, and what is open to all.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="its name, which is that of its scope")]
Who = Annotated[str, typer.Argument(metavar="WHO", help="a name; yours is owner")]
Public = Annotated[bool, typer.Option(help="whether every token reads what is for this scope alone")]


@app.command()
def add(name: Name, public: Public = False) -> None:
    """Make an organization, without members."""
    made = connect().add_organization(name, public)
    name = made["name"]
    screen.show(made, f"Made {name}. `almanac organization admit {name} WHO` lets somebody in.")


@app.command("list")
def list_organizations() -> None:
    """List the organizations with their members; * marks who writes."""
    found = connect().organizations()
    rows = [(cut(each["name"], 40), "all" if each["public"] else "members", members(each)) for each in found]
    screen.show({"organizations": found}, table(("NAME", "OPEN TO", "MEMBERS"), rows, "No organizations."))


@app.command()
def change(name: Name, public: Annotated[bool, typer.Option(
        "--public/--private", help="open to every token, or to members alone")]) -> None:
    """Open it to all, or to its members alone."""
    made = connect().change_organization(name, public)
    screen.show(made, f"{made['name']} is open to {'all' if made['public'] else 'its members alone'}")


@app.command()
def admit(
    name: Name, who: Who,
    write: Annotated[bool, typer.Option("--write", help="they may write into it, too")] = False,
) -> None:
    """Let somebody read what it holds; `almanac token add NAME --for WHO` then makes a token for them."""
    made = connect().admit(name, who, write)
    screen.show(made, f"{who} {'writes into' if write else 'reads'} {made['name']} from now on")


@app.command()
def dismiss(name: Name, who: Who) -> None:
    """End a membership: their tokens read nothing of it from now on."""
    made = connect().dismiss(name, who)
    screen.show(made, f"{who} is no member of {made['name']} any more")


@app.command()
def remove(name: Name) -> None:
    """Dismiss all of its members; what it holds stays."""
    connect().remove_organization(name)
    screen.show({"name": name, "removed": True}, f"Removed {name}")


def members(organization: Json) -> str:
    return ", ".join(f"{each['name']}{'*' if each['writes'] else ''}" for each in organization["members"])
