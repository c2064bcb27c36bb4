"""What a JSON API answers, shown to whoever makes a map of it."""

import json
from typing import Any

import pytest

from tasks.discover.json_map import check_map, follow, path_of
from tasks.discover.json_rows import parse as read_with
from tasks.discover.json_sample import parse
from tasks.errors import Permanent

API = "https://pier.example/api/posts"


def lists(answer: Any) -> list[dict[str, Any]]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    found: list[dict[str, Any]] = parse(body, API, "application/json", None)["lists"]
    return found


def posts(number: int, **more: Any) -> list[dict[str, Any]]:
    return [{"link": f"https://pier.example/{n}", "name": f"Post {n}", "when": 1700000000 + n} | more
            for n in range(number)]


def test_a_list_is_told_with_its_first_three_items_field_by_field() -> None:
    (found,) = lists({"meta": {"total": 5}, "data": {"posts": posts(5)}})
    assert (found["items"], found["count"]) == ("data.posts", 5)
    assert {field["path"]: field["values"] for field in found["fields"]} == {
        "link": [f"https://pier.example/{n}" for n in range(3)], "name": ["Post 0", "Post 1", "Post 2"],
        "when": ["1700000000", "1700000001", "1700000002"]}


@pytest.mark.parametrize(
    ("item", "guess"),
    [
        ({"url": "https://a.example/1", "title": "T", "date": "2026-01-02"},
         {"url": "url", "title": "title", "date": "date"}),
        ({"permalink": "/posts/1", "headline": "T"}, {"url": "permalink", "title": "headline"}),
        ({"title": {"rendered": "T"}, "guid": "https://a.example/1", "description": "D", "authors": ["Ada"]},
         {"url": "guid", "summary": "description", "author": "authors.0"}),
        ({"link": "https://a.example/1", "date": "soon", "by": "Ada"}, {"url": "link", "author": "by"}),
        ({"id": 3, "name": "T"}, {"title": "name", "id": "id"}),
    ],
)
def test_the_map_is_guessed_from_names_and_values(item: dict[str, Any], guess: dict[str, str]) -> None:
    (found,) = lists([item])
    assert found["map"] == guess


def test_the_likeliest_list_comes_first() -> None:
    answer = {"tags": [{"tag": "sea"}] * 9, "authors": [{"name": "Ada"}] * 3, "posts": posts(2)}
    assert [found["items"] for found in lists(answer)] == ["posts", "authors", "tags"]


def test_every_path_that_is_shown_can_be_followed_and_the_guess_reads_the_items() -> None:
    row = {"link": "https://a.example/1", "dc.title": "T", 'q"uote': "x", "deep": {"in[side]": ["y"]}}
    answer = {"odd key.s": [row]}
    (found,) = lists(answer)
    for field in found["fields"]:
        assert str(follow(path_of(field["path"]), row)) == field["values"][0]
    mapping = check_map(found["map"])
    assert read_with(json.dumps(answer).encode(), API, "application/json", None, mapping)["items"]


def test_what_no_map_can_name_is_left_out() -> None:
    (found,) = lists([{"": "x", "k" * 41: "x", "two\nlines": "x", "\ud800": "x", "url": "https://a.example/"}])
    assert [field["path"] for field in found["fields"]] == ["url"]


def test_a_field_that_some_items_lack_keeps_its_place() -> None:
    (found,) = lists([{"a": 1}, {"b": 2}, {"a": 3}])
    assert [(field["path"], field["values"]) for field in found["fields"]] == [
        ("a", ["1", "", "3"]), ("b", ["", "2", ""])]


def test_much_is_shown_in_part() -> None:
    wide = {f"field{n}": "long " * 100 for n in range(100)}
    found = lists({f"list{n}": [wide] * 4 for n in range(12)})
    assert len(found) == 10
    assert len(found[0]["fields"]) == 60
    assert max(len(value) for field in found[0]["fields"] for value in field["values"]) == 200


def test_an_answer_without_a_list_has_none() -> None:
    assert lists({"a": [1, 2], "b": {"c": "d"}}) == []


@pytest.mark.parametrize("body", [b"<html>", b"", b"[" * 300])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(Permanent):
        lists(body)
