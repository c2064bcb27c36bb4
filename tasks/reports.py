"""Read-only questions about the library. Answers are ready for JSON: ids are strings, moments ISO 8601.

What is unknown, removed, or outside the scopes of the caller whose database is given does not exist: each of
the three gives None. Only a removed document can be looked at where it is asked for, so that its owner sees
why.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Executable, Select, and_, case, func, or_, select, true, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from models.blocks import Block
from models.differences import ChangeKind, differences
from models.session import Database
from models.states import DocumentState, Verdict
from models.tables import (
    Artifact,
    Chunk,
    CrawlDelay,
    Document,
    DocumentVersion,
    GateResult,
    Poll,
    Source,
    Table,
    VersionAnalysis,
)

Json = dict[str, Any]

LAST_POLLS = 10
PAGE = 100
SLOW_LATELY = timedelta(days=1)  # robots.txt of a host that is read is asked for each hour
FLAPPING = timedelta(days=1)  # since a page went back to a text that it had left

SOURCE = (
    "id", "kind", "name", "url", "scopes", "priority", "weight", "every_seconds", "cron", "include",
    "exclude", "limit_per_poll", "map", "mode", "paused", "created_at", "next_poll_at", "last_polled_at",
    "failures", "health", "zone", "tags", "headers", "last_good_at", "moved_to", "fragment_routes",
)
POLL = (
    "id", "started_at", "finished_at", "outcome", "reason", "http_status", "items_seen", "items_new",
    "items_changed",
)
DOCUMENT = (
    "id", "source_id", "url", "final_url", "scopes", "state", "reason", "attempts", "due_at", "title",
    "author", "published_at", "discovered_at", "read_at", "failing_since", "flapped_at", "content_hash",
    "version_id", "duplicate_of", "interest", "observed_at", "expires_at",
)
FILE = ("id", "name", "media_type", "size", "sha256", "state", "reason", "preserve", "converted_at")
VERSION = (
    "id", "number", "title", "author", "language", "published_at", "modified_at", "site_name",
    "content_hash", "canonical_url", "final_url", "extractor", "read_at", "indexed_at", "superseded_at",
    "failure", "verdict",
)
ANALYSIS = (
    "topics", "entities", "keywords", "summary", "category", "content_type", "language", "confidence",
    "reasons", "analyser", "note", "analysed_at",
)


def sources(db: Database) -> list[Json]:
    """Every source, by name: SOURCE, ``last_poll``, ``documents``, ``unfinished`` and ``crawl_delay``.

    ``last_poll`` has the fields of POLL or is None; ``documents`` counts them by state; ``unfinished`` counts
    those that are on their way, so not those that wait for a later retry or for their source to be resumed.
    ``health`` says too in what it differs from its own history, which are its ``flags``, and of
    ``flapping``: how many of its pages go back and forth between two texts.
    ``crawl_delay`` is that of ``slow_hosts`` for its host, or None.
    """
    with db.snapshot() as session:
        return _sources(session)


def source_page(
    db: Database, limit: int, after: UUID | None = None, text: str | None = None
) -> Json:
    """A page of ``sources``, those that are unwell first: ``{"sources": […], "next": id or None, "counts"}``.

    ``text`` is looked for in names, addresses and tags. ``after`` is the ``next`` of the page before.
    ``counts`` is of all that are found: ``all``, ``unwell`` and ``paused``.
    """
    unwell = and_(Source.failures > 0, ~Source.paused)
    place = tuple_(case((unwell, 0), (Source.paused, 2), else_=1), func.lower(Source.name), Source.id)
    found: list[ColumnElement[bool]] = [Source.removed_at.is_(None)]
    if text:
        said = (Source.name, Source.url, func.array_to_string(Source.tags, " "))
        found.append(or_(*(each.icontains(text, autoescape=True) for each in said)))
    page = select(Source.id).where(*found).order_by(*place).limit(limit + 1)
    if after is not None:
        page = page.where(place > select(*place).where(Source.id == after).scalar_subquery())
    counted = select(func.count().label("all"), func.count().filter(unwell).label("unwell"),
                     func.count().filter(Source.paused).label("paused")).where(*found)
    with db.snapshot() as session:
        ids = session.scalars(page).all()
        rows = {row["id"]: row for row in _sources(session, Source.id.in_(ids[:limit]))}
        counts = _rows(session, counted)[0]
    return {"sources": [rows[str(each)] for each in ids[:limit]],
            "next": str(ids[limit - 1]) if len(ids) > limit else None, "counts": counts}


def source_names(db: Database) -> list[Json]:
    """The ``id`` and ``name`` of every source, by name."""
    with db.snapshot() as session:
        return _rows(session, select(Source.id, Source.name).where(
            Source.removed_at.is_(None)
        ).order_by(func.lower(Source.name), Source.id))


def source(db: Database, source_id: UUID) -> Json | None:
    """One of ``sources``, and its last ``polls``, newest first, each with the fields of POLL."""
    with db.snapshot() as session:
        found = _sources(session, Source.id == source_id)
        polls = _polls().where(Poll.source_id == source_id).limit(LAST_POLLS)
        return found[0] | {"polls": _rows(session, polls)} if found else None


def documents(
    db: Database, state: str | None = None, source_id: UUID | None = None,
    text: str | None = None, limit: int = PAGE, after: str | None = None, content_type: str | None = None,
) -> Json:
    """A page of documents, last discovered first: ``{"documents": […], "next": cursor or None}``.

    Each has the fields of DOCUMENT, ``source``, its source's name, and the ``content_type`` of what answers.
    ``text`` is looked for in titles and addresses. ``after`` is the ``next`` of the page before; ValueError
    for any other. Removed documents are listed only where that is the ``state``.
    """
    page = _documents().where(_kept(state))
    if source_id is not None:
        page = page.where(Document.source_id == source_id)
    if content_type is not None:
        page = page.where(VersionAnalysis.content_type == content_type)
    if text:
        likes = (said.icontains(text, autoescape=True) for said in (Document.title, Document.url))
        page = page.where(or_(*likes))
    if after is not None:
        page = page.where(tuple_(Document.discovered_at, Document.id) < _placed(after))
    newest_first = Document.discovered_at.desc(), Document.id.desc()
    with db.snapshot() as session:
        rows = _rows(session, page.order_by(*newest_first).limit(limit + 1))
    last = rows[limit - 1] if len(rows) > limit else None
    return {"documents": rows[:limit], "next": last and f"{last['discovered_at']}_{last['id']}"}


def document(
    db: Database, document_id: UUID, number: int | None = None
) -> Json | None:
    """One of ``documents``, and its ``version``: that of the ``number``, else what answers, else the newest.

    It has the fields of VERSION, its ``blocks``, its ``text``, and its ``analysis``: the fields of ANALYSIS
    or None. A removed document has no version. ``file``, of a document that is one, has the fields of FILE.
    """
    answers = DocumentVersion.id == Document.version_id
    wanted = true() if number is None else DocumentVersion.number == number
    said = (
        select(*_columns(DocumentVersion, (*VERSION, "blocks", "text")))
        .join(Document, Document.id == DocumentVersion.document_id)
        .where(Document.id == document_id, Document.state != DocumentState.REMOVED, wanted)
        .order_by(answers.desc().nulls_last(), DocumentVersion.number.desc())
        .limit(1)
    )
    kept = select(*_columns(Artifact, FILE)).join(Document, Document.artifact_id == Artifact.id).where(
        Document.id == document_id, Document.state != DocumentState.REMOVED)
    with db.snapshot() as session:
        found = _rows(session, _documents().where(Document.id == document_id))
        if not found:
            return None
        version, file = _rows(session, said), _rows(session, kept)
        for each in version:
            each["analysis"] = next(iter(_rows(session, _analysis(each["id"]))), None)
        return found[0] | {"version": version[0] if version else None, "file": file[0] if file else None}


def versions(db: Database, document_id: UUID) -> list[Json] | None:
    """What a document said, newest first: the fields of VERSION and ``characters``, its text's length."""
    known = select(Document.id).where(Document.id == document_id, _kept())
    said = (
        select(*_columns(DocumentVersion, VERSION), func.length(DocumentVersion.text).label("characters"))
        .where(DocumentVersion.document_id == document_id)
        .order_by(DocumentVersion.number.desc())
    )
    with db.snapshot() as session:
        return _rows(session, said) if session.scalar(known) else None


def slow_hosts(db: Database) -> list[Json]:
    """The hosts that ask for more seconds between two pages than they are given: host, asked, kept."""
    with db.snapshot() as session:
        return _rows(session, _slow().order_by(CrawlDelay.host))


def depths(db: Database) -> Json:
    """How much there is, and how much waits.

    ``documents`` and ``chunks`` by state; ``due``, documents that may be read now; ``waiting``, versions that
    are to be indexed.
    """
    due = (
        select(func.count(Document.id)).join(Source, Source.id == Document.source_id)
        .where(Document.due_at <= func.now(), Source.removed_at.is_(None), Source.paused.is_(False))
    )
    waiting = select(func.count(DocumentVersion.id)).where(
        DocumentVersion.indexed_at.is_(None), DocumentVersion.superseded_at.is_(None),
        DocumentVersion.failure.is_(None),
        or_(DocumentVersion.verdict.is_(None), DocumentVersion.verdict == Verdict.RELEASED),
    )
    with db.snapshot() as session:
        return {
            "documents": _counts(session, Document.state),
            "due": session.scalar(due),
            "waiting": session.scalar(waiting),
            "chunks": _counts(session, Chunk.state),
        }


def diff(
    db: Database, document_id: UUID, old: int | None = None, new: int | None = None
) -> Json | None:
    """What changed between two versions, by number: the last one and the one before, unless others are named.

    ``from`` and ``to`` have the fields of VERSION; ``changes`` are those of models.differences, in the order
    of the new version; ``counts`` says how many there are of each. ValueError where there are none such.
    """
    said = versions(db, document_id)
    if said is None:
        return None
    numbers = [version["number"] for version in said]
    new = new or next(iter(numbers), 0)
    old = old or next((number for number in numbers if number < new), 0)
    if not {old, new} <= set(numbers):
        known = f"the versions {', '.join(map(str, numbers[::-1]))}"
        has = {0: "not been read yet", 1: "one version only"}.get(len(numbers), known)
        raise ValueError(f"there is nothing to compare: it has {has}")
    with db.snapshot() as session:
        blocks = {number: [Block.from_json(block) for block in stored] for number, stored in session.execute(
            select(DocumentVersion.number, DocumentVersion.blocks).where(
                DocumentVersion.document_id == document_id, DocumentVersion.number.in_([old, new])))}
    changes = differences(blocks[old], blocks[new])
    counts = Counter(change.kind.value for change in changes)
    told = {version["number"]: version for version in said}
    return {"from": told[old], "to": told[new], "changes": [change.to_json() for change in changes],
            "counts": {kind.value: counts[kind.value] for kind in ChangeKind}}


def _sources(session: Session, *conditions: ColumnElement[bool]) -> list[Json]:
    found = _rows(session, select(*_columns(Source, SOURCE)).where(
        Source.removed_at.is_(None), *conditions
    ).order_by(func.lower(Source.name), Source.id))
    last = _polls().where(Poll.source_id == Source.id).limit(1).lateral("last")
    polls = {poll.pop("source_id"): poll for poll in _rows(
        session, select(Source.id.label("source_id"), *last.c).join(last, true()).where(*conditions)
    )}
    flags: dict[str, list[str]] = defaultdict(list)
    for flag in session.execute(select(GateResult.source_id, GateResult.reason).where(
            GateResult.version_id.is_(None)).order_by(GateResult.expectation)):
        flags[str(flag.source_id)].append(flag.reason)
    states: dict[str, dict[str, int]] = defaultdict(dict)
    unfinished: Counter[str] = Counter()
    flapping: Counter[str] = Counter()
    for row in session.execute(_progress().where(*conditions)):
        states[str(row.source_id)][row.state] = row.documents
        unfinished[str(row.source_id)] += row.unfinished
        flapping[str(row.source_id)] += row.flapping
    slow = {delay["host"]: delay for delay in _rows(session, _slow())}
    return [each | {
        "crawl_delay": slow.get("".join(each["url"].split("/")[2:3])),
        "headers": sorted(each["headers"]),  # their names: the values are nobody's to see
        "health": "; ".join([each["health"], *flags[each["id"]], *_flapping(flapping[each["id"]])]),
        "flapping": flapping[each["id"]],
        "flags": flags[each["id"]],
        "last_poll": polls.get(each["id"]),
        "documents": states[each["id"]],
        "unfinished": unfinished[each["id"]],
    } for each in found]


def _flapping(pages: int) -> list[str]:
    several = "1 page goes" if pages == 1 else f"{pages} pages go"
    return [f"flapping: {several} back and forth between two texts"] if pages else []


def _progress() -> Select[UUID, str, int, int, int]:
    """How many documents each source has in each state, how many of them are on their way, or flap."""
    on_its_way = or_(
        Document.state == DocumentState.READ, and_(Document.due_at <= func.now(), Source.paused.is_(False))
    )
    return (
        select(Document.source_id, Document.state, func.count().label("documents"),
               func.count().filter(on_its_way).label("unfinished"),
               func.count().filter(Document.flapped_at > func.now() - FLAPPING).label("flapping"))
        .join(Source, Source.id == Document.source_id).where(_kept())
        .group_by(Document.source_id, Document.state).order_by(Document.state)
    )


def _analysis(version_id: str) -> Select[Any]:
    return select(*_columns(VersionAnalysis, ANALYSIS)).where(VersionAnalysis.version_id == UUID(version_id))


def _slow() -> Select[Any]:
    lately = CrawlDelay.read_at > func.now() - SLOW_LATELY
    return select(*_columns(CrawlDelay, ("host", "asked", "kept"))).where(lately)


def _polls() -> Select[Any]:
    """Polls, newest first."""
    return select(*_columns(Poll, POLL)).order_by(Poll.started_at.desc(), Poll.id)


def _documents() -> Select[Any]:
    return (
        select(*_columns(Document, DOCUMENT), Source.name.label("source"), VersionAnalysis.content_type)
        .join(Source, Source.id == Document.source_id)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == Document.version_id)
    )


def _kept(state: str | None = None) -> ColumnElement[bool]:
    """The document is there; a removed one where it is asked for by its ``state``."""
    return Document.state == state if state else Document.state != DocumentState.REMOVED


def _placed(after: str) -> ColumnElement[Any]:
    """The place in the list that a cursor stands for."""
    discovered_at, _, document_id = after.rpartition("_")
    try:
        return tuple_(datetime.fromisoformat(discovered_at), UUID(document_id))
    except ValueError:
        raise ValueError("the cursor is not one that a page ended with: leave it out to begin anew") from None


def _counts(session: Session, state: InstrumentedAttribute[str]) -> dict[str, int]:
    return {row.state: row.number for row in session.execute(
        select(state.label("state"), func.count().label("number")).group_by(state).order_by(state)
    )}


def _columns(table: type[Table], names: Sequence[str]) -> list[ColumnElement[Any]]:
    return [table.__table__.c[name] for name in names]


def _rows(session: Session, question: Executable) -> list[Json]:
    return [
        {name: _json(value) for name, value in row.items()}
        for row in session.connection().execute(question).mappings()
    ]


def _json(value: Any) -> Any:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
    return value
