"""Tokens over HTTP: made, listed and ended by the owner only."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import Field

from almanac.api.context import InContext, owner_only
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body, Name
from models.tables import OWNER
from tasks.callers import tokens

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], dependencies=[Depends(owner_only)])

Scopes = Annotated[tuple[Name, ...] | None, Field(max_length=32)]


class TokenWanted(Body):
    """A token to be made, and what its bearer may do."""

    name: Name
    scopes: Scopes = Field(None, description="what it reads; null: the library, or what its member may")
    writes: Scopes = Field(None, description="what it writes, and reads, too; null: what it reads")
    principal: Name = Field(OWNER, description="whose it is: the owner's, or that of a member")


@router.get("")
def list_tokens(context: InContext) -> dict[str, Any]:
    """All of them, without their secrets."""
    return {"tokens": tokens.list_tokens(context.library.db)}


@router.post("", status_code=201)
def add(wanted: TokenWanted, context: InContext) -> dict[str, Any]:
    """Make a token; ``token`` is told this once only."""
    try:
        row, plain = tokens.make_token(context.library.db, **wanted.model_dump())
    except tokens.Taken as error:
        raise Problem(409, sentence(str(error)), "name_taken") from error
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    return row | {"token": plain}


@router.delete("/{token_id}", status_code=204)
def revoke(token_id: UUID, context: InContext) -> None:
    """End it now and for good."""
    owner = tokens.owner_of(context.library.db, context.token)
    if owner is not None and owner.id == token_id:
        raise Problem(409, "This is the token in the data folder: to replace it, remove the file “token” "
                      "there and start Almanac again.", "owner_token")
    if not tokens.revoke_token(context.library.db, token_id):
        raise not_found("token")
