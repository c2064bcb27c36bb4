"""``almanac search``: ranked excerpts with their citations."""

from typing import Annotated

import typer

from almanac.cli.failures import WrongUsage
from almanac.cli.screen import cut, moment, one_line, screen, wrapped
from almanac.client import Json, connect

INDENT = "    "


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="QUERY...", help="a question, or words to look for")],
    previous: Annotated[str | None, typer.Option(metavar="TEXT", help="the message before this one")] = None,
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="how many excerpts")] = 6,
    explain: Annotated[bool, typer.Option("--explain", help="say why, and what was left out")] = False,
) -> None:
    """Ask the library: the best excerpts, each with where it comes from."""
    if not (query := " ".join(words)).strip():
        raise WrongUsage('the query is empty: ask something, like `almanac search "what can you do?"`')
    found = connect().retrieve(query, previous=previous, k=k, explain=explain)
    screen.show(found, answer(found, explain))


def answer(found: Json, explain: bool) -> str:
    """The excerpts as a person reads them, best first; a sentence where nothing is relevant."""
    shown = [excerpt_text(excerpt, explain) for excerpt in found["excerpts"]]
    if not shown:
        shown = [f"Nothing relevant. {found['nothing']}"]
    if explain:
        shown += [f"left out: {cut(dropped['citation']['title'], 70)} ({one_line(dropped['why'])})"
                  for dropped in found["dropped"]]
        times = (f"{part} {ms:.0f} ms" for part, ms in found["elapsed_ms"].items())
        shown.append(f"elapsed: {', '.join(times)}")
    return "\n\n".join(shown)


def excerpt_text(excerpt: Json, explain: bool) -> str:
    citation, score = excerpt["citation"], excerpt["score"]
    date = citation["published_at"]
    origin = [citation["source"], moment(date)[:10] if date else "undated", f"score {score['total']:.2f}"]
    lines = [
        f"{excerpt['label']}  {cut(citation['title'], 90)}",
        INDENT + one_line(" · ".join(origin)),
        INDENT + one_line(citation["url"]),
    ]
    if since := moment(citation["failing_since"]):
        lines += [f"{INDENT}its address has failed since {since}"]
    if explain:
        lines += [INDENT + "  ".join(f"{part} {value:.3f}" for part, value in score.items())]
        lines += [INDENT + excerpt["explanation"]] if excerpt.get("explanation") else []
    return "\n".join([*lines, wrapped(excerpt["text"], INDENT)])
