"""What the handlers work with: the one library, the runs, and who is calling."""

import hmac
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, cast
from uuid import UUID

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from almanac.api.problems import Problem
from almanac.api.runs import Runs
from almanac.settings import Settings
from almanac.wiring import Library
from models.tables import LIBRARY_SCOPE
from tasks import curate

WRITERS = 8  # answers that a model may write at once
OWNER = UUID(int=0)  # whoever holds the token of the data folder, also when that is made anew
SECONDS_BETWEEN_USES = 60.0  # of the owner's token, that are written down


class Seen:
    """When somebody was last seen, as far as that was written down."""

    _until = -math.inf

    def is_old(self) -> bool:
        """Whether it is time to write it down again, which the caller does."""
        if (now := monotonic()) < self._until:
            return False
        self._until = now + SECONDS_BETWEEN_USES
        return True


@dataclass(frozen=True)
class Context:
    """One a process. ``token`` is the owner's, from the data folder; ``parts`` tells how each part is."""

    library: Library
    runs: Runs
    token: str
    parts: Callable[[], Mapping[str, str]]
    owner_seen: Seen = field(default_factory=Seen)
    writers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(WRITERS, "writer"))

    @property
    def settings(self) -> Settings:
        return self.library.settings


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may read."""

    name: str
    scopes: list[str]
    is_owner: bool
    principal_id: UUID = OWNER


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
    if hmac.compare_digest(token.encode(), context.token.encode()):
        if context.owner_seen.is_old():
            await run_in_threadpool(curate.owner_of, context.library.db, context.token)  # which notes the use
        return Caller("owner", [LIBRARY_SCOPE], is_owner=True)
    owner = await run_in_threadpool(curate.owner_of, context.library.db, token)
    return Caller(owner.name, owner.scopes, is_owner=False, principal_id=owner.id) if owner else None


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


def scopes_to_write(caller: Caller, wanted: Sequence[str]) -> tuple[str, ...]:
    """The scopes of what a caller hands in: those named, else the library's, else the caller's only one.

    Raises Problem for one that the caller does not hold, whether it exists or not.
    """
    chosen = sorted(set(wanted))
    if not chosen:
        chosen = [LIBRARY_SCOPE] if LIBRARY_SCOPE in caller.scopes else caller.scopes
        if len(chosen) > 1:
            raise Problem(422, "Name the scopes of those who may read it: this token holds several.")
    if lacking := set(chosen) - set(caller.scopes):
        raise Problem(403, f"This token may not write into {', '.join(f'“{it}”' for it in sorted(lacking))}.",
                      "scope_missing")
    return tuple(chosen)


def unauthenticated(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="almanac"'})


InContext = Annotated[Context, Depends(context_of)]
By = Annotated[Caller, Depends(caller_of)]
ByLibrarian = Annotated[Caller, Depends(librarian)]
