"""Where an excerpt comes from: the fields of every citation, read from the records and nowhere else."""

from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row
from sqlalchemy.orm import InstrumentedAttribute

from models.states import SourceKind
from models.tables import Document, DocumentVersion, Source


class Origin(NamedTuple):
    """``version.text[start:end]`` is the excerpt, and ``content_hash`` that of the version's whole text."""

    title: str
    url: str  # as its source gave it
    source: str  # the source's name
    author: str | None
    published_at: datetime | None
    read_at: datetime  # when the version was read
    content_hash: str
    start: int
    end: int
    failing_since: datetime | None = None  # the address; what it said before answers all the same
    external: bool = False  # an external AI has said it, no source of the owner's

    def to_json(self) -> dict[str, Any]:
        return {name: json_value(value) for name, value in self._asdict().items()}


class Place(NamedTuple):
    """Where the same text stands, too."""

    title: str | None
    url: str
    source: str
    published_at: datetime | None

    @classmethod
    def of(cls, origin: Origin) -> "Place":
        return cls(origin.title, origin.url, origin.source, origin.published_at)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Place":
        dated = stored["published_at"]
        return cls(**stored | {"published_at": dated and datetime.fromisoformat(dated)})

    def to_json(self) -> dict[str, Any]:
        return {name: json_value(value) for name, value in self._asdict().items()}


fields_of = attrgetter(*Origin._fields)


def json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def columns(document: type[Document], start: ColumnElement[int] | InstrumentedAttribute[int],
            end: ColumnElement[int] | InstrumentedAttribute[int]) -> list[ColumnElement[Any]]:
    """What ``origin`` needs of a row that joins version, source and the ``document`` to point to."""
    version = DocumentVersion
    return [
        version.title.label("title"), document.url.label("url"), Source.name.label("source"),
        version.author.label("author"), version.published_at.label("published_at"),
        version.read_at.label("read_at"), version.content_hash.label("content_hash"),
        start.label("start"), end.label("end"),
        document.failing_since.label("failing_since"), is_external().label("external"),
    ]


def is_external() -> ColumnElement[bool]:
    return Source.kind == SourceKind.EXTERNAL


def origin(row: Row[Any]) -> Origin:
    return Origin(*fields_of(row))
