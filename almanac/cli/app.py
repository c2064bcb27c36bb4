"""The commands of ``almanac``, in the order that help lists them."""

from typing import Annotated, Any

import typer

from almanac import __version__
from almanac.cli import (
    ask,
    configuration,
    document,
    index,
    interest,
    keep,
    mcp,
    organization,
    quality,
    search,
    source,
    stack,
    token,
    tool,
    vault,
)
from almanac.cli.doctor import doctor
from almanac.cli.screen import screen

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    epilog="Every command takes --json: one JSON document on stdout, and nothing else there.",
)


def print_version(wanted: bool) -> None:
    if wanted:
        screen.show({"version": __version__}, f"almanac {__version__}")
        raise typer.Exit


@app.callback()
def almanac(
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=print_version,
                                          help="print the version")] = False,
) -> None:
    """Almanac reads the sources you choose and answers with citations."""


for run_stack in (stack.up, stack.down, stack.status, doctor):
    app.command()(run_stack)
app.command(hidden=True)(stack.welcome)
app.add_typer(source.app, name="source")
app.command()(document.read)
app.command()(keep.keep)
app.command()(search.search)
app.command()(ask.ask)
app.add_typer(interest.app, name="interest")
app.add_typer(document.app, name="document")
app.add_typer(quality.app, name="quality")
app.add_typer(index.app, name="index")
app.add_typer(vault.app, name="vault")
app.add_typer(token.app, name="token")
app.add_typer(organization.app, name="organization")
app.add_typer(tool.app, name="tool")
app.command()(mcp.mcp)
app.command("settings")(configuration.show_settings)


class HelpContext(typer.Context):
    """A context whose help, too, is one document with ``--json``."""

    def get_help(self) -> str:
        return screen.said({"help": super().get_help()}, super().get_help())


def invoke(arguments: list[str]) -> int:
    """Run one command; its exit status. What it raises comes through as it is."""
    root = typer.main.get_command(app)
    let_help_be_json(root)
    try:
        with root.make_context("almanac", arguments) as context:
            root.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def let_help_be_json(command: Any) -> None:
    command.context_class = HelpContext
    for each in getattr(command, "commands", {}).values():
        let_help_be_json(each)
