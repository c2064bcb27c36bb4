"""The address policy: public addresses and what the owner allows, nothing else."""

from ipaddress import ip_network

import pytest

from tasks.errors import Unsafe
from tasks.web.policy import Policy, blocks

HOST = "site.example"


@pytest.mark.parametrize(("kind", "addresses"), [
    ("this network", "0.1.2.3"),
    ("unspecified", "0.0.0.0 ::"),
    ("loopback", "127.0.0.1 127.255.255.254 ::1"),
    ("private", "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1"),
    ("private (unique local)", "fc00::1 fdff:ffff::1"),
    ("carrier-grade NAT", "100.64.0.1 100.127.255.255"),
    ("link-local", "169.254.0.1 169.254.255.255 fe80::1 febf::1"),
    ("site-local", "fec0::1 feff::1"),
    ("cloud metadata", "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 "
                       "fd00:ec2::254 fd20:ce::254"),
    ("IETF protocol assignment", "192.0.0.100 2001:100::1"),
    ("NAT64 discovery", "192.0.0.170 192.0.0.171"),
    ("documentation", "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff:fff::1"),
    ("benchmarking", "198.18.0.1 198.19.255.255 2001:2::1"),
    ("6to4 relay", "192.88.99.1"),
    ("multicast", "224.0.0.1 239.255.255.255 ff02::1"),
    ("reserved", "240.0.0.1 255.255.255.254"),
    ("broadcast", "255.255.255.255"),
    ("discard-only", "100::1"),
    ("dummy prefix", "100:0:0:1::1"),
    ("ORCHID", "2001:10::1"),
    ("segment routing", "5f00::1"),
    ("unallocated", "64:ff9c::1 1000::1 4000::1 fe00::1"),
    ("IPv4-mapped of loopback", "::ffff:127.0.0.1"),
    ("IPv4-mapped of cloud metadata", "::ffff:169.254.169.254"),
    ("NAT64 of private", "64:ff9b::10.0.0.1"),
    ("NAT64 of link-local", "64:ff9b::169.254.1.1"),
    ("ISATAP of private", "2a00:1450::5efe:192.168.1.1 2a00:1450::200:5efe:10.0.0.1"),
    # These carry IPv4 where no public site is: refused whatever they carry.
    ("IPv4-compatible", "::127.0.0.1 ::1.1.1.1"),
    ("IPv4-translated", "::ffff:0:10.0.0.1 ::ffff:0:1.1.1.1"),
    ("local NAT64", "64:ff9b:1::10.0.0.1 64:ff9b:1:a00:0:100:: 64:ff9b:1::1.1.1.1"),
    ("6to4", "2002:7f00:1::1 2002:101:101::1"),
    ("Teredo", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
    ("an address with a zone", "fe80::1%eth0 ::1%lo 2a00:1450::1%eth0"),
])
def test_an_address_that_is_not_public_is_refused_by_its_class(kind: str, addresses: str) -> None:
    for address in addresses.split():
        with pytest.raises(Unsafe) as refused:
            Policy().check_ip(address, HOST, 443)
        assert f"refused: {kind} (" in refused.value.reason
        assert address not in refused.value.reason


@pytest.mark.parametrize("address", [
    "169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "fd00:ec2::254",
    "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::169.254.169.254", "2002:a9fe:a9fe::1",
    "::169.254.169.254", "2a00:1450::5efe:169.254.169.254",
])
def test_nobody_is_told_how_to_allow_a_service_that_gives_keys_away(address: str) -> None:
    with pytest.raises(Unsafe) as refused:
        Policy().check_ip(address, HOST, 80)
    assert "ALMANAC" not in refused.value.reason
    with pytest.raises(Unsafe, match=r"ALMANAC_ALLOWED_NETWORKS can allow it"):
        Policy().check_ip("169.254.1.1", HOST, 80)


@pytest.mark.parametrize("host", ["metadata", "instance-data"])
def test_nor_by_the_names_that_clouds_give_it(host: str) -> None:
    with pytest.raises(Unsafe, match=r"belongs to the local network$"):
        Policy().check_host(host, 80)


@pytest.mark.parametrize("address", [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "198.17.255.255", "198.20.0.0",
    "223.255.255.255",
    "2000::1", "2003::1", "2606:4700::1111", "3ffe::1",
    "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2a00:1450::5efe:1.1.1.1",
    "192.0.0.9", "192.31.196.1", "192.175.48.1", "2001:1::1", "2001:20::1", "2620:4f:8000::1",
])
@pytest.mark.parametrize("port", [80, 443])
def test_a_public_address_is_allowed(address: str, port: int) -> None:
    Policy().check_ip(address, HOST, port)


def test_every_block_says_where_it_is_defined() -> None:
    networks = [block.network for block in blocks()]
    assert len(networks) == len(set(networks)) > 60
    assert all(block.source.startswith("RFC ") or block.kind == "cloud metadata" for block in blocks())
    assert {block.reachable for block in blocks()} == {"yes", "no", "embedded"}
    assert networks.index(ip_network("169.254.169.254/32")) < networks.index(ip_network("169.254.0.0/16"))


@pytest.mark.parametrize("port", [1, 21, 22, 25, 81, 6333, 8080, 65535])
def test_only_the_ports_of_the_web_are_open(port: int) -> None:
    with pytest.raises(Unsafe, match=f"port {port} is refused"):
        Policy().check_ip("1.1.1.1", HOST, port)
    with pytest.raises(Unsafe, match=f"port {port} is refused"):
        Policy().check_host(HOST, port)


@pytest.mark.parametrize("host", ["localhost", "intranet", "instance-data", "nas"])
def test_a_name_without_a_dot_is_refused_before_it_is_looked_up(host: str) -> None:
    with pytest.raises(Unsafe, match="without a dot"):
        Policy().check_host(host, 80)
    with pytest.raises(Unsafe, match="without a dot"):
        Policy("10.0.0.0/8").check_ip("1.1.1.1", host, 80)


@pytest.mark.parametrize(("allowed", "address", "host", "port"), [
    ("10.0.0.0/8", "10.1.2.3", HOST, 80),
    ("10.0.0.0/8", "10.1.2.3", "nas", 6333),
    ("10.0.0.1/8", "10.1.2.3", HOST, 80),
    ("192.168.1.5", "192.168.1.5", HOST, 8123),
    ("fd00::/8, 10.0.0.0/8", "fd00::1", HOST, 80),
    ("fd00::/8 10.0.0.0/8", "10.0.0.1", HOST, 80),
    ("[::1]", "::1", HOST, 8080),
    ("10.0.0.0/8", "::ffff:10.0.0.1", HOST, 80),
    ("127.0.0.1:8000", "127.0.0.1", HOST, 8000),
    ("127.0.0.1:8000", "127.0.0.1", "localhost", 8000),
    ("[::1]:8000", "::1", HOST, 8000),
    ("NAS.lan:8080", "192.168.1.5", "nas.lan", 8080),
    ("nas:80", "192.168.1.5", "nas", 80),
    ("site.example:8080", "1.1.1.1", HOST, 8080),
])
def test_the_owner_may_allow_networks_and_host_port_pairs(
    allowed: str, address: str, host: str, port: int
) -> None:
    policy = Policy(allowed)
    policy.check_host(host, port)
    policy.check_ip(address, host, port)


@pytest.mark.parametrize(("allowed", "address", "host", "port"), [
    ("10.0.0.0/8", "11.0.0.1", HOST, 8080),
    ("10.0.0.0/8", "192.168.0.1", HOST, 80),
    ("127.0.0.1:8000", "127.0.0.1", HOST, 8001),
    ("127.0.0.1:8000", "127.0.0.2", HOST, 8000),
    ("127.0.0.1:8000", "::1", "localhost", 8000),
    ("nas.lan:8080", "192.168.1.5", "other.lan", 8080),
    ("nas.lan:8080", "192.168.1.5", "nas.lan", 80),
])
def test_what_the_owner_allows_is_no_wider_than_written(
    allowed: str, address: str, host: str, port: int
) -> None:
    with pytest.raises(Unsafe):
        Policy(allowed).check_ip(address, host, port)


@pytest.mark.parametrize("entry", [
    "nas", "nas:", "nas:http", "nas:0", "nas:65536", "10.0.0.0/33", ":80", "a b:80", "a..b:80",
])
def test_an_entry_that_is_neither_is_said_in_one_sentence(entry: str) -> None:
    with pytest.raises(ValueError, match="is neither a network such as"):
        Policy(f"10.0.0.0/8, {entry}")


@pytest.mark.parametrize(
    ("host", "port", "owners"),
    [("nas.lan", 8080, True), ("nas.lan", 80, False), ("10.1.2.3", 80, True), ("public.example", 80, False)],
)
def test_the_servers_that_the_owner_named_are_known(host: str, port: int, owners: bool) -> None:
    assert Policy("nas.lan:8080, 10.0.0.0/8").is_owners(host, port) is owners
