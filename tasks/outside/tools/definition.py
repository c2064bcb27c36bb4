"""A tool as its server describes it; two that differ in a character are two."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from models.visible import visible
from tasks.outside.tools.schema import check_schema

LONGEST = 50_000  # characters of a definition, written as JSON


@dataclass(frozen=True)
class Definition:
    """``text`` is its description and schema as JSON of one form, and plain ASCII."""

    text: str

    @classmethod
    def of(cls, description: str | None, schema: dict[str, Any]) -> "Definition":
        """Raises ValueError, one sentence, for what cannot be used."""
        said = {"description": description or "", "schema": schema}
        text = json.dumps(said, sort_keys=True)
        if len(text) > LONGEST:
            raise ValueError(f"its definition is longer than {LONGEST:,} characters")
        if not is_plain(json.dumps(said, ensure_ascii=False)):
            raise ValueError("its definition holds invisible characters")
        check_schema(schema)
        return cls(text)

    @cached_property
    def _said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.text)
        return said

    @property
    def description(self) -> str:
        return str(self._said["description"])

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self._said["schema"]
        return schema

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"description": self.description, "schema": self.schema, "fingerprint": self.fingerprint}


def is_plain(text: str) -> bool:
    """Whether whoever looks at it sees all of it."""
    return visible(text) == text and text.encode(errors="ignore").decode() == text
