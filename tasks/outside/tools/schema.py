"""Arguments held against a JSON schema that a stranger wrote: in bounded time, and reaching for nothing.

A schema can be made to take for ever: by a pattern that backtracks, or by references that multiply. Patterns
are matched by Rust's engine, whose time is linear, and steps are counted.
"""

import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Annotated, Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as NoMatch
from pydantic_core import SchemaError as PatternError
from referencing import Registry
from referencing.exceptions import Unresolvable

MOST_STEPS = 50_000  # keywords looked at for one set of arguments
LONGEST_ARGUMENTS = 100_000  # characters, written as JSON
LONGEST_REASON = 200
NOT_CHECKED = {"patternProperties"}  # the library matches these by Python's engine, which backtracks

Json = dict[str, Any]
_steps: ContextVar[int] = ContextVar("steps")


class TooManySteps(Exception):
    """The schema makes too much of these arguments."""


def check_schema(schema: Json) -> None:
    """Raises ValueError, one sentence, for a schema that arguments cannot be held against here."""
    if schema.get("type") != "object":
        raise ValueError("its schema is not of an object")
    try:
        validator_for(schema, Draft202012Validator).check_schema(schema)
        for keyword, value in entries(schema):
            if keyword in NOT_CHECKED:
                raise ValueError(f"its schema uses {keyword}, which is not supported")
            if keyword == "pattern" and isinstance(value, str):
                matcher(value)
    except (SchemaError, RecursionError) as error:
        raise ValueError("its schema is not valid JSON Schema") from error
    except PatternError as error:
        raise ValueError("its schema has a pattern that cannot be matched in linear time") from error


def check_arguments(arguments: Json, schema: Json) -> None:
    """Raises ValueError, one sentence, for arguments that the schema does not take."""
    try:
        written = len(json.dumps(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("the arguments are no JSON") from error
    if written > LONGEST_ARGUMENTS:
        raise ValueError(f"the arguments are longer than {LONGEST_ARGUMENTS:,} characters")
    token = _steps.set(MOST_STEPS)
    try:
        validator = bounded(validator_for(schema, Draft202012Validator))(schema, registry=Registry())
        if fault := best_match(validator.iter_errors(arguments)):
            place = ".".join(map(str, fault.absolute_path))
            raise ValueError(f"{f'{place}: ' if place else ''}{fault.message[:LONGEST_REASON]}")
    except (TooManySteps, RecursionError, Unresolvable) as error:
        raise ValueError("the arguments cannot be held against the tool's schema") from error
    finally:
        _steps.reset(token)


@cache
def bounded(dialect: type[Validator]) -> Callable[..., Validator]:
    """The dialect with its steps counted and its patterns matched in linear time."""
    keywords = {name: counted(check) for name, check in dialect.VALIDATORS.items()}
    made: Callable[..., Validator] = extend(dialect, keywords | {"pattern": counted(pattern)})
    return made


def counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def step(*arguments: Any) -> Any:
        if (left := _steps.get()) == 0:
            raise TooManySteps
        _steps.set(left - 1)
        return check(*arguments)

    return step


def pattern(validator: Any, wanted: str, text: object, schema: Json) -> Iterator[ValidationError]:
    if isinstance(text, str):
        try:
            matcher(wanted).validate_python(text)
        except NoMatch:
            yield ValidationError(f"it does not match {wanted!r}")


@lru_cache(maxsize=256)
def matcher(wanted: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=wanted)])


def entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of every object in it, with its value."""
    if isinstance(value, dict):
        yield from value.items()
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from entries(each)
