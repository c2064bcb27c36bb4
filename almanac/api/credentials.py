"""Keys for external AIs over HTTP: they go in, and never come out; and how much of them is used."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import Field, SecretStr

from almanac.api.context import By, Caller, InContext, owner_only
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body, Flag, Name, Whole
from tasks.outside import record, usage
from tasks.outside.providers import LONGEST_KEY, NewCredential
from tasks.outside.vault import of_caller

router = APIRouter(prefix="/v1", tags=["outside help"])

Key = Annotated[SecretStr, Field(max_length=LONGEST_KEY, description="it goes in, and is never shown again")]
Limit = Annotated[Whole | None, Field(description="null: none")]


class Limits(Body):
    """What may be used; what is left out stays as it is, or is as the provider grants it."""

    requests_per_minute: Limit = None
    tokens_per_minute: Limit = None
    requests_per_day: Limit = None
    tokens_per_day: Limit = None


class CredentialWanted(Body):
    """A key, for everybody (the owner's to add) or for the caller alone."""

    provider: Name = Field(description="gemini, openai, or a name for any OpenAI-compatible API")
    key: Key
    owner: Literal["global", "personal"] = "global"
    url: Annotated[str, Field(max_length=4096)] | None = Field(None, description="of its API, to …/v1")
    model: Name | None = None
    priority: Whole = 50
    enabled: Flag = True
    limits: Limits = Limits()


class CredentialChanges(Body):
    """What changes; to switch one on lets it be tried again that its provider has refused."""

    key: Key | None = None
    model: Name | None = None
    priority: Whole | None = None
    enabled: Flag | None = None
    limits: Limits | None = None


@router.get("/credentials")
def list_credentials(by: By, context: InContext) -> dict[str, Any]:
    """The caller's own, and the owner's for everybody, in the order in which they are asked."""
    return {"credentials": context.library.vault.listed(mine(by))}


@router.post("/credentials", status_code=201)
def add(wanted: CredentialWanted, by: By, context: InContext) -> dict[str, Any]:
    """Seal a key; the credential without it."""
    personal = wanted.owner == "personal"
    if not (personal or by.is_owner):
        raise Problem(403, "Only the owner adds keys for everybody: add yours as a personal one.",
                      "owner_only")
    said = wanted.limits.model_dump(exclude_unset=True)
    choices = wanted.model_dump(include={"provider", "url", "model", "priority", "enabled"})
    try:
        return context.library.vault.add(NewCredential(**choices, limits=said), wanted.key.get_secret_value(),
                                         by.identity if personal else None)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from None


@router.patch("/credentials/{credential_id}")
def change(credential_id: UUID, wanted: CredentialChanges, by: By, context: InContext) -> dict[str, Any]:
    """Change what is named; another key takes the place of the one before."""
    changes = wanted.model_dump(exclude_none=True, include={"model", "priority", "enabled"})
    changes |= wanted.limits.model_dump(exclude_unset=True) if wanted.limits else {}
    key = wanted.key.get_secret_value() if wanted.key else None
    try:
        changed = context.library.vault.change(credential_id, mine(by), changes, key)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from None
    if changed is None:
        raise not_found("credential")
    return changed


@router.delete("/credentials/{credential_id}", status_code=204)
def remove(credential_id: UUID, by: By, context: InContext) -> None:
    """Forget it now and for good."""
    if not context.library.vault.remove(credential_id, mine(by)):
        raise not_found("credential")


@router.post("/credentials/rotate", dependencies=[Depends(owner_only)])
def rotate(context: InContext) -> dict[str, Any]:
    """Put a new master key in the place of the old one, and seal everything anew."""
    try:
        return context.library.vault.rotate()
    except ValueError as error:
        raise Problem(409, sentence(str(error)), "master_key_given") from error


@router.get("/usage")
def show_usage(by: By, context: InContext) -> dict[str, Any]:
    """What is used of each credential now and by the day, and the caller's questions that left."""
    listed = context.library.vault.listed(mine(by))
    told = [{name: each[name] for name in ("id", "provider", "owner", "last_four", "limits", "used")}
            for each in listed]
    db, ids = context.library.db, [UUID(each["id"]) for each in listed]
    return {"credentials": told, "days": usage.days(db, ids, datetime.now(UTC)),
            "asked": record.asked(db, by.identity, by.scopes)}


def mine(by: Caller) -> Any:
    return of_caller(by.identity, by.is_owner)


