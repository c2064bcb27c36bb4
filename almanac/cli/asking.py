"""The options of `search` and `ask`: what to look for, where, and how much of it."""

from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Option

from almanac.cli.failures import WrongUsage
from almanac.cli.session import check_id, resolve
from almanac.client import Client
from models.moments import parse_moment
from models.states import ContentType

Words = Annotated[list[str], Argument(metavar="QUERY...", help="a question, or words to look for")]
Previous = Annotated[str | None, Option(metavar="TEXT", help="the message before this one")]
Number = Annotated[int, Option("-k", min=1, metavar="N", help="how many excerpts")]
Explain = Annotated[bool, Option("--explain", help="say why, and what was left out")]
Recent = Annotated[bool | None, Option(help="whether it is about recent developments, if not as it is worded",
                                       show_default=False)]
Sources = Annotated[list[str] | None, Option("--source", metavar="ID", help="only of this source")]
Since = Annotated[str | None, Option(metavar="DATE", help="published then or later")]
Until = Annotated[str | None, Option(metavar="DATE", help="published by then")]
Types = Annotated[list[str] | None, Option("--type", metavar="|".join(ContentType), help="only of this type")]
Languages = Annotated[list[str] | None, Option("--language", metavar="en", help="only in this language")]
Scopes = Annotated[list[str] | None, Option("--scope", metavar="NAME", help="only of these scopes")]
Outside = Annotated[bool, Option("--outside/--no-outside", help="whether an external AI may be asked",
                                 show_default=False)]
Budget = Annotated[int | None, Option("--budget", min=0, metavar="TOKENS", help="of the block for a model")]
Minimum = Annotated[float | None, Option("--min-similarity", min=0, max=1, metavar="0-1",
                                         help="cosine below which nothing is relevant")]


def query_of(words: Sequence[str], command: str) -> str:
    if not (query := " ".join(words)).strip():
        raise WrongUsage(f'the query is empty: ask something, like `almanac {command} "what can you do?"`')
    return query


def checked(since: str | None, until: str | None, sources: Sequence[str] | None) -> None:
    """Refuse what can be known to be wrong before anything is asked."""
    for name, text in (("--since", since), ("--until", until)):
        try:
            _ = text and parse_moment(text)
        except ValueError as error:
            raise WrongUsage(f"{name} is {text}: {error}") from error
    for typed in sources or ():
        check_id(typed, "source")


def choices(client: Client, sources: Sequence[str] | None, **others: Any) -> dict[str, Any]:
    """What the API is asked with; sources by their whole ids."""
    ids = [resolve(typed, "source", client.sources) for typed in sources or ()]
    return others | {"sources": ids or None}
