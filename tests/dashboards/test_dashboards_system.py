"""The system screen: parts, limits and reach, the runs, who may ask, other tools, interests, settings."""

from typing import Any

import pytest
from stand_in import Api, Open, Read, problem, recorded
from streamlit.testing.v1 import AppTest

SYSTEM = "GET /v1/system"


@pytest.fixture
def system(api: Api, opened: Open) -> Any:
    """``system("work")``: that part of the screen."""
    api.records()
    return lambda view: opened("system.py", view=view)


def test_the_parts_the_limits_and_what_waits_are_told(system: Any, api: Api, words: Read) -> None:
    said = words(system("parts")).text
    for part in ("Database", "well", "Articles in an hour", "of 900", "To be indexed", "16 quarantined"):
        assert part in said
    assert api.requests == ["GET /v1/system"]


def test_what_may_be_fetched_beside_public_addresses_is_shown(system: Any, api: Api, words: Read) -> None:
    told = recorded()[SYSTEM]
    api.answers[SYSTEM] = told | {
        "settings": told["settings"] | {"ALMANAC_ALLOWED_NETWORKS": "10.0.0.0/8, wiki.lan:8080"},
        "slow_hosts": [{"host": "slow.example", "asked": 90.0, "kept": 60.0}]}
    said = words(system("parts")).text
    assert "10.0.0.0/8 wiki.lan:8080" in said
    assert "slow.example: asks for 90 s, gets 60 s" in said
    api.answers[SYSTEM] = told | {"settings": {"ALMANAC_ALLOWED_NETWORKS": ""}}
    assert "nothing: ALMANAC_ALLOWED_NETWORKS is empty" in words(system("parts")).text


def test_a_part_in_trouble_and_articles_that_wait_say_why(system: Any, api: Api, words: Read) -> None:
    api.answers[SYSTEM] = recorded()[SYSTEM] | {
        "parts": {"index": "the disk is full", "model": "starting"},
        "held": {"reason": "60 of 60 articles this hour are indexed", "until": "2026-12-01T07:00:00+00:00"}}
    said = words(system("parts")).text
    for part in ("the disk is full", "starting", "60 of 60 articles this hour", "1 Dec, 07:00"):
        assert part in said


@pytest.mark.parametrize(
    ("key", "path", "missing", "sentence"),
    [("verify", "POST /v1/index/verify", 0, "holds what answers, and nothing else"),
     ("verify-full", "POST /v1/index/verify?full=true", 3, "They differ")],
)
def test_the_index_is_verified(
    key: str, path: str, missing: int, sentence: str, system: Any, api: Api, words: Read
) -> None:
    api.answers["POST /v1/index/verify"] = {
        "agrees": not missing, "expected": 398, "indexed": 398 - missing, "missing": missing, "orphans": 0,
        "stale": 0, "unlike": 0, "compared": 398}
    said = words(system("parts").button(key=key).click().run()).text
    assert sentence in said
    assert api.requests[-1] == path


def test_each_run_leads_to_its_page_in_the_prefect_ui(system: Any, words: Read) -> None:
    said = words(system("work"))
    runs = recorded()["GET /v1/runs"]["runs"]
    assert said.links == [run["url"] for run in runs]
    assert runs[0]["name"] in said.text


def test_a_token_is_made_shown_once_and_revoked(system: Any, api: Api, words: Read) -> None:
    app: AppTest = system("access")
    assert "No outside help" in words(app).text
    token = recorded()["GET /v1/tokens"]["tokens"][0]
    api.answers |= {"POST /v1/tokens": token | {"token": "alm_secret"},
                    f"DELETE /v1/tokens/{token['id']}": {}}
    app.text_input(key="token-name").set_value("a reader")
    app.text_input(key="token-scopes").set_value("library, family")
    next(button for button in app.button if button.label == "Make a token").click().run()
    assert api.asked[-1] == {"name": "a reader", "scopes": ["library", "family"]}
    assert app.code[0].value == "alm_secret"
    app.button(key="copied").click().run()
    assert not app.code
    revoked = app.button(key=f"revoke-{token['id']}").click().run()
    assert "The token is revoked." in words(revoked).text


def test_who_is_not_the_owner_is_told_so_and_sees_the_rest(system: Any, api: Api, words: Read) -> None:
    api.answers["GET /v1/tokens"] = problem(403, "owner_only", "Only the owner's token may do this.")
    said = words(system("access")).text
    assert "Only the owner's token may do this." in said
    assert "Credentials for outside help" in said


def test_credentials_show_their_last_four_characters_and_their_use(
    system: Any, api: Api, words: Read
) -> None:
    limits = {"requests_per_minute": 10, "tokens_per_minute": None, "requests_per_day": 200,
              "tokens_per_day": 50_000}
    used = {"requests_per_minute": 1, "requests_per_day": 20, "tokens_per_day": 1234}
    api.answers["GET /v1/credentials"] = {"credentials": [{
        "id": "1", "provider": "openai", "owner": "global", "last_four": "x7Qz", "priority": 50,
        "enabled": True, "limits": limits, "used": used}]}
    said = words(system("access")).text
    for part in ("openai", "…x7Qz", "in use", "1 of 10 requests per minute", "1,234 of 50,000 tokens per"):
        assert part in said
    assert "tokens per minute" not in said


def test_curated_tools_are_told_by_server(system: Any, api: Api, words: Read) -> None:
    api.answers[SYSTEM] = recorded()[SYSTEM] | {"tools": [
        {"server": "files", "connected": True, "why": None, "tools": [
            {"name": "read", "state": "offered"}, {"name": "write", "state": "changed"}]},
        {"server": "maps", "connected": False, "why": "it does not answer", "tools": []}]}
    said = words(system("tools")).text
    for part in ("files", "connected", "offered", "changed", "not connected", "it does not answer"):
        assert part in said
    api.answers[SYSTEM] = recorded()[SYSTEM]
    assert "ALMANAC_MCP_SERVERS" in words(system("tools")).text


def test_interests_are_seen_changed_and_forgotten(system: Any, api: Api, words: Read) -> None:
    app: AppTest = system("interests")
    assert "peat bogs" in words(app).text
    api.answers |= {"PUT /v1/interests": {}, "DELETE /v1/interests/peat%20bogs": {},
                    "DELETE /v1/interests": {"forgotten": 1}}
    app.text_input(key="interest-topic").set_value("tides")
    next(button for button in app.button if button.label == "Keep it").click().run()
    assert api.asked[-1] == {"topic": "tides", "strength": 1.0}
    app.slider(key="strength-peat bogs").set_value(0.3).run()
    app.button(key="keep-peat bogs").click().run()
    assert api.asked[-1] == {"topic": "peat bogs", "strength": 0.3}
    app.button(key="forget-peat bogs").click().run()
    app.button(key="forget-all").click().run()
    assert [request for request in api.requests if "DELETE" in request] == [
        "DELETE /v1/interests/peat%20bogs", "DELETE /v1/interests"]
    api.answers["GET /v1/interests"] = {"interests": []}
    assert "Nothing is known of what interests you" in words(app.run()).text


def test_settings_are_shown_with_what_is_not_set(system: Any, words: Read) -> None:
    said = words(system("settings")).text
    for part in ("ALMANAC_DATABASE_URL", "********", "not set", "localhost, 127.0.0.1"):
        assert part in said
