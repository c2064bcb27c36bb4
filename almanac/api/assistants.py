"""The MCP server at ``/mcp``: its tools are the handlers of the HTTP API, for whoever the token is of."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from fastapi.concurrency import run_in_threadpool
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token, get_http_request
from fastmcp.server.http import StarletteWithLifespan
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from almanac.api import documents, keep, retrieval, sources, system
from almanac.api.context import Caller, Context, bearer_of
from almanac.api.problems import field_of, message_of, sentence
from almanac.mcp_server.desk import STATUS, Json, Refusal
from almanac.mcp_server.server import make_server
from models.tables import LIBRARY_SCOPE
from tasks.errors import StageError

PATH = "/mcp"


class Tokens(TokenVerifier):
    """The tokens of the HTTP API."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    async def verify_token(self, token: str) -> AccessToken | None:
        caller = await bearer_of(self._context, token)
        if caller is None:
            return None
        return AccessToken(
            token=token, client_id=hashlib.sha256(token.encode()).hexdigest()[:16], scopes=caller.scopes,
            claims={"name": caller.name, "is_owner": caller.is_owner,
                    "principal_id": str(caller.principal_id)})


class Inside:
    """The library of this process, for one caller. Implements ``mcp_server.desk.Desk``."""

    def __init__(self, context: Context, by: Caller, caller: str, base_url: str) -> None:
        self.caller = caller
        self._context, self._by, self._base_url = context, by, base_url

    async def search(self, query: str, previous: str | None, k: int, budget_tokens: int | None) -> Json:
        asked = retrieval.Asked(query=query, previous=previous, k=k, budget_tokens=budget_tokens)
        answer = await self._call(retrieval.find, asked, self._by, self._context)
        found: Json = json.loads(bytes(answer.body))
        return found

    async def document(self, document_id: str) -> Json:
        found: Json = await self._call(documents.show, UUID(document_id), self._by, self._context)
        return found

    async def keep(self, handed: Json) -> Json:
        with told():
            given = keep.Handed.model_validate(handed).given(self._by)
            return await keep.kept(given, self._base_url, self._context)

    async def sources(self) -> list[Json]:
        listed: Json = await self._call(sources.list_sources, self._by, self._context)
        return list(listed["sources"])

    async def status(self) -> Json:
        if LIBRARY_SCOPE not in self._by.scopes:
            return system.health_of(self._context)
        shown: Json = await self._call(system.show_system, self._by, self._context)
        return {name: shown[name] for name in STATUS}

    async def _call(self, handler: Callable[..., Any], *arguments: Any) -> Any:
        with told():
            return await run_in_threadpool(handler, *arguments)


@contextmanager
def told() -> Iterator[None]:
    """What a handler refuses is told in the words of the HTTP API."""
    try:
        yield
    except HTTPException as error:
        raise Refusal(str(error.detail)) from error
    except StageError as error:
        raise Refusal(sentence(error.reason)) from error
    except ValidationError as error:
        faults = error.errors(include_url=False)
        said = (f"{field_of(('body', *fault['loc']))} {message_of(fault)}" for fault in faults)
        raise Refusal("; ".join(said) + ".") from error


def mcp_app(context: Context) -> StarletteWithLifespan:
    """The ASGI app of ``/mcp``: it needs its lifespan."""
    async def desk() -> Inside:
        token = get_access_token()
        if token is None:
            raise Refusal("Send a token in the header Authorization: Bearer …")
        by = Caller(token.claims["name"], list(token.scopes), token.claims["is_owner"],
                    UUID(token.claims["principal_id"]))
        return Inside(context, by, token.client_id, str(get_http_request().base_url))

    server = make_server(desk, context.settings, auth=Tokens(context))
    return server.http_app(
        path=PATH, stateless_http=True, json_response=True, host_origin_protection=True,
        allowed_hosts=context.settings.names)
