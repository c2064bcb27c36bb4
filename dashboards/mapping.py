"""The mapping editor: where in the answer of a JSON API each field of an item is, beside its first rows."""

from typing import Any

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.words import counted, joined, markup, notice, plain, shown

FIELDS = {  # of a map, with what each is for
    "url": "Address of an item", "title": "Title", "summary": "Summary", "content": "Full text",
    "date": "Date", "author": "Author", "id": "Its own id",
}
PAGES = {"next": "Link or cursor to the next page", "cursor": "Query parameter for that cursor"}
SHOWN = 12  # fields in the table of rows


def edit(sample: Json, there: dict[str, str], key: str) -> dict[str, str] | None:
    """The map as it stands in the widgets, guessed from the ``sample`` where ``there`` is none yet.

    None where the answer holds no list of items.
    """
    lists = sample["lists"]
    if not lists:
        notice("There is no list of items in this answer", "An API can be read where its answer holds a list "
               "of objects, each with an address.")
        return None
    paths = [each["items"] for each in lists]
    first = paths.index(there["items"]) if there.get("items") in paths else 0
    at = st.selectbox(
        "The list of items", range(len(lists)), first,
        format_func=lambda n: plain(
            f"{paths[n] or 'the whole answer'} ({counted(lists[n]['count'], 'item')})"),
        key=f"{key}-items")
    listed = lists[at or 0]
    shown(rows(listed["fields"]))
    guessed = there if there.get("items", "") == listed["items"] and there else listed["map"]
    mapped = {"items": listed["items"]} | places(listed, guessed, f"{key}-{listed['items']}")
    with st.expander("If the list has more pages", key=f"{key}-pages"):
        mapped |= {field: st.text_input(words, there.get(field, ""), key=f"{key}-{field}")
                   for field, words in PAGES.items()}
    return {field: value.strip() for field, value in mapped.items() if value and value.strip()}


def places(listed: Json, guessed: dict[str, str], key: str) -> dict[str, Any]:
    """For each field the path to it: one of those in the first rows, or another that is typed."""
    paths = [field["path"] for field in listed["fields"]]
    with st.container(horizontal=True, key=f"map-{key}"):
        return {
            field: st.selectbox(
                words, options(paths, guessed.get(field)), place(paths, guessed.get(field)),
                format_func=plain, key=f"{key}-{field}", accept_new_options=True, placeholder="not there",
                width=260)
            for field, words in FIELDS.items()}


def options(paths: list[str], path: str | None) -> list[str]:
    return paths if path is None or path in paths else [*paths, path]


def place(paths: list[str], path: str | None) -> int | None:
    return None if path is None else options(paths, path).index(path)


def rows(fields: list[Json]) -> Markup:
    """The first rows, a line a field: names are long, and there are many."""
    number = max((len(field["values"]) for field in fields), default=0)
    return markup(
        '<div class="scroll"><table class="rows"><thead><tr><th scope="col">Field</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        joined(markup('<th scope="col">Item {}</th>', n + 1) for n in range(number)),
        joined(markup('<tr><th scope="row"><code>{}</code></th>{}</tr>', field["path"],
                      joined(markup('<td dir="auto">{}</td>', value) for value in field["values"]))
               for field in fields[:SHOWN]))
