"""Who has shown a token: each visitor's client of the API, by a cookie that says nothing to anybody else.

Only where the dashboard can be reached from elsewhere; on this machine alone its owner is the only visitor.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from almanac.client import ApiProblem, Client, connect

COOKIE = "almanac"
MOST = 1000  # who came longest ago is to sign in again

known: OrderedDict[str, Client] = OrderedDict()
lock = Lock()


def admit(token: str) -> str | None:
    """A cookie's value for who holds ``token``; none where the API does not take it. Raises ClientErrors."""
    if not token:
        return None
    client = connect(token)
    try:
        client.interests()  # whatever a token's scopes are, it may ask for this
    except ApiProblem as problem:
        if problem.status == 401:
            return None
        raise
    with lock:
        known[name := secrets.token_urlsafe(32)] = client
        if len(known) > MOST:
            known.popitem(last=False)
    return name


def visitor(cookies: Mapping[str, str]) -> Client | None:
    """The client of who sends these cookies; none who has not signed in."""
    return known.get(cookies.get(COOKIE, ""))


def dismiss(cookies: Mapping[str, str]) -> None:
    with lock:
        known.pop(cookies.get(COOKIE, ""), None)
