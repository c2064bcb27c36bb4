"""Which addresses may be fetched: public ones, by the IANA registries, and what the owner allows."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from models.hosts import is_ip, normal_host, port_number
from tasks.errors import Unsafe

PORTS = frozenset({80, 443})
REMEDY = "; ALMANAC_ALLOWED_NETWORKS can allow it, from the next start of Almanac on"
METADATA = "cloud metadata"  # of which nobody is told how to allow it: it gives keys away
METADATA_NAMES = frozenset({"metadata", "instance-data"})  # where clouds give it a name without a dot
ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})  # RFC 5214 §6.1: what stands before the IPv4 address

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Block:
    """A row of the registries; ``reachable`` is yes, no, or embedded: judged by its last 32 bits."""

    network: IpNetwork
    kind: str
    reachable: str
    source: str


@cache
def blocks() -> tuple[Block, ...]:
    """Every special block, the most specific first.

    Beside the registries stand multicast, deprecated forms, all of IPv6 outside 2000::/3, and the metadata
    services of clouds. Of the forms that carry an IPv4 address, mapped ones and NAT64 (which DNS64 makes of
    every IPv4 site) are judged by it; the others serve no public site and are refused whatever they carry.
    """
    with (files("tasks.web") / "special_addresses.csv").open(encoding="utf-8") as rows:
        table = [Block(ip_network(row["block"]), row["class"], row["reachable"], row["source"])
                 for row in csv.DictReader(rows)]
    return tuple(sorted(table, key=lambda block: -block.network.prefixlen))


def block_of(address: IpAddress) -> Block | None:
    return next((block for block in blocks() if address in block.network), None)


def refusal(address: IpAddress) -> str | None:
    """The class of an address that may not be fetched, with its source; none for a public one."""
    if isinstance(address, IPv6Address) and address.scope_id:
        return "an address with a zone (RFC 4007)"
    block = block_of(address)
    if block and block.reachable == "no":
        return f"{block.kind} ({block.source})"
    carrier = block.kind if block and block.reachable == "embedded" else None
    if carrier or _is_isatap(address):
        carried = refusal(IPv4Address(int(address) & 0xFFFF_FFFF))
        return carried and f"{carrier or 'ISATAP'} of {carried}"
    return None


def _is_isatap(address: IpAddress) -> bool:
    return address.version == 6 and (int(address) >> 32) & 0xFFFF_FFFF in ISATAP


class Policy:
    """What may be connected to. ``allowed`` is the owner's exception and the only one.

    It lists networks (``10.0.0.0/8``, ``192.168.1.5``: every port of theirs) and ``host:port`` pairs
    (``nas.lan:8080``, ``[fd00::1]:80``: that port, wherever the name leads), separated by commas or spaces.
    Raises ValueError, one sentence, for an entry that is neither.
    """

    def __init__(self, allowed: str = "") -> None:
        self._networks: list[IpNetwork] = []
        self._pairs: set[tuple[str, int]] = set()
        for entry in allowed.replace(",", " ").split():
            try:
                self._networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                self._pairs.add(_pair(entry))

    def check_host(self, host: str, port: int) -> None:
        """Refuse before any look-up what no look-up can make right. Raises Unsafe."""
        if is_ip(host):
            self.check_ip(host, host, port)
        elif not self._networks and port not in {allowed for _, allowed in self._pairs}:
            _check_public(host, port)

    def check_ip(self, ip: str, host: str, port: int) -> None:
        """Refuse to connect to ``ip``, which the normal host name ``host`` leads to, at ``port``.

        Raises Unsafe; the reason names the class of the address and never the address.
        """
        address = ip_address(ip)
        if self._excepts(address, host, port):
            return
        if kind := refusal(address):
            remedy = "" if _leads_to_metadata(address) else REMEDY
            raise Unsafe(f"the address is refused: {kind} is not public{remedy}")
        _check_public(host, port)

    def is_owners(self, host: str, port: int) -> bool:
        """Is this a server that the owner named, by its pair or as an address in one of the networks?"""
        return self._excepts(ip_address(host), host, port) if is_ip(host) else (host, port) in self._pairs

    def _excepts(self, address: IpAddress, host: str, port: int) -> bool:
        plain = getattr(address, "ipv4_mapped", None) or address
        named = {(host, port), (str(plain).partition("%")[0], port)}
        return not named.isdisjoint(self._pairs) or any(plain in network for network in self._networks)


def _leads_to_metadata(address: IpAddress) -> bool:
    """Whether it is the metadata service of a cloud, or an IPv6 form that carries the address of one."""
    shifts = () if address.version == 4 else (0, 80)  # RFC 6052 and the like; RFC 3056
    carried = (IPv4Address(int(address) >> shift & 0xFFFF_FFFF) for shift in shifts)
    return any(block and block.kind == METADATA for block in map(block_of, (address, *carried)))


def _check_public(host: str, port: int) -> None:
    if port not in PORTS:
        raise Unsafe(f"port {port} is refused: only 80 and 443 are open{REMEDY}")
    if "." not in host and not is_ip(host):
        remedy = "" if host in METADATA_NAMES else REMEDY
        raise Unsafe(f"the host is refused: a name without a dot belongs to the local network{remedy}")


def _pair(entry: str) -> tuple[str, int]:
    host, _, port = entry.rpartition(":")
    try:
        return normal_host(host), port_number(port)
    except ValueError as error:
        raise ValueError(f"{entry!r} is neither a network such as 10.0.0.0/8 nor a host:port pair") from error
