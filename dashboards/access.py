"""Who may ask the library, and with which keys it asks others: tokens, credentials, curated tools."""

import streamlit as st
from markupsafe import Markup

from almanac.client import ApiProblem, Json
from dashboards import acts
from dashboards.bars import share
from dashboards.connection import library, trouble_told
from dashboards.states import spoken, state
from dashboards.tables import table
from dashboards.words import heading, joined, markup, moment, notice, shown

MADE = "made-token"  # shown until it is copied


def show() -> None:
    heading("Tokens")
    tokens()
    heading("Credentials for outside help")
    credentials()


def tokens() -> None:
    """Those who may ask; only the owner sees them."""
    if made := st.session_state.get(MADE):
        st.text("This token is shown only now: copy it.")
        st.code(made, language=None)
        st.button("I have copied it", key="copied", on_click=st.session_state.pop, args=(MADE,))
    with st.form("token", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("For whom or what", key="token-name", placeholder="the assistant on my laptop")
        scopes = st.text_input("What it may read, with commas between", "library", key="token-scopes")
        pressed = st.form_submit_button("Make a token", type="primary", width=140)
    with trouble_told():
        if pressed:
            make(name, [scope.strip() for scope in scopes.split(",") if scope.strip()])
        listed = sorted(library().tokens(), key=lambda token: token["revoked_at"] is not None)
        for token in listed:
            show_token(token)


def make(name: str, scopes: list[str]) -> None:
    st.session_state[MADE] = library().add_token(name, scopes=scopes)["token"]
    st.rerun()


def show_token(token: Json) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"token-{token['id']}"):
        used = f"last used {moment(token['last_used_at'])}" if token["last_used_at"] else "never used"
        ended = token["revoked_at"]
        shown(markup(
            '<p class="line"><b dir="auto">{}</b> {} <small>{} · made {} · {}</small></p>', token["name"],
            state("retired", "revoked") if ended else Markup(), ", ".join(token["scopes"]),
            moment(token["created_at"]), used))
        if not ended:
            acts.after_asking("Revoke", f"revoke-{token['id']}", "Whoever has it may ask no more.",
                              lambda: library().revoke_token(token["id"]), said="The token is revoked.")


def credentials() -> None:
    """Keys of other services: their last four characters, and how much of their limits is used."""
    there = optional_credentials()
    if not there:
        notice("No outside help", "Almanac works without any. To let another AI service answer what the "
               "library cannot, add a key of yours: `almanac vault add PROVIDER` reads it from its input.")
        return
    shown(table("credentials", ("Service", "Key", "State", "Priority", "Used"), map(credential, there)))


def optional_credentials() -> list[Json]:
    """None, too, where this Almanac knows no credentials."""
    try:
        return library().credentials()
    except ApiProblem as problem:
        if problem.status == 404:
            return []
        raise


def credential(told: Json) -> tuple[object, ...]:
    return (
        markup("{}<small>{}</small>", told["provider"], told["owner"]),
        markup("<code>…{}</code>", told["last_four"]),
        state("ok", "in use") if told["enabled"] else state("paused", "switched off"),
        told["priority"],
        joined(usage(name, told["used"].get(name) or 0, limit)
               for name, limit in told["limits"].items() if limit) or "no limits",
    )


def usage(name: str, used: int, limit: int) -> Markup:
    return markup('<span class="count">{} {:,} of {:,} {}</span>', share(used, limit), used, limit,
                  spoken(name))


def show_tools() -> None:
    """The curated MCP servers and what each of their tools is."""
    servers = library().system().get("tools")
    if not servers:
        notice("No other tools", "Almanac can lend an assistant the tools of other MCP servers that you "
               "name: write a list of them and set `ALMANAC_MCP_SERVERS` to its path.")
        return
    shown(table("servers", ("Server", "State", "Tools"), (
        (server["server"],
         state("ok", "connected") if server["connected"] else markup(
             "{}<small>{}</small>", state("trouble", "not connected"), server["why"] or ""),
         joined(markup('<span class="count">{} <small>{}</small></span>', tool["name"], state(tool["state"]))
                for tool in server["tools"]) or "none")
        for server in servers)))
