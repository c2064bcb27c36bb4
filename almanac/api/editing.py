"""A source changed over HTTP, and shown as it would be before that."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from almanac.api.context import By, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.sources import FieldMap, Patterns, changeable, found
from almanac.api.words import Body, Flag, Name, Number, Whole
from models.intervals import seconds_of
from tasks.discover.edit import edit_source, preview_edit

router = APIRouter(prefix="/v1/sources", tags=["sources"])


class Changes(Body):
    """What is to be changed; what is left out stays as it is, and what it may be is as of a new source."""

    name: Name | None = None
    every: str | None = None
    cron: str | None = None
    zone: Name | None = None
    priority: Whole | None = None
    weight: Number | None = None
    include: Patterns | None = None
    exclude: Patterns | None = None
    limit: Whole | None = None
    mode: str | None = None
    tags: tuple[Name, ...] | None = Field(None, max_length=50)
    map: FieldMap | None = None
    fragment_routes: Flag | None = None

    def wanted(self) -> dict[str, Any]:
        """Raises ValueError for what is no interval."""
        given = self.model_dump(exclude_none=True)
        if "every" in given:
            given["every_seconds"] = seconds_of(given.pop("every"))
        return given


@router.patch("/{source_id}")
def edit(source_id: UUID, changes: Changes, by: By, context: InContext) -> dict[str, Any]:
    """Change it. With another map, other patterns or routes it is looked at now, as if for the first time."""
    changeable(source_id, by, context)
    try:
        edited = edit_source(by.db, source_id, changes.wanted(), datetime.now(UTC))
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    if not edited:
        raise not_found("source")
    return found(source_id, by, context)


@router.post("/{source_id}/preview")
async def preview(source_id: UUID, changes: Changes, by: By, context: InContext) -> dict[str, Any]:
    """Look at it as it would be with these changes, and save nothing: its first items as they are read."""
    library = context.library
    await run_in_threadpool(changeable, source_id, by, context)
    try:
        told = await preview_edit(
            by.db, library.fetcher, library.parser, source_id, changes.wanted())
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    if told is None:
        raise not_found("source")
    return told
