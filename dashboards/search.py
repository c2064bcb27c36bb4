"""The search screen: a question, and the excerpts that answer it with where they come from."""

import streamlit as st

from almanac.client import Json
from dashboards import excerpt
from dashboards.connection import library
from dashboards.words import counted, markup, notice, shown

FEWEST, USUAL, MOST = 1, 6, 50
EXAMPLES = ("what can you do?", "how is an answer ranked?", "what happened this week?")
KEPT = "answer"  # what was asked and what was found, while the viewer looks around: asking again ranks anew


def show() -> None:
    """A box, and under it what was found. The address has the question as ``?q=``, the number as ``?k=``."""
    st.title("Search the library", anchor=False)
    question, number, pressed = question_box()
    if not question:
        welcome()
        return
    if pressed:
        st.session_state.pop(KEPT, None)
    show_answer(answer(question, number))


def answer(question: str, number: int) -> Json:
    """What was found for it, asked only where the last answer was to another question."""
    found: Json
    asked, found = st.session_state.get(KEPT, (None, {}))
    if asked != (question, number):
        st.session_state.pop(KEPT, None)
        with st.spinner("Searching …"):
            found = library().retrieve(question, k=number, explain=True)
        st.session_state[KEPT] = (question, number), found
    return found


def question_box() -> tuple[str, int, bool]:
    """The question, how many excerpts at most, and whether it was asked just now."""
    with st.form("question", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        question = st.text_input(
            "Question", key="q", bind="query-params", type="search", autocomplete="off",
            placeholder="Ask something, or give words to look for",
        )
        number = st.number_input(
            "Excerpts, at most", FEWEST, MOST, USUAL, key="k", bind="query-params", width=150)
        pressed = st.form_submit_button("Search", type="primary", width=120)
    return (question or "").strip(), int(number or USUAL), pressed


def welcome() -> None:
    """What to do while nothing is asked."""
    notice("Ask what your sources said",
           "The answer is a list of excerpts, each with the page it was read on and the record behind it.",
           "The library always knows about itself. Try one of these:")
    with st.container(horizontal=True, gap="small"):
        for example in EXAMPLES:
            st.button(example, on_click=st.session_state.update, kwargs={"q": example})


def show_answer(found: Json) -> None:
    """The excerpts, best first; why there are none, where there are none."""
    if not found["excerpts"]:
        nothing(found.get("nothing"))
        return
    shown(markup('<p class="quiet">{}</p>', summary(found)))
    for each in found["excerpts"]:
        excerpt.show(found["retrieval_id"], each)


def summary(found: Json) -> str:
    excerpts = counted(len(found["excerpts"]), "excerpt")
    said = [f"{excerpts}, best first", f"{found['elapsed_ms']['total']:.0f} ms"]
    if found["recent"]:
        said.append("the question asks for the recent, so freshness counts double")
    return " · ".join(said)


def nothing(why: str | None) -> None:
    notice("Nothing relevant", why or "Nothing in the library is close enough to the question.",
           "Ask in other words, or give the library more to read: `almanac source add URL` on the command "
           "line. The Sources screen shows what it reads now.")
