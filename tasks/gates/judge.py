"""Rows of measures judged against a suite: which expectation is not met, by which row, with which value."""

import math
from collections.abc import Iterable, Mapping, Sequence
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
    """What the rows do not meet: of each row and column the worst, and of each thing and expectation one."""
    whole = [row for row in rows if row.values.keys() >= set(suite.columns)]
    found = [unmeasured(row, column) for row in rows for column in suite.columns if column not in row.values]
    if whole:
        columns = {name: [stated(row.values[name]) for row in whole] for name in suite.columns}
        refused = examiner.examine(suite, columns)
        found += [finding(whole[at], expectation)
                  for expectation, places in zip(suite.expectations, refused, strict=True) for at in places]
    return list(worst(found, suite).values())


def stated(value: Any) -> Any:
    """No value instead of NaN, which would pass every expectation unseen."""
    return None if isinstance(value, float) and math.isnan(value) else value


def unmeasured(row: Measured, column: str) -> Finding:
    return Finding(row.id, f"measured: {column}", Severity.CRITICAL, f"its {said(column)} could not be measured", "missing", None)


def finding(row: Measured, expectation: Expectation) -> Finding:
    value = row.values[expectation.column]
    observed = told(value)
    reason = expectation.reason.format(observed=observed)
    if stated(value) is None and expectation.bounds.keys() & {"min_value", "max_value"}:
        reason = f"its {said(expectation.column)} is not known"
    return Finding(row.id, expectation.name, expectation.severity, reason, observed,
                   row.passages.get(expectation.column) or None)


def said(column: str) -> str:
    return column.replace("_", " ")


def told(value: Any) -> str:
    """A value as its owner reads it."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "none" if value is None else str(value)[:LONGEST_OBSERVED]


def worst(found: Iterable[Finding], suite: Suite) -> dict[tuple[UUID, str], Finding]:
    """Of the findings on one column of a thing, the first of the gravest."""
    columns = {it.name: it.column for it in suite.expectations}
    kept: dict[tuple[UUID, str], Finding] = {}
    for each in found:
        key = each.id, columns.get(each.expectation, each.expectation)
        if key not in kept or WEIGHT[each.severity] > WEIGHT[kept[key].severity]:
            kept[key] = each
    return kept
