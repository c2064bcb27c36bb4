"""Versions analysed and what was said of them stored; what is known is not asked for again."""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased

from models.analysis import Analysis, Article
from models.blocks import Block
from models.session import Database
from models.states import DocumentState, SourceKind
from models.tables import Document, DocumentVersion, Source, VersionAnalysis
from tasks.errors import StageError
from tasks.ports import Analyser

FIELDS = ("topics", "entities", "keywords", "summary", "category", "content_type", "language", "confidence",
          "analyser", "reasons", "note")

BUILT_IN = "built-in "  # how the name of that analyser begins, whatever its number

log = logging.getLogger(__name__)

Rows = Sequence[Row[Any]]
ANSWERS = and_(Document.version_id == DocumentVersion.id, Document.state != DocumentState.REMOVED)


@dataclass(frozen=True, slots=True)
class Reanalysed:
    """A version that was judged anew: its content type ``before`` and ``now``, or none."""

    document_id: UUID
    version_id: UUID
    url: str
    before: str | None
    now: str | None

    @property
    def changed(self) -> bool:
        return self.now is not None and self.before != self.now


def analyse_versions(db: Database, analyser: Analyser, versions: Collection[UUID], now: datetime) -> int:
    """Analyse those that this analyser has not judged yet; how many it was asked for.

    An earlier version of the same document that says the same lends its analysis. Raises what the analyser
    raises when it is away; what was judged by then is stored.
    """
    rows = load(db, DocumentVersion.id.in_(versions), ~judged_by(analyser.name))
    known = lent(db, analyser.name, rows)
    for row in rows:
        if row.id in known:
            store(db, row, known[row.id], now)
    asked = [row for row in rows if row.id not in known]
    return sum(analysis is not None for _, analysis in analyse(db, analyser, asked, now))


def reanalyse(db: Database, analyser: Analyser, limit: int, after: UUID, now: datetime,
              documents: Collection[UUID] | None = None) -> list[Reanalysed]:
    """Judge again, of the versions that answer, the next ``limit`` with an id behind ``after``.

    Those that another analyser judged, or one in its place, or none; of the ``documents`` named, whoever did.
    """
    foreign = or_(VersionAnalysis.version_id.is_(None), VersionAnalysis.analyser != analyser.name,
                  VersionAnalysis.note.is_not(None))
    which = foreign if documents is None else Document.id.in_(documents)
    return judge_again(db, analyser, limit, now, DocumentVersion.id > after, which)


def catch_up(db: Database, analyser: Analyser, limit: int, now: datetime) -> list[Reanalysed]:
    """Judge some of what answers and was left behind: what nobody judged, or the built-in analyser of an
    earlier release, where the built-in one is asked.

    What a model is to judge again, its owner says: it may cost money. They are begun anywhere, so that those
    that cannot be judged hold up no others.
    """
    left: ColumnElement[bool] = VersionAnalysis.version_id.is_(None)
    if analyser.name.startswith(BUILT_IN):
        earlier = VersionAnalysis.analyser.startswith(BUILT_IN, autoescape=True)
        left = or_(left, and_(earlier, VersionAnalysis.analyser != analyser.name))
    start = uuid4()
    done = judge_again(db, analyser, limit, now, left, DocumentVersion.id >= start)
    return done + judge_again(db, analyser, limit - len(done), now, left, DocumentVersion.id < start)


def judge_again(
    db: Database, analyser: Analyser, limit: int, now: datetime, *which: ColumnElement[bool]
) -> list[Reanalysed]:
    rows = load(db, ANSWERS, *which, limit=limit)
    return [Reanalysed(row.document_id, row.id, row.url, row.content_type,
                       analysis.content_type if analysis else None)
            for row, analysis in analyse(db, analyser, rows, now)]


def recheck(db: Database, analyser: Analyser, limit: int, now: datetime) -> list[Reanalysed]:
    """Judge again the versions that answer of documents that are marked for another look. The mark goes, and
    the document says why it was, unless it was marked anew meanwhile.
    """
    rows = load(db, ANSWERS, Document.recheck.is_not(None), limit=limit)
    done = []
    for row, analysis in analyse(db, analyser, rows, now):
        told = "looked at again" if analysis else "another look at it failed"
        same = Document.id == row.document_id, Document.recheck == row.recheck
        db.execute(update(Document).where(*same).values(recheck=None, reason=f"{told}: {row.recheck}"))
        done.append(Reanalysed(row.document_id, row.id, row.url, row.content_type,
                               analysis.content_type if analysis else None))
    return done


def analyse(
    db: Database, analyser: Analyser, rows: Rows, now: datetime
) -> Iterator[tuple[Row[Any], Analysis | None]]:
    """Each row with its analysis, stored; none for what our own code cannot analyse, which is told."""
    articles = [article(row) for row in rows]
    done = 0
    while done < len(rows):
        try:
            for analysis in analyser.analyse(articles[done:]):
                store(db, rows[done], analysis, now)
                done += 1
                yield rows[done - 1], analysis
        except StageError:
            raise
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            log.exception("Analysing %s failed", rows[done].url)
            done += 1
            yield rows[done - 1], None


def load(db: Database, *which: ColumnElement[bool], limit: int | None = None) -> Rows:
    """Versions with what an article is made of, and their content type so far, in the order of their ids."""
    with db.begin() as session:
        return session.execute(versions().where(*which).limit(limit)).all()


def versions() -> Select[Any]:
    return (
        select(DocumentVersion.id, DocumentVersion.document_id, DocumentVersion.scopes, DocumentVersion.title,
               DocumentVersion.blocks, DocumentVersion.text, DocumentVersion.language, DocumentVersion.author,
               Document.published_at, DocumentVersion.published_at.label("dated"), Document.url,
               Document.recheck, Source.kind, VersionAnalysis.content_type)
        .join(DocumentVersion.document).join(Document.source)
        .outerjoin(VersionAnalysis, VersionAnalysis.version_id == DocumentVersion.id)
        .order_by(DocumentVersion.id)
    )


def judged_by(analyser: str) -> ColumnElement[bool]:
    return and_(VersionAnalysis.version_id.is_not(None), VersionAnalysis.analyser == analyser)


def lent(db: Database, analyser: str, rows: Rows) -> dict[UUID, Analysis]:
    """What this analyser said of earlier versions of the same documents with the same title and text."""
    earlier, new = aliased(DocumentVersion), aliased(DocumentVersion)
    same = and_(earlier.document_id == new.document_id, earlier.id != new.id,
                earlier.content_hash == new.content_hash, earlier.title == new.title)
    columns = [getattr(VersionAnalysis, name) for name in FIELDS]
    with db.begin() as session:
        found = session.execute(
            select(new.id, *columns).join(earlier, same)
            .join(VersionAnalysis, VersionAnalysis.version_id == earlier.id)
            .where(new.id.in_([row.id for row in rows]), VersionAnalysis.analyser == analyser,
                   VersionAnalysis.note.is_(None)))
        return {row.id: Analysis(**{name: getattr(row, name) for name in FIELDS}) for row in found}


def article(row: Row[Any]) -> Article:
    return Article(
        row.title, row.text, [Block.from_json(block) for block in row.blocks], row.url, SourceKind(row.kind),
        row.language, row.author, row.published_at or row.dated)


def store(db: Database, row: Row[Any], analysis: Analysis, now: datetime) -> None:
    analysis = replace(analysis, topics=list(analysis.topics), entities=list(analysis.entities),
                       keywords=list(analysis.keywords), reasons=list(analysis.reasons))
    values = asdict(analysis) | {"version_id": row.id, "scopes": row.scopes, "analysed_at": now}
    statement = insert(VersionAnalysis).values(values)
    new = {name: statement.excluded[name] for name in values if name != "version_id"}
    db.execute(statement.on_conflict_do_update(index_elements=[VersionAnalysis.version_id], set_=new))
