"""One source: how it is, what its looks came to, and what its owner may do with it."""

from collections.abc import Callable

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import acts, found_there, mapping, runs
from dashboards.bars import strip
from dashboards.charts import spark
from dashboards.choices import open_view, view
from dashboards.connection import library, trouble_told
from dashboards.source_form import changes, fields
from dashboards.source_words import documents, health, next_poll, origin, trouble
from dashboards.states import state, toned
from dashboards.tables import facts, number, table, when
from dashboards.words import counted, lasting, link, markup, moment, notice, shown, title, to_screen, zone

VIEWS = {"polls": "Polls", "edit": "Edit", "headers": "Headers"}
TRIED = "tried-changes"  # whose, which, and what was found then
OURS = {"documentation", "url", "kept"}  # nothing of these can be changed


def show(identity: str) -> None:
    source = library().source(identity, zone())
    title(source["name"], to_screen("sources", "All sources"))
    runs.progress()
    shown(card(source))
    commands(source)
    if source["kind"] in OURS:
        looks(source)
        return
    chosen = view("Part of the source", VIEWS)
    {"polls": looks, "edit": edit, "headers": headers}[chosen](source)


def card(source: Json) -> Markup:
    new = [day["new"] for day in source["days"]]
    held = source["held"]
    return markup(
        '<article class="one"><p class="quiet">{}</p>{}</article>', origin(source), facts([
            ("Health", markup("{}<small>{}</small>", toned(*health(source)), trouble(source))),
            ("Last good poll", source["last_good_at"] and moment(source["last_good_at"])),
            ("Last polls", strip(source["looks"])),
            ("New items, 14 days", markup("{} {:,}", spark(new), sum(new))),
            ("Next poll", markup("{}<small>{}</small>", next_poll(source), schedule(source))),
            ("Documents", documents(source)),
            ("Waiting", held and f"{held['reason']}; until {moment(held['until'])}"),
            ("Moves to", source["moved_to"] and link(source["moved_to"], source["moved_to"])),
            ("Tags", ", ".join(source["tags"])),
            ("Counts in the ranking", f"{source['weight']:.2f}"),
            ("Asked with", ", ".join(source["headers"])),
        ]))


def schedule(source: Json) -> str:
    if source["cron"]:
        return f"at {source['cron']}, {source['zone']}"
    return f"every {lasting(source['every_seconds'])}" if source["every_seconds"] else ""


def commands(source: Json) -> None:
    of, identity = source["name"], source["id"]
    with st.container(horizontal=True, gap="small", key="commands"):
        if source["kind"] not in {"url", "kept"}:
            acts.act("Poll now", "poll", lambda: library().poll_source(identity), f"Polling {of}",
                     primary=True)
            if source["paused"]:
                acts.act("Resume", "resume", lambda: library().resume_source(identity))
            else:
                acts.act("Pause", "pause", lambda: library().pause_source(identity))
        acts.after_asking("Remove", "remove", "Nothing that it brought answers any more.",
                          lambda: remove(identity), said=f"{of} was removed.")


def remove(identity: str) -> None:
    library().remove_source(identity)
    open_view()


def looks(source: Json) -> None:
    """Its last polls, newest first, with what went wrong."""
    if not source["polls"]:
        notice("It was not looked at yet", "Poll it now, or wait until its time has come.")
        return
    shown(table("polls", ("When", "Came to", "Why", "Offered", "New"), (
        (when(poll["finished_at"]), state(poll["outcome"]), answered(poll), number(poll["items_seen"]),
         number(poll["items_new"])) for poll in source["polls"])))


def answered(poll: Json) -> str:
    status = f" (HTTP {poll['http_status']})" if poll["http_status"] and poll["outcome"] != "new" else ""
    return f"{poll['reason']}{status}"


def edit(source: Json) -> None:
    """Every choice of the source; what is changed can be tried before it is saved."""
    map_ = edit_map(source) if source["kind"] == "json" else None
    with st.form("edit"):
        told = fields(source, "edit")
        with st.container(horizontal=True, gap="small"):
            tried = st.form_submit_button("See what it would offer")
            saved = st.form_submit_button("Save", type="primary")
    changed = changes(source, told) | ({"map": map_} if map_ and map_ != source["map"] else {})
    if (tried or saved) and not changed:
        st.text("Nothing is different.")
        return
    with trouble_told():
        if saved:
            library().edit_source(source["id"], **changed)
            acts.done(None, said=f"Saved: {counted(len(changed), 'change')}.")
        show_tried(source["id"], changed, tried)


def show_tried(identity: str, changed: Json, anew: bool) -> None:
    """What these changes would offer, for as long as they are the same: the screen may be drawn again."""
    if anew:
        with st.spinner("Looking …"):
            there = library().preview_source_edit(identity, **changed)
        st.session_state[TRIED] = identity, changed, there
    of, with_these, there = st.session_state.get(TRIED, (None, None, None))
    if (of, with_these) == (identity, changed):
        found_there.show(there)


def edit_map(source: Json) -> dict[str, str] | None:
    """The map beside what the API answers now; that is asked for by a click, since it is a request to it."""
    key = f"sample-{source['id']}"
    if key not in st.session_state:
        shown(markup('<p class="quiet">Its map: {}</p>', ", ".join(
            f"{field} = {path}" for field, path in source["map"].items())))
        acts.act("Edit the map beside its first rows", "sample", lambda: keep_sample(key, source["url"]))
        return None
    return mapping.edit(st.session_state[key], source["map"], "edit-map")


def keep_sample(key: str, url: str) -> None:
    st.session_state[key] = library().sample_source(url)


def headers(source: Json) -> None:
    """Headers that are sent to its server; their values are never shown again."""
    sent = ", ".join(source["headers"])
    shown(markup('<p class="quiet">Sent to its own server only: {}. Their values are never shown.</p>',
                 sent or "none so far"))
    with st.form("headers"):
        told = st.text_area("Name: value, one a line; these take the place of those before",
                            key="header-lines", placeholder="Authorization: Bearer …")
        pressed = st.form_submit_button("Set the headers")
    if pressed:
        with trouble_told():
            replace(source["id"], told, library().set_source_headers)


def replace(identity: str, told: str, put: Callable[[str, dict[str, str]], Json]) -> None:
    lines = [line.partition(":") for line in told.splitlines() if line.strip()]
    put(identity, {name.strip(): value.strip() for name, _, value in lines})
    acts.done(None, said="The headers are set.")
