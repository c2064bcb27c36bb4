"""``almanac tool``: the tools of other servers that may be used, and what has changed of them."""

import json
from typing import Annotated, Any

import typer

from almanac.cli.failures import Failed
from almanac.cli.screen import cut, facts, one_line, plain, screen, table
from almanac.client import Client, Json, connect
from models.states import ToolState

app = typer.Typer(help="Tools of other MCP servers (ALMANAC_MCP_SERVERS), and the browser for assistants.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="as `almanac tool list` shows it")]
NONE = "No tools: ALMANAC_MCP_SERVERS names none, and there is no browser for assistants."


@app.command("list")
def list_tools() -> None:
    """List each server, whether it is connected, and which of its listed tools it offers."""
    servers = connect().tools()
    rows = [
        (server["server"], "connected" if server["connected"] else "away", tool["name"], tool["state"],
         cut(tool["why"] or server["why"] or "", 60))
        for server in servers for tool in server["tools"]
    ]
    screen.show({"servers": servers}, table(("SERVER", "", "TOOL", "STATE", "WHY"), rows, NONE))


@app.command()
def show(name: Name) -> None:
    """Show how a tool was accepted and, where its server has changed it, how it is now."""
    tool = tool_named(connect(), name)
    screen.show(tool, described(tool))


@app.command()
def accept(
    name: Name, yes: Annotated[bool, typer.Option("--yes", help="without a question")] = False
) -> None:
    """Let a tool that its server has changed be used as it is now."""
    client = connect()
    tool = tool_named(client, name)
    if tool["state"] != ToolState.CHANGED:
        raise Failed(f"{name} is {tool['state']}, not changed: there is nothing to accept")
    if not yes:
        typer.echo(described(tool), err=True)
        typer.confirm("Accept it as it is now?", abort=True, err=True)
    client.accept_tool(name, tool["offered"]["fingerprint"])
    screen.show({"name": name, "accepted": tool["offered"]}, f"Accepted {name}")


def tool_named(client: Client, name: str) -> Json:
    for server in client.tools():
        for tool in server["tools"]:
            if tool["name"] == name:
                return dict(tool)
    raise Failed(f"there is no tool {one_line(name)}: `almanac tool list` shows all")


def described(tool: Json) -> str:
    changed = tool["state"] == ToolState.CHANGED
    parts = [facts([("name", tool["name"]), ("state", tool["state"]), ("why", tool["why"])])]
    parts += definition("accepted", tool["pinned"])
    parts += definition("offered now", tool["offered"]) if changed else []
    return "\n\n".join(parts)


def definition(title: str, said: dict[str, Any] | None) -> list[str]:
    if said is None:
        return []
    return [f"{title}:\n{plain(said['description'])}\n{plain(json.dumps(said['schema'], indent=2))}"]
