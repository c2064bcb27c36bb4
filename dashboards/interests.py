"""What interests the reader: seen, strengthened, forgotten."""

import streamlit as st

from almanac.client import Json
from dashboards import acts
from dashboards.bars import share
from dashboards.connection import library, trouble_told
from dashboards.words import markup, moment, notice, shown

SHOWN = 50


def show() -> None:
    """The strongest first, each with a way to change it and to forget it."""
    there = library().interests()
    add()
    if not there:
        notice("Nothing is known of what interests you", "Asking teaches it, and you may say it yourself. "
               "It counts a little in the ranking, and in the mode “interesting” decides what is read.")
        return
    for each in there[:SHOWN]:
        one(each)
    if len(there) > SHOWN:
        st.text(f"and {len(there) - SHOWN} weaker ones: `almanac interest list` has them all")
    acts.after_asking("Forget all", "forget-all", "All of them are erased.", library().clear_interests,
                      said="All interests are forgotten.")


def add() -> None:
    with st.form("interest", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        topic = st.text_input("What interests you", key="interest-topic", max_chars=100,
                              placeholder="harbours, peat bogs, …")
        strength = st.slider("How much, 0 to 1", 0.0, 1.0, 1.0, 0.05, key="interest-strength", width=200)
        pressed = st.form_submit_button("Keep it", type="primary", width=120)
    if pressed:
        with trouble_told():
            library().set_interest(topic, strength)
            acts.done(None, said="It is kept: it neither fades nor grows by itself.")


def one(interest: Json) -> None:
    topic = interest["topic"]
    with st.container(horizontal=True, vertical_alignment="center", key=f"interest-{topic}"):
        shown(markup('<p class="interest"><b dir="auto">{}</b> {} <span class="number">{:.2f}</span> '
                     '<small>{}</small></p>', topic, share(interest["strength"], 1.0), interest["strength"],
                     told(interest)))
        with st.popover("Change", key=f"change-{topic}"):
            strength = st.slider("How much, 0 to 1", 0.0, 1.0, interest["strength"], 0.05,
                                 key=f"strength-{topic}")
            acts.act("Keep it so", f"keep-{topic}", lambda: library().set_interest(topic, strength),
                     primary=True)
        acts.act("Forget", f"forget-{topic}", lambda: library().forget_interest(topic))


def told(interest: Json) -> str:
    return "kept by you" if interest["kept"] else f"last asked about {moment(interest['touched_at'])}"
