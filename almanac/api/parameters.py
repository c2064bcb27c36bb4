"""What an address may hold behind its ``?``: a parameter that is not known is refused, not ignored."""

from collections.abc import Sequence
from typing import cast

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query
from fastapi.routing import APIRoute

from almanac.api.problems import Problem

TOKEN_NAMES = {"token", "access_token", "api_key", "apikey", "api-key", "key", "authorization"}


async def known_only(request: Request) -> None:
    """For every route. Tokens come in the Authorization header only: addresses end up in logs."""
    if not (given := request.query_params.keys()):
        return
    if TOKEN_NAMES & {name.lower() for name in given}:
        raise Problem(400, "Send the token in the Authorization header, never in the address: "
                      "addresses are logged.", "token_in_query")
    route = cast(APIRoute, request.scope["route"])
    known = [it.alias for it in get_flat_params(route.dependant) if isinstance(it.field_info, Query)]
    if unknown := [name for name in given if name not in known]:
        raise RequestValidationError([
            {"type": "unknown_parameter", "loc": ("query", name), "ctx": {"known": listed(known)}}
            for name in unknown])


def listed(known: Sequence[str]) -> str:
    return f"known are {', '.join(known)}" if known else "there are no parameters"
