"""Rows of measures judged against a suite: which expectation is not met, by which row, with which value."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from models.states import Severity
from tasks.gates.suite import Expectation, Suite

WEIGHT = {severity: weight for weight, severity in enumerate(Severity)}
LONGEST_OBSERVED = 200


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: what was measured of the thing ``id``, by column, and the passage that a value comes from.

    A column that is missing could not be measured; a value of None is one that there is none of.
    """

    id: UUID
    values: Mapping[str, Any]
    passages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """An expectation that a row does not meet."""

    id: UUID
    expectation: str
    severity: Severity
    reason: str
    observed: str
    passage: str | None


class Examiner(Protocol):
    """Who knows how to judge columns: Great Expectations, elsewhere."""

    def examine(self, suite: Suite, columns: Mapping[str, Sequence[Any]]) -> Sequence[Sequence[int]]:
        """For each expectation of the suite, the rows (from 0) that do not meet it.

        Raises Transient when it cannot judge: then nothing has passed.
        """
        ...


def judge(examiner: Examiner, suite: Suite, rows: Sequence[Measured]) -> list[Finding]:
    """What the rows do not meet: of each thing and column the gravest.

    Great Expectations lets no value and NaN pass, and condemns a whole batch for a column that is missing:
    both are found here, row by row, and it is given every column of the suite.
    """
    columns = {name: [stated(row.values.get(name)) for row in rows] for name in suite.columns}
    refused = examiner.examine(suite, columns)
    found = [finding for row in rows for finding in absent(row, suite)]
    found += [failed(rows[at], expectation)
              for expectation, places in zip(suite.expectations, refused, strict=True) for at in places]
    return list(gravest(found, suite).values())


def stated(value: Any) -> Any:
    """No value instead of NaN, which JSON cannot hold."""
    return None if isinstance(value, float) and math.isnan(value) else value


def absent(row: Measured, suite: Suite) -> Iterator[Finding]:
    """The columns of which a row has no value, where it must have one."""
    for expectation in suite.expectations:
        column = expectation.column
        if column not in row.values:
            reason = f"its {said(column)} could not be measured"
            yield Finding(row.id, expectation.name, Severity.CRITICAL, reason, "missing", None)
        elif stated(row.values[column]) is None and not expectation.optional:
            reason = f"its {said(column)} is not known"
            observed = told(row.values[column])
            yield Finding(row.id, expectation.name, expectation.severity, reason, observed, None)


def failed(row: Measured, expectation: Expectation) -> Finding:
    observed = told(row.values[expectation.column])
    reason = expectation.reason.format(observed=observed)
    passage = row.passages.get(expectation.column) or None
    return Finding(row.id, expectation.name, expectation.severity, reason, observed, passage)


def said(column: str) -> str:
    return column.replace("_", " ")


def told(value: Any) -> str:
    """A value as its owner reads it."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "none" if value is None else str(value)[:LONGEST_OBSERVED]


def gravest(found: Iterable[Finding], suite: Suite) -> dict[tuple[UUID, str], Finding]:
    """By thing and column, the first of the gravest findings."""
    columns = {it.name: it.column for it in suite.expectations}
    kept: dict[tuple[UUID, str], Finding] = {}
    for each in found:
        key = each.id, columns[each.expectation]
        if key not in kept or WEIGHT[each.severity] > WEIGHT[kept[key].severity]:
            kept[key] = each
    return kept
