"""Waiting for work that goes on in the library, with a progress bar where somebody watches."""

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from almanac.cli.failures import Failed
from almanac.cli.screen import screen, shortened
from almanac.client import Client, Json, NotRunning
from models.states import ArtifactState, DocumentState

SECONDS_BETWEEN_LOOKS = 0.5
STALLED_SECONDS = 300.0  # nothing moved: something is wrong, or the site is very slow
LIMIT_LOOK_SECONDS = 10.0  # nothing moved: perhaps the hour's articles are used up
ENDED = {"completed", "failed", "crashed", "cancelled"}

BEING_CONVERTED = {ArtifactState.PENDING, ArtifactState.QUEUED, ArtifactState.PROCESSING}

Advance = Callable[[int, int], None]
Found = TypeVar("Found")


@contextmanager
def bar(title: str) -> Iterator[Advance]:
    """A function of (done, total) that moves a bar on a terminal and is silent elsewhere."""
    if screen.json or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    columns = text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(shortened(title, 50), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)


class Patience:
    """Notices when what is looked at has not moved for too long."""

    def __init__(self) -> None:
        self.seen: Any = None
        self.since = time.monotonic()

    def still(self, now_seen: Any) -> float:
        """Seconds since ``now_seen`` was last different."""
        if now_seen != self.seen:
            self.seen, self.since = now_seen, time.monotonic()
        return time.monotonic() - self.since


class Progress(NamedTuple):
    """Documents on their way, those among them that only wait for the index, and all."""

    left: int
    read: int
    total: int

    def held(self, still: float) -> bool:
        """Whether all that is left seems to wait for the limits, after so many seconds without a move."""
        return self.left == self.read and still > LIMIT_LOOK_SECONDS


def of_source(source: Json) -> Progress:
    states = source["documents"]
    return Progress(source["unfinished"], states.get(DocumentState.READ, 0), sum(states.values()))


def of_document(document: Json) -> Progress:
    """An attempt is under way or about to be; a retry at a later time is not waited for, nor the limits.

    Nor is a file whose conversion is tried again later.
    """
    file = document["file"]
    converting = bool(file) and file["state"] in BEING_CONVERTED and file["reason"] is None
    read = document["state"] == DocumentState.READ and not document["held"]
    due_at = document["due_at"]
    due = due_at is not None and datetime.fromisoformat(due_at) <= datetime.now(UTC)
    return Progress(read or due or converting, read, 1)


def until_read(client: Client, source_id: str, title: str) -> Json:
    """Wait until no document of a source is on its way; the source as it then is."""
    return until_settled(client, lambda: client.source(source_id), of_source, title)


def until_all_read(client: Client, source_ids: Collection[str], title: str) -> list[Json]:
    """Wait until no document of these sources is on its way; the sources as they then are."""
    def look() -> list[Json]:
        return [source for source in client.sources() if source["id"] in source_ids]

    return until_settled(client, look, of_sources, title)


def of_sources(sources: list[Json]) -> Progress:
    columns = zip(*map(of_source, sources), strict=True)
    return Progress(*map(sum, columns)) if sources else Progress(0, 0, 0)


def until_settled(
    client: Client, look: Callable[[], Found], progress_of: Callable[[Found], Progress], title: str
) -> Found:
    """What ``look`` finds when nothing is left on its way, but for what this hour's limit holds back.

    Failed when nothing moves any more.
    """
    patience = Patience()
    with bar(title) as advance, kept():
        while True:
            progress = progress_of(found := look())
            advance(progress.total - progress.left, progress.total)
            still = patience.still(progress)
            if not progress.left or (progress.held(still) and limit_reached(client)):
                return found
            if still > STALLED_SECONDS:
                raise Failed("nothing moves any more: `almanac status` says how the parts are", found)
            time.sleep(SECONDS_BETWEEN_LOOKS)


@contextmanager
def kept() -> Iterator[None]:
    """When Almanac ends meanwhile: what was asked for is in its database, and not lost."""
    try:
        yield
    except NotRunning as gone:
        gone.detail += "; what it was asked to read is kept, and goes on when it runs again"
        raise


def until_polled(client: Client, source_id: str, before: Json | None, run_id: str) -> Json:
    """Wait for a poll that is newer than ``before``; the poll. Failed when its run brings none."""
    known, patience = before and before["id"], Patience()
    with bar("looking at the source") as advance:
        while True:
            advance(0, 0)
            run = client.run(run_id)  # first: a run that has ended has left its poll by then
            poll: Json | None = client.source(source_id)["last_poll"]
            if poll and poll["id"] != known:
                return poll
            if run["state"] in ENDED or patience.still(run) > STALLED_SECONDS:
                raise Failed(f"no poll came of it, {ending(run)}", run)
            time.sleep(SECONDS_BETWEEN_LOOKS)


def until_ended(client: Client, run_id: str, title: str) -> None:
    """Wait until the run is completed, however long it works. Failed when it ends otherwise, or waits."""
    patience = Patience()
    with bar(title) as advance:
        while (run := client.run(run_id))["state"] != "completed":
            advance(0, 0)
            stalled = patience.still(run) > STALLED_SECONDS and run["state"] != "running"
            if run["state"] in ENDED or stalled:
                raise Failed(ending(run), run)
            time.sleep(SECONDS_BETWEEN_LOOKS)


def ending(run: Json) -> str:
    """How a run that does not go on ended, why, and where to see more."""
    why = f" ({run['message']})" if run["message"] else ""
    return f"its run is {run['state']}{why}: the Prefect UI shows run {run['id']}"


def limit_reached(client: Client) -> bool:
    """Whether no more articles may be indexed in this hour or day."""
    return any(limit["used"] >= limit["limit"] for limit in client.system()["limits"].values())
