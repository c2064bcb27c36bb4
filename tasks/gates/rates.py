"""How many versions the gates let pass, day by day, and which expectations refused the others."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Date, Executable, cast, distinct, func, select

from models.session import Database
from models.states import Severity, SourceKind
from models.tables import Document, DocumentVersion, GateResult, Source
from tasks.gates.gate import CHUNKS, VERSIONS
from tasks.gates.suite import suite

Json = dict[str, Any]


def rates(db: Database, now: datetime, days: int, zone: str = "UTC") -> Json:
    """``{"days": [{"day", "passed", "refused"}], "expectations": [{"gate", "expectation", "severity",
    "days": [versions]}]}`` of the last ``days`` of ``zone``, oldest first.

    A version has passed on the day it was indexed, unless its owner released it, and is refused on the day it
    was judged so. Our own documentation, which no gate judges, is not counted. Each expectation of the suites
    is there with the number of versions that did not meet it; a warning refuses nothing.
    """
    today = now.astimezone(ZoneInfo(zone)).date()
    all_days = [today - timedelta(days=ago) for ago in range(days - 1, -1, -1)]
    since = datetime.combine(all_days[0], datetime.min.time(), ZoneInfo(zone))
    with db.begin() as session:
        passed = {row.day: row.versions for row in session.execute(passed_by_day(since, zone))}
        refused = {row.day: row.versions for row in session.execute(refused_by_day(since, zone))}
        unmet = Counter({(row.gate, row.expectation, row.day): row.versions
                         for row in session.execute(unmet_by_day(since, zone))})
    return {
        "days": [{"day": day.isoformat(), "passed": passed.get(day, 0), "refused": refused.get(day, 0)}
                 for day in all_days],
        "expectations": [
            {"gate": gate, "expectation": each.name, "severity": each.severity.value,
             "days": [unmet[gate, each.name, day] for day in all_days]}
            for gate in (VERSIONS, CHUNKS) for each in suite(gate).expectations],
    }


def passed_by_day(since: datetime, zone: str) -> Executable:
    day = day_of(DocumentVersion.indexed_at, zone)
    return (
        select(day, func.count().label("versions")).select_from(DocumentVersion)
        .join(Document, Document.id == DocumentVersion.document_id)
        .join(Source, Source.id == Document.source_id)
        .where(DocumentVersion.indexed_at >= since, DocumentVersion.verdict.is_(None),
               Source.kind != SourceKind.DOCUMENTATION)
        .group_by(day))


def refused_by_day(since: datetime, zone: str) -> Executable:
    day = day_of(GateResult.judged_at, zone)
    return (select(day, func.count(distinct(GateResult.version_id)).label("versions"))
            .where(*found(since), GateResult.severity != Severity.WARNING).group_by(day))


def unmet_by_day(since: datetime, zone: str) -> Executable:
    day = day_of(GateResult.judged_at, zone)
    return (select(GateResult.gate, GateResult.expectation, day, func.count().label("versions"))
            .where(*found(since)).group_by(GateResult.gate, GateResult.expectation, day))


def found(since: datetime) -> tuple[Any, ...]:
    return (GateResult.version_id.is_not(None), GateResult.judged_at >= since)


def day_of(moment: Any, zone: str) -> Any:
    return cast(func.timezone(zone, moment), Date).label("day")
