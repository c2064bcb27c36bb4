"""The browser's container, which could not be run where it was written, is set up as the local browser is."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from almanac.settings import Settings
from almanac.tool_servers import browser_for
from tasks.web.assistant_browser import PROXY_PORT, configuration, page_script
from tasks.web.chromium import called
from tasks.web.guarded_tools import BY_DEFAULT

DOCKER = Path(__file__).parents[2] / "docker"


def test_the_containers_configuration_is_the_local_one_with_the_librarys_proxy() -> None:
    kept = json.loads((DOCKER / "browser" / "config.json").read_text())
    server, proxy = kept.pop("server"), f"http://library:{PROXY_PORT}"
    assert kept == configuration(
        proxy, "Almanac", called("140", "Almanac"), "/usr/bin/chromium", sandbox=False)
    assert (DOCKER / "browser" / "page.js").read_text() == page_script().lstrip()
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    address = urlsplit(services["services"]["library"]["environment"]["ALMANAC_ASSISTANT_BROWSER"])
    assert (server["port"], server["allowedHosts"], address.path) == (address.port, [address.netloc], "/mcp")


def test_the_container_has_a_network_of_its_own_without_a_way_out() -> None:
    composed = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    assert composed["networks"] == {"browser": {"internal": True}}
    assert composed["services"]["browser"]["networks"] == ["browser"]
    assert "ports" not in composed["services"]["browser"]
    assert {name for name, service in composed["services"].items()
            if "browser" in service.get("networks", [])} == {"browser", "library"}


def test_what_is_installed_is_one_version_with_its_hashes_and_names_no_registry() -> None:
    wanted = json.loads((DOCKER / "browser" / "package.json").read_text())["dependencies"]
    text = (DOCKER / "browser" / "package-lock.json").read_text()
    packages = {name: it for name, it in json.loads(text)["packages"].items() if name}
    assert packages["node_modules/@playwright/mcp"]["version"] == wanted["@playwright/mcp"]
    assert all(it["integrity"].startswith("sha512-") for it in packages.values())
    assert "resolved" not in text


@pytest.mark.parametrize(("wanted", "there"), [
    ("off", False), ("auto", False), ("http://browser:8931/mcp", True)])
def test_there_is_a_browser_where_one_is_wanted_and_can_be(
    wanted: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("almanac.tool_servers.program", lambda: None)
    assert bool(browser_for(Settings(assistant_browser=wanted))) == there


def test_by_default_the_browser_looks_and_clicks_and_is_not_for_the_model_that_answers() -> None:
    chosen = Settings(assistant_browser="http://browser:8931/mcp")
    assert tuple(chosen.assistant_browser_tools) == BY_DEFAULT
    browser = browser_for(chosen)
    assert browser is not None
    assert (browser.connection.wanted, browser.ask) == (BY_DEFAULT, False)
    assert browser.used is not None

