"""What an external AI is asked, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Wanting:
    """A question that the library has no answer to."""

    query: str
    scopes: Sequence[str]
    retrieval_id: UUID
    principal_id: UUID  # who asks
    near: Sequence[UUID]  # documents of external AIs that were found
    recent: bool  # whether it asks for the recent, so that an answer does not hold for long
    clean: Callable[[str], str]  # makes what comes back fit to be shown


@dataclass(frozen=True, slots=True)
class External:
    """What came of asking an external AI: an answer, and the document that keeps it; else why not."""

    reason: str | None
    text: str | None = None
    provider: str | None = None
    model: str | None = None
    asked: str | None = None  # as it left
    document_id: UUID | None = None
    citation: Mapping[str, Any] | None = None  # of the document
    at_home: bool = False  # it was answered before, and nothing has left
    was_cut: bool = False

    def to_json(self) -> dict[str, Any]:
        """All but the text."""
        said = ("reason", "provider", "model", "asked", "citation", "at_home")
        return {name: getattr(self, name) for name in said} | {
            "document_id": str(self.document_id) if self.document_id else None}
