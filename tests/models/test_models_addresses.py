"""Addresses: what may be fetched, where a link leads, and which spellings are one page."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.addresses import MAX_KEY_LENGTH, Address, check_address, identity_key, resolve_link
from models.hosts import is_ip, normal_host


@pytest.mark.parametrize(("spelling", "normal"), [
    ("NEWS.Example", "news.example"),
    ("news.example.", "news.example"),
    ("m\u00fcller.example", "xn--mller-kva.example"),
    ("xn--mller-kva.example", "xn--mller-kva.example"),
    ("xn--ls8h.example", "xn--ls8h.example"),  # an emoji: outside IDNA 2008, inside UTS 46
    ("fa\u00df.example", "xn--fa-hia.example"),
    ("n\u00adews\u3002example", "news.example"),
    ("n%65ws.example", "news.example"),
    ("my_host.example", "my_host.example"),
    ("2130706433", "127.0.0.1"),
    ("0x7f.1", "127.0.0.1"),
    ("0300.0250.0.1", "192.168.0.1"),
    ("10.1", "10.0.0.1"),
    ("172.16.258", "172.16.1.2"),
    ("\uff11\uff10.0.0.1", "10.0.0.1"),
    ("[2001:DB8:0::1]", "2001:db8::1"),
    ("2001:db8::1", "2001:db8::1"),
    ("[::ffff:10.0.0.1]", "::ffff:a00:1"),
])
def test_a_host_has_one_normal_spelling(spelling: str, normal: str) -> None:
    assert normal_host(spelling) == normal
    assert normal_host(normal) == normal


@pytest.mark.parametrize("host", [
    "", ".", "a..b", "-a.example", "a-.example", "a b.example", "a;b.example", "a" * 64 + ".example",
    "a." * 127 + "example", "news.example.256", "1.2.3.4.5", "08.0.0.1", "256.1.1.1", "4294967296", "x.0x",
    "xn--a", "xn--.example", "\u0e51.1", "a\u200db.example", "\u0301a.example", "%ff.example", "%00",
    "[::1", "[fe80::1%25eth0]", "::1%lo", "[1.2.3.4]", "1:2",
])
def test_what_is_no_host_is_said_in_one_sentence(host: str) -> None:
    with pytest.raises(ValueError, match=r"^\S.*\w$"):
        normal_host(host)


def test_an_ip_address_is_told_from_a_name() -> None:
    assert is_ip("127.0.0.1")
    assert is_ip("::1")
    assert not is_ip("news.example")
    assert not is_ip("4.news.example")


@pytest.mark.parametrize(("typed", "fetched"), [
    (" HTTPS://News.Example ", "https://news.example/"),
    ("https://news.example:443/a?b=c#d", "https://news.example/a?b=c#d"),
    ("http://news.example:0080", "http://news.example/"),
    ("http://news.example:8080/", "http://news.example:8080/"),
    ("https://news.example/a?q=a+b%20c&Z=1&z=2", "https://news.example/a?q=a+b%20c&Z=1&z=2"),
    ("https://news.example/a/../b/./c", "https://news.example/b/c"),
    ("https://news.example/a/%2E%2e/b", "https://news.example/b"),
    ("https://news.example/caf\u00e9 au lait?\u00e9", "https://news.example/caf%C3%A9%20au%20lait?%C3%A9"),
    ("https://news.example/%7euser/%", "https://news.example/%7euser/%"),
    ("https://news.example/a\nb", "https://news.example/ab"),
    ("https://news.example\u00a0", "https://news.example/"),
    ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
])
def test_what_an_owner_types_becomes_the_address_that_is_fetched(typed: str, fetched: str) -> None:
    assert check_address(typed) == fetched
    assert check_address(fetched) == fetched


@pytest.mark.parametrize(("typed", "said"), [
    ("", "no scheme"),
    ("news.example/feed", "no scheme: write https://"),
    ("ftp://news.example/", "ftp: addresses are not read"),
    ("file:///etc/passwd", "file: addresses"),
    ("javascript:alert(1)", "javascript: addresses"),
    ("feed:https://news.example/", "feed: addresses"),
    ("https://", "names no host"),
    ("https:///path", "names no host"),
    ("https:news.example", "names no host"),
    ("https://:443/", "names no host"),
    ("https://me:secret@news.example/", "user name or password"),
    ("https://@news.example/", "user name or password"),
    ("https://news.example\\@evil.example/", "user name or password"),
    ("https://news.example\\evil", "a character that no host has"),
    ("https://news\t.example/", "a character that no host has"),
    ("https://news.example:0/", "not a port"),
    ("https://news.example:65536/", "not a port"),
    ("https://news.example:http/", "not a port"),
    ("https://::1:80/", "stands in brackets"),
    ("https://news..example/", "not a host name"),
    ("https://news.example/" + "a" * 5000, "longer than 4,096"),
])
def test_what_cannot_be_fetched_is_said_in_one_sentence(typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        check_address(typed)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("spellings", [
    ("https://news.example", "https://news.example/", "HTTPS://NEWS.EXAMPLE:443/#top", "https://news.example./?"),
    ("https://n.example/a#install", "https://n.example/a#usage", "https://n.example/a#:~:text=x"),
    ("https://n.example/%7Ea/%6f", "https://n.example/~a/o"),
    ("https://n.example/a%2fb", "https://n.example/a%2Fb"),
    ("https://n.example/caf\u00e9", "https://n.example/caf%c3%a9"),
    ("https://n.example/x/../a", "https://n.example/./a", "https://n.example/%2e/a"),
    ("https://n.example/v?id=7", "https://n.example/v?id=7&utm_source=rss", "https://n.example/v?fbclid=1&id=7"),
    ("https://n.example/v", "https://n.example/v?UTM_Source=a&gclid=b&mc_cid=c", "https://n.example/v?utm%5Fid=1"),
    ("http://127.0.0.1/", "http://0x7f.1/"),
    ("https://n.example/v?a=1&b=2", "https://n.example/v?a=1&b=2&a=1", "https://n.example/v?&a=1&&b=2&"),
    ("https://n.example/v", "https://n.example/v?&"),
    ("https://n.example/v;jsessionid=0A1B.node1", "https://n.example/v", "https://n.example/v;PHPSESSID=x"),
    ("https://n.example/(S(lit3py55t21z5v55vlm25s55))/v", "https://n.example/v"),
    ("https://n.example/;jsessionid=1?id=7", "https://n.example/?id=7&oft_id=3"),
    ("https://app.example/#!/post/1", "https://app.example/#/post/2", "https://app.example/"),
])
def test_spellings_of_one_page_share_a_key(spellings: tuple[str, ...]) -> None:
    assert len({identity_key(url) for url in spellings}) == 1


@pytest.mark.parametrize(("one", "other"), [
    ("http://n.example/a", "https://n.example/a"),
    ("https://n.example/a", "https://n.example/a/"),
    ("https://n.example/a", "https://n.example/A"),
    ("https://n.example/a", "https://www.n.example/a"),
    ("https://n.example/v?id=7", "https://n.example/v?id=8"),
    ("https://n.example/?p=41", "https://n.example/?p=42"),
    ("https://n.example/list?page=2&ref=nav", "https://n.example/list?page=2"),
    ("https://n.example/a?ref=v2.1", "https://n.example/a?ref=v2.2"),
    ("https://n.example/a?source=a", "https://n.example/a"),
    ("https://n.example/a?q=a+b", "https://n.example/a?q=a%20b"),
    ("https://n.example/a?x=1&y=2", "https://n.example/a?y=2&x=1"),
    ("https://n.example/a?Z=1", "https://n.example/a?z=1"),
    ("https://n.example/a?b=", "https://n.example/a?b"),
    ("https://n.example/a%2Fb", "https://n.example/a/b"),
    ("https://n.example:8443/", "https://n.example/"),
    ("https://n.example/v?a=1&a=2", "https://n.example/v?a=1"),
    ("https://n.example/v?a=1&a=2", "https://n.example/v?a=2&a=1"),
    ("https://n.example/v;version=2", "https://n.example/v"),
    ("https://n.example/(S(1))/v", "https://n.example/v"),
    ("https://n.example/v?campaign_id=2", "https://n.example/v?campaign_id=3"),
])
def test_what_may_be_another_page_has_another_key(one: str, other: str) -> None:
    assert identity_key(one) != identity_key(other)


def test_a_key_fits_an_index_however_long_the_address_is() -> None:
    long = "https://n.example/?q=" + "a" * 3000
    assert len(identity_key(long)) < MAX_KEY_LENGTH
    assert identity_key(long) != identity_key(long + "x")
    assert identity_key(identity_key(long)) == identity_key(long)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("/?#&=%.:;@+ \\aZ2eEuU5tm_~-\u00e9\u2603\ud800\n"), max_size=40))
def test_the_key_of_a_key_is_itself(rest: str) -> None:
    key = identity_key("https://n.example/" + rest)
    assert identity_key(key) == key
    assert key.isascii()


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    for candidate in (text, "https://" + text, "https://n.example/" + text):
        try:
            fetched = check_address(candidate)
        except ValueError:
            continue
        assert check_address(fetched) == fetched
        assert Address.parse(fetched).target.isascii()


BASE = "https://n.example/log/2026/index.html?x=1#y"


@pytest.mark.parametrize(("href", "leads_to"), [
    ("heron", "https://n.example/log/2026/heron"),
    ("../p/owl", "https://n.example/log/p/owl"),
    ("../../../../up", "https://n.example/up"),
    ("/p/owl?a=b#c", "https://n.example/p/owl?a=b#c"),
    ("?page=2", "https://n.example/log/2026/index.html?page=2"),
    ("#install", "https://n.example/log/2026/index.html?x=1#install"),
    ("//cdn.example/a", "https://cdn.example/a"),
    ("HTTP://other.example", "http://other.example/"),
    (" /p/ o wl\n", "https://n.example/p/%20o%20wl"),
    ("./", "https://n.example/log/2026/"),
    ("..", "https://n.example/log/"),
])
def test_a_link_leads_to_an_absolute_address(href: str, leads_to: str) -> None:
    assert resolve_link(BASE, href) == leads_to


@pytest.mark.parametrize("href", [
    "", " ", "#", "N/A", "n/a", "none", "null", "-",
    "javascript:void(0)", "JavaScript:x", "mailto:a@b.example", "data:text/html,x", "tel:+123",
    "file:///etc/passwd", "about:blank", "blob:https://n.example/x",
    "https://", "//", "https:/n.example/a", "https://me:pw@n.example/", "http://n..example/", "http://a b/",
    "\\\\cdn.example\\a", "a" * 5000, "\u00e9" * 1000,
])
def test_placeholders_and_other_schemes_are_no_links(href: str) -> None:
    assert resolve_link(BASE, href) is None


def test_a_link_on_a_page_without_an_address_is_no_link() -> None:
    assert resolve_link("urn:x", "/a") is None
