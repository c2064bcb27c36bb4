"""The search screen: a question, and the excerpts that answer it with where they come from and why."""

from datetime import date
from typing import Any

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import excerpt, record, weighing
from dashboards.connection import library
from dashboards.states import spoken, toned
from dashboards.words import counted, joined, link, markup, notice, shown

FEWEST, USUAL, MOST = 1, 6, 50
EXAMPLES = ("what can you do?", "how is an answer ranked?", "what happened this week?")
RECENT = {"as it is worded": None, "the recent counts double": True, "age counts as usual": False}
KEPT = "answer"  # what was asked and what was found, while the viewer looks around: asking again ranks anew
CHOICES = "filters"


def show() -> None:
    """A box, and under it what was found. The question stands in the address, with all that narrows it."""
    st.title("Search the library", anchor=False)
    choices = offered()
    question, wanted, pressed, by_model = question_box(choices)
    if not question:
        welcome()
    else:
        if pressed or by_model or weighing.SAVED in st.session_state:
            for kept in (KEPT, CHOICES):
                st.session_state.pop(kept, None)
        show_answer(answer(question, wanted, by_model), wanted["k"])
    record.show()


def offered() -> Json:
    """What a question can be narrowed down by; asked anew after each question that is asked."""
    if CHOICES not in st.session_state:
        st.session_state[CHOICES] = library().filters()
    found: Json = st.session_state[CHOICES]
    return found


def answer(question: str, wanted: Json, by_model: bool) -> Json:
    """What was found for it, asked only where the last answer was to another question."""
    found: Json
    asked, found = st.session_state.get(KEPT, (None, {}))
    if asked != (question, wanted):
        st.session_state.pop(KEPT, None)
        ask = library().ask if by_model else library().retrieve
        with st.spinner("The model reads what was found …" if by_model else "Searching …"):
            found = ask(question, **wanted, explain=True)
        st.session_state[KEPT] = (question, wanted), found
    return found


def question_box(choices: Json) -> tuple[str, Json, bool, bool]:
    """The question, what narrows it, and whether it was asked just now: of the library, or of the model."""
    with st.form("question", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            question = st.text_input(
                "Question", key="q", bind="query-params", type="search", autocomplete="off",
                placeholder="Ask something, or give words to look for",
            )
            pressed = st.form_submit_button("Search", type="primary", width=110)
            by_model = bool(choices["model"]) and st.form_submit_button(
                "Ask", width=90, help=f"{choices['model']} answers from the excerpts, and cites them")
        with st.expander("Narrow it down", key="narrow"):
            wanted = narrowing(choices)
    return (question or "").strip(), wanted, pressed, by_model


def narrowing(choices: Json) -> Json:
    """The previous message, the filters and the number, as ``POST /v1/retrieve`` takes them."""
    previous = st.text_input("What was asked before", key="previous", bind="query-params", autocomplete="off",
                             help="For a question like “why?”, which says nothing alone")
    one, two, three = st.columns(3)
    names = list(dict.fromkeys(source["name"] for source in choices["sources"]))
    sources = one.multiselect("Sources", names, key="source", bind="query-params")
    types = two.multiselect("Content types", choices["content_types"], key="type", bind="query-params",
                            format_func=spoken)
    languages = three.multiselect("Languages", choices["languages"], key="language", bind="query-params")
    since = one.date_input("Published since", None, key="since", bind="query-params")
    until = two.date_input("Published until", None, key="until", bind="query-params")
    recent = three.selectbox("How much age counts", RECENT, key="recent", bind="query-params")
    number = one.number_input("Excerpts, at most", FEWEST, MOST, USUAL, key="k", bind="query-params")
    return {
        "k": int(number or USUAL), "previous": (previous or "").strip() or None, "recent": RECENT[recent],
        "sources": [it["id"] for it in choices["sources"] if it["name"] in sources] or None,
        "content_types": types or None, "languages": languages or None,
        "since": day_of(since), "until": day_of(until),
    }


def day_of(chosen: Any) -> str | None:
    return chosen.isoformat() if isinstance(chosen, date) else None


def welcome() -> None:
    """What to do while nothing is asked."""
    notice("Ask what your sources said",
           "The answer is a list of excerpts, each with the page it was read on and the record behind it.",
           "The library always knows about itself. Try one of these:")
    with st.container(horizontal=True, gap="small"):
        for example in EXAMPLES:
            st.button(example, on_click=st.session_state.update, kwargs={"q": example})


def show_answer(found: Json, number: int) -> None:
    """The excerpts, best first; why there are none, where there are none."""
    if not found["excerpts"]:
        nothing(found.get("nothing"))
        return
    if "answer" in found:
        shown(told(found))
    shown(markup('<p class="summary"><span class="quiet">{}</span>{}</p>', summary(found), excerpt.legend()))
    for each in found["excerpts"]:
        excerpt.show(found["retrieval_id"], each, found["weights"])
    if found["dropped"]:
        shown(dropped(found["dropped"], found["weights"]))
    weighing.show(found, number)


def told(found: Json) -> Markup:
    """The model's answer, or why there is none."""
    said = found["answer"] and markup('<div class="passage" dir="auto">{}</div>', found["answer"])
    note = found["note"] and markup("<p>{}</p>", toned("doubtful", found["note"]))
    return markup(
        '<section class="told"><p class="quiet">{} answers from the excerpts below</p>{}{}</section>',
        found["model"] or "The model", said or "", note or "")


def summary(found: Json) -> str:
    excerpts = counted(len(found["excerpts"]), "excerpt")
    said = [f"{excerpts}, best first", f"{found['elapsed_ms']['total']:.0f} ms"]
    if found["recent"]:
        said.append("the question asks for the recent, so freshness counts double")
    return " · ".join(said)


def dropped(passed_over: list[Json], weights: Json) -> Markup:
    """What was found too, and why it is not among the excerpts."""
    rows = joined(
        markup('<tr><th scope="row" dir="auto">{}<small>{} <bdi>{}</bdi></small></th><td>{}</td><td>{}</td>'
               '<td class="number">{:.3f}</td></tr>',
               link(it["citation"]["url"], it["citation"]["title"] or it["citation"]["url"]), it["label"],
               it["citation"]["source"], it["why"], excerpt.pieces(it["score"], weights),
               it["score"]["total"])
        for it in passed_over)
    return markup('<details class="dropped"><summary>What was dropped, and why ({})</summary>'
                  '<table class="order"><thead><tr><th scope="col">Excerpt</th><th scope="col">Why not</th>'
                  '<th scope="col"></th><th scope="col">Score</th></tr></thead><tbody>{}</tbody></table>'
                  "</details>", len(passed_over), rows)


def nothing(why: str | None) -> None:
    notice("Nothing relevant", why or "Nothing in the library is close enough to the question.",
           "Ask in other words, or give the library more to read: `almanac source add URL` on the command "
           "line. The Sources screen shows what it reads now.")
