"""A document's versions, and what changed from one to another."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.changes import changes, summary
from dashboards.choices import choice, whole
from dashboards.connection import library
from dashboards.states import state
from dashboards.tables import number, table, when
from dashboards.words import markup, moment, notice, shown, to_screen


def show(told: Json) -> None:
    """The versions, and what changed between two of them."""
    versions = library().versions(told["id"])
    if not versions:
        notice("There are no versions yet", told["reason"])
        return
    shown(listed(told["id"], versions))
    if len(versions) < 2:
        notice("It has one version", "When its page changes, what changed is shown here.")
        return
    names = {str(it["number"]): f"{it['number']}, {moment(it['read_at'])}" for it in versions}
    with st.container(horizontal=True):
        choice("From", "from", names, "the one before")
        choice("To", "to", names, "the newest")
    diff = library().diff(told["id"], whole("from"), whole("to"))
    shown(markup('<p class="quiet">From version {} to {}: {}</p>', diff["from"]["number"],
                 diff["to"]["number"], summary(diff["counts"])))
    shown(changes(diff["changes"]))


def listed(identity: str, versions: list[Json]) -> Markup:
    return table("versions", ("Version", "Read", "Characters", "State", "SHA-256"), (
        (to_screen("documents", f"{version['number']}: {version['title']}", id=identity,
                   version=version["number"]),
         when(version["read_at"]), number(version["characters"]), stands(version),
         markup("<code>{}</code>", version["content_hash"][:12]))
        for version in versions))


def stands(version: Json) -> Markup:
    if version["verdict"] and version["indexed_at"] is None:
        return state(version["verdict"])
    if version["failure"]:
        return markup("{}<small>{}</small>", state("failed"), version["failure"])
    if version["superseded_at"]:
        return state("retired", "a newer one answers")
    return state("indexed", "answers") if version["indexed_at"] else state("pending", "waits for the index")
