"""Settings as people see them: without secrets, and with a word on names that are none."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import SecretStr

from almanac.settings import CREDENTIALS_IN_URL, OURS, Settings, env_file, name_of

MASK = "********"
OF_OTHERS = {"ALMANAC_POSTGRES_PASSWORD"}  # docker/compose.yaml asks for it
LIKENESS = 0.75  # of a name that may be meant, as difflib measures it


def unknown() -> str | None:
    """One sentence on the names in the environment and in ``.env`` that look like settings and are none."""
    known = {name_of(field) for field in Settings.model_fields}
    strangers = sorted({name.upper() for name in names_given()} - known - OF_OTHERS)
    guesses = [(name, get_close_matches(name, known, 1, LIKENESS))
               for name in strangers if name.startswith(OURS)]
    if not guesses:
        return None
    said = ", ".join(name + "".join(f" (is {guess} meant?)" for guess in near) for name, near in guesses)
    return f"not a setting, and without effect: {said}; `almanac settings` lists all"


def names_given() -> Iterable[str]:
    return {*os.environ, *(binding.key for binding in env_file() if binding.key)}


def explained(chosen: Settings) -> list[dict[str, Any]]:
    """Each setting's ``name`` in the environment, ``value``, ``default`` and ``meaning``; secrets masked."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        rows.append({
            "name": name_of(name),
            "value": printable(getattr(chosen, name)),
            "default": printable(default),
            "meaning": field.description,
        })
    return rows


def printable(value: object) -> object:
    """A setting's value ready for JSON, without a secret, nor the password of a URL."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return [printable(each) for each in value]
    return MASK if isinstance(value, SecretStr) else CREDENTIALS_IN_URL.sub(MASK, str(value))
