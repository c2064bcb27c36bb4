"""The dashboard's entrance: which screens there are, and which one an address shows.

Streamlit runs this file by its path and puts its folder first on ``sys.path`` meanwhile, so no file here has
the name of a top-level module (``tests/dashboards`` sees to that). A screen is a file with ``show()``, and a
line in ``SCREENS``; its path is its file's name. Its own styles may stand in a ``.css`` file of that name.
"""

from pathlib import Path

import streamlit as st

from almanac.client import exposed
from dashboards import documents, freshness, quality, search, sources, system, today
from dashboards.connection import trouble_told
from dashboards.words import markup, shown

SCREENS = (  # title, file; the first is where one arrives
    ("Today", today),
    ("Search", search),
    ("Freshness", freshness),
    ("Sources", sources),
    ("Documents", documents),
    ("Quality", quality),
    ("System", system),
)

pages = [
    st.Page(screen.show, title=title, url_path="" if number == 0 else screen.__name__.rpartition(".")[2],
            default=number == 0)
    for number, (title, screen) in enumerate(SCREENS)
]
page = st.navigation(pages, position="hidden")  # else it hides behind a button where the window is narrow
st.set_page_config(page_title=f"{page.title} · Almanac")
for sheet in sorted(Path(__file__).parent.glob("*.css")):
    st.html(sheet)
with st.container(horizontal=True, vertical_alignment="center", key="screens"):
    shown(markup('<span class="brand">Almanac</span>'), width="content")
    for each in pages:
        st.page_link(each)
    if exposed():
        shown(markup('<a href="/sign-out">Sign out</a>'), width="content")
with trouble_told():
    page.run()
