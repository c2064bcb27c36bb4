"""What a look at an address found, before anything is saved."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.source_words import KINDS
from dashboards.tables import table
from dashboards.words import counted, day, link, markup, shown

LONGEST = 240  # characters of a summary


def show(there: Json) -> None:
    """The kind, the name and the first items as they will be read."""
    shown(markup(
        '<section class="found"><h2 dir="auto">{}</h2><p class="quiet">{}</p><p>{}</p></section>',
        there["name"] or there["url"], markup("{} · {} · {}", KINDS.get(there["kind"], there["kind"]),
                                            link(there["url"], there["url"]),
                                            f"{counted(there['offered'], 'item')} offered"),
        there["reason"]))
    if there["items"]:
        shown(first_items(there["items"]))
    else:
        st.text("It offers nothing now; what it will offer is read when it comes.")


def first_items(items: list[Json]) -> Markup:
    rows = ((markup('{}<small dir="auto">{}</small>', link(item["url"], item["title"] or item["url"]),
                    shortened(item["summary"] or "")), day(item["published_at"])) for item in items)
    return table("items", ("Its first items, as they will be read", "Published"), rows)


def shortened(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rstrip()} …"
