"""The owner's list of servers is read once, and what is wrong with it is one sentence without its secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.outside.tools.servers import public_name, read_servers

WEATHER = {"name": "weather", "command": ["weather-mcp", "--quiet"], "tools": ["forecast"]}
SECRET = "tok_TESTONLY_5c1e"


@pytest.fixture
def listed(tmp_path: Path) -> Any:
    def write(content: Any) -> Path:
        path = tmp_path / "servers.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_a_list_of_servers_on_stdio_and_on_http_is_read(listed: Any) -> None:
    wiki = {"name": "wiki", "url": "https://wiki.example/mcp", "headers": {"Authorization": SECRET},
            "tools": ["page/read", "search"], "seconds": 5, "ask": True}
    weather, told = read_servers(listed([WEATHER, wiki]))
    assert (weather.command, weather.seconds, weather.ask) == (("weather-mcp", "--quiet"), 30.0, False)
    assert (told.url, told.tools, told.ask) == ("https://wiki.example/mcp", ("page/read", "search"), True)
    assert SECRET not in repr(told)
    assert public_name("wiki", "page/read") == "wiki__page_read"


@pytest.mark.parametrize(("content", "reason"), [
    ("[{", "is no JSON"),
    ({"mcpServers": {}}, "write a JSON list"),
    (["weather"], "entry 1: "),
    ([WEATHER, {**WEATHER, "tools": []}], "entry 2, tools: "),
    ([{**WEATHER, "name": "browser"}], "two servers are called browser"),
    ([WEATHER, WEATHER], "two servers are called weather"),
    ([{**WEATHER, "name": "The Weather"}], "entry 1, name: "),
    ([{**WEATHER, "name": "a__b"}], "entry 1, name: "),
    ([{**WEATHER, "tools": ["a.b", "a_b"]}], "entry 1: a tool is named twice"),
    ([{**WEATHER, "tools": ["x" * 60]}], "give the server a shorter one"),
    ([{**WEATHER, "url": "https://a.example/mcp"}], "give either a command or a url"),
    ([{"name": "a", "tools": ["b"]}], "give either a command or a url"),
    ([{"name": "a", "tools": ["b"], "url": f"https://me:{SECRET}@a.example/"}], "with secrets in headers"),
    ([{"name": "a", "tools": ["b"], "url": "file:///etc/passwd"}], "https://host/mcp"),
    ([{**WEATHER, "env": {"KEY": SECRET}, "seconds": SECRET}], "entry 1, seconds: "),
    ([{**WEATHER, "env": SECRET}], "entry 1, env: "),
    ([{**WEATHER, "keys": SECRET}], "entry 1, keys: "),
])
def test_a_list_that_cannot_be_is_refused(listed: Any, content: Any, reason: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_servers(listed(content))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json cannot be read \(No such file or directory\)"):
        read_servers(tmp_path / "none.json")
