"""The record behind a label: the stored passage with the excerpt marked in it, and what identifies it."""

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.connection import library, trouble_told
from dashboards.words import day, joined, link, markup, moment, shown


def point_to(retrieval_id: str, label: str) -> None:
    """Have the address name it."""
    st.query_params.update(retrieval=retrieval_id, record=label)


def show() -> None:
    """Opens the one that the address names, ``?retrieval=…&record=K1``, in front of the screen."""
    retrieval_id, label = st.query_params.get("retrieval"), st.query_params.get("record")
    if retrieval_id and label:
        opened = st.dialog(f"The record behind {shortened(label)}", width="medium", on_dismiss=leave)
        opened(fill)(retrieval_id, label)


def shortened(label: str) -> str:
    """A label as a dialog's title may have it, which is read as Markdown."""
    return "".join(filter(str.isalnum, label))[:10]


def leave() -> None:
    for name in ("retrieval", "record"):
        st.query_params.pop(name, None)


def fill(retrieval_id: str, label: str) -> None:
    with trouble_told():
        shown(described(library().citation(retrieval_id, label)))


def described(cited: Json) -> Markup:
    return markup(
        '<article class="record"><h2 dir="auto">{title}</h2>{note}'
        '<div class="passage" dir="auto">{passage}</div><dl>{facts}</dl></article>',
        title=link(cited["url"], cited["title"] or cited["url"]), note=note(cited), passage=passage(cited),
        facts=joined(markup("<dt>{}</dt><dd>{}</dd>", name, value) for name, value in facts(cited) if value),
    )


def note(cited: Json) -> Markup:
    if not cited["changed_since"]:
        return Markup()
    return markup('<p class="changed">The page has changed since: this is what it said when it was read. '
                  "A newer version answers now.</p>")


def passage(cited: Json) -> Markup:
    """The stored text around the excerpt, marked between the record's own ``start`` and ``end``."""
    around = cited["around"]
    start, end = cited["start"] - around["start"], cited["end"] - around["start"]
    words = around["text"]
    return markup('<span class="quiet">{}</span><mark>{}</mark><span class="quiet">{}</span>',
                  words[:start], words[start:end], words[end:])


def facts(cited: Json) -> list[tuple[str, object]]:
    return [
        ("Source", markup("<bdi>{}</bdi>", cited["source"])),
        ("Author", cited["author"] and markup("<bdi>{}</bdi>", cited["author"])),
        ("Address", link(cited["url"], cited["url"])),
        ("Site", cited["site_name"] and markup("<bdi>{}</bdi>", cited["site_name"])),
        ("Published", day(cited["published_at"])),
        ("Modified", cited["modified_at"] and day(cited["modified_at"])),
        ("Read", moment(cited["read_at"])),
        ("Its address has failed since", cited["failing_since"] and moment(cited["failing_since"])),
        ("Version", f"number {cited['version']}, characters {cited['start']:,} to {cited['end']:,}"),
        ("SHA-256 of its text", markup("<code>{}</code>", cited["content_hash"])),
    ]
