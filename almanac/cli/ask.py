"""``almanac ask``: an answer with the excerpts that it comes from."""

from almanac.cli.asking import (
    Budget,
    Languages,
    Minimum,
    Number,
    Outside,
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
from almanac.cli.screen import cut, one_line, screen, wrapped
from almanac.cli.search import INDENT, answer, origin_lines
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
    outside: Outside = True,
) -> None:
    """Ask the configured model, which answers from the library; without one, the excerpts.

    What the library cannot answer is asked of an external AI, if `almanac vault` has a key for one.
    """
    query = query_of(words, "ask")
    checked(since, until, source)
    client = connect()
    told = client.ask(query, **choices(
        client, source, previous=previous, k=k, recent=recent, since=since, until=until,
        content_types=content_type, languages=language, scopes=scope, budget_tokens=budget,
        min_similarity=min_similarity, outside=outside))
    screen.show(told, answer_text(told))


def answer_text(told: Json) -> str:
    """The answer, what it cites, and what is to be said of it; the excerpts where there is none."""
    if told["answer"] is None:
        said = [one_line(told["note"]), *([answer(told, explain=False)] if told["excerpts"] else [])]
        return "\n\n".join(said)
    labels = told["check"]["labels"] if told["check"] else []
    cited = [each for each in told["excerpts"] if each["label"] in labels]
    said = [wrapped(told["answer"], ""), *("\n".join(origin_lines(each)) for each in cited)]
    said += [f"Tools used: {one_line(', '.join(told['tools']))}"] if told["tools"] else []
    if outside := told["external"] and told["external"]["citation"]:
        where = one_line(" · ".join((outside["source"], outside["author"])))
        said.append(f"{cut(outside['title'], 90)}\n{INDENT}{where}\n{INDENT}{one_line(outside['url'])}")
    return "\n\n".join([*said, *([f"Note: {one_line(told['note'])}"] if told["note"] else [])])
