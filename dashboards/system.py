"""The system screen: the parts and what waits, what may be reached and asked, who may ask, and what is liked.

``view`` says which of these; each asks the API for no more than it shows.
"""

import streamlit as st

from dashboards import access, interests, runs, whole_stack, working
from dashboards.choices import view

VIEWS = {
    "parts": ("Parts", whole_stack.show), "work": ("Work", working.show),
    "access": ("Access", access.show), "tools": ("Tools", access.show_tools),
    "interests": ("Interests", interests.show), "settings": ("Settings", whole_stack.show_settings),
}


def show() -> None:
    st.title("System", anchor=False)
    runs.progress()
    VIEWS[view("Part of the system", {name: words for name, (words, _) in VIEWS.items()})][1]()
