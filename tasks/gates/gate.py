"""The adapter of ``ports.Gate``: the three suites, over what the database says."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from models.session import Database
from tasks.gates.chunks import measure_chunks
from tasks.gates.judge import Examiner, Finding, Measured, judge
from tasks.gates.sources import measure_sources, sources_of
from tasks.gates.suite import suite
from tasks.gates.versions import kept_of, measure_versions
from tasks.ports import Remark

VERSIONS, CHUNKS, SOURCES = "versions", "chunks", "sources"


class Gates:
    """``examiner`` judges, the database is asked what there was before. Thread-safe."""

    def __init__(self, db: Database, examiner: Examiner) -> None:
        self._db, self._examiner = db, examiner

    def versions(self, versions: Sequence[UUID]) -> list[Remark]:
        if not versions:
            return []
        sources = measure_sources(self._db, sources_of(self._db, versions))
        old = [each for each in sources if any(value is not None for value in each.values.values())]
        articles = {each.name for each in suite(VERSIONS).expectations if each.of_articles}
        handed_in = kept_of(self._db, versions)
        judged = self._judged(VERSIONS, measure_versions(self._db, versions))
        return [
            *(it for it in judged if it.version_id not in handed_in or it.expectation not in articles),
            *self._judged(SOURCES, old),
        ]

    def chunks(self, chunks: Sequence[Mapping[str, Any]], window: int, dimensions: int) -> list[Remark]:
        return self._judged(CHUNKS, measure_chunks(self._db, chunks, window, dimensions))

    def _judged(self, gate: str, rows: Sequence[Measured]) -> list[Remark]:
        found = judge(self._examiner, suite(gate), rows) if rows else []
        return [remark(gate, each) for each in found]


def remark(gate: str, found: Finding) -> Remark:
    version, source = (None, found.id) if gate == SOURCES else (found.id, None)
    return Remark(gate, found.expectation, found.severity, found.reason, found.observed, found.passage,
                  version, source)
