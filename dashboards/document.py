"""One document: what it says and said, how it was understood, cut and judged, and what to do with it."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import acts, inside, runs, versions
from dashboards.choices import open_view, view, whole
from dashboards.connection import library
from dashboards.paging import CURSOR, pager
from dashboards.reader import reader
from dashboards.states import state, why
from dashboards.tables import facts
from dashboards.words import counted, day, link, markup, moment, notice, shown, title, to_screen

VIEWS = {"text": "Text", "changes": "Versions", "analysis": "Analysis", "chunks": "Chunks", "gates": "Gates"}
BLOCKS = 200  # of a text at once


def show(identity: str) -> None:
    told = library().document(identity, whole("version"))
    title(told["title"] or (told["version"] or {}).get("title") or told["url"],
          to_screen("documents", "All documents"))
    runs.progress()
    shown(card(told))
    if told["state"] == "removed":
        return
    commands(told)
    part = view("Part of the document", VIEWS)
    {"text": show_text, "changes": versions.show, "analysis": inside.show_analysis,
     "chunks": inside.show_chunks, "gates": inside.show_gates}[part](told)


def card(told: Json) -> Markup:
    held = told["held"]
    return markup(
        '<article class="one"><p class="quiet">{}</p>{}</article>', link(told["url"], told["url"]), facts([
            ("State", markup("{}<small>{}</small>", state(told["state"]), why(told))),
            ("Source", to_screen("sources", told["source"], id=told["source_id"])),
            ("Author", told["author"]),
            ("Published", day(told["published_at"])),
            ("Found", moment(told["discovered_at"])),
            ("Read", told["read_at"] and moment(told["read_at"])),
            ("Its address has failed since", told["failing_since"] and moment(told["failing_since"])),
            ("Read again", told["due_at"] and moment(told["due_at"])),
            ("Held back", held and f"{held['reason']}; until {moment(held['until'])}"),
            ("Repeats", told["duplicate_of"] and to_screen(
                "documents", "another document, which answers", id=told["duplicate_of"])),
            ("Answers with", answers_with(told)),
        ]))


def answers_with(told: Json) -> str:
    version = told["version"]
    if version is None or told["version_id"] is None:
        return "nothing"
    if version["id"] == told["version_id"]:
        return f"version {version['number']}, read {moment(version['read_at'])}"
    return f"another version than number {version['number']}, which is shown here"


def commands(told: Json) -> None:
    name, identity = told["title"] or told["url"], told["id"]
    with st.container(horizontal=True, gap="small", key="commands"):
        if told["state"] in {"quarantined", "rejected"} and refused(told):
            acts.act("Release", "release", lambda: library().release(identity), f"Indexing {name}",
                     primary=True)
            if told["state"] == "quarantined":
                acts.act("Reject", "reject", lambda: library().reject(identity), said="It stays out.")
        acts.act("Read it again", "retry", lambda: library().retry_document(identity), f"Reading {name}")
        if told["version_id"]:
            acts.act("Analyse it again", "analyse", lambda: library().analyse_document(identity),
                     f"Analysing {name}")
        acts.after_asking("Remove", "remove", "It answers no more, and its source does not bring it back.",
                          lambda: remove(identity), said=f"{name} was removed.")


def refused(told: Json) -> bool:
    """Whether it is a gate that keeps it out."""
    return bool(told["state"] == "quarantined" or told["reason"] == "rejected by its owner")


def remove(identity: str) -> None:
    library().remove_document(identity)
    open_view()


def show_text(told: Json) -> None:
    """The blocks of a version; a long one in parts."""
    version = told["version"]
    if version is None:
        notice("Nothing of it was read yet", told["reason"])
        return
    blocks = version["blocks"]
    first = whole(CURSOR) or 0
    shown(markup('<p class="quiet">Version {} · {} · {} · {}</p>', version["number"],
                 counted(len(blocks), "block"), f"{len(version['text']):,} characters",
                 version["language"] or "no language known"))
    shown(reader(blocks[first:first + BLOCKS]))
    pager(str(first + BLOCKS) if first + BLOCKS < len(blocks) else None)
