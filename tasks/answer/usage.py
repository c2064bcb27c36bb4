"""What a retrieval used and dropped, on record: labels are resolved from here and nowhere else."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Insert, bindparam, column, func, insert, select
from sqlalchemy.dialects.postgresql import JSONB

from models.session import Database
from models.tables import UsageEvent
from tasks.answer.interests import learning
from tasks.answer.question import Question
from tasks.answer.retrieval import Excerpt

OF_EACH = ("label", "used", "why", "document_id", "version_id", "chunk_id", "start", "end", "score")
OF_ALL = ("retrieval_id", "query", "previous", "scopes", "happened_at")


def record(db: Database, retrieval_id: UUID, question: Question, excerpts: Sequence[Excerpt],
           learned: Sequence[str], now: datetime) -> None:
    """A row for each excerpt, readable by those who have every scope of the asker, and the asker's interests.

    It does not wait until the disk has the rows: a crash of PostgreSQL may lose those of its last second.
    """
    if not excerpts:
        return
    scopes = list(question.own)
    values = {"retrieval_id": retrieval_id, "query": question.query, "previous": question.previous,
              "happened_at": now, "scopes": scopes, "rows": [_row(excerpt) for excerpt in excerpts]}
    if learned:
        db.execute(INSERT_AND_LEARN, values | {"own_scopes": scopes, "learned": sorted(learned), "now": now})
    else:
        db.execute(INSERT, values)


def _row(excerpt: Excerpt) -> dict[str, Any]:
    ids = {name: str(getattr(excerpt, name)) for name in ("document_id", "version_id", "chunk_id")}
    return ids | {"label": excerpt.label, "used": excerpt.used, "why": excerpt.why,
                  "start": excerpt.origin.start, "end": excerpt.origin.end, "score": excerpt.score.to_json()}


def _insert() -> Insert:
    """One statement, whatever the number of rows: they travel as JSON."""
    table = UsageEvent.__table__
    fields = [column(name, table.c[name].type) for name in OF_EACH]
    rows = func.jsonb_to_recordset(bindparam("rows", type_=JSONB)).table_valued(*fields)
    shared = [bindparam(name, type_=table.c[name].type) for name in OF_ALL]
    each = rows.render_derived(name="excerpt", with_types=True).c
    unhurried = func.set_config("synchronous_commit", "off", True) == "off"  # for this transaction
    made = select(func.gen_random_uuid(), *each, *shared).where(unhurried)
    return insert(UsageEvent).from_select(["id", *OF_EACH, *OF_ALL], made)


INSERT = _insert()
INSERT_AND_LEARN = INSERT.add_cte(learning())
