"""Two searches, one similarity."""

from collections.abc import Sequence
from uuid import UUID

from tasks.ports import Hit


def fuse(near: Sequence[Hit], containing: Sequence[Hit]) -> dict[UUID, float]:
    """Each chunk that either search offers, with its similarity in 0 to 1."""
    found = {hit.id: 0.0 for hit in containing}
    return found | {hit.id: min(max(hit.similarity or 0.0, 0.0), 1.0) for hit in near}
