"""Help is there whatever runs."""

import json
from typing import Any


def test_every_command_has_help_without_a_running_almanac(alone: Any) -> None:
    for words in ("source", "source add", "document list", "search", "read", "token", "index", "up"):
        said = alone(*words.split(), "--help")
        assert (said.status, said.err) == (0, "")
        assert f"Usage: almanac {words}" in said.out


def test_help_is_a_json_document_too(alone: Any) -> None:
    for words in ("--json --help", "source add --help --json", "search --json --help"):
        said = alone(*words.split())
        assert (said.status, said.err) == (0, "")
        assert json.loads(said.out)["help"].startswith("Usage: almanac")
