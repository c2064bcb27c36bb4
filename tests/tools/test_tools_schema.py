"""Arguments are held against schemas of strangers in bounded time, and nothing is fetched for it."""

import time
from typing import Any

import pytest

from tasks.outside.tools.schema import check_arguments, check_schema

RECURSIVE = {"type": "object", "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}},
             "additionalProperties": False}


def doubling(times: int) -> dict[str, Any]:
    """A schema of a few lines that means 2 ** times checks."""
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(times)}
    first = {"$ref": "#/$defs/s0"}
    return {"type": "object", "properties": {"a": first}, "$defs": {**steps, f"s{times}": {}}}


@pytest.mark.parametrize(("arguments", "schema"), [
    ({"child": {"child": {"name": "a"}}}, RECURSIVE),
    ({"a": "xaab"}, {"type": "object", "properties": {"a": {"type": "string", "pattern": "a+b$"}}}),
    ({"a": [1, "b"]}, {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                       "properties": {"a": {"items": [{"type": "integer"}, {"type": "string"}]}}}),
    ({"pattern": "x"}, {"type": "object", "properties": {"pattern": {"type": "string"}}}),
    ({"a": 1}, doubling(5)),
])
def test_what_fits_is_taken(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    check_schema(schema)
    check_arguments(arguments, schema)


@pytest.mark.parametrize(("arguments", "schema", "reason"), [
    ({"child": {"nom": "a"}}, RECURSIVE, "child: Additional properties"),
    ({"a": "ab "}, {"type": "object", "properties": {"a": {"pattern": "a+b$"}}}, "a: it does not match"),
    ({}, {"type": "object", "required": ["city"]}, "'city' is a required property"),
    ({"a": "x" * 200_000}, {"type": "object"}, "longer than 100,000"),
    ({"a": object()}, {"type": "object"}, "no JSON"),
    ({"a": 1}, {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}, "cannot be held against"),
    ({"a": 1}, {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}, "cannot be held against"),
    ({"a": 1}, {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.2:9/schema"}}},
     "cannot be held against"),
    ({"a": 1}, doubling(40), "cannot be held against"),
])
def test_what_does_not_fit_is_refused_in_one_sentence(
    arguments: dict[str, Any], schema: dict[str, Any], reason: str
) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=reason):
        check_arguments(arguments, schema)
    assert time.process_time() - began < 5


def test_a_pattern_that_would_backtrack_for_ever_is_matched_at_once() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    with pytest.raises(ValueError, match="does not match"):
        check_arguments({"a": "a" * 50_000 + "!"}, schema)


@pytest.mark.parametrize("schema", [
    {}, {"type": "array"}, {"type": "object", "properties": {"a": 7}}, {"type": "object", "required": "a"},
    {"type": "object", "properties": {"a": {"pattern": "(?<=a)b"}}},
    {"type": "object", "patternProperties": {"a": {}}},
])
def test_a_schema_that_cannot_be_held_to_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="its schema"):
        check_schema(schema)
