"""What `almanac doctor` finds."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked. ``fine`` is None for what Almanac can do without, or only tells."""

    what: str
    fine: bool | None
    words: str

    def document(self) -> dict[str, object]:
        return asdict(self)
