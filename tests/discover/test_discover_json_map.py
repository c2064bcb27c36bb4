"""The map of a JSON API: what may stand in one, and where its paths lead."""

from typing import Any

import pytest

from tasks.discover.json_map import check_map, follow, path_of

TIDES: dict[str, Any] = {
    "data": {"posts": [{"u": "/a", "dc.title": "Neap"}, {"u": "/b"}]},
    "env": {"PATH": "a key like any other"},
    "$..*": "another",
    'a "quoted" key': 1,
    "back\\slash": 2,
    "7": "seven",
    "räumlich": "umlaut",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.posts.1.u", "/b"),
        ("data.posts[1].u", "/b"),
        ('data.posts[0]."dc.title"', "Neap"),
        ("env.PATH", "a key like any other"),
        ('"$..*"', "another"),
        (r'"a \"quoted\" key"', 1),
        (r'"back\\slash"', 2),
        ("7", "seven"),
        ("räumlich", "umlaut"),
    ],
)
def test_a_path_names_keys_and_positions(path: str, found: Any) -> None:
    assert follow(path_of(path), TIDES) == found


@pytest.mark.parametrize("path", [
    "data.pots", "data.posts.2", "data.posts.-1", "data.posts.u", "data.posts.0.u.x", "$",
    "data.posts.*", "env(HOME)", "${HOME}", "data.__class__", "data.posts.1e0", "data.posts.\u0661",
])
def test_nothing_in_a_path_is_evaluated(path: str) -> None:
    with pytest.raises(LookupError):
        follow(path_of(path), TIDES)


@pytest.mark.parametrize("path", [
    "", ".", "data.", ".data", "data..posts", 'data."posts', 'data."a"b', "posts[x]", "posts[*]", "posts[-1]",
    "posts]", '""', "a[0]b", "posts[1234567]",
])
def test_a_broken_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        path_of(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "needs a map"),
        ({"title": "t"}, "add url"),
        ({"url": "u", "colour": "c"}, "“colour” is no field of a map: choose items, url"),
        ({"url": "u", "title": "a..b"}, "the path “a..b” is broken at “..b”"),
        ({"url": " "}, "empty"),
        ({"url": "u" * 201}, "at most 200"),
        ({"url": "u", "cursor": "after"}, "add next"),
        ({"url": "u", "next": "n", "cursor": "a&b"}, "no name of a query parameter"),
    ],
)
def test_a_map_that_cannot_be_followed_is_refused_with_one_clear_line(given: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        check_map(given)
    assert "\n" not in str(refused.value)


def test_a_map_is_kept_as_its_owner_wrote_it() -> None:
    given = {"items": "data.posts", "url": ' links."self.html" ', "next": "meta.next", "cursor": "page[a]"}
    assert check_map(given) == given | {"url": 'links."self.html"'}
