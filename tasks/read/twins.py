"""Addresses that may show one article in another dress: for phones, as AMP, to print.

An address alone is never believed: it only says which documents to compare, and their texts decide.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

DRESSES = "amp|mobile|print"
HOST = re.compile(r"^(?:m|mobile|amp)\.(?=[^.]+\.)")
SEGMENT = re.compile(rf"/(?:{DRESSES})(?:\.html?)?(?=/|$)", re.IGNORECASE)
PARAMETER = re.compile(
    rf"(?:{DRESSES})(?:=(?:1|yes|true)?)?|(?:output|outputtype|view|format)=(?:{DRESSES})", re.IGNORECASE)

# The forms in which twins are looked for; more of them are undressed than made up.
FORMS = (
    *((host, path, "") for host in ("", "www.")
      for path in ("{}", "/amp{}", "{}/amp", "{}/amp/", "/mobile{}", "/print{}", "{}/print", "{}/print/")),
    *((host, "{}", query) for host in ("", "www.")
      for query in ("amp", "amp=1", "print", "print=1", "print=true", "output=amp", "view=print")),
    *((host, "{}", "") for host in ("m.", "mobile.", "amp.")),
)


def undressed(key: str) -> tuple[str, str, str]:
    """Host, path and query without all that may be a dress, and without www."""
    address = urlsplit(key)
    kept = (part for part in address.query.split("&") if not PARAMETER.fullmatch(part))
    return HOST.sub("", bare(address.netloc)), SEGMENT.sub("", address.path).rstrip("/"), "&".join(kept)


def is_dressed(key: str) -> bool:
    address = urlsplit(key)
    return undressed(key) != (bare(address.netloc), address.path.rstrip("/"), address.query)


def bare(host: str) -> str:
    return host.removeprefix("www.") if host.count(".") > 1 else host


def twins(key: str) -> Iterator[str]:
    """The keys under which documents may stand that show the same, ``key`` not among them."""
    host, path, query = undressed(key)
    for scheme in ("https", "http"):
        for front, form, more in FORMS:
            told = "&".join(filter(None, (query, more)))
            twin = f"{scheme}://{front}{host}{form.format(path) or '/'}" + (told and f"?{told}")
            if twin != key:
                yield twin
