"""The library behind the screens: one client a process, or one a visitor where others may come, too; and
trouble with it told in a sentence.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import streamlit as st

from almanac.client import ApiProblem, Client, ClientError, NotRunning, connect, exposed
from dashboards.visitors import visitor
from dashboards.words import notice

log = logging.getLogger(__name__)

connected = st.cache_resource(connect, show_spinner=False)


def library() -> Client:
    """The running Almanac, as the viewer may see it. Raises ClientErrors, as each of its methods does."""
    if not exposed():
        return cast(Client, connected())
    if (client := visitor(st.context.cookies)) is None:
        raise ApiProblem("You are signed out", "Reload this page to sign in again.", "signed_out", 401)
    return client


@contextmanager
def trouble_told() -> Iterator[None]:
    """What goes wrong inside is shown in a sentence with a way on, never as a stack trace."""
    try:
        yield
    except ClientError as error:
        connected.clear()  # the next try reads the token anew
        told(*sentences(error))
    except Exception:
        log.exception("a screen failed")
        told("This screen failed", "The dashboard's log says why: `almanac status` names the file.")


def told(title: str, *ways_on: str) -> None:
    notice(title, *ways_on)
    st.button("Try again", key="try-again")


def sentences(error: ClientError) -> tuple[str, ...]:
    """A title, what was wrong, and what to do."""
    match error:
        case NotRunning():
            return "Almanac does not answer", error.detail
        case ApiProblem(code="signed_out"):
            return error.title, error.detail
        case ApiProblem(status=401):
            return ("Almanac does not take this token",
                    "The one in the data folder is not the one that the running Almanac began with: restart "
                    "it with `almanac down` and `almanac up`.")
        case ApiProblem():
            return error.title, error.detail
        case _:
            return "Almanac did not do this", error.detail
