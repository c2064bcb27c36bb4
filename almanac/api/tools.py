"""Tools of other servers over HTTP: which there are, their use, and the owner's word on what has changed."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field

from almanac.api.context import By, Caller, Context, InContext, owner_only
from almanac.api.problems import Problem
from almanac.api.words import Body
from models.tables import LIBRARY_SCOPE
from tasks.outside.tools.executor import Budget

router = APIRouter(prefix="/v1/tools", tags=["tools"])


class Use(Body):
    """What a tool is to be given."""

    arguments: dict[str, Any] = Field(default_factory=dict)


class Acceptance(Body):
    """Which definition was seen and is accepted: another one may be there by now."""

    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


async def user(by: By) -> Caller:
    """A caller who may use tools: to read the library is enough, since they change nothing in it."""
    if not may_use(by):
        raise Problem(403, f"This token lacks the scope “{LIBRARY_SCOPE}”: the owner can make another.",
                      "scope_missing")
    return by


def may_use(by: Caller) -> bool:
    return LIBRARY_SCOPE in by.scopes


ByUser = Annotated[Caller, Depends(user)]


@router.get("")
def list_tools(by: ByUser, context: InContext) -> dict[str, Any]:
    """Each curated server with its listed tools: how each was accepted, and how it is offered now."""
    return {"servers": context.library.toolbox.told()}


@router.post("/{name}/call")
async def call(name: str, use: Use, by: ByUser, context: InContext) -> dict[str, Any]:
    """Use a tool: ``text`` is for a model to read, marked as data; ``failed`` where it could not be done."""
    return await use_tool(name, use.arguments, by, context)


@router.post("/{name}/accept", status_code=204, dependencies=[Depends(owner_only)])
def accept(name: str, acceptance: Acceptance, context: InContext) -> None:
    """Let a tool that its server has changed be used as it is now."""
    if not context.library.toolbox.accept(name, acceptance.fingerprint):
        raise Problem(409, "The tool is not offered so, or no longer: look at it again.", "tool_changed")


async def use_tool(name: str, arguments: dict[str, Any], by: Caller, context: Context) -> dict[str, Any]:
    said = await context.library.executor.call(name, arguments, Budget(by.name))
    return {"text": said.text, "failed": said.failed}
