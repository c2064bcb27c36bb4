"""Request headers that an owner sets for a source."""

import re
from collections.abc import Callable, Mapping, Sequence
from traceback import format_exception
from typing import Any
from uuid import UUID

from models.addresses import Address, same_server
from models.sealing import KeyRing, open_values

MASK = "********"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")

# Of the connection and the message (RFC 9110 §7.6.1, §8.6), and what Almanac says itself.
RESERVED = frozenset({
    "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length",
    "content-encoding", "expect", "accept-encoding", "range", "if-match", "if-none-match", "if-range",
    "if-modified-since", "if-unmodified-since", "user-agent", "http2-settings",
})
MAX_BYTES = 8192  # of all of them, as most servers take them


def headers_for(url: str, own: Mapping[str, str], source_url: str) -> dict[str, str]:
    """Of a source's ``own`` headers, what may be said to ``url``: all to its own server, else nothing."""
    try:
        known = bool(own) and same_server(Address.parse(source_url), Address.parse(url))
    except ValueError:
        return {}
    return dict(own) if known else {}


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with lower-case names. Raises ValueError, one sentence, for one that may not be set."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if not TOKEN.fullmatch(name):
            raise ValueError("a header has a name of letters, digits and hyphens, and then its value")
        if lower in RESERVED or lower.startswith(("proxy-", "sec-")):
            raise ValueError(f"the header {name} is Almanac's own to set: leave it out")
        if not VALUE.fullmatch(value):
            raise ValueError(f"the value of the header {name} must be plain ASCII on one line")
        if lower in checked:
            raise ValueError(f"the header {name} is set twice")
        checked[lower] = value
    if sum(len(name) + len(value) for name, value in checked.items()) > MAX_BYTES:
        raise ValueError(f"the headers are longer than {MAX_BYTES:,} bytes together")
    return checked


def traceback_of(error: BaseException, headers: Mapping[str, str]) -> str:
    """How an error came about, for a log: what was said in a header may stand in it, and is taken out."""
    told = "".join(format_exception(error))
    for value in headers.values():
        for form in {value, repr(value)[1:-1]}:
            told = told.replace(form, MASK)
    return told


def header_record(source_id: UUID, url: str) -> Sequence[str]:
    """The identity that a source's headers are sealed for: the source, and the host that they are said to."""
    return ("source", str(source_id), Address.parse(url).host)


def open_headers(
    keys: Callable[[], KeyRing], source_id: UUID, url: str, stored: Mapping[str, Any]
) -> dict[str, str]:
    """A source's headers as they are said. Raises models.sealing.NotOpened."""
    return open_values(keys(), stored, header_record(source_id, url)) if stored else {}
