"""The named states of the records; the database holds the same names as CHECK constraints."""

from enum import StrEnum


class SourceKind(StrEnum):
    """How a source is polled; each has one file in ``tasks/discover``."""

    FEED = "feed"
    PAGE = "page"
    LISTING = "listing"
    SITEMAP = "sitemap"
    JSON = "json"
    URL = "url"
    DOCUMENTATION = "documentation"
    KEPT = "kept"
    EXTERNAL = "external"  # answers of external AIs


HANDED_IN = (SourceKind.KEPT, SourceKind.EXTERNAL)  # whose documents are not read from any address


class PollOutcome(StrEnum):
    """What one look at a source came to."""

    NEW = "new"
    UNCHANGED = "unchanged"
    SUSPECT = "suspect"
    FAILED = "failed"


class DocumentState(StrEnum):
    """A document's life: ``discovered → read → indexed`` and the side exits, each with a reason."""

    DISCOVERED = "discovered"
    READ = "read"
    INDEXED = "indexed"
    WAITING = "waiting"
    NEEDS_BROWSER = "needs_browser"
    REJECTED = "rejected"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    SKIPPED = "skipped"
    FAILED = "failed"
    REMOVED = "removed"


class ChunkState(StrEnum):
    """Where a chunk stands between PostgreSQL and the index.

    ``pending`` is written here but not yet there; ``live`` may answer; ``retiring`` answers no more
    but is still there; ``retired`` is gone from the index and kept as history.
    """

    PENDING = "pending"
    LIVE = "live"
    RETIRING = "retiring"
    RETIRED = "retired"


class CollectionState(StrEnum):
    """What a collection of the index is for: at most one answers, at most one is being filled."""

    ANSWERING = "answering"
    FILLING = "filling"
    LEFT = "left"  # it answers no more, and can be removed


class ContentType(StrEnum):
    """What kind of thing a document is, as far as its age matters."""

    NEWS = "news"
    TIME_SENSITIVE = "time_sensitive"
    OPINION = "opinion"
    REFERENCE = "reference"
    EVERGREEN = "evergreen"


class Severity(StrEnum):
    """How bad it is that an expectation is not met: noted, refused until its owner releases it, or refused
    whatever its owner says.
    """

    WARNING = "warning"
    CRITICAL = "critical"
    FATAL = "fatal"


class Verdict(StrEnum):
    """What became of a version that a gate refused."""

    QUARANTINED = "quarantined"
    RELEASED = "released"
    REJECTED = "rejected"


class ArtifactState(StrEnum):
    """How far the conversion of a file has come: ``pending → queued → processing → ready`` or ``failed``.

    ``pending`` is a row for which no run was asked yet. What is ``processing`` under a lease that has run out
    is taken again, so that no crash loses it.
    """

    PENDING = "pending"
    QUEUED = "queued"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


class ReadingMode(StrEnum):
    """Whether a source's items are all read, or only those that interest the owner."""

    EVERYTHING = "everything"
    INTERESTING = "interesting"


class ToolState(StrEnum):
    """Whether a listed tool of another server may be used."""

    OFFERED = "offered"  # as it was accepted
    LACKING = "lacking"
    CHANGED = "changed"  # since it was accepted


class ErrandOutcome(StrEnum):
    """What became of a question that was sent to an external AI."""

    SENT = "sent"  # under way, or its process ended
    ANSWERED = "answered"
    REFUSED = "refused"  # it has no answer that can be kept
    FAILED = "failed"
