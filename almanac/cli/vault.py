"""``almanac vault``: keys for external AIs. They go in by stdin, and never come out."""

import getpass
import sys
from typing import Annotated, Any

import typer

from almanac.cli.failures import WrongUsage
from almanac.cli.screen import cut, moment, screen, short, table
from almanac.cli.session import credential_named
from almanac.client import Json, connect

app = typer.Typer(help="Keys for external AIs, which are asked what the library cannot answer.")
Limit = Annotated[int | None, typer.Option(min=0, metavar="N", help="at most; 0: no limit")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="the model to ask for")]
Priority = Annotated[int | None, typer.Option(min=0, max=100, metavar="0-100", help="high ones come first")]
Enabled = Annotated[bool | None, typer.Option("--on/--off", help="whether it is asked", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="a key's id, or its first characters")]
LONGEST = 10_000  # characters of stdin


@app.command()
def add(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="gemini, openai, or a name of yours")],
    personal: Annotated[bool, typer.Option("--personal", help="for you alone, and asked first")] = False,
    url: Annotated[str | None, typer.Option(
        metavar="URL", help="of another OpenAI-compatible API, to …/v1")] = None,
    model: Model = None,
    priority: Priority = None,
    requests_per_minute: Limit = None,
    tokens_per_minute: Limit = None,
    requests_per_day: Limit = None,
    tokens_per_day: Limit = None,
) -> None:
    """Seal a key, read from stdin. Of what you leave out the provider's own is taken."""
    limits = limits_of(requests_per_minute, tokens_per_minute, requests_per_day, tokens_per_day)
    made = connect().add_credential(
        provider, key_from_stdin(), owner="personal" if personal else "global", url=url, model=model,
        priority=priority, limits=limits or None)
    screen.show(made, f"Sealed the {made['owner']} key {named(made)}")


@app.command("list")
def list_credentials() -> None:
    """List the keys by their last four characters, and what is used of their limits."""
    found = connect().credentials()
    headings = ("ID", "PROVIDER", "MODEL", "KEY", "OWNER", "PRIORITY", "MINUTE", "DAY", "")
    screen.show({"credentials": found}, table(headings, map(row_of, found), "No keys."))


@app.command("set")
def change(
    id_: Id,
    enabled: Enabled = None,
    key: Annotated[bool, typer.Option("--key", help="put another key in its place, from stdin")] = False,
    model: Model = None,
    priority: Priority = None,
    requests_per_minute: Limit = None,
    tokens_per_minute: Limit = None,
    requests_per_day: Limit = None,
    tokens_per_day: Limit = None,
) -> None:
    """Change a key's limits, its priority, or whether it is asked."""
    limits = limits_of(requests_per_minute, tokens_per_minute, requests_per_day, tokens_per_day)
    changes: dict[str, Any] = {"enabled": enabled, "model": model, "priority": priority,
                               "limits": limits or None, "key": key_from_stdin() if key else None}
    if all(change is None for change in changes.values()):
        raise WrongUsage("there is nothing to change: name what, as `almanac vault set --help` lists it")
    client, identity = credential_named(id_)
    changed = client.change_credential(identity, **changes)
    screen.show(changed, f"Changed {named(changed)}")


@app.command()
def remove(id_: Id) -> None:
    """Forget a key."""
    client, identity = credential_named(id_)
    client.remove_credential(identity)
    screen.show({"id": identity, "removed": True}, f"Removed {short(identity)}")


@app.command()
def rotate() -> None:
    """Put a new master key in the place of the old one, and seal everything anew."""
    done = connect().rotate_master_key()
    left = f"; {done['left']} could not be opened and are as they were" if done["left"] else ""
    screen.show(done, f"A new master key is in place: {done['sealed']} secrets were sealed anew{left}")


@app.command()
def asked() -> None:
    """List your questions that left for external AIs, word for word as they left."""
    found = connect().usage()["asked"]
    rows = [(moment(each["sent_at"]), each["provider"], each["outcome"], cut(each["question"], 60),
             cut(each["reason"] or "", 40)) for each in found]
    screen.show({"asked": found}, table(("WHEN", "WHOM", "OUTCOME", "QUESTION", ""), rows,
                                        "Nothing has left."))


def key_from_stdin() -> str:
    """A key, which somebody at a terminal is asked for, and which is not shown there."""
    if sys.stdin.isatty():
        return getpass.getpass("key: ")
    if not (key := sys.stdin.read(LONGEST).strip()):
        raise WrongUsage("there is no key on stdin: pipe it in, like `almanac vault add gemini < key.txt`")
    return key


def limits_of(*values: int | None) -> Json:
    names = ("requests_per_minute", "tokens_per_minute", "requests_per_day", "tokens_per_day")
    return {name: value or None for name, value in zip(names, values, strict=True) if value is not None}


def named(told: Json) -> str:
    return f"…{told['last_four']} of {told['title']}, model {told['model']} ({short(told['id'])})"


def row_of(told: Json) -> tuple[Any, ...]:
    state = told["trouble"] or ("" if told["enabled"] else "off")
    return (short(told["id"]), told["title"], told["model"], f"…{told['last_four']}", told["owner"],
            told["priority"], of_span(told, "minute"), of_span(told, "day"), cut(state, 60))


def of_span(told: Json, span: str) -> str:
    """``3 of 15 requests, 1,200 of 250,000 tokens``"""
    said = []
    for what in ("requests", "tokens"):
        used, limit = (told[which][f"{what}_per_{span}"] for which in ("used", "limits"))
        said.append(f"{used:,}" + (f" of {limit:,}" if limit else "") + f" {what}")
    return ", ".join(said)
