"""What a request brings beside its path: what is not known of it is refused, not ignored."""

from collections.abc import Sequence
from typing import Any, cast

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query
from fastapi.routing import APIRoute

from almanac.api.problems import Problem

TOKEN_NAMES = {"token", "access_token", "api_key", "apikey", "api-key", "key", "authorization"}


async def known_only(request: Request) -> None:
    """For every route: parameters that it knows, and a body where it takes one."""
    route = cast(APIRoute, request.scope["route"])
    check_parameters(request, route)
    if route.body_field is None and "requestBody" not in (route.openapi_extra or {}):
        await check_no_body(request)


async def check_no_body(request: Request) -> None:
    """An object without fields says nothing, and is what some clients always send."""
    body = await request.body()
    if body.strip() not in {b"", b"{}"}:
        raise Problem(422, "Nothing is taken in a body here: send none, or {}.")


def check_parameters(request: Request, route: APIRoute) -> None:
    """Tokens come in the Authorization header only: addresses end up in logs."""
    if not (given := request.query_params.keys()):
        return
    if TOKEN_NAMES & {name.lower() for name in given}:
        raise Problem(400, "Send the token in the Authorization header, never in the address: "
                      "addresses are logged.", "token_in_query")
    known = [it.alias for it in get_flat_params(route.dependant) if isinstance(it.field_info, Query)]
    if unknown := [name for name in given if name not in known]:
        raise RequestValidationError([
            {"type": "unknown_parameter", "loc": ("query", name), "ctx": {"known": listed(known)}}
            for name in unknown])


def listed(known: Sequence[str]) -> str:
    return f"known are {', '.join(known)}" if known else "there are no parameters"


def raw(media_type: str) -> dict[str, Any]:
    """What a route says in OpenAPI whose body is bytes: it is then left to the route."""
    return {"requestBody": {"required": True, "content": {media_type: {"schema": {"type": "string"}}}}}
