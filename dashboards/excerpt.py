"""One excerpt of an answer as a card: what it says, where it comes from, and why it is here."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import record
from dashboards.charts import stack
from dashboards.connection import library, trouble_told
from dashboards.states import PARTS, spoken, swatch
from dashboards.words import day, joined, link, markup, moment, shown, text

MEANINGS = {  # of a score's parts
    "similarity": "how close its meaning and words are to the question",
    "topic": "how well its topics fit those of the question",
    "freshness": "how new it is: half at each half-life of its kind, always 1 for what does not age",
    "source": "the weight that its source was given",
    "interest": "how well it fits your interests",
    "recently_used": "taken off, because its document answered recently",
}
VERDICTS = {"good": "It answers", "bad": "It does not"}
FORMULA = ("The score is the sum of its parts, each from 0 to 1 and multiplied by what it counts, less what "
           "recent use takes off.")


def show(retrieval_id: str, excerpt: Json, weights: Mapping[str, float]) -> None:
    """The card, with a button that opens the record behind it."""
    label = excerpt["label"]
    with st.container(border=True, key=f"excerpt-{label}"):
        shown(card(excerpt, weights))
        with st.container(horizontal=True, gap="small"):
            st.button("Show the record", key=f"record-{label}", on_click=record.point_to,
                      args=(retrieval_id, label))
            for verdict, words in VERDICTS.items():
                if st.button(words, key=f"{verdict}-{label}"):
                    judge(retrieval_id, label, verdict)


def judge(retrieval_id: str, label: str, verdict: str) -> None:
    """Write down what the viewer thinks of it: judged questions are replayed with other weights."""
    with trouble_told():
        library().judge(retrieval_id, **{name: [label] if name == verdict else [] for name in VERDICTS})
        st.text(f"{label} is noted: {VERDICTS[verdict].lower()}.")


def card(excerpt: Json, weights: Mapping[str, float]) -> Markup:
    cited = excerpt["citation"]
    return markup(
        '<article class="excerpt">'
        '<header><span class="label">{label}</span><h2 dir="auto">{title}</h2></header>'
        '{origin}{failing}{path}<div class="passage" dir="auto">{text}</div>{score}</article>',
        label=excerpt["label"], title=link(cited["url"], cited["title"] or cited["url"]),
        origin=origin(excerpt), failing=failing(cited["failing_since"]), path=path(excerpt["headings"]),
        text=marked(excerpt["text"], excerpt.get("matches") or ()), score=score(excerpt, weights),
    )


def marked(said: str, matches: Sequence[Sequence[int]]) -> Markup:
    """The text with the words of the question marked."""
    pieces, at = [], 0
    for start, end in matches:
        pieces += [text(said[at:start]), markup("<mark>{}</mark>", said[start:end])]
        at = end
    return joined([*pieces, text(said[at:])])


def origin(excerpt: Json) -> Markup:
    cited = excerpt["citation"]
    also = "also at " + ", ".join(dict.fromkeys(place["source"] for place in excerpt["also_at"]))
    return in_a_row(" · ", cited["source"], day(cited["published_at"]), cited["author"],
                    excerpt["story"] and f"story {excerpt['story']}", also if excerpt["also_at"] else None)


def failing(since: str | None) -> Markup:
    """That what is shown was said before the page could be had no more."""
    return in_a_row("", since and f"Its address has failed since {moment(since)}.")


def path(headings: list[str]) -> Markup:
    """The headings that the excerpt stands under."""
    return in_a_row(" &rsaquo; ", *headings)


def in_a_row(between: str, *words: str | None) -> Markup:
    said = Markup(between).join(markup("<bdi>{}</bdi>", each) for each in words if each)  # noqa: S704 - ours
    return markup('<p class="quiet">{}</p>', said) if said else said


def score(excerpt: Json, weights: Mapping[str, float]) -> Markup:
    """The total as a bar of its parts; opened, what each is, counts and means, and the sum that they make."""
    parts = excerpt["score"]
    rows = joined(
        markup('<tr><th scope="row">{}{}</th><td class="number">{:.3f}</td><td class="number">{}</td>'
               '<td class="number">{}</td><td class="quiet">{}</td></tr>',
               swatch(PARTS[name]), spoken(name), parts[name], *counting(name, parts, weights), meaning)
        for name, meaning in MEANINGS.items()
    )
    return markup(
        '<details><summary>Score <b class="number">{:.2f}</b>{}</summary>'
        '<p>{}</p><table class="parts"><thead><tr>{}</tr></thead>{}</table><p class="quiet">{}</p></details>',
        parts["total"], pieces(parts, weights), FORMULA, joined(
            markup('<th scope="col">{}</th>', name) for name in ("Part", "Is", "Counts", "Makes", "Says")),
        rows, excerpt.get("explanation", "").replace("*", "\N{MULTIPLICATION SIGN}"),
    )


def legend() -> Markup:
    """Which colour each part of a score has."""
    return markup('<span class="legend">{}</span>', joined(
        markup("<span>{}{}</span>", swatch(colour), spoken(name)) for name, colour in PARTS.items()))


def counting(name: str, parts: Mapping[str, float], weights: Mapping[str, float]) -> tuple[str, str]:
    """What a part counts, and what it makes of the total; what recent use takes off is weighted already."""
    if name == "recently_used":
        return "", f"\N{MINUS SIGN}{parts[name]:.3f}"
    return f"\N{MULTIPLICATION SIGN} {weights[name]:.2f}", f"{weights[name] * parts[name]:.3f}"


def pieces(parts: Mapping[str, float], weights: Mapping[str, float]) -> Markup:
    """The score as one bar, 1 being its whole width: what each part makes, less what recent use takes off."""
    made = {name: weights[name] * parts[name] for name in PARTS if name != "recently_used"}
    kept = parts["total"] / (sum(made.values()) or 1)
    shares = [(share * kept, PARTS[name], f"{name}: {share:.3f}") for name, share in made.items()]
    off = parts["recently_used"]
    return stack([*shares, (off, PARTS["recently_used"], f"recently used: \N{MINUS SIGN}{off:.3f}")])
