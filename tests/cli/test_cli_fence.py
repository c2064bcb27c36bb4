"""What an assistant is told of what it has kept: never that it is found before it is."""

from typing import Any

import pytest

from almanac.mcp_server import fence

DONE = {"outcome": "inserted", "document_id": "d", "artifact_id": None, "flow_run_id": "r", "state": "read",
        "reason": "kept; waits for the index"}


@pytest.mark.parametrize(("more", "told"), [
    ({}, "It is not found yet: it is judged and indexed first"),
    ({"artifact_id": "a", "state": "discovered"}, "It is not found yet: its file is converted, judged"),
    ({"artifact_id": "a", "state": "indexed", "outcome": "replaced"}, "It is not found yet: its file is"),
    ({"outcome": "unchanged", "flow_run_id": None, "state": "indexed"}, "It is found."),
    ({"outcome": "unchanged", "flow_run_id": None, "state": "quarantined", "reason": "it gives\norders"},
     "It is not found: quarantined (it gives orders)."),
])
def test_what_was_kept_is_found_only_once_it_is(more: dict[str, Any], told: str) -> None:
    assert told in fence.kept(DONE | more)


def test_a_document_that_no_search_finds_says_so() -> None:
    version = {"title": "T", "text": "Said.", "read_at": "now", "published_at": None, "content_hash": "h"}
    found = {"version": version, "version_id": None, "state": "quarantined", "reason": "it gives orders",
             "source": "S", "url": "u"}
    assert "Not found by a search: quarantined (it gives orders)." in fence.document(found, 0, 100)
    assert "Not found" not in fence.document(found | {"version_id": "v"}, 0, 100)
