"""Every setting, with its default and its meaning; from the environment or ``.env``."""

import contextlib
import os
import re
import secrets
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MASK = "********"
CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")


class Settings(BaseSettings):
    """Read once a process by ``settings()``. A field's description is what ``almanac settings`` prints."""

    model_config = SettingsConfigDict(env_prefix="ALMANAC_", env_file=".env", extra="ignore",
                                      env_ignore_empty=True, populate_by_name=True)

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
        None, description="http://host:6333 of a Qdrant server; without it Qdrant Edge runs in process")
    prefect_url: str | None = Field(
        None, description="http://host:4200/api of a Prefect server; without it one is started")
    allowed_networks: str = Field(
        "", description="CIDRs or host:port pairs, comma separated, that may be fetched although not public")
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
    starters: bool = Field(True, description="add the starter sources when the library is empty")
    log_level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR")

    @field_validator("home")
    @classmethod
    def absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

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
    """Where this machine reaches a service bound to ``host``."""
    return "127.0.0.1" if host in {"0.0.0.0", "::", ""} else host  # noqa: S104 - compared, not bound


@cache
def settings() -> Settings:
    return Settings()


def explained(chosen: Settings) -> list[dict[str, Any]]:
    """Each setting's ``name`` in the environment, ``value``, ``default`` and ``meaning``; secrets masked."""
    rows = []
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        default = field.get_default(call_default_factory=True, validated_data={})
        rows.append({
            "name": str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"ALMANAC_{name.upper()}",
            "value": printable(getattr(chosen, name)),
            "default": printable(default),
            "meaning": field.description,
        })
    return rows


def printable(value: object) -> object:
    """A setting's value ready for JSON, without a secret, nor the password of a URL."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return [printable(each) for each in value]
    return MASK if isinstance(value, SecretStr) else CREDENTIALS_IN_URL.sub(MASK, str(value))


def secret_file(path: Path) -> str:
    """The secret kept in ``path``, made on first use: 256 random bits, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # mode 0600
        try:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)  # whole or not at all, and never over another's
        finally:
            os.unlink(draft)
    return path.read_text().strip()
