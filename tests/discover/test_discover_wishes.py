"""A source as its owner asks for it: each mistake is one clear sentence."""

from typing import Any

import pytest

from tasks.discover.add import NewSource

URL = "https://tide.example/feed"


def test_what_is_left_out_has_its_default() -> None:
    new = NewSource(f"  {URL} ")
    assert (new.url, new.kind, new.every_seconds, new.cron, new.limit) == (URL, "auto", 3600, None, 100)
    assert NewSource(URL, cron="0 7 * * *").every_seconds is None
    assert NewSource(URL, name="  ").name is None


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"url": "gopher://tide.example/"}, "gopher: addresses are not read"),
        ({"url": "tide.example"}, "no scheme"),
        ({"url": "https://me:secret@tide.example/"}, "user name or password"),
        ({"url": f"https://tide.example/{'x' * 2000}"}, "at most 2,000 characters"),
        ({"kind": "json"}, "a json source needs a map"),
        ({"kind": "podcast"}, "“podcast” is no kind of source: choose auto, feed"),
        ({"kind": "url"}, "“url” is no kind of source"),
        ({"every_seconds": 5}, "from one minute to 366 days"),
        ({"every_seconds": 0}, "from one minute to 366 days"),
        ({"every_seconds": 3600, "cron": "0 7 * * *"}, "an interval or a cron line, not both"),
        ({"cron": "0 25 * * *"}, "the cron line “0 25 \\* \\* \\*” is wrong: bad hour"),
        ({"cron": "0 7"}, "“0 7” is no cron line|the cron line “0 7” is wrong"),
        ({"priority": 101}, "the priority is from 0 to 100, not 101"),
        ({"weight": 1.5}, "the weight is from 0 to 1, not 1.5"),
        ({"weight": float("nan")}, "the weight is from 0 to 1, not nan"),
        ({"limit": 0}, "the limit is from 1 to 1000, not 0"),
        ({"limit": 99_999_999_999_999}, "the limit is from 1 to 1000, not 99999999999999$"),
        ({"limit": 10**400}, "the limit is from 1 to 1000, not 1000"),
        ({"weight": float("inf")}, "the weight is from 0 to 1, not inf"),
        ({"mode": "some"}, "“some” is no mode: choose everything or interesting"),
    ],
)
def test_what_cannot_be_is_refused(wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        NewSource(**{"url": URL} | wish)
    assert "\n" not in str(refused.value)
