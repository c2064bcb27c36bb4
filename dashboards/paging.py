"""Long tables by the API's pages: the cursor stands in the address, so that every page has one."""

import streamlit as st

CURSOR = "after"


def cursor(name: str = CURSOR) -> str | None:
    """Where the page begins that the address asks for; none for the first."""
    found: str | None = st.query_params.get(name)
    return found


def turn_to(after: str | None, name: str = CURSOR) -> None:
    """Show another page at the next run; none is the first. For ``on_click``, and where a filter changes."""
    if after is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = after


def pager(following: str | None, name: str = CURSOR) -> None:
    """Ways to the first page and to the ``following`` one, where there are such."""
    here = cursor(name)
    if not here and not following:
        return
    with st.container(horizontal=True, gap="small", key=f"pages-{name}"):
        if here:
            st.button("First page", key=f"first-{name}", on_click=turn_to, args=(None, name))
        if following:
            st.button("Next page", key=f"next-{name}", on_click=turn_to, args=(following, name))
