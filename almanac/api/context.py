"""What the handlers work with: the one library, the runs, and who is calling."""

import hmac
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, cast
from uuid import UUID

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from almanac.api.problems import Problem
from almanac.api.runs import Runs
from almanac.settings import Settings
from almanac.wiring import Library
from models.session import Database
from models.tables import LIBRARY_SCOPE
from tasks.callers import tokens

WRITERS = 8  # answers that a model may write at once
OWNER = UUID(int=0)  # whoever holds the token of the data folder, also when that is made anew
SECONDS_BETWEEN_USES = 60.0  # of the owner's token, that are written down
READS = {"GET", "HEAD"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, what they may read and write, and the library's rows as far as that goes."""

    name: str
    scopes: list[str]  # that are read
    is_owner: bool
    writes: list[str]
    public: list[str]  # what is scoped to one of these alone is read, too
    db: Database
    identity: UUID = OWNER  # whose personal credentials are used

    def may_change(self, row: Mapping[str, Any]) -> None:
        """Raises Problem for a row, with its ``scopes``, that is only to be read."""
        if lacking := set(row["scopes"]) - set(self.writes):
            raise scope_missing(lacking)


class Known:
    """The owner as last looked up: not for each request anew, since what changes that passes here."""

    _caller: Caller | None = None
    _until = -math.inf

    def known(self) -> Caller | None:
        return self._caller if monotonic() < self._until else None

    def remember(self, caller: Caller) -> None:
        self._caller, self._until = caller, monotonic() + SECONDS_BETWEEN_USES

    def forget(self) -> None:
        self._caller = None


@dataclass(frozen=True)
class Context:
    """One a process. ``token`` is the owner's, from the data folder; ``parts`` tells how each part is."""

    library: Library
    runs: Runs
    token: str
    parts: Callable[[], Mapping[str, str]]
    owner: Known = field(default_factory=Known)
    writers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(WRITERS, "writer"))

    @property
    def settings(self) -> Settings:
        return self.library.settings


bearer = HTTPBearer(auto_error=False, description=(
    "the content of the file `token` in the data folder, or a token made by `almanac token add`"))


async def context_of(request: Request) -> Context:  # async: nothing that needs a thread
    return cast(Context, request.app.state.context)


async def caller_of(
    context: Annotated[Context, Depends(context_of)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Who the token belongs to."""
    if credentials is None:
        raise unauthenticated("Send a token in the header Authorization: Bearer …")
    if (caller := await bearer_of(context, credentials.credentials)) is None:
        raise unauthenticated("This token is unknown or revoked: `almanac token add` makes a new one.")
    return caller


async def bearer_of(context: Context, token: str) -> Caller | None:
    """Who a token belongs to; none for an unknown or a revoked one."""
    if not hmac.compare_digest(token.encode(), context.token.encode()):
        return await run_in_threadpool(caller_with, context, token)
    if known := context.owner.known():
        return known
    owner = await run_in_threadpool(caller_with, context, token, is_owner=True)  # its use is noted, too
    if owner is None:
        raise Problem(503, "Almanac is starting: try again in a moment.", headers={"Retry-After": "5"})
    context.owner.remember(owner)
    return owner


def caller_with(context: Context, token: str, is_owner: bool = False) -> Caller | None:
    who = tokens.owner_of(context.library.db, token)
    if who is None:
        return None
    db = context.library.db.caller(who.scopes, who.writes, who.public)
    identity = OWNER if is_owner else who.identity
    return Caller(who.name, who.scopes, is_owner, who.writes, who.public, db, identity)


async def librarian(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """A caller who may see how the library is, and change it where that is asked for."""
    if LIBRARY_SCOPE not in caller.scopes:
        raise Problem(403, f"This token lacks the scope “{LIBRARY_SCOPE}”: the owner can make another.",
                      "scope_missing")
    if request.method not in READS:
        caller.may_change({"scopes": [LIBRARY_SCOPE]})
    return caller


async def owner_only(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if not caller.is_owner:
        raise Problem(403, "Only the owner's token, the one in the data folder, may do this.", "owner_only")
    return caller


def scopes_to_write(caller: Caller, wanted: Sequence[str]) -> tuple[str, ...]:
    """The scopes of what a caller hands in: those named, else the library's, else the caller's only one.

    Raises Problem for one that the caller does not hold, whether it exists or not.
    """
    chosen = sorted(set(wanted))
    if not caller.writes:
        raise Problem(403, "This token may only read: the owner can make another.", "scope_missing")
    if not chosen:
        chosen = [LIBRARY_SCOPE] if LIBRARY_SCOPE in caller.writes else caller.writes
        if len(chosen) > 1:
            raise Problem(422, "Name the scopes of those who may read it: this token writes into several.")
    if lacking := set(chosen) - set(caller.writes):
        raise scope_missing(lacking)
    return tuple(chosen)


def scope_missing(lacking: Collection[str]) -> Problem:
    named = ", ".join(f"“{scope}”" for scope in sorted(lacking))
    return Problem(403, f"This token may not write into {named}: its owner can make another, or let it in.",
                   "scope_missing")


def unauthenticated(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="almanac"'})


InContext = Annotated[Context, Depends(context_of)]
By = Annotated[Caller, Depends(caller_of)]
ByLibrarian = Annotated[Caller, Depends(librarian)]
