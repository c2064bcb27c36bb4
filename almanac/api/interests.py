"""The caller's interests over HTTP: they can be seen, set, and erased."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from almanac.api.context import By
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body, Number
from tasks.answer import interests

router = APIRouter(prefix="/v1/interests", tags=["interests"])


class InterestWanted(Body):
    """A topic, and how much it counts from now on."""

    topic: str
    strength: Number = Field(1.0, description="0 to 1; it neither fades nor learns; 0: no interest")


@router.get("")
def list_interests(by: By) -> dict[str, Any]:
    """What those of the caller's scopes have asked about, the strongest first."""
    return {"interests": interests.listed(by.db, by.scopes, datetime.now(UTC))}


@router.put("")
def set_interest(wanted: InterestWanted, by: By) -> dict[str, Any]:
    """Set one for good."""
    try:
        return interests.keep(by.db, by.scopes, wanted.topic, wanted.strength, datetime.now(UTC))
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error


@router.delete("")
def clear_interests(by: By) -> dict[str, int]:
    """Erase all of them."""
    return {"forgotten": interests.forget(by.db, by.scopes)}


@router.delete("/{topic:path}", status_code=204)
def forget_interest(topic: str, by: By) -> None:
    """Erase one; asking about it again makes it anew."""
    if not interests.forget(by.db, by.scopes, topic):
        raise not_found("interest")
