"""Suites of expectations, which are data: one TOML file each in ``suites``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from models.states import Severity

NAMED = {"name", "expectation", "column", "severity", "reason", "optional", "of_articles"}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One line of a suite; ``bounds`` are the arguments of its kind in Great Expectations."""

    name: str
    kind: str
    column: str
    severity: Severity
    reason: str  # with ``{observed}`` where the value belongs
    optional: bool
    bounds: Mapping[str, Any]
    of_articles: bool = False  # of what was read on the web; a note that was handed in may be short

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Expectation":
        bounds = {name: value for name, value in line.items() if name not in NAMED}
        return cls(line["name"], line["expectation"], line["column"], Severity(line["severity"]),
                   line["reason"], line.get("optional", False), bounds, line.get("of_articles", False))


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    expectations: tuple[Expectation, ...]

    @property
    def columns(self) -> list[str]:
        """In the order of their first mention."""
        return list(dict.fromkeys(it.column for it in self.expectations))


@cache
def suite(name: str) -> Suite:
    """The suite of this name. Raises ValueError where two of its expectations have one name."""
    lines = tomllib.loads((files("tasks.gates") / "suites" / f"{name}.toml").read_text("utf-8"))["expect"]
    expectations = tuple(map(Expectation.of, lines))
    if len({it.name for it in expectations}) < len(expectations):
        raise ValueError(f"two expectations of the suite {name} have the same name")
    return Suite(name, expectations)
