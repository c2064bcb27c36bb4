"""Sources over HTTP."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from almanac.api.context import By, ByLibrarian, Caller, Context, InContext
from almanac.api.parameters import raw
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.runs import needed, start_if_possible
from almanac.api.words import Address, Body, Flag, HeaderValue, Name, Number, Pattern, Whole, Zone
from almanac.faults import printable
from models.intervals import seconds_of
from models.states import DocumentState, ReadingMode, SourceKind
from tasks import curate, reports
from tasks.discover import choosing, looks
from tasks.discover.add import NewSource, add_source
from tasks.discover.preview import preview_source, sample_json
from tasks.discover.probe import NeedsMap
from tasks.discover.subscriptions import export_sources, import_sources, read_opml
from tasks.errors import NeedsCredential, Permanent, StageError, Transient
from tasks.index import follow

router = APIRouter(prefix="/v1/sources", tags=["sources"])

HINTS: dict[type[StageError], str] = {  # by what the failure is, what its owner can do
    Transient: "Check the address, or try again later.",
    NeedsCredential: "Almanac cannot sign in: give an address that is open to all.",
    Permanent: "Feeds can be read, and pages with text of their own: check the address in a browser.",
}
OPML_TYPE = re.compile(  # and what says nothing of what it is
    r"\s*(?:(?:text|application)/(?:(?:[\w.-]+\+)?xml|x-opml|octet-stream|plain))\s*(?:;|$)", re.IGNORECASE)
Patterns = Annotated[tuple[Pattern, ...], Field(max_length=100)]
Headers = Annotated[dict[Name, HeaderValue], Field(max_length=50)]
FieldMap = Annotated[dict[Name, Pattern], Field(max_length=20)]


class SourceWanted(Body):
    """A source to be added; what may be asked for is checked by ``tasks.discover.wishes``."""

    url: Address
    kind: str = "auto"
    name: Name | None = None
    every: str | None = None
    cron: str | None = None
    zone: Name | None = Field(None, description="of the cron line; without it the one of ALMANAC_ZONE")
    priority: Whole = 50
    weight: Number = 0.5
    include: Patterns = ()
    exclude: Patterns = ()
    limit: Whole = 100
    mode: str = "everything"
    tags: tuple[Name, ...] = Field((), max_length=50)
    headers: Headers = Field(default_factory=dict, description="sent to its server only, and never shown")
    map: FieldMap = Field(default_factory=dict, description="of a JSON API: for each field, the path to it")
    fragment_routes: Flag = Field(False, description="whether “#/a” and “#/b” are pages of their own")

    def wish(self, zone: str = "UTC") -> NewSource:
        """Raises Problem, with one sentence, for what cannot be."""
        choices = self.model_dump(exclude={"every"})
        try:
            every = seconds_of(self.every) if self.every is not None else None
            return NewSource(**choices | {"zone": self.zone or zone}, every_seconds=every)
        except ValueError as error:
            raise Problem(422, sentence(str(error))) from error


@router.get("")
def list_sources(by: By, context: InContext) -> dict[str, Any]:
    """All of them; ``held`` says why a limit holds what one has read back from the index, and until when."""
    return {"sources": with_holds(reports.sources(by.db), context)}


@router.get("/names")
def list_names(by: By, context: InContext) -> dict[str, Any]:
    """The ``id`` and ``name`` of each: what a list is to be narrowed to."""
    return {"sources": reports.source_names(by.db)}


@router.get("/page")
def list_page(
    by: By, context: InContext, q: Name | None = None, limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: UUID | None = None, zone: Zone = "UTC",
) -> dict[str, Any]:
    """One page, those that are unwell first, each with its last ``looks`` and what each day brought."""
    page = reports.source_page(by.db, limit, after, q)
    return page | {"sources": with_history(with_holds(page["sources"], context), context, zone)}


def with_history(sources: list[dict[str, Any]], context: Context, zone: str) -> list[dict[str, Any]]:
    ids = [UUID(source["id"]) for source in sources]
    told = looks.history(context.library.db, ids, datetime.now(UTC), zone)
    return [source | told[UUID(source["id"])] for source in sources]


def with_holds(sources: list[dict[str, Any]], context: Context) -> list[dict[str, Any]]:
    chosen = context.settings
    hold = follow.current_hold(
        context.library.db, chosen.articles_per_hour, chosen.articles_per_day, datetime.now(UTC))
    told = hold and hold.to_json()
    return [source | {"held": told if waits(source) else None} for source in sources]


def waits(source: dict[str, Any]) -> bool:
    """Whether it has articles that are only to be indexed; our own documentation is under no limit."""
    return source["kind"] != SourceKind.DOCUMENTATION and DocumentState.READ in source["documents"]


@router.post("", status_code=201)
async def add(wanted: SourceWanted, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Look at the address once, save it as a source with what was found, and start reading."""
    source = await run_in_threadpool(save, wanted.wish(context.settings.zone), by, context)
    return source | {"flow_run_id": await start_if_possible(context.runs, "read", {})}


@router.post("/preview")
async def preview(wanted: SourceWanted, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Look as adding it would, and save nothing: what is there, and its first items as they are read."""
    library = context.library
    try:
        return await preview_source(library.fetcher, library.parser, wanted.wish())
    except NeedsMap as error:
        raise Problem(502, sentence(error.reason), "needs_map") from error


class Sampled(Body):
    url: Address
    headers: Headers = Field(default_factory=dict)


@router.post("/sample")
async def sample(wanted: Sampled, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """What a JSON API answers, for whoever makes a map of it: its lists, their first items, and a guess."""
    library = context.library
    wish = SourceWanted(url=wanted.url, headers=wanted.headers).wish()
    return await sample_json(library.fetcher, library.parser, wish)


def save(wish: NewSource, by: Caller, context: Context) -> dict[str, Any]:
    """In a thread with a loop of its own, since the database calls on the way block."""
    library = context.library
    try:
        added = asyncio.run(add_source(
            library.db, library.fetcher, library.parser, wish, datetime.now(UTC), lambda: library.embedder))
    except ValueError as error:
        raise Problem(409, sentence(str(error)), "already_a_source") from error
    except StageError as error:
        hint = next((hint for kind, hint in HINTS.items() if isinstance(error, kind)), "")
        error.reason = f"{sentence(error.reason)} {hint}".rstrip()
        raise
    others = [other.to_json() for other in added.others]
    return found(added.id, by, context) | {"others": others}


def found(source_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """The source; ``interests`` is how many there are to judge its items by, None where all are read."""
    source = reports.source(by.db, source_id)
    if source is None:
        raise not_found("source")
    interesting = source["mode"] == ReadingMode.INTERESTING
    interests = len(choosing.interests(context.library.db, datetime.now(UTC))) if interesting else None
    return with_holds([source], context)[0] | {"interests": interests}


def changeable(source_id: UUID, by: Caller, context: Context) -> dict[str, Any]:
    """The source, which the caller may change. Raises Problem where there is none, or only to be read."""
    source = found(source_id, by, context)
    by.may_change(source)
    return source


@router.post("/poll", status_code=202)
async def poll_due(by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Start a look at every source whose time has come."""
    with needed():
        return {"flow_run_id": await context.runs.start("poll", {})}


@router.post("/import", openapi_extra=raw("text/x-opml"))
async def import_opml(request: Request, by: ByLibrarian, context: InContext) -> dict[str, Any]:
    """Save the subscriptions of the OPML that is the body; their first polls follow by and by."""
    came = request.headers.get("content-type", "")
    if came and not OPML_TYPE.match(came):
        raise Problem(415, f"The body came with Content-Type: {printable(came)}: send the OPML itself, with "
                      "Content-Type: text/x-opml.")
    library = context.library
    told = await read_opml(library.parser, await request.body())
    done = await run_in_threadpool(import_sources, library.db, told, datetime.now(UTC))
    return done.to_json()


@router.get("/export", response_class=Response)
def export(by: By) -> Response:
    """The sources as OPML: their tags are folders, and what OPML has no word for is in our namespace."""
    return Response(export_sources(by.db), media_type="text/x-opml")


@router.get("/{source_id}")
def show(source_id: UUID, by: By, context: InContext, zone: Zone = "UTC") -> dict[str, Any]:
    return with_history([found(source_id, by, context)], context, zone)[0]


@router.post("/{source_id}/poll", status_code=202)
async def poll(source_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Start a look at this source now, due or not."""
    await run_in_threadpool(changeable, source_id, by, context)
    with needed():
        return {"flow_run_id": await context.runs.start("poll", {"source_ids": [str(source_id)]})}


@router.post("/{source_id}/pause")
def pause(source_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Look at it no more; what it brought goes on answering."""
    changeable(source_id, by, context)
    curate.pause_source(by.db, source_id)
    return found(source_id, by, context)


@router.post("/{source_id}/resume")
def resume(source_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Look at it again, at once where its time has passed."""
    changeable(source_id, by, context)
    curate.resume_source(by.db, source_id)
    return found(source_id, by, context)


class HeadersWanted(Body):
    headers: Headers


@router.put("/{source_id}/headers")
def set_headers(source_id: UUID, wanted: HeadersWanted, by: By, context: InContext) -> dict[str, Any]:
    """Ask with these headers from now on, in place of those before. Their values are never shown."""
    changeable(source_id, by, context)
    try:
        curate.set_headers(by.db, source_id, wanted.headers)
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    return found(source_id, by, context)


@router.delete("/{source_id}")
async def remove(source_id: UUID, by: By, context: InContext) -> dict[str, Any]:
    """Take it and its documents out of the answers at once, and out of the index; how much that was."""
    await run_in_threadpool(changeable, source_id, by, context)
    removed = await run_in_threadpool(curate.remove_source, by.db, source_id, datetime.now(UTC))
    if removed is None:
        raise not_found("source")
    await start_if_possible(context.runs, "index", {})
    return removed.to_json()
