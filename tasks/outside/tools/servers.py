"""Which servers the owner lets tools be used of, and which tools: a JSON list, read once at the start."""

import json
import re
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

LONGEST_FILE = 1_000_000
BROWSER = "browser"  # the one for assistants, which is in no list
LONGEST_NAME = 64  # of a tool, as models' servers take it
SEPARATOR = "__"  # in no name of ours
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")

ServerName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=32)]
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_./-]+$", max_length=128)]


class CuratedServer(BaseModel):
    """One entry: what is not listed in ``tools`` does not exist."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: ServerName
    tools: Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=64)]
    command: Annotated[tuple[str, ...], Field(description="of a server on stdio, with its arguments")] = ()
    env: Annotated[dict[str, str], Field(repr=False)] = {}
    url: Annotated[str | None, Field(description="of a server on HTTP")] = None
    headers: Annotated[dict[str, str], Field(repr=False)] = {}
    seconds: Annotated[float, Field(gt=0, le=600, description="that a call may take")] = 30.0
    ask: Annotated[bool, Field(description="offer it to the model that answers questions, too")] = False

    @model_validator(mode="after")
    def of_one_kind(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either a command or a url")
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
                raise ValueError("its url is written like https://host/mcp, with secrets in headers")
        return self

    @model_validator(mode="after")
    def each_by_its_name(self) -> Self:
        names = [public_name(self.name, tool) for tool in self.tools]
        if long := next((name for name in names if len(name) > LONGEST_NAME), None):
            raise ValueError(f"{long} is too long a name: give the server a shorter one")
        if len(set(names)) < len(names):
            raise ValueError("a tool is named twice")
        return self


def public_name(server: str, tool: str) -> str:
    """What a tool is called by those who use it: no other, and none of ours, is called so."""
    return f"{server}{SEPARATOR}{NOT_IN_A_NAME.sub('_', tool)}"


def read_servers(path: Path) -> list[CuratedServer]:
    """The owner's list. Raises ValueError, one sentence without what may be a secret."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a file with a JSON list") from error
    try:
        listed = json.loads(text[:LONGEST_FILE])
        servers = TypeAdapter(list[CuratedServer]).validate_python(listed)
    except ValidationError as error:
        raise ValueError(f"{path}: {sentence(error, listed)}") from None  # the cause would show values
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: write a list of servers") from error
    names = [BROWSER, *(server.name for server in servers)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{path}: two servers are called {twice}")
    return servers


def sentence(error: ValidationError, listed: object) -> str:
    """The first fault, with the place it is at."""
    fault = error.errors(include_input=False, include_url=False)[0]
    place, *fields = fault["loc"] or ("",)
    if not isinstance(place, int):
        return "write a JSON list of servers, each with name, tools, and command or url"
    where = f"entry {place + 1}" + "".join(f", {field}" for field in fields)
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"
