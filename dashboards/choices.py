"""What a view is narrowed to: each choice stands in the address, so that every view has one."""

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboards.paging import CURSOR
from dashboards.words import plain


def chosen(name: str) -> str | None:
    """What the address says; none for nothing."""
    return st.query_params.get(name) or None


def open_view(**values: object) -> None:
    """Show the view with exactly this in its address, at the next run; for ``on_click``."""
    st.query_params.from_dict({name: str(value) for name, value in values.items() if value is not None})


def choice(label: str, name: str, options: Mapping[str, str], every: str) -> str | None:
    """One of ``options``, by what it is called, or none of them: ``every``."""
    values = ["", *options]
    st.selectbox(
        label, values, index=place(values, name), format_func=lambda value: plain(options.get(value, every)),
        key=f"choose-{name}", on_change=note, args=(name,))
    return values[place(values, name)] or None


def words_box(label: str, name: str, placeholder: str) -> str | None:
    """Words to look for."""
    st.text_input(label, chosen(name) or "", key=f"choose-{name}", placeholder=placeholder,
                  autocomplete="off", on_change=note, args=(name,))
    return chosen(name)


def view(label: str, options: Mapping[str, str], name: str = "view") -> str:
    """One of some parts of a screen, the first unless the address names another."""
    values = list(options)
    st.segmented_control(
        label, values, default=values[place(values, name)], format_func=options.__getitem__, required=True,
        key=f"choose-{name}", label_visibility="collapsed", on_change=note, args=(name,))
    return values[place(values, name)]


def place(values: Sequence[str], name: str) -> int:
    said = chosen(name)
    return values.index(said) if said in values else 0


def note(name: str) -> None:
    """Write into the address what was chosen; other pages of a longer list are left."""
    st.query_params.pop(CURSOR, None)
    if value := st.session_state[f"choose-{name}"]:
        st.query_params[name] = value
    else:
        st.query_params.pop(name, None)


def whole(name: str) -> int | None:
    """The number that the address says; none for nothing, and for what is none."""
    said = chosen(name)
    return int(said) if said and said.isascii() and said.isdigit() and len(said) < 10 else None
