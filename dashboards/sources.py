"""The sources screen: what the library reads, how each source is, and what its looks came to.

``?id=`` shows one of them, ``?add=`` adds one; ``text`` and ``after`` are of the list.
"""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards import acts, add_source, runs, source, subscriptions
from dashboards.bars import strip
from dashboards.charts import spark
from dashboards.choices import chosen, open_view, words_box
from dashboards.connection import library
from dashboards.paging import cursor, pager
from dashboards.source_words import documents, health, last_poll, next_poll, origin, trouble
from dashboards.states import toned
from dashboards.tables import table
from dashboards.words import counted, joined, markup, notice, shown, to_screen, zone

HEADINGS = ("Source", "Health", "Last polls", "New items, 14 days", "Next poll", "Documents")
PAGE = 50


def show() -> None:
    if (identity := chosen("id")) is not None:
        source.show(identity)
    elif chosen("add") is not None:
        add_source.show()
    else:
        show_list()


def show_list() -> None:
    """A page of the sources; those that need a look come first."""
    st.title("Sources", anchor=False)
    runs.progress()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = words_box("Find a source", "text", "A word of its name, address or tags")
        st.button("Add a source", key="add", type="primary", on_click=open_view, kwargs={"add": 1})
        acts.act("Poll what is due", "poll-due", lambda: library().poll_due_sources(), "Polling what is due")
    page = library().source_page(q=text, limit=PAGE, after=cursor(), zone=zone())
    if page["sources"]:
        shown(markup('<p class="quiet">{}</p>', summary(page["counts"])))
        shown(table("sources", HEADINGS, map(cells_of, page["sources"])))
        pager(page["next"])
    elif text:
        notice("No source is called so", "Look for another word, or empty the box to see all of them.")
    else:
        notice("No sources yet", "Add one: the address of a feed, a sitemap, a page or a JSON API. It is "
               "looked at before anything is saved.", "On the command line that is `almanac source add URL`.")
    subscriptions.show()


def summary(counts: dict[str, int]) -> str:
    said = [counted(counts["all"], "source"), f"{counts['unwell']} unwell" if counts["unwell"] else "",
            f"{counts['paused']} paused" if counts["paused"] else ""]
    return " · ".join(filter(None, said))


def name(source: Json) -> Markup:
    tags = joined(markup(' <span class="tag">{}</span>', tag) for tag in source["tags"])
    return markup('<bdi>{}</bdi><small>{}</small>{}', to_screen("sources", source["name"], id=source["id"]),
                  origin(source), tags)


def cells_of(source: Json) -> tuple[Markup, ...]:
    tone, word = health(source)
    new = [day["new"] for day in source["days"]]
    return (
        name(source),
        markup("{}<small>{}</small>", toned(tone, word), trouble(source)),
        markup("{}<small>{}</small>", strip(source["looks"]), last_poll(source["last_poll"])),
        markup("{}<small>{:,}</small>", spark(new), sum(new)),
        next_poll(source),
        documents(source),
    )
