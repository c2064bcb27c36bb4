"""Bad input, on the running whole: one clear line, the exit status of the contract, nothing half done."""

from pathlib import Path
from typing import Any

import pytest
from gazette import Site

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

USAGE, FAILED = 2, 1
CASES = [
    (["source", "add", "gopher://old.example/"], USAGE, "gopher"),
    (["source", "add", "not a url"], USAGE, "address"),
    (["source", "add", "http://user:secret@site.example/"], USAGE, "user name"),
    (["source", "add", "{site}/sign-in.xml", "--kind", "feed"], FAILED, "feed"),
    (["source", "add", "{site}/nowhere"], FAILED, "404"),
    (["source", "add", "{site}/board", "--every", "soon"], USAGE, "1h"),
    (["source", "add", "{site}/board", "--weight", "3"], USAGE, "weight"),
    (["source", "add", "http://127.0.0.1:1/"], FAILED, "loopback"),
    (["read", "ftp://site.example/a"], USAGE, "ftp"),
    (["read", "{site}/huge-single"], FAILED, "large"),
    (["search", ""], USAGE, "empty"),
    (["search", "tides", "-k", "0"], USAGE, "k"),
    (["document", "show", "ffffffff-ffff-4fff-8fff-ffffffffffff"], FAILED, "document"),
    (["source", "pause", "ffffffff-ffff-4fff-8fff-ffffffffffff"], FAILED, "source"),
    (["document", "list", "--state", "lost"], USAGE, "state"),
    (["frobnicate"], USAGE, "frobnicate"),
]


@pytest.mark.parametrize(("words", "status", "told"), CASES, ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None)
def test_bad_input_is_one_clear_line(almanac: Any, site: Site, words: list[str], status: int, told: str) -> None:
    sources = almanac.json("source", "list")
    done = almanac.run(*(word.format(site=site.url) for word in words))
    assert done.returncode == status, done.stderr
    assert told.lower() in done.stderr.lower()
    assert len(done.stderr.strip().splitlines()) == 1
    assert "secret" not in done.stderr
    assert almanac.json("source", "list") == sources or words[0] == "read"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/v1/retrieve", {"query": ""}, 422, None),
        ("POST", "/v1/retrieve", {"query": "a", "k": 0}, 422, None),
        ("POST", "/v1/retrieve", {}, 422, None),
        ("GET", "/v1/documents/ffffffff-ffff-4fff-8fff-ffffffffffff", None, 404, None),
        ("GET", "/v1/citations/ffffffff-ffff-4fff-8fff-ffffffffffff/K1", None, 404, None),
        ("POST", "/v1/sources", {"url": "gopher://old.example/"}, 422, None),
        ("GET", "/v1/nowhere", None, 404, None),
        ("PATCH", "/v1/retrieve", None, 405, None),
    ],
)
def test_a_bad_request_gets_a_problem_document(
    almanac: Any, method: str, path: str, body: Any, status: int, code: str | None
) -> None:
    answer = almanac.http.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
    problem = answer.json()
    assert problem["status"] == status
    assert problem["code"]
    assert problem["title"]


def test_a_wrong_token_is_refused_by_api_and_command(almanac: Any, tmp_path: Path) -> None:
    answer = almanac.http.get("/v1/sources", headers={"Authorization": "Bearer wrong"})
    assert (answer.status_code, answer.json()["status"]) == (401, 401)
    kept = (almanac.home / "token").read_text()
    try:
        (almanac.home / "token").write_text("wrong\n")
        done = almanac.run("source", "list")
    finally:
        (almanac.home / "token").write_text(kept)
    assert done.returncode == FAILED
    assert "token" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_host_name_that_is_not_ours_is_misdirected(almanac: Any) -> None:
    assert almanac.http.get("/health", headers={"Host": "evil.example"}).status_code == 421


def test_the_token_is_readable_by_its_owner_only(almanac: Any) -> None:
    assert (almanac.home / "token").stat().st_mode & 0o777 == 0o600
