"""What an owner does with a click: done, told where it fails, followed while it goes on."""

from collections.abc import Callable

import streamlit as st

from almanac.client import Json
from dashboards import runs
from dashboards.connection import trouble_told


def act(
    label: str, key: str, do: Callable[[], Json | None], doing: str | None = None, said: str | None = None,
    primary: bool = False, disabled: bool = False,
) -> None:
    """A button that does it and shows the screen anew; ``doing`` is what the work is called that goes on."""
    if st.button(label, key=key, type="primary" if primary else "secondary", disabled=disabled):
        with trouble_told():
            done(do(), doing, said)


def after_asking(
    label: str, key: str, question: str, do: Callable[[], Json | None], doing: str | None = None,
    said: str | None = None,
) -> None:
    """The same behind a second click: it cannot be taken back."""
    with st.popover(label, key=f"ask-{key}"):
        st.text(question)
        act(label, key, do, doing, said, primary=True)


def done(answer: Json | None, doing: str | None = None, said: str | None = None) -> None:
    """Follow what goes on, tell the rest, and show the screen as it is now."""
    if doing and answer is not None:
        runs.follow(answer, doing)
    if said:
        runs.note(said)
    st.rerun()
