"""What came lately, over HTTP: counted, by story, and what is rising."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from almanac.api.context import By, InContext
from almanac.api.problems import not_found
from tasks.answer import ageing, happenings, today, trends

router = APIRouter(prefix="/v1", tags=["today"])

Days = Annotated[int, Query(ge=1, le=7, description="days that it reaches back")]


@router.get("/today")
def show_today(by: By, context: InContext, days: Days = 1) -> dict[str, Any]:
    """What arrived, what changed and what failed, by source and over time."""
    now = datetime.now(UTC)
    return today.today(context.library.db, by.scopes, now - timedelta(days=days), now)


@router.get("/stories")
def list_stories(by: By, context: InContext, days: Days = 1) -> dict[str, Any]:
    """What arrived, by story: what several sources tell of one event, and the last of the rest."""
    it, since = context.library, datetime.now(UTC) - timedelta(days=days)
    return happenings.happenings(it.db, it.embedder.name, by.scopes, since)


@router.get("/trends")
def list_trends(by: By, context: InContext, days: Days = 1) -> dict[str, Any]:
    """Topics and names that rise against their own history; ``days`` is how long a period is."""
    return trends.trends(context.library.db, by.scopes, timedelta(days=days), datetime.now(UTC))


@router.get("/freshness")
def show_freshness(by: By, context: InContext) -> dict[str, Any]:
    """The half-life of each content type, and where the last documents that arrived stand."""
    return ageing.ageing(context.library.db, by.scopes, datetime.now(UTC))


@router.get("/documents/{document_id}/freshness")
def show_life(document_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """What its scores were, and how fresh it is and will be."""
    life = ageing.life(context.library.db, document_id, by.scopes, datetime.now(UTC))
    if life is None:
        raise not_found("document, or nothing of it answers")
    return life
