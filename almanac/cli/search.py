"""``almanac search``: ranked excerpts with their citations."""

import sys
from typing import Annotated

import typer

from almanac.cli.asking import (
    Budget,
    Explain,
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
from almanac.cli.screen import cut, moment, one_line, screen, wrapped
from almanac.client import Client, Json, connect

INDENT = "    "
VERDICTS = {"g": "good", "b": "bad", "": "neither"}
JUDGED = "good, bad, or Enter to skip? [g/b]"


def search(
    words: Words,
    previous: Previous = None,
    k: Number = 6,
    explain: Explain = False,
    recent: Recent = None,
    source: Sources = None,
    since: Since = None,
    until: Until = None,
    content_type: Types = None,
    language: Languages = None,
    scope: Scopes = None,
    budget: Budget = None,
    min_similarity: Minimum = None,
    judge: Annotated[bool, typer.Option("--judge", help="then ask of each whether it answers")] = False,
) -> None:
    """Ask the library: the best excerpts, each with where it comes from."""
    query = query_of(words, "search")
    checked(since, until, source)
    client = connect()
    found = client.retrieve(query, **choices(
        client, source, previous=previous, k=k, explain=explain, recent=recent, since=since, until=until,
        content_types=content_type, languages=language, scopes=scope, budget_tokens=budget,
        min_similarity=min_similarity))
    if not judge:
        screen.show(found, answer(found, explain))
        return
    print(answer(found, explain), file=sys.stderr)
    judged = judgment(client, found)
    screen.show(found | judged, f"Judged {len(judged['judged'])} of {len(found['excerpts'])}.")


def judgment(client: Client, found: Json) -> Json:
    """The ``judged`` labels, after a question on each excerpt."""
    said: dict[str, list[str]] = {"good": [], "bad": []}
    for excerpt in found["excerpts"]:
        label = excerpt["label"]
        while (word := typed(f"{label} {JUDGED} ")) not in VERDICTS:
            pass
        if word:
            said[VERDICTS[word]].append(label)
    return client.judge(found["retrieval_id"], **said) if any(said.values()) else {"judged": []}


def typed(question: str) -> str:
    """What is answered to a question on stderr: stdout is for the result. Raises Abort at the end."""
    print(question, end="", file=sys.stderr, flush=True)
    if not (line := sys.stdin.readline()):
        raise typer.Abort
    return line.strip().lower()


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
    score = excerpt["score"]
    lines = origin_lines(excerpt)
    if explain:
        lines += [INDENT + "  ".join(f"{part} {value:.3f}" for part, value in score.items())]
        lines += [INDENT + excerpt["explanation"]] if excerpt.get("explanation") else []
    return "\n".join([*lines, wrapped(excerpt["text"], INDENT)])


def origin_lines(excerpt: Json) -> list[str]:
    """Under which label it stands, and where it comes from."""
    citation = excerpt["citation"]
    date, story = citation["published_at"], excerpt.get("story")
    origin = [citation["source"], moment(date)[:10] if date else "undated",
              f"score {excerpt['score']['total']:.2f}", *([f"story {story}"] if story else [])]
    lines = [
        f"{excerpt['label']}  {cut(citation['title'], 90)}",
        INDENT + one_line(" · ".join(origin)),
        INDENT + one_line(citation["url"]),
    ]
    lines += [f"{INDENT}also at {one_line(place['source'])}: {one_line(place['url'])}"
              for place in excerpt.get("also_at", ())]
    if since := moment(citation["failing_since"]):
        lines += [f"{INDENT}its address has failed since {since}"]
    return lines
