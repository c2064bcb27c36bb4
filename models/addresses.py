"""Addresses of the web: what is fetched, what is linked, and when two of them are the same page."""

import hashlib
import re
from dataclasses import dataclass, replace
from urllib.parse import quote

from models.hosts import normal_host, port_number
from models.tracking import is_tracking

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_LENGTH = 4096
MAX_KEY_LENGTH = 2000  # a PostgreSQL index row holds about 2,700 bytes

SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.IGNORECASE | re.DOTALL)
AUTHORITY = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)
ESCAPE = re.compile("%(?:([0-9A-Fa-f]{2}))?")

# What is percent-encoded where it stands bare: the sets of the WHATWG URL standard.
UNSAFE_IN_PATH = re.compile(r'[^!-~]|["<>^`{}]')
UNSAFE_IN_QUERY = re.compile(r"""[^!-~]|["'<>]""")
UNSAFE_IN_FRAGMENT = re.compile(r'[^!-~]|["<>`]')
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")

# Of servers that cannot set a cookie: Servlet §7.1.3, PHP's trans-sid, ASP.NET's cookieless sessions.
SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid)=[^/;]*|/\(S\([a-z0-5]{24}\)\)(?=/|$)", re.IGNORECASE)

ROUTE = re.compile("!?/")  # how a fragment begins that an application reads as a path
LINE_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))
EDGES = "".join(map(chr, range(0x21))) + "\x7f\xa0\ufeff"
NO_LINKS = frozenset({"", "#", "-", "n/a", "none", "null", "nil", "undefined"})


@dataclass(frozen=True, slots=True)
class Address:
    """An http(s) URL taken apart, its host normal and its path and query ready for the wire (RFC 3986)."""

    scheme: str
    host: str  # models.hosts.normal_host
    port: int
    path: str  # never empty, without dot segments
    query: str | None = None
    fragment: str = ""

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Read an absolute URL. Raises ValueError, one clear sentence, for all that may not be fetched."""
        scheme, rest = _scheme(_not_too_long(url.strip(EDGES)))
        authority = AUTHORITY.fullmatch(rest)
        if not authority or not authority[1]:
            raise ValueError("the address names no host")
        host, port = _host_and_port(authority[1], scheme)
        return cls(scheme, host, port, "/").at(authority[2])

    def at(self, reference: str) -> "Address":
        """The address on this host that a reference of path, query and fragment leads to (RFC 3986 §5.2)."""
        reference, _, fragment = _not_too_long(reference).translate(LINE_BREAKS).partition("#")
        path, mark, query = reference.partition("?")
        path = path.replace("\\", "/")
        if path and not path.startswith("/"):
            path = f"{self.path.rpartition('/')[0]}/{path}"
        address = replace(
            self,
            path=_without_dots(_encode(path or self.path, UNSAFE_IN_PATH)),
            query=_encode(query, UNSAFE_IN_QUERY) if mark else None if path else self.query,
            fragment=_encode(fragment, UNSAFE_IN_FRAGMENT),
        )
        _not_too_long(str(address))
        return address

    def join(self, href: str) -> "Address":
        """Where a link on this page leads. Raises ValueError for another scheme or a broken address."""
        href = href.strip(EDGES)
        if href[:2].replace("\\", "/") == "//":
            return Address.parse(f"{self.scheme}:{href}")
        if SCHEME.match(href):
            return Address.parse(href)
        return self.at(href)

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def target(self) -> str:
        """Path and query, as they are asked for."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}" + (f"#{self.fragment}" if self.fragment else "")


def check_address(url: str) -> str:
    """The address to fetch for what an owner typed. Raises ValueError, one clear sentence.

    Path and query keep their order, case, ``+`` and ``%20``; the fragment stays, for citations.
    """
    return str(Address.parse(url))


def without_fragment(address: str) -> str:
    """The address as a server is asked for it: two that differ in their fragments alone are one."""
    return address.partition("#")[0]


def resolve_link(base: str, href: str) -> str | None:
    """The absolute http(s) address of a link found at ``base``; none for a placeholder or another scheme."""
    if href.strip(EDGES).lower() in NO_LINKS:
        return None
    try:
        return str(Address.parse(base).join(href))
    except ValueError:
        return None


def same_server(known: Address, other: Address) -> bool:
    """Whether what is said to ``known`` may be said to ``other``: that server, not less secure."""
    same_port = other.port == known.port or (known.port, other.port) == (80, 443)
    downgraded = (known.scheme, other.scheme) == ("https", "http")
    return other.host == known.host and same_port and not downgraded


def is_route(address: str) -> bool:
    """Whether its fragment names a page of an application, ``#/a`` or ``#!/a``, and no place in one."""
    return ROUTE.match(address.partition("#")[2]) is not None


def identity_key(url: str, fragment_routes: bool = False) -> str:
    """The key that two spellings of one page share. Raises ValueError as ``check_address`` does.

    Without fragment (but for one that ``is_route``, where there are ``fragment_routes``), tracking
    parameters, session ids in the path, empty parameters and those said twice; escapes of unreserved
    characters undone and others in upper case (RFC 3986 §6.2.2). Everything else counts: http and https are
    two keys, since nothing promises that they serve the same page (a page that redirects or names its
    canonical address is joined by that).
    A key past 2,000 characters is the digest of itself at its origin.
    """
    address = Address.parse(url)
    path = _without_dots(SESSION_IN_PATH.sub("", _normal_escapes(address.path))) or "/"
    parts = _normal_escapes(address.query or "").split("&")
    told = (part for part in dict.fromkeys(parts) if part and not is_tracking(part.partition("=")[0]))
    query = "&".join(told)
    key = address.origin + path + (f"?{query}" if query else "")
    if fragment_routes and ROUTE.match(address.fragment):
        key += f"#{_normal_escapes(address.fragment)}"
    if len(key) > MAX_KEY_LENGTH:
        return f"{address.origin}/~{hashlib.sha256(key.encode()).hexdigest()}"
    return key


def _not_too_long(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the address is longer than {MAX_LENGTH:,} characters")
    return text


def _scheme(url: str) -> tuple[str, str]:
    found = SCHEME.fullmatch(url)
    if not found:
        raise ValueError("the address has no scheme: write https:// in front of it")
    scheme = found[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise ValueError(f"{scheme}: addresses are not read: give one that starts with https:// or http://")
    return scheme, found[2]


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise ValueError("the address holds a user name or password: leave them out")
    if "\\" in authority or any(char <= " " or char == "\x7f" for char in authority):
        raise ValueError("the host of the address holds a character that no host has")
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    if not host:
        raise ValueError("the address names no host")
    if ":" in host and not host.startswith("["):
        raise ValueError("an IPv6 address stands in brackets: http://[::1]/")
    return normal_host(host), port_number(port) if port else DEFAULT_PORTS[scheme]


def _encode(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(lambda found: quote(found[0], safe="", errors="replace"), text)


def _normal_escapes(text: str) -> str:
    def normal(found: re.Match[str]) -> str:
        if found[1] is None:
            return "%25"
        char = chr(int(found[1], 16))
        return char if UNRESERVED.fullmatch(char) else found[0].upper()

    return ESCAPE.sub(normal, text)


def _without_dots(path: str) -> str:
    """RFC 3986 §5.2.4 on a path that starts with a slash; ``%2e`` is a dot."""
    if "." not in path and "%2" not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
    if plain in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)
