"""What the handlers work with: the one library, the runs, and who is calling."""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from almanac.api.problems import Problem
from almanac.api.runs import Runs
from almanac.settings import Settings
from almanac.wiring import Library
from models.tables import LIBRARY_SCOPE
from tasks import curate

TOKEN_NAMES = {"token", "access_token", "api_key", "apikey", "api-key", "key", "authorization"}


@dataclass(frozen=True)
class Context:
    """One a process. ``token`` is the owner's, from the data folder; ``parts`` tells how each part is."""

    library: Library
    runs: Runs
    token: str
    parts: Callable[[], Mapping[str, str]]

    @property
    def settings(self) -> Settings:
        return self.library.settings


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may read."""

    name: str
    scopes: list[str]
    is_owner: bool


bearer = HTTPBearer(auto_error=False, description=(
    "the content of the file `token` in the data folder, or a token made by `almanac token add`"))


async def context_of(request: Request) -> Context:  # async: nothing that needs a thread
    return cast(Context, request.app.state.context)


async def caller_of(
    request: Request, context: Annotated[Context, Depends(context_of)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Who the token belongs to. Only the Authorization header carries one: addresses end up in logs."""
    if TOKEN_NAMES & {name.lower() for name in request.query_params}:
        raise Problem(400, "Send the token in the Authorization header, never in the address: "
                      "addresses are logged.", "token_in_query")
    if credentials is None:
        raise unauthenticated("Send a token in the header Authorization: Bearer …")
    if hmac.compare_digest(credentials.credentials.encode(), context.token.encode()):
        return Caller("owner", [LIBRARY_SCOPE], is_owner=True)
    owner = await run_in_threadpool(curate.owner_of, context.library.db, credentials.credentials)
    if owner is None:
        raise unauthenticated("This token is unknown or revoked: `almanac token add` makes a new one.")
    return Caller(owner.name, owner.scopes, is_owner=False)


async def librarian(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """A caller who may change the library, and see how it is."""
    if LIBRARY_SCOPE not in caller.scopes:
        raise Problem(403, f"This token lacks the scope “{LIBRARY_SCOPE}”: the owner can make another.",
                      "scope_missing")
    return caller


async def owner_only(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if not caller.is_owner:
        raise Problem(403, "Only the owner's token, the one in the data folder, may do this.", "owner_only")
    return caller


def unauthenticated(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="almanac"'})


InContext = Annotated[Context, Depends(context_of)]
By = Annotated[Caller, Depends(caller_of)]
ByLibrarian = Annotated[Caller, Depends(librarian)]
