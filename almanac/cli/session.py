"""What commands need of the running Almanac: the API, and whole ids from the prefixes that people type."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from almanac.cli.failures import Failed, WrongUsage
from almanac.client import Client, Json, connect
from models.states import DocumentState

UUID_LENGTH = 36
NAMES = {"vault": "key"}  # of what a command lists, where it is not the command's own


def source_named(typed: str) -> tuple[Client, str]:
    """The API, and the id of the source that an id, or the beginning of one, names."""
    check_id(typed, "source")
    client = connect()
    return client, resolve(typed, "source", client.sources)


def document_named(typed: str) -> tuple[Client, str]:
    check_id(typed, "document")
    client = connect()
    removed = partial(client.every_document, state=DocumentState.REMOVED)  # listed only where asked for
    return client, resolve(typed, "document", lambda: chain(client.every_document(), removed()))


def token_named(typed: str) -> tuple[Client, str]:
    check_id(typed, "token")
    client = connect()
    return client, resolve(typed, "token", client.tokens)


def credential_named(typed: str) -> tuple[Client, str]:
    check_id(typed, "vault")
    client = connect()
    return client, resolve(typed, "vault", client.credentials)


def check_id(typed: str, what: str) -> None:
    if not re.fullmatch(r"[0-9a-f-]{4,36}", typed.strip().lower()):
        raise WrongUsage(f"“{typed}” is no id: give 4 or more characters of the beginning of one, as "
                         f"`almanac {what} list` shows it")


def resolve(typed: str, what: str, everything: Callable[[], Iterable[Json]]) -> str:
    """The one id that begins with ``typed``; a whole id is taken as it is."""
    prefix = typed.strip().lower()
    if len(prefix) == UUID_LENGTH:
        return prefix
    found = [row["id"] for row in everything() if row["id"].startswith(prefix)]
    if not found:
        raise Failed(f"there is no {NAMES.get(what, what)} whose id begins with {prefix}: "
                     f"`almanac {what} list` shows all")
    if len(found) > 1:
        raise Failed(f"{len(found)} ids of a {NAMES.get(what, what)} begin with {prefix}: give more of it")
    return str(found[0])
