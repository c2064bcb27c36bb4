"""Settings from the environment and ``.env``: what is wrong is said at once, in one line that names it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pydantic import SecretStr, ValidationError

from almanac.secret_file import secret_file
from almanac.settings import ENV_FILE, OURS, Settings, WrongSettings, settings
from almanac.settings_shown import explained, unknown


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting in the environment, and an empty folder as the current one."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ALMANAC_HOME", str(tmp_path))
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_a_setting_that_is_empty_is_as_good_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALMANAC_HOME", raising=False)
    unset = Settings().home
    monkeypatch.setenv("ALMANAC_HOME", "")
    assert Settings().home == unset


WRONG = [
    # name, value, what to do
    ("ALMANAC_HOME", "~nobody-of-this-name/x", "write the whole path"),
    ("ALMANAC_HOME", "/dev/null", "/dev/null is a file: name a folder"),
    ("ALMANAC_HOME", "/dev/null/a/b", "/dev/null is a file: name a folder"),
    ("ALMANAC_HOST", "http://127.0.0.1", "write an address of this machine, like 127.0.0.1"),
    ("ALMANAC_HOST", "127.0.0.1:8420", "write an address of this machine, like 127.0.0.1"),
    ("ALMANAC_HOST", "300.1.1.1", "write an address of this machine, like 127.0.0.1"),
    ("ALMANAC_HOST", "no such host", "write an address of this machine, like 127.0.0.1"),
    ("ALMANAC_HOSTS", '["http://almanac.lan"]', "list names without scheme and port"),
    ("ALMANAC_HOSTS", '["almanac.lan:8420"]', "list names without scheme and port"),
    ("ALMANAC_HOSTS", "almanac.lan", 'write a list as JSON, like ["a", "b"]'),
    ("ALMANAC_API_PORT", "70000", "65535"),
    ("ALMANAC_DATABASE_URL", "nonsense", "postgresql+psycopg://user:password@host/name"),
    ("ALMANAC_DATABASE_URL", "mysql://me:hunter2@db/x", "postgresql+psycopg://"),
    ("ALMANAC_DATABASE_URL", "postgresql:me", "postgresql+psycopg://"),
    ("ALMANAC_DATABASE_URL", "postgresql://me:hunter2@db:high/x", "postgresql+psycopg://"),
    ("ALMANAC_QDRANT_URL", "qdrant:6333", "http://host:6333"),
    ("ALMANAC_QDRANT_URL", "http://me:hunter2@qdrant:6333", "ALMANAC_QDRANT_KEY"),
    ("ALMANAC_QDRANT_KEY", "hunter2\nx", "plain ASCII on one line"),
    ("ALMANAC_EMBEDDINGS_URL", "tei:8080", "http://host:8080/v1"),
    ("ALMANAC_LLM_URL", "tide.lan:11434", "http://host:11434/v1"),
    ("ALMANAC_LLM_URL", "http://:hunter2@tide.lan/v1", "ALMANAC_LLM_KEY"),
    ("ALMANAC_LLM_URL", "https://tide.lan/v1?key=hunter2", "ALMANAC_LLM_KEY"),
    ("ALMANAC_LLM_SECONDS", "0", "greater than 0"),
    ("ALMANAC_MASTER_KEY", "hunter2", "base64 of 32 bytes"),
    ("ALMANAC_BROWSER", "yes", "write off, auto, or ws://"),
    ("ALMANAC_BROWSER", "http://browser:3000", "write off, auto, or ws://"),
    ("ALMANAC_BROWSER", "ws://", "write off, auto, or ws://"),
    ("ALMANAC_ASSISTANT_BROWSER", "ws://browser:3000/", "write off, auto, or http://host:8931/mcp"),
    ("ALMANAC_ASSISTANT_BROWSER", "yes", "write off, auto, or http://host:8931/mcp"),
    ("ALMANAC_MCP_SERVERS", "/nowhere/servers.json", "cannot be read"),
    ("ALMANAC_PREFECT_URL", "prefect.lan:4200/api", "http://host:4200/api"),
    ("ALMANAC_PREFECT_URL", "http://prefect.lan:4200", "http://host:4200/api"),
    ("ALMANAC_PREFECT_URL", "http:///api", "http://host:4200/api"),
    ("ALMANAC_ALLOWED_NETWORKS", "banana", "neither a network such as 10.0.0.0/8 nor a host:port"),
    ("ALMANAC_CONTACT", "me@example.org\nX-Evil: 1", "plain ASCII on one line"),
    ("ALMANAC_CONTACT", "café", "plain ASCII on one line"),
    ("ALMANAC_HOST_DELAY", "inf", "finite"),
    ("ALMANAC_LOG_LEVEL", "LOUD", "write one of DEBUG, INFO, WARNING, ERROR"),
    ("KNOWLEDGE_MAX_ARTICLES_PER_DAY", "many", "integer"),
]


@pytest.mark.parametrize(("name", "value", "told"), WRONG, ids=str)
def test_a_setting_that_cannot_be_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(WrongSettings) as raised:
        settings()
    said = str(raised.value)
    assert said.startswith(f"the setting {name} is wrong: ")
    assert told in said
    assert "\n" not in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"API": "8421"}, "ALMANAC_API_PORT and ALMANAC_DASHBOARD_PORT are both 8421"),
        ({"API": "4200"}, "ALMANAC_API_PORT and ALMANAC_PREFECT_PORT are both 4200"),
        ({"DASHBOARD": "9", "PREFECT": "9"}, "ALMANAC_DASHBOARD_PORT and ALMANAC_PREFECT_PORT are both 9"),
    ],
)
def test_two_parts_cannot_have_one_port(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], told: str
) -> None:
    for part, port in given.items():
        monkeypatch.setenv(f"ALMANAC_{part}_PORT", port)
    with pytest.raises(WrongSettings) as raised:
        settings()
    assert str(raised.value) == f"the settings {told}: give each a port of its own"


def test_the_port_of_a_prefect_server_that_is_not_started_here_is_free_for_others() -> None:
    assert Settings(api_port=4200, prefect_url="http://prefect:4200/api").api_port == 4200


RIGHT = [
    ("ALMANAC_HOST", "::1"),
    ("ALMANAC_HOST", "0.0.0.0"),
    ("ALMANAC_HOST", "localhost"),
    ("ALMANAC_HOST", "almanac.lan"),
    ("ALMANAC_BROWSER", "off"),
    ("ALMANAC_BROWSER", "ws://browser:3000/"),
    ("ALMANAC_ASSISTANT_BROWSER", "http://browser:8931/mcp"),
    ("ALMANAC_HOSTS", '["almanac.lan", "[::1]", "Bücher.example"]'),
    ("ALMANAC_DATABASE_URL", "postgresql+psycopg://almanac:p%40b@/almanac?host=/run/almanac"),
    ("ALMANAC_DATABASE_URL", "postgresql://a:b@db.lan:5433/almanac?sslmode=require"),
    ("ALMANAC_PREFECT_URL", "http://prefect:4200/api"),
    ("ALMANAC_PREFECT_URL", "https://api.prefect.example/api/accounts/1/workspaces/2"),
    ("ALMANAC_ALLOWED_NETWORKS", "10.0.0.0/8, wiki.lan:80 [fd00::1]:8080"),
    ("ALMANAC_CONTACT", "https://example.org/bot"),
    ("ALMANAC_LOG_LEVEL", "debug"),
]


@pytest.mark.parametrize(("name", "value"), RIGHT, ids=str)
def test_a_setting_that_can_be_is_taken(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert settings()


def test_a_model_server_needs_the_name_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMANAC_LLM_URL", "http://tide.lan:11434/v1")
    with pytest.raises(WrongSettings, match="ALMANAC_LLM_URL and ALMANAC_LLM_MODEL belong together"):
        settings()


def test_the_key_of_a_model_server_is_shown_to_nobody() -> None:
    chosen = Settings(llm_url="http://tide.lan/v1", llm_model="tide-7b", llm_key=SecretStr("hunter2"))
    assert "hunter2" not in f"{chosen!r} {explained(chosen)}"


def test_the_level_of_the_log_may_be_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMANAC_LOG_LEVEL", "warning")
    assert settings().log_level == "WARNING"


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:8420"), ("::1", "http://[::1]:8420"), ("::", "http://127.0.0.1:8420"),
     ("192.0.2.7", "http://192.0.2.7:8420")],
)
def test_our_own_parts_find_each_other_whatever_the_host_and_are_answered(host: str, url: str) -> None:
    chosen = Settings(host=host, hosts=["almanac.lan"])
    assert chosen.api_url == url
    assert {"almanac.lan", url.removeprefix("http://").removesuffix(":8420")} <= set(chosen.names)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"ALMANAC_API_PORT=9\n\ngarbage line\n", "line 3 of {} cannot be read: write NAME=value"),
        (b'ALMANAC_CONTACT="never closed\n', "line 1 of {} cannot be read"),
        (b"\xff\xfe=1\n", "{} is no UTF-8 text"),
    ],
)
def test_a_file_of_settings_that_cannot_be_read_is_named_with_its_line(content: bytes, told: str) -> None:
    ENV_FILE.write_bytes(content)
    with pytest.raises(WrongSettings, match=re.escape(told.format(ENV_FILE.absolute()))):
        settings()


def test_a_file_of_settings_may_begin_with_a_mark() -> None:
    ENV_FILE.write_bytes("\ufeffALMANAC_API_PORT=9\n".encode())
    assert settings().api_port == 9


def test_names_that_are_no_settings_are_said_with_the_nearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unknown() is None
    monkeypatch.setenv("ALMANAC_API_PROT", "9")
    ENV_FILE.write_text("KNOWLEDGE_MAX_ARTICLES_HOUR=5\nDATABASE=x\nalmanac_home=y\nALMANAC_QQQ\n")
    assert unknown() == (
        "not a setting, and without effect: ALMANAC_API_PROT (is ALMANAC_API_PORT meant?), ALMANAC_QQQ, "
        "KNOWLEDGE_MAX_ARTICLES_HOUR (is KNOWLEDGE_MAX_ARTICLES_PER_HOUR meant?); "
        "`almanac settings` lists all")


def test_the_password_that_the_compose_file_asks_for_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMANAC_POSTGRES_PASSWORD", "x")
    assert unknown() is None


def test_a_secret_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [Thread(target=lambda: found.append(secret_file(tmp_path / "keys" / "one"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(found[0]) >= 43
    assert (tmp_path / "keys" / "one").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["one"]


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"two\nlines", "caf\u00e9".encode()])
def test_what_can_be_no_secret_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    made = secret_file(tmp_path / "token")
    assert len(made) >= 43
    assert secret_file(tmp_path / "token") == made


def test_a_secret_that_its_owner_chose_is_kept(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("chosen by hand\n")
    assert secret_file(tmp_path / "token") == "chosen by hand"


def test_a_model_of_a_server_is_named_with_its_server() -> None:
    with pytest.raises(ValidationError, match="ALMANAC_EMBEDDINGS_MODEL belong together"):
        Settings(embeddings_url="http://tei:8080/v1")


def test_an_embeddings_server_may_be_named_with_or_without_what_is_asked_there() -> None:
    for url in "http://tei/v1", "http://tei/v1/", "http://tei/v1/embeddings":
        assert Settings(embeddings_url=url, embeddings_model="m").embeddings_url == "http://tei/v1"
