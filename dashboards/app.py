"""The dashboard's entrance: which screens there are, and which one an address shows.

Streamlit runs this file by its path and puts its folder first on ``sys.path`` meanwhile, so no file here has
the name of a top-level module (``tests/dashboards`` sees to that).
"""

from pathlib import Path

import streamlit as st

from dashboards import search, sources
from dashboards.connection import trouble_told
from dashboards.words import markup, shown

SCREENS = (  # title, path, what shows it; the first is where one arrives
    ("Search", "", search.show),
    ("Sources", "sources", sources.show),
)
STYLE = Path(__file__).with_name("style.css")

pages = [
    st.Page(show, title=title, url_path=path, default=number == 0)
    for number, (title, path, show) in enumerate(SCREENS)
]
page = st.navigation(pages, position="hidden")  # else it hides behind a button where the window is narrow
st.set_page_config(page_title=f"{page.title} · Almanac")
st.html(STYLE)
with st.container(horizontal=True, vertical_alignment="center", key="screens"):
    shown(markup('<span class="brand">Almanac</span>'), width="content")
    for each in pages:
        st.page_link(each)
with trouble_told():
    page.run()
