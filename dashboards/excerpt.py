"""One excerpt of an answer as a card: what it says, where it comes from, and why it is here."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import record
from dashboards.connection import library, trouble_told
from dashboards.words import day, joined, link, markup, moment, shown

PARTS = {  # of a score, with what each says
    "similarity": "how close its meaning is to the question",
    "topic": "how well its topics fit those of the question",
    "freshness": "how new it is: half at each half-life of its kind, always 1 for what does not age",
    "source": "the weight that its source was given",
    "interest": "how well it fits your interests",
    "recently_used": "taken off, because its document answered recently",
}
VERDICTS = {"good": "It answers", "bad": "It does not"}
FORMULA = ("The score is the sum of its parts, each from 0 to 1 and multiplied by what it counts, less what "
           "recent use takes off.")


def show(retrieval_id: str, excerpt: Json) -> None:
    """The card, with a button that opens the record behind it."""
    label = excerpt["label"]
    with st.container(border=True, key=f"excerpt-{label}"):
        shown(card(excerpt))
        with st.container(horizontal=True, gap="small"):
            if st.button("Show the record", key=f"record-{label}"):
                record.show(retrieval_id, label)
            for verdict, words in VERDICTS.items():
                if st.button(words, key=f"{verdict}-{label}"):
                    judge(retrieval_id, label, verdict)


def judge(retrieval_id: str, label: str, verdict: str) -> None:
    """Write down what the viewer thinks of it; ``make bench-ranking`` replays the question."""
    with trouble_told():
        library().judge(retrieval_id, **{name: [label] if name == verdict else [] for name in VERDICTS})
        st.text(f"{label} is noted: {VERDICTS[verdict].lower()}.")


def card(excerpt: Json) -> Markup:
    cited = excerpt["citation"]
    return markup(
        '<article class="excerpt">'
        '<header><span class="label">{label}</span><h2 dir="auto">{title}</h2></header>'
        '{origin}{failing}{path}<div class="passage" dir="auto">{text}</div>{score}</article>',
        label=excerpt["label"], title=link(cited["url"], cited["title"] or cited["url"]),
        origin=origin(excerpt), failing=failing(cited["failing_since"]), path=path(excerpt["headings"]),
        text=excerpt["text"], score=score(excerpt),
    )


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


def score(excerpt: Json) -> Markup:
    """The total; opened, its parts and the sum that they make."""
    parts = excerpt["score"]
    rows = joined(
        markup('<tr><th scope="row">{}</th><td class="number">{:.3f}</td>'
               '<td>{}</td><td class="quiet">{}</td></tr>',
               name.replace("_", " "), parts[name], meter(parts[name]), meaning)
        for name, meaning in PARTS.items()
    )
    return markup(
        '<details><summary>Score <b class="number">{:.2f}</b>{}</summary>'
        '<p>{}</p><table class="parts">{}</table><p class="quiet">{}</p></details>',
        parts["total"], meter(parts["total"]), FORMULA, rows,
        excerpt.get("explanation", "").replace("*", "\N{MULTIPLICATION SIGN}"),
    )


def meter(share: float) -> Markup:
    """A bar for a number from 0 to 1."""
    return markup('<span class="meter" aria-hidden="true"><i style="width:{:.0f}%"></i></span>',
                  100 * min(max(share, 0.0), 1.0))
