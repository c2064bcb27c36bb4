"""OPML in and out: the subscriptions that feed readers exchange."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.connection import library, trouble_told
from dashboards.words import counted, joined, markup, shown

LARGEST = 1  # MB, as the API takes
BROUGHT = "brought-by-opml"  # what the last file came to
MOST = 20  # refusals that are told


def show() -> None:
    with st.expander("Subscriptions from and for a feed reader (OPML)", key="opml"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            file = st.file_uploader("An OPML file to take sources from", key="opml-file",
                                    type=["opml", "xml"], max_upload_size=LARGEST)
            st.download_button(
                "Save these sources as OPML", exported, "almanac.opml", "text/x-opml", key="opml-save",
                on_click="ignore")
        if file is not None and st.button("Add what it names", key="opml-add", type="primary"):
            with trouble_told():
                st.session_state[BROUGHT] = library().import_sources(file.getvalue())
        if done := st.session_state.get(BROUGHT):
            shown(told(done))


def exported() -> str:
    return library().export_sources()


def told(done: Json) -> Markup:
    refused = done["refused"]
    return markup(
        '<section class="notice" role="status"><h2>{} added</h2><p>{}</p><ul>{}</ul></section>',
        counted(len(done["added"]), "source"),
        f"{counted(len(done['known']), 'source')} known already, {len(refused)} refused. Their first polls "
        "follow by and by.",
        joined(markup("<li>{}</li>", each) for each in refused[:MOST]))
