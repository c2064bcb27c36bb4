"""The three doors over HTTP: what is handed in, and originals read back."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import AwareDatetime, Field, StringConstraints
from starlette.requests import ClientDisconnect

from almanac.api.context import By, Caller, Context, InContext, scopes_to_write
from almanac.api.parameters import raw
from almanac.api.problems import Problem, not_found
from almanac.api.runs import start_if_possible
from almanac.api.words import STORABLE, Body, Flag, Name, Whole, up_to
from tasks.errors import Permanent
from tasks.keep import convert, originals, tickets
from tasks.keep.given import LONGEST_ABOUT, LONGEST_NAME, Declaration, Given, Subject
from tasks.keep.identity import Outcome
from tasks.keep.keep import MOST_AT_ONCE, keep, keep_batch
from tasks.keep.rows import Kept, standing
from tasks.keep.tickets import NoTicket, Ticket

router = APIRouter(prefix="/v1", tags=["keeping"])

Title = Annotated[str, up_to(LONGEST_NAME), STORABLE]
Sum = Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{64}$", to_lower=True)]
Secret = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{20,100}$")]
NO_TICKET = ("There is no such upload: it is unknown, used or too old. Ask for a new one with POST /v1/keep.")


class SubjectGiven(Body):
    """What a note is about: it stays the same document when its text and title change."""

    type: Title
    title: Title


class UploadGiven(Body):
    """A file that is to be uploaded."""

    name: Title
    media_type: Annotated[str, up_to(200), STORABLE, StringConstraints(to_lower=True)]
    size: Annotated[Whole, Field(ge=1)]
    sha256: Sum


class Handed(Body):
    """What is handed in; which of it go together is checked by ``tasks.keep.given``."""

    text: Annotated[str, STORABLE] | None = Field(None, description="Markdown, or plain text")
    uri: Annotated[str, STORABLE] | None = Field(
        None, description="where the text is from; without a text, what is there is fetched")
    title: Title | None = None
    about: Annotated[str, up_to(LONGEST_ABOUT), STORABLE] | None = Field(
        None, description="a file in your own words: it is found by them when it cannot be read")
    scopes: tuple[Name, ...] = Field((), description="who may read it: whoever holds all of them")
    subject: SubjectGiven | None = None
    observed_at: AwareDatetime | None = Field(None, description="when it was seen to be so")
    expires_at: AwareDatetime | None = Field(None, description="from then on it answers no more")
    preserve_source: Flag = Field(False, description="keep the original of the uri too")
    upload: UploadGiven | None = None

    def given(self, caller: Caller) -> Given:
        subject = Subject(self.subject.type, self.subject.title) if self.subject else None
        return Given(
            scopes_to_write(caller, self.scopes), self.text, self.uri, self.title, self.about, subject,
            self.observed_at, self.expires_at, self.preserve_source,
            Declaration(**self.upload.model_dump()) if self.upload else None)


class TextGiven(Body):
    """One of several texts; what it may say is as of ``POST /v1/keep``."""

    text: Annotated[str, STORABLE]
    uri: Annotated[str, STORABLE] | None = None
    title: Title | None = None
    subject: SubjectGiven | None = None
    observed_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None

    def given(self, scopes: tuple[str, ...]) -> Given:
        subject = Subject(self.subject.type, self.subject.title) if self.subject else None
        return Given(scopes, self.text, self.uri, self.title, subject=subject, observed_at=self.observed_at,
                     expires_at=self.expires_at)


class Batch(Body):
    """Texts that are all for the same readers."""

    scopes: tuple[Name, ...] = ()
    texts: Annotated[tuple[TextGiven, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]


@router.post("/keep/texts")
async def hand_in_many(batch: Batch, by: By, context: InContext) -> dict[str, Any]:
    """Keep many texts at once: what is known already costs next to nothing. All are kept, or none."""
    scopes, doors = scopes_to_write(by, batch.scopes), replace(context.library.doors, db=by.db)
    done = await keep_batch(doors, [each.given(scopes) for each in batch.texts], datetime.now(UTC))
    run = None
    if any(each.outcome is not Outcome.UNCHANGED for each in done):
        run = await start_if_possible(context.runs, "index", {})
    return {"kept": [each.to_json() for each in done], "flow_run_id": run}


@router.post("/keep")
async def hand_in(handed: Handed, request: Request, by: By, context: InContext) -> dict[str, Any]:
    """Keep a text or what is at an address, or get the URL that takes a file."""
    return await kept(handed.given(by), str(request.base_url), by, context)


async def kept(given: Given, base_url: str, by: Caller, context: Context) -> dict[str, Any]:
    """What became of it, and the work that goes on; an upload has a URL of its own below ``base_url``."""
    library = context.library
    done = await keep(replace(library.doors, db=by.db), library.fetcher, given, datetime.now(UTC))
    if isinstance(done, Ticket):
        return {"upload": {
            "method": "PUT", "url": f"{base_url}v1/uploads/{done.secret}",
            "expires_at": done.expires_at.isoformat()}}
    return await going_on(done, context)


async def going_on(done: Kept, context: Context) -> dict[str, Any]:
    """What became of it, how far its document has come by now, and the run that goes on with it."""
    run = None
    if done.outcome is not Outcome.UNCHANGED:
        to_convert = done.artifact_id if done.outcome.changes_content else None
        run = await start_if_possible(context.runs, "keep" if to_convert else "index", {})
        if run and to_convert:
            await run_in_threadpool(convert.queue, context.library.db, [to_convert])
    stands = await run_in_threadpool(standing, context.library.db, done.document_id)
    return done.to_json() | stands | {"flow_run_id": run}


@router.put("/uploads/{ticket}", openapi_extra=raw("*/*"))
async def upload(ticket: Secret, request: Request, context: InContext) -> dict[str, Any]:
    """Take the file that an upload declared. The URL is the permission: it is good for minutes, and once."""
    try:
        done = await tickets.upload(context.library.doors, ticket, request.stream(), datetime.now(UTC))
    except NoTicket:
        raise Problem(404, NO_TICKET) from None
    except ClientDisconnect:
        raise Problem(400, "The upload broke off: send the whole file again.") from None
    return await going_on(done, context)


async def opened(document_id: UUID, by: By, context: InContext) -> AsyncIterator[FileResponse]:
    """The original of a document, ready to be sent; it is gone from the disk when it has been."""
    doors = context.library.doors
    artifact = await run_in_threadpool(originals.find, by.db, document_id)
    if artifact is None:
        raise not_found("original")
    try:
        async with originals.opened(doors, artifact) as path:
            name = quote(artifact.name, safe="")
            yield FileResponse(path, media_type=artifact.media_type, headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{name}"})
    except Permanent as error:
        raise Problem(410, f"{error.reason[0].upper()}{error.reason[1:]}.", "original_lost") from error


@router.get("/documents/{document_id}/original", response_class=FileResponse)
async def read_original(original: Annotated[FileResponse, Depends(opened)]) -> FileResponse:
    """The file as it was handed in or fetched, checked against its hash and size."""
    return original
