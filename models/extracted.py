"""What a page turned out to say: the value that crosses the jail's border as JSON."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from models.blocks import Block


@dataclass(frozen=True, slots=True)
class Hidden:
    """A passage of the text that the page does not show; ``how`` is a name of ``models.styles``."""

    how: str
    text: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """A page as typed blocks, with what it says about itself. Every address is absolute and http(s)."""

    blocks: tuple[Block, ...]
    title: str
    extractor: str  # which way of extracting won
    author: str | None = None
    published_at: datetime | None = None
    language: str | None = None
    canonical_url: str | None = None
    feeds: tuple[str, ...] = ()  # feeds that the page announces
    modified_at: datetime | None = None
    site_name: str | None = None
    hidden: tuple[Hidden, ...] = ()  # what of the blocks a reader of the page does not see

    def to_json(self) -> dict[str, Any]:
        return {
            "blocks": [block.to_json() for block in self.blocks],
            "title": self.title,
            "extractor": self.extractor,
            "author": self.author,
            "published_at": self.published_at.isoformat() if self.published_at else None,
            "language": self.language,
            "canonical_url": self.canonical_url,
            "feeds": list(self.feeds),
            "modified_at": self.modified_at.isoformat() if self.modified_at else None,
            "site_name": self.site_name,
            "hidden": [asdict(passage) for passage in self.hidden],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Extracted":
        dates = {
            name: datetime.fromisoformat(stored[name]) if stored.get(name) else None
            for name in ("published_at", "modified_at")
        }
        return cls(**stored | dates | {
            "blocks": tuple(Block.from_json(block) for block in stored["blocks"]),
            "feeds": tuple(stored["feeds"]),
            "hidden": tuple(Hidden(**passage) for passage in stored.get("hidden", ())),
        })
