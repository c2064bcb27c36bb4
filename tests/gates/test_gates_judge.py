"""Suites are data, and rows are judged one by one: no value, NaN and a missing column too."""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from models.states import Severity
from tasks.gates.judge import Measured, judge
from tasks.gates.suite import Expectation, Suite, suite

SUITE = Suite(
    "test",
    (
        Expectation(
            "not short",
            "between",
            "length",
            Severity.WARNING,
            "only {observed} long",
            False,
            {"min_value": 9},
        ),
        Expectation(
            "not tiny", "between", "length", Severity.CRITICAL, "tiny: {observed}", False, {"min_value": 3}
        ),
        Expectation("not old", "between", "age", Severity.CRITICAL, "{observed} old", True, {"max_value": 5}),
    ),
)


class Between:
    """Judges as Great Expectations does: what has no value passes."""

    def examine(self, suite: Suite, columns: Mapping[str, Sequence[Any]]) -> Sequence[Sequence[int]]:
        assert not any(
            isinstance(value, float) and math.isnan(value) for values in columns.values() for value in values
        )
        return [
            [
                at
                for at, value in enumerate(columns[it.column])
                if value is not None
                and not (
                    it.bounds.get("min_value", -math.inf) <= value <= it.bounds.get("max_value", math.inf)
                )
            ]
            for it in suite.expectations
        ]


def found(**values: Any) -> list[tuple[str, Severity, str, str]]:
    return [
        (it.expectation, it.severity, it.reason, it.observed)
        for it in judge(Between(), SUITE, [Measured(uuid4(), values)])
    ]


def test_a_row_that_meets_all_is_not_mentioned() -> None:
    assert found(length=10, age=1) == found(length=10, age=None) == found(length=10, age=math.nan) == []


def test_of_two_expectations_on_a_column_the_gravest_is_told() -> None:
    assert found(length=5, age=1) == [("not short", Severity.WARNING, "only 5 long", "5")]
    assert found(length=1, age=1) == [("not tiny", Severity.CRITICAL, "tiny: 1", "1")]


@pytest.mark.parametrize(("value", "observed"), [(None, "none"), (math.nan, "nan")])
def test_no_value_and_nan_are_refused_where_there_must_be_one(value: Any, observed: str) -> None:
    assert found(length=value, age=1) == [
        ("not tiny", Severity.CRITICAL, "its length is not known", observed)
    ]


def test_a_column_that_could_not_be_measured_is_refused_even_where_it_may_be_empty() -> None:
    assert found(length=10) == [("not old", Severity.CRITICAL, "its age could not be measured", "missing")]
    assert found(age=9) == [
        ("not short", Severity.CRITICAL, "its length could not be measured", "missing"),
        ("not old", Severity.CRITICAL, "9 old", "9"),
    ]


def test_a_thing_of_several_rows_is_mentioned_once_for_each_expectation() -> None:
    one = UUID(int=1)
    rows = [
        Measured(one, {"length": length, "age": None}, {"length": f"row {length}"}) for length in (20, 2, 1)
    ]
    assert [(it.observed, it.passage) for it in judge(Between(), SUITE, rows)] == [("2", "row 2")]


@pytest.mark.parametrize("name", ["versions", "chunks", "sources"])
def test_each_suite_has_names_of_its_own_and_sentences_that_can_be_filled(name: str) -> None:
    wanted = suite(name)
    assert len({it.name for it in wanted.expectations}) == len(wanted.expectations)
    for it in wanted.expectations:
        assert it.kind.startswith("expect_column_values_to_")
        assert "{" not in it.reason.format(observed="x")
