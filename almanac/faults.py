"""What is wrong with what a caller sent, field by field, in words: for every door."""

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST_ECHO = 100  # characters
STAND_IN = "\N{REPLACEMENT CHARACTER}"


def field_of(location: Sequence[str | int]) -> str:
    return printable(".".join(str(step) for step in location[1:] if not isinstance(step, int))) or "the body"


def printable(words: str) -> str:
    """What a caller has made up, to be told back on one line."""
    return "".join(each if each.isprintable() else STAND_IN for each in words[:LONGEST_ECHO])


PHRASES = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "extra_forbidden": "is not known here{known}",
    "unexpected_keyword_argument": "is not known here{known}",
    "unknown_parameter": "is not known here: {known}",
    "json_invalid": "is not valid JSON",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters",
    "too_long": "must hold at most {max_length} values",
    "string_unicode": "holds characters that no text can hold",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "value_error": "is wrong: {error}",
}


def message_of(fault: Mapping[str, Any], known: str = "") -> str:
    """What is wrong with one field, without repeating its value: that could be a secret."""
    phrase = PHRASES.get(fault["type"])
    if phrase:
        return phrase.format_map({"known": known} | fault.get("ctx", {}))
    message = str(fault["msg"])
    return message.removeprefix("Input ") if message.startswith("Input ") else f"is wrong: {message}"


def told(faults: Sequence[Mapping[str, Any]], known: str = "") -> str:
    """All of them, as one line; their places begin with a field."""
    said = (f"{field_of(('body', *fault['loc']))} {message_of(fault, known)}" for fault in faults)
    return "; ".join(dict.fromkeys(said)) + "."
