"""What an owner may choose of a source, as a form: of a new one, and of one that is there."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from almanac.client import Json
from dashboards.words import zone

MODES = {"everything": "everything", "interesting": "only what may interest me"}
UNITS = {1: "seconds", 60: "minutes", 3600: "hours", 86400: "days", 604800: "weeks"}
LETTERS = {1: "s", 60: "m", 3600: "h", 86400: "d", 604800: "w"}
USUAL: Mapping[str, Any] = {
    "name": "", "every_seconds": 3600, "cron": None, "zone": None, "priority": 50, "weight": 0.5,
    "limit_per_poll": 100, "mode": "everything", "include": (), "exclude": (), "tags": (),
    "fragment_routes": False,
}


def fields(source: Mapping[str, Any], key: str) -> Json:
    """The choices as the API takes them, as they stand in the widgets; inside a form."""
    name = st.text_input("Name", source["name"], key=f"{key}-name", placeholder="its own title",
                         max_chars=200)
    tags = st.text_input("Tags, with commas between", ", ".join(source["tags"]), key=f"{key}-tags")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        often = schedule(source, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        priority = st.number_input("Priority, 0 to 100: high is read first", 0, 100, source["priority"],
                                   key=f"{key}-priority")
        weight = st.number_input("Weight in the ranking, 0 to 1", 0.0, 1.0, source["weight"], 0.05,
                                 key=f"{key}-weight")
        limit = st.number_input("New items of one poll, at most", 1, 1000, source["limit_per_poll"],
                                key=f"{key}-limit")
    mode = st.radio("Read", list(MODES), list(MODES).index(source["mode"]), format_func=MODES.__getitem__,
                    horizontal=True, key=f"{key}-mode")
    with st.container(horizontal=True):
        include = patterns("Only addresses like these, one a line", source["include"], f"{key}-include")
        exclude = patterns("No addresses like these, one a line", source["exclude"], f"{key}-exclude")
    routes = st.checkbox("Addresses that differ after “#/” are pages of their own", source["fragment_routes"],
                         key=f"{key}-routes")
    return often | {
        "name": name.strip() or None, "tags": [tag.strip() for tag in tags.split(",") if tag.strip()],
        "priority": priority, "weight": weight, "limit": limit, "mode": mode, "include": include,
        "exclude": exclude, "fragment_routes": routes}


def schedule(source: Mapping[str, Any], key: str) -> Json:
    """An interval, or a cron line with its zone."""
    number, unit = in_units(source["every_seconds"] or 3600)
    every = st.number_input("Look every", 1, 1000, number, key=f"{key}-every")
    size = st.selectbox("Unit", list(UNITS), list(UNITS).index(unit), format_func=UNITS.__getitem__,
                        key=f"{key}-unit")
    cron = st.text_input("or by a cron line", source["cron"] or "", key=f"{key}-cron",
                         placeholder="0 7 * * *")
    of = st.text_input("whose time zone is", source["zone"] or zone(), key=f"{key}-zone")
    if cron.strip():
        return {"cron": cron.strip(), "zone": of.strip() or None}
    return {"every": f"{every}{LETTERS[size]}"}


def in_units(seconds: int) -> tuple[int, int]:
    """As a number of the largest unit that divides it."""
    size = max(size for size in UNITS if seconds % size == 0)
    return seconds // size, size


def patterns(label: str, there: list[str], key: str) -> list[str]:
    told = st.text_area(label, "\n".join(there), key=key, height="content", placeholder="*/news/*")
    return [line.strip() for line in told.splitlines() if line.strip()]


def changes(source: Mapping[str, Any], told: Json) -> Json:
    """What of ``told`` differs from the source as it is."""
    number, unit = in_units(source["every_seconds"] or 3600)
    as_it_is = {
        "every": None if source["cron"] else f"{number}{LETTERS[unit]}", "cron": source["cron"],
        "zone": source["zone"], "limit": source["limit_per_poll"],
    } | {name: source[name] for name in (
        "name", "priority", "weight", "mode", "include", "exclude", "tags", "fragment_routes")}
    return {name: value for name, value in told.items()
            if value is not None and value != as_it_is[name] and not (name == "zone" and "cron" not in told)}
