"""Which door a thing goes through, and what goes through none: told from what is given alone."""

from datetime import UTC, datetime, timedelta

import pytest

from tasks.errors import Rejected
from tasks.keep.given import NEVER, NOTHING, Declaration, Given, Limits, Way, check, way_of


@pytest.mark.parametrize(("given", "way"), [
    ("text", Way.TEXT),
    ("text uri", Way.TEXT),
    ("text observed_at expires_at", Way.TEXT),
    ("text uri observed_at expires_at", Way.TEXT),
    ("uri", Way.URI),
    ("uri observed_at expires_at", Way.URI),
    ("uri preserve_source", Way.URI),
    ("uri preserve_source text", Way.URI),
    ("upload", Way.UPLOAD),
])
def test_what_is_given_says_the_way(given: str, way: Way) -> None:
    assert way_of(set(given.split())) is way


@pytest.mark.parametrize(("given", "reasons"), [
    ("", 1),
    ("observed_at", 1),
    ("expires_at", 1),
    ("preserve_source", 1),
    ("text preserve_source", 1),
    ("upload text", 1),
    ("upload uri", 1),
    ("upload preserve_source", 2),
    ("upload uri preserve_source", 2),
    ("upload observed_at", 1),
    ("upload uri expires_at", 2),
    ("upload text uri preserve_source observed_at expires_at", 5),
])
def test_anything_else_is_refused_with_every_reason(given: str, reasons: int) -> None:
    with pytest.raises(Rejected) as refused:
        way_of(set(given.split()))
    assert len(refused.value.reasons) == reasons
    assert set(refused.value.reasons) <= {why for _, _, why in NEVER} | {NOTHING}


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SMALL = Limits(text=10, uri=30, scopes=2, bytes=1000, scanned_file=500)
LARGE = Declaration("a.pdf", "application/pdf", 501, "0" * 64)


@pytest.mark.parametrize(("given", "reason"), [
    (Given(("a",), text="12345678901"), "the text has 11 characters; 10 are allowed"),
    (Given(("a",), uri="https://a.example/" + "x" * 13), "the uri has 31 characters; 30 are allowed"),
    (Given(("a", "b", "c"), text="x"), "there are 3 scopes; 2 are allowed"),
    (Given(("a",), upload=LARGE), "the file has 501 bytes; 500 are allowed"),
    (Given(("a",), text=" \n "), "the text says nothing"),
    (Given(("a",), text="x", expires_at=NOW),
     "expires_at is 2026-03-01T12:00:00.00:00, which has passed: give a time to come, or leave it out"),
    (Given(("a",), uri="https://a.example/", expires_at=NOW - timedelta(days=9)), "which has passed"),
    (Given(("a",), uri="http://a.example/"), "only https addresses are kept"),
    (Given(("a",), text="x", uri="http://a.example/"), "only https addresses are kept"),
    (Given(("a",), uri="ftp://a.example/"), "ftp"),
    (Given(("a",), uri="https://me:secret@a.example/"), "user name or password"),
    (Given(("a",), uri="file:///etc/passwd"), "file"),
])
def test_what_is_beyond_a_limit_is_refused_before_any_work(given: Given, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        check(given, SMALL, NOW)


def test_an_owner_may_allow_http() -> None:
    assert check(Given(("a",), uri="http://a.example/"), Limits(http=True), NOW) is Way.URI


def test_no_file_is_larger_than_what_the_scanner_sees_whole() -> None:
    assert Limits(bytes=1000, scanned_file=500).file == 500
    assert Limits(bytes=400, scanned_file=500).file == 400
