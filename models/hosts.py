"""Host names and IP addresses as a URL spells them, brought to the one form that is looked up."""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

import idna

LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMERIC = re.compile(r"0x[0-9a-f]*|[0-9]+")
IPV4_NUMBER = re.compile(r"0x[0-9a-f]*|0[0-7]*|[1-9][0-9]*")
JOINERS = "\u200c\u200d"


def normal_host(host: str) -> str:
    """The host as it is looked up: lower-case A-labels (UTS 46), dotted IPv4, or compressed IPv6.

    Takes what stands in a URL: percent-encoding is undone, IPv6 may have its brackets, and the decimal,
    octal, hexadecimal and short spellings of IPv4 are read as the WHATWG URL standard reads them. One
    trailing dot is dropped. Raises ValueError, one sentence, for what is no host.
    """
    if host.startswith("[") or ":" in host:
        return _ipv6(host)
    labels = _mapped(host).removesuffix(".").split(".")
    if NUMERIC.fullmatch(labels[-1]):
        return _ipv4(labels, host)
    normal = ".".join(_a_label(label, host) for label in labels)
    if len(normal) > 253:
        raise ValueError("the host name is longer than 253 characters")
    return normal


def is_ip(normal: str) -> bool:
    """Whether a normal host is an IP address: no name may end in a number, or hold a colon."""
    return ":" in normal or normal.rpartition(".")[2].isdigit()


def port_number(text: str) -> int:
    """1 to 65535. Raises ValueError, one sentence."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ValueError(f"{text!r} is not a port: ports are 1 to 65535")
    return int(text)


def _mapped(host: str) -> str:
    try:
        return idna.uts46_remap(unquote_to_bytes(host).decode(), std3_rules=False)
    except UnicodeError as error:
        raise ValueError(f"{host!r} is not a host name") from error


def _ipv6(host: str) -> str:
    inside = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if "%" in inside:
        raise ValueError("an IPv6 address with a zone cannot be fetched")
    try:
        address = IPv6Address(inside)
    except AddressValueError as error:
        raise ValueError(f"{host!r} is not an IPv6 address") from error
    if address.ipv4_mapped:  # str() spells these differently from Python 3.13 on
        high, low = divmod(int(address.ipv4_mapped), 1 << 16)
        return f"::ffff:{high:x}:{low:x}"
    return str(address)


def _ipv4(labels: list[str], host: str) -> str:
    """The IPv4 parser of the WHATWG URL standard: up to four numbers, the last filling what is left."""
    numbers = [_ipv4_number(label) for label in labels if IPV4_NUMBER.fullmatch(label)]
    *octets, last = numbers or [0]
    broken = len(numbers) != len(labels) or len(octets) > 3 or max(octets, default=0) > 255
    if broken or last >= 256 ** (4 - len(octets)):
        raise ValueError(f"{host!r} ends in a number but is not an IPv4 address")
    return str(IPv4Address(last + sum(octet << 8 * (3 - place) for place, octet in enumerate(octets))))


def _ipv4_number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _a_label(label: str, host: str) -> str:
    """The label in ASCII. An underscore is let through: DNS names in use have it."""
    try:
        encoded = _encoded(label)
    except UnicodeError as error:
        raise ValueError(f"{host!r} is not a host name") from error
    if not LABEL.fullmatch(encoded):
        raise ValueError(f"{host!r} is not a host name")
    return encoded


def _encoded(label: str) -> str:
    if label.startswith("xn--"):
        decoded = label[4:].encode("ascii").decode("punycode")
        if decoded.isascii() or idna.uts46_remap(decoded, std3_rules=False) != decoded:
            raise UnicodeError
        if _encoded(decoded) != label:
            raise UnicodeError
        return label
    if label.isascii():
        return label
    idna.check_initial_combiner(label)
    idna.check_bidi(label)
    if label.strip("-") != label or not all(
        idna.valid_contextj(label, place) for place, char in enumerate(label) if char in JOINERS
    ):
        raise UnicodeError
    return "xn--" + label.encode("punycode").decode("ascii")
