"""Every setting, with its default and its meaning; from the environment or ``.env``."""

import re
from functools import cache
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from dotenv.parser import Binding, parse_stream
from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
ENV_FILE = Path(".env")  # of the current folder
ENCODING = "utf-8-sig"  # some editors put a mark first
PREFIX = "ALMANAC_"
OURS = (PREFIX, "KNOWLEDGE_")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class WrongSettings(Exception):
    """A setting cannot be what it is; one sentence that names it and says what to do."""


class Settings(BaseSettings):
    """Read once a process by ``settings()``. A field's description is what ``almanac settings`` prints.

    What can be known of a setting without asking anybody is checked here; whether a port is free, and
    whether a host is this machine, is seen at the start.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=ENV_FILE, env_file_encoding=ENCODING, env_ignore_empty=True,
        extra="ignore", populate_by_name=True, allow_inf_nan=False,
    )

    home: Path = Field(default_factory=lambda: user_data_path("almanac"), description="the data folder")
    host: str = Field("127.0.0.1", description="the address that the API, dashboard and Prefect UI bind to")
    hosts: list[str] = Field(["localhost", "127.0.0.1", "[::1]"],
                             description="host names that the API answers to; others get 421")
    api_port: int = Field(8420, ge=1, le=65535, description="port of the HTTP API")
    dashboard_port: int = Field(8421, ge=1, le=65535, description="port of the dashboard")
    prefect_port: int = Field(4200, ge=1, le=65535, description="port of the Prefect server and its UI")
    database_url: SecretStr | None = Field(
        None, description="postgresql+psycopg://… of a server; without it PostgreSQL runs embedded")
    qdrant_url: str | None = Field(
        None, description="http://host:6333 of a Qdrant server or cluster; without it Qdrant Edge runs in "
                          "process")
    qdrant_key: SecretStr | None = Field(None, description="the API key of that server, if it wants one")
    embeddings_url: str | None = Field(
        None, description="http://host:8080/v1 of an OpenAI-compatible embeddings server; without it the "
                          "bundled all-MiniLM-L6-v2 makes the vectors")
    embeddings_model: str | None = Field(None, description="the model to ask for there")
    embeddings_key: SecretStr | None = Field(None, description="the key of that server, if it wants one")
    embeddings_window: int = Field(512, ge=64, description="tokens that this model reads of a text")
    prefect_url: str | None = Field(
        None, description="http://host:4200/api of a Prefect server; without it one is started")
    allowed_networks: str = Field(
        "", description="CIDRs or host:port pairs, comma separated, that may be fetched although not public")
    browser: str = Field(
        "auto", description="off, auto (this machine's Chromium, if there is one), or ws://… of a browser "
                            "server: for pages that have no text without one")
    llm_url: str | None = Field(
        None, description="http://host:11434/v1 of an OpenAI-compatible model server, for analysis and "
                          "answers; without it the built-in analyser works")
    llm_model: str | None = Field(None, description="the model that is asked there")
    llm_key: SecretStr | None = Field(None, description="the key that it is asked with, if it wants one")
    llm_seconds: float = Field(120.0, gt=0, description="seconds that an answer of the model server may take")
    master_key: SecretStr | None = Field(
        None, description="base64 of 32 bytes, under which the vault seals keys; without it keys/master.key "
                          "is made. A new one goes in front of the old one, with a comma between")
    outside_seconds: float = Field(60.0, gt=0, description="seconds that asking external AIs may take")
    private_names: SecretStr | None = Field(
        None, description="names, comma separated, that are masked in what external AIs are asked")
    contact: str = Field("", description="address or URL shown to webmasters in the User-Agent")
    articles_per_hour: int = Field(
        60, ge=1, validation_alias=AliasChoices("KNOWLEDGE_MAX_ARTICLES_PER_HOUR", "articles_per_hour"),
        description="articles analysed and indexed in an hour, at most")
    articles_per_day: int = Field(
        500, ge=1, validation_alias=AliasChoices("KNOWLEDGE_MAX_ARTICLES_PER_DAY", "articles_per_day"),
        description="articles analysed and indexed in a day, at most")
    host_delay: float = Field(1.0, ge=0, description="seconds between two requests to one host")
    fetches_in_flight: int = Field(16, ge=1, description="requests under way at once, over all hosts")
    fetch_timeout: float = Field(30.0, gt=0, description="seconds of one fetch, redirects included")
    max_page_bytes: int = Field(10_000_000, ge=1000, description="bytes of a page or feed, inflated, at most")
    max_attempts: int = Field(8, ge=1, description="failed attempts in a row before a document is given up")
    min_similarity: float = Field(0.30, ge=0, le=1, description="cosine below which nothing is relevant")
    keep_runs_days: int = Field(30, ge=1, description="days that Prefect keeps an ended run")
    keep_runs: int = Field(10_000, ge=1, description="ended runs of a deployment that Prefect keeps, at most")
    keep_polls_days: int = Field(
        365, ge=7, description="days that looks at a source are kept; those since its last good one always")
    zone: str = Field("UTC", description="the time zone of cron lines that name none, like Europe/Berlin")
    clamd: str | None = Field(
        None, description="host:port or socket path of the ClamAV daemon; without it no file is kept that is "
                          "not text")
    clamd_file_bytes: int = Field(
        104_857_600, ge=1, description="bytes of a file that clamd looks at whole: the smaller of its "
                                       "StreamMaxLength and MaxFileSize")
    clamd_total_bytes: int = Field(
        419_430_400, ge=1, description="bytes in an archive that clamd looks at: its MaxScanSize")
    docling_url: str | None = Field(
        None, description="http://host:5001 of docling-serve; without it the built-in converter works")
    docling_key: SecretStr | None = Field(None, description="the API key of docling-serve, if it wants one")
    object_store: str = Field(
        "", description="s3://bucket/prefix or file:///folder for originals; without it they are in the data "
                        "folder. S3's address and keys are read from AWS_… variables")
    keep_http: bool = Field(False, description="let http addresses be handed in besides https")
    keep_text_characters: int = Field(5_000_000, ge=1, description="characters of a text handed in, at most")
    keep_uri_characters: int = Field(4096, ge=1, description="characters of a URI handed in, at most")
    keep_scopes: int = Field(32, ge=1, description="scopes of what is handed in, at most")
    keep_bytes: int = Field(
        96 * 1024 * 1024, ge=1, description="bytes of a file handed in, at most; never more than clamd's")
    mcp_calls_per_minute: int = Field(120, ge=1, description="tool calls a minute of one MCP caller, at most")
    mcp_servers: Path | None = Field(
        None, description="path of a JSON list of MCP servers, and which tools of theirs may be used")
    assistant_browser: str = Field("auto", description=(
        "a browser for assistants: off, auto (if `make browser` has installed one), or http://…/mcp of one"))
    assistant_browser_tools: list[str] = Field(
        [f"browser_{tool}" for tool in ("navigate", "navigate_back", "snapshot", "click", "wait_for")],
        description="tools of it that assistants may use")
    tool_calls: int = Field(6, ge=0, description="calls of tools in one answer of the model, at most")
    tool_characters: int = Field(20_000, ge=100, description="characters of a tool's answer, at most")
    starters: bool = Field(True, description="add the starter sources when the library is empty")
    log_level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR")

    @field_validator("home")
    @classmethod
    def absolute(cls, home: Path) -> Path:
        try:
            whole = home.expanduser().absolute()
        except RuntimeError as error:  # ~somebody who has no account here
            raise ValueError("its ~ names nobody on this machine: write the whole path") from error
        if file := next(filter(is_no_folder, (whole, *whole.parents)), None):
            raise ValueError(f"{file} is a file: name a folder")
        return whole

    @field_validator("host")
    @classmethod
    def of_a_machine(cls, host: str) -> str:
        from models.hosts import normal_host

        try:
            return host if not host or is_address(host) else normal_host(host)
        except ValueError as error:
            raise ValueError(f"{error}: write an address of this machine, like 127.0.0.1, without scheme "
                             "and port") from error

    @field_validator("zone")
    @classmethod
    def known_zone(cls, zone: str) -> str:
        from models.intervals import check_zone

        check_zone(zone)
        return zone

    @field_validator("hosts")
    @classmethod
    def without_ports(cls, hosts: list[str]) -> list[str]:
        from models.hosts import normal_host

        for host in hosts:
            try:
                normal_host(host)
            except ValueError as error:
                raise ValueError(f"{error}: list names without scheme and port") from error
        return hosts

    @field_validator("database_url")
    @classmethod
    def of_postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not is_url(url.get_secret_value(), {"postgresql", "postgresql+psycopg"}):
            raise ValueError("write it like postgresql+psycopg://user:password@host/name, or leave it out")
        return url

    @field_validator("qdrant_url")
    @classmethod
    def of_qdrant(cls, url: str | None) -> str | None:
        if url and not is_server(url):
            raise ValueError("write it like http://host:6333, with the key in ALMANAC_QDRANT_KEY")
        return url and url.rstrip("/")

    @field_validator("embeddings_url")
    @classmethod
    def of_embeddings(cls, url: str | None) -> str | None:
        if url and not is_server(url):
            raise ValueError("write it like http://host:8080/v1, with the key in ALMANAC_EMBEDDINGS_KEY")
        return url and url.rstrip("/").removesuffix("/embeddings")

    @field_validator("qdrant_key", "embeddings_key", "llm_key")
    @classmethod
    def for_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key and not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()):
            raise ValueError("a key is plain ASCII on one line")
        return key

    @field_validator("master_key")
    @classmethod
    def of_the_vault(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys:
            from models.sealing import keys_of

            keys_of(keys.get_secret_value())
        return keys

    @field_validator("clamd")
    @classmethod
    def of_a_daemon(cls, address: str | None) -> str | None:
        if address and not address.startswith("/") and not address.rpartition(":")[2].isdigit():
            raise ValueError("write host:port, or the whole path of a socket")
        return address

    @field_validator("docling_url")
    @classmethod
    def of_docling(cls, url: str | None) -> str | None:
        if url and not (is_url(url, {"http", "https"}) and urlsplit(url).hostname):
            raise ValueError("write it like http://host:5001, or leave it out")
        return url

    @field_validator("object_store")
    @classmethod
    def of_a_store(cls, url: str) -> str:
        if url and not (is_url(url, {"s3"}) and urlsplit(url).netloc) and not url.startswith("file:///"):
            raise ValueError("write s3://bucket/prefix or file:///folder, or leave it out")
        return url

    @field_validator("prefect_url")
    @classmethod
    def of_prefect(cls, url: str | None) -> str | None:
        if url and not (is_url(url, {"http", "https"}) and urlsplit(url).hostname
                        and "api" in urlsplit(url).path.split("/")):
            raise ValueError("write it like http://host:4200/api, or leave it out")
        return url and url.rstrip("/")

    @field_validator("llm_url")
    @classmethod
    def of_a_model(cls, url: str | None) -> str | None:
        if url and not (is_server(url) and not urlsplit(url).query):
            raise ValueError("write it like http://host:11434/v1, with the key in ALMANAC_LLM_KEY")
        return url and url.rstrip("/")

    @field_validator("allowed_networks")
    @classmethod
    def of_the_policy(cls, allowed: str) -> str:
        if allowed:
            from tasks.web.policy import Policy  # a tenth of a second, which most commands need not pay

            Policy(allowed)
        return allowed

    @field_validator("browser", "assistant_browser")
    @classmethod
    def of_browser(cls, wanted: str, info: Any) -> str:
        ours = info.field_name == "browser"
        served = is_url(wanted, {"ws", "wss"}) and urlsplit(wanted).hostname if ours else is_server(wanted)
        form = "ws://host:port/ of a Playwright server" if ours else "http://host:8931/mcp of its container"
        if wanted not in {"off", "auto"} and not served:
            raise ValueError(f"write off, auto, or {form}")
        return wanted

    @field_validator("mcp_servers")
    @classmethod
    def of_servers(cls, path: Path | None) -> Path | None:
        if path:
            from tasks.outside.tools.servers import read_servers

            read_servers(path := path.expanduser().absolute())
        return path

    @field_validator("contact")
    @classmethod
    def in_a_header(cls, contact: str) -> str:
        if contact:
            from tasks.web.door import user_agent

            user_agent(contact)
        return contact

    @field_validator("log_level")
    @classmethod
    def known_level(cls, level: str) -> str:
        if level.upper() not in LEVELS:
            raise ValueError(f"write one of {', '.join(LEVELS)}")
        return level.upper()

    @model_validator(mode="after")
    def model_with_its_server(self) -> Self:
        if bool(self.llm_url) != bool(self.llm_model):
            raise ValueError("ALMANAC_LLM_URL and ALMANAC_LLM_MODEL belong together: set both or neither")
        return self

    @model_validator(mode="after")
    def each_its_own_port(self) -> Self:
        ports = ["api_port", "dashboard_port", *["prefect_port"] * (self.prefect_url is None)]
        for one, other in combinations(ports, 2):
            if (number := getattr(self, one)) == getattr(self, other):
                raise ValueError(f"{name_of(one)} and {name_of(other)} are both {number}: give each a port "
                                 "of its own")
        return self

    @model_validator(mode="after")
    def embeddings_together(self) -> Self:
        if bool(self.embeddings_url) != bool(self.embeddings_model):
            raise ValueError("ALMANAC_EMBEDDINGS_URL and ALMANAC_EMBEDDINGS_MODEL belong together: set both "
                             "or neither")
        return self

    @property
    def names(self) -> list[str]:
        """The host names that are answered to: the owner's, and those that our own parts use."""
        return [*self.hosts, loopback(self.host), "127.0.0.1"]

    @property
    def originals_url(self) -> str:
        return self.object_store or (self.home / "artifacts").as_uri()

    @property
    def api_url(self) -> str:
        return f"http://{loopback(self.host)}:{self.api_port}"

    @property
    def dashboard_url(self) -> str:
        return f"http://{loopback(self.host)}:{self.dashboard_port}"

    @property
    def prefect_api_url(self) -> str:
        return self.prefect_url or f"http://{loopback(self.host)}:{self.prefect_port}/api"


def loopback(host: str) -> str:
    """Where this machine reaches a service bound to ``host``, as URLs have it."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether only this machine itself is called so."""
    bare = host.strip("[]").lower()
    return bare == "localhost" or (is_address(bare) and ip_address(bare).is_loopback)


def is_no_folder(path: Path) -> bool:
    """Whether something else is there; what cannot be looked at is said by whoever wants to write there."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False


def is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def is_url(text: str, schemes: set[str]) -> bool:
    """Whether ``text`` is a URL of one of the schemes, as far as can be told from it."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and text.startswith(f"{parts.scheme}://") and (parts.port or 1) > 0
    except ValueError:
        return False


def is_server(url: str) -> bool:
    """Whether ``url`` is of an HTTP server, as far as can be told from it, and carries no password."""
    return bool(is_url(url, {"http", "https"}) and urlsplit(url).hostname and url.isascii()
                and not CREDENTIALS_IN_URL.search(url))


@cache
def settings() -> Settings:
    """Those of this process. Raises WrongSettings."""
    if broken := next((binding for binding in env_file() if binding.error), None):
        text = broken.original.string
        line = broken.original.line + text[: len(text) - len(text.lstrip())].count("\n")
        raise WrongSettings(f"line {line} of {ENV_FILE.absolute()} cannot be read: write NAME=value there, "
                            "or put # before it")
    try:
        return Settings()
    except (ValidationError, SettingsError) as error:
        raise WrongSettings(sentence(error)) from None  # the cause would show its value


def env_file() -> list[Binding]:
    """What the file of settings says, line by line. Raises WrongSettings when it cannot be read."""
    try:
        with ENV_FILE.open(encoding=ENCODING) as file:
            return list(parse_stream(file))
    except (FileNotFoundError, IsADirectoryError):
        return []
    except UnicodeDecodeError as error:
        raise WrongSettings(f"{ENV_FILE.absolute()} is no UTF-8 text: write it anew, or remove it") from error
    except OSError as error:
        raise WrongSettings(f"{ENV_FILE.absolute()} cannot be read ({error.strerror}): let its owner be "
                            "who runs Almanac, or remove it") from error


def sentence(error: ValidationError | SettingsError) -> str:
    """The first setting that is wrong; its value is not repeated, since it may be a secret."""
    if isinstance(error, SettingsError):  # only a list can be no JSON
        listed = re.search(r'field "(\w+)"', str(error))
        named = name_of(listed[1]) if listed else "of a list"
        return f'the setting {named} is wrong: write a list as JSON, like ["a", "b"]'
    fault = error.errors(include_input=False)[0]
    reason = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:  # of several together
        return f"the settings {reason}"
    field = str(fault["loc"][0])
    named = name_of(field) if field in Settings.model_fields else field.upper()
    return f"the setting {named} is wrong: {reason}"


def name_of(field: str) -> str:
    """A field's name in the environment."""
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"{PREFIX}{field.upper()}"
