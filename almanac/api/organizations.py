"""Organizations over HTTP: scopes with members, made and changed by the owner only."""

from typing import Any

from fastapi import APIRouter, Depends

from almanac.api.context import Context, InContext, owner_only
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body, Flag, Name
from tasks.callers import organizations

router = APIRouter(
    prefix="/v1/organizations", tags=["organizations"], dependencies=[Depends(owner_only)])


class OrganizationWanted(Body):
    name: Name
    public: Flag = False


class Publicity(Body):
    """Whether every caller reads what is scoped to the organization alone."""

    public: Flag


class Member(Body):
    writes: Flag = False


@router.get("")
def list_organizations(context: InContext) -> dict[str, Any]:
    """All of them, with their members."""
    return {"organizations": organizations.listed(context.library.db)}


@router.post("", status_code=201)
def add(wanted: OrganizationWanted, context: InContext) -> dict[str, Any]:
    """Make one: what is handed in for the scope of its name is read by its members."""
    try:
        organizations.add(context.library.db, wanted.name, wanted.public)
    except ValueError as error:
        raise Problem(409, sentence(str(error))) from error
    return shown(wanted.name, context)


@router.patch("/{name}")
def change(name: str, wanted: Publicity, context: InContext) -> dict[str, Any]:
    """Open it to every caller, or to its members alone."""
    organizations.set_public(context.library.db, name, wanted.public)
    return shown(name, context)


@router.delete("/{name}", status_code=204)
def remove(name: str, context: InContext) -> None:
    """Dismiss all of its members; what it holds stays."""
    try:
        gone = organizations.remove(context.library.db, name)
    except ValueError as error:
        raise Problem(409, sentence(str(error))) from error
    if not gone:
        raise not_found("organization")
    context.owner.forget()


@router.put("/{name}/members/{who}")
def admit(name: str, who: str, wanted: Member, context: InContext) -> dict[str, Any]:
    """Let somebody read what it holds, and write into it or not; new names are new principals."""
    try:
        organizations.admit(context.library.db, name, who, wanted.writes)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    return shown(name, context)


@router.delete("/{name}/members/{who}")
def dismiss(name: str, who: str, context: InContext) -> dict[str, Any]:
    """End a membership: their tokens read nothing of it from now on."""
    if not organizations.dismiss(context.library.db, name, who):
        raise not_found("member")
    return shown(name, context)


def shown(name: str, context: Context) -> dict[str, Any]:
    """The organization as it is now; whoever is remembered as a member or not is looked up again."""
    context.owner.forget()
    found = (each for each in organizations.listed(context.library.db) if each["name"] == name.strip())
    if (organization := next(found, None)) is None:
        raise not_found("organization")
    return organization
