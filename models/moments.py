"""Days and moments as people write them."""

from contextlib import suppress
from datetime import date, datetime


def parse_moment(text: str) -> date | datetime:
    """A day or a moment as people write it. Raises ValueError, one clear sentence."""
    with suppress(ValueError):
        return date.fromisoformat(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("write it like 2026-05-20 or 2026-05-20T12:00Z") from error
