"""``almanac ask``: an answer with the excerpts that it comes from."""

from almanac.cli.asking import (
    Budget,
    Languages,
    Minimum,
    Number,
    Previous,
    Recent,
    Scopes,
    Since,
    Sources,
    Types,
    Until,
    Words,
    checked,
    choices,
    query_of,
)
from almanac.cli.screen import one_line, screen, wrapped
from almanac.cli.search import answer, origin_lines
from almanac.client import Json, connect


def ask(
    words: Words,
    previous: Previous = None,
    k: Number = 6,
    recent: Recent = None,
    source: Sources = None,
    since: Since = None,
    until: Until = None,
    content_type: Types = None,
    language: Languages = None,
    scope: Scopes = None,
    budget: Budget = None,
    min_similarity: Minimum = None,
) -> None:
    """Ask the configured model, which answers from the library; without one, the excerpts."""
    query = query_of(words, "ask")
    checked(since, until, source)
    client = connect()
    told = client.ask(query, **choices(
        client, source, previous=previous, k=k, recent=recent, since=since, until=until,
        content_types=content_type, languages=language, scopes=scope, budget_tokens=budget,
        min_similarity=min_similarity))
    screen.show(told, answer_text(told))


def answer_text(told: Json) -> str:
    """The answer, what it cites, and what is to be said of it; the excerpts where there is none."""
    if told["answer"] is None:
        said = [one_line(told["note"]), *([answer(told, explain=False)] if told["excerpts"] else [])]
        return "\n\n".join(said)
    cited = [each for each in told["excerpts"] if each["label"] in told["check"]["labels"]]
    said = [wrapped(told["answer"], ""), *("\n".join(origin_lines(each)) for each in cited)]
    said += [f"Tools used: {one_line(', '.join(told['tools']))}"] if told["tools"] else []
    return "\n\n".join([*said, *([f"Note: {one_line(told['note'])}"] if told["note"] else [])])
