"""What became of a version inside: how it was understood, how it was cut, what the gates made of it."""

from markupsafe import Markup

from almanac.client import ApiProblem, Json
from dashboards.choices import whole
from dashboards.connection import library
from dashboards.paging import CURSOR, pager
from dashboards.states import BAD, DOUBTFUL, GOOD, QUIET, TYPES, spoken, state, swatch, toned
from dashboards.tables import facts, table
from dashboards.words import counted, joined, markup, moment, notice, shown

CHUNKS = 30  # at once
NOWHERE = "no_such_versions"
LIKELY = 0.5  # a confidence below is told as a doubt


def show_analysis(told: Json) -> None:
    version = told["version"]
    if version is None or version["analysis"] is None:
        notice("It was not analysed yet", "That is done when it is indexed.")
    else:
        shown(analysed(version["analysis"]))


def analysed(told: Json) -> Markup:
    doubt = "" if told["confidence"] >= LIKELY else ", rather unsure"
    return markup('<article class="analysis"><p dir="auto">{}</p>{}</article>', told["summary"], facts([
        ("Kind", markup("{}{} <small>{:.0%} sure{}: {}</small>", swatch(TYPES[told["content_type"]]),
                        spoken(told["content_type"]), told["confidence"], doubt, "; ".join(told["reasons"]))),
        ("Category", told["category"]),
        ("Topics", tags(told["topics"])),
        ("Names", tags(told["entities"])),
        ("Keywords", tags(told["keywords"])),
        ("Language", told["language"]),
        ("Analysed", f"{moment(told['analysed_at'])} by {told['analyser']}"),
        ("Note", told["note"]),
    ]))


def tags(words: list[str]) -> Markup | None:
    told = joined(markup('<span class="tag" dir="auto">{}</span> ', word) for word in words)
    return told or None


def show_chunks(told: Json) -> None:
    """The chunks as they were cut, a page at a time."""
    try:
        cut = library().chunks(told["id"], whole("version"), CHUNKS, whole(CURSOR))
    except ApiProblem as problem:
        if problem.code != NOWHERE:
            raise
        cut = {"chunks": []}
    if not cut["chunks"]:
        notice("It was not cut yet", "That is done when it is indexed.")
        return
    shown(markup('<p class="quiet">Version {}: {}, {:,} tokens in all, cut for {}</p>', cut["version"],
                 counted(cut["count"], "chunk"), cut["tokens"], cut["embedder"]))
    shown(joined(map(piece, cut["chunks"])))
    pager(None if cut["next"] is None else str(cut["next"]))


def piece(chunk: Json) -> Markup:
    """A chunk with what stands in front of it when it is embedded."""
    return markup(
        '<article class="chunk"><header><span class="label">{}</span> {} <span class="quiet">{} · characters '
        '{:,} to {:,}</span></header><p class="quiet" dir="auto">{}</p>'
        '<div class="passage" dir="auto">{}</div></article>',
        chunk["position"] + 1, state(chunk["state"]), counted(chunk["tokens"], "token"),
        chunk["start"], chunk["end"], chunk["context"] or " \u203a ".join(chunk["headings"]), chunk["text"])


def show_gates(told: Json) -> None:
    """Each expectation, first those that are not met."""
    try:
        judged = library().gates(told["id"], whole("version"))
    except ApiProblem as problem:
        if problem.code != NOWHERE:
            raise
        notice("It was not judged yet", "That is done before it is indexed.")
        return
    results = sorted(judged["results"], key=lambda each: each["met"] is not False)
    unmet = sum(each["met"] is False for each in results)
    said = f"{counted(unmet, 'expectation')} of {len(results)} not met" if unmet else "nothing was found"
    shown(markup('<p class="quiet">Version {}: {}</p>', judged["version"], said))
    shown(table("gates", ("Expectation", "Gate", "Met", "Found"), map(verdict, results)))


def verdict(result: Json) -> tuple[object, ...]:
    return result["expectation"], result["gate"], met(result), found(result)


def met(result: Json) -> Markup:
    if result["met"] is None:
        return toned(QUIET, "not judged")
    if result["met"]:
        return toned(GOOD, "met")
    return toned(DOUBTFUL if result["severity"] == "warning" else BAD, result["severity"])


def found(result: Json) -> Markup:
    """Why it is not met, the value that was observed, and the passage that it is about."""
    if result["met"] is not False:
        return Markup()
    passage = markup('<mark dir="auto">{}</mark>', result["passage"]) if result["passage"] else Markup()
    seen = result["observed"]
    observed = "" if seen in {"1", "missing"} or seen in result["reason"] else f"observed: {seen}"
    return markup("{}<small>{}</small>{}", result["reason"], observed, passage)
