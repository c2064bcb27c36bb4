"""``make bench-feeds CORPUS=folder``: entries and links of feed files beside feedparser alone, in one run.

The folder holds the files and ``facts.json``: how many entries each has (``n_entries``, else the number of its
item and entry elements) and, for some, their links. Ours are read in the jail, as a poll reads them. A JSON
Feed's id that is a whole address counts as the link that the item does not have, as its guid would.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import feedparser

from almanac.wiring import PARSERS
from models.addresses import resolve_link
from tasks.errors import StageError
from tasks.extract.jail import Jail

BASE = "https://corpus.example/feeds/"
LIMIT = 10.0  # seconds a file

Facts = dict[str, Any]
Links = list[str | None]


@dataclass
class Reader:
    """What reads a file to the links of its entries, and how that went."""

    name: str
    links_of: Callable[[bytes, str], Links]
    entries: dict[str, bool] = field(default_factory=dict)  # by file: all of them, and no more
    links: dict[str, int] = field(default_factory=dict)  # by file: how many are right
    refused: dict[str, str] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def read(self, facts: Facts, body: bytes) -> None:
        name, url, found = facts["file"], BASE + facts["file"], list[str | None]()
        started = time.perf_counter()
        try:
            found = self.links_of(body, url)
        except StageError as error:
            self.refused[name] = error.reason
        except Exception as error:  # which is what is measured
            self.raised[name] = f"{type(error).__name__}: {error}"
        self.seconds[name] = time.perf_counter() - started
        if (wanted := wanted_of(facts)) is not None:
            self.entries[name] = len(found) == wanted
        pairs = zip(found, facts.get("entry_links", []), strict=False)
        self.links[name] = sum(same(link, wanted, url) for link, wanted in pairs)


def wanted_of(facts: Facts) -> int | None:
    """How many entries the file has; None where nobody says."""
    told: int | None = facts.get("n_entries", facts.get("tag_count_item_entry"))
    return told


def same(found: str | None, wanted: str | None, url: str) -> bool:
    """The same address, however it is written; of an entry without one, no link is wanted, nor is it wrong."""
    return wanted is None or resolve_link(url, found or "") == resolve_link(url, wanted)


def alone(body: bytes, url: str) -> Links:
    """feedparser as its documentation shows it, told where the bytes come from."""
    told = feedparser.parse(BytesIO(body), response_headers={"content-location": url})
    return [entry.get("link") for entry in told.entries]


def jailed(jail: Jail) -> Callable[[bytes, str], Links]:
    def links_of(body: bytes, url: str) -> Links:
        context = {"url": url, "media_type": "application/octet-stream", "charset": None}
        return [item["url"] for item in asyncio.run(jail.parse("feed", body, context))["items"]]

    return links_of


def compare(corpus: Path, files: Iterable[Facts]) -> bool:
    """Read every file both ways and say how it went; whether ours is nowhere behind, raises or is late."""
    jail = Jail(PARSERS)  # its own processes: what our reader changes in feedparser is changed there only
    ours, bare = readers = Reader("almanac", jailed(jail)), Reader("feedparser alone", alone)
    wanted_links = 0
    for facts in files:
        body = (corpus / facts["file"]).read_bytes()
        wanted_links += len(facts.get("entry_links", []))
        for reader in readers:
            reader.read(facts, body)
    jail.close()
    print(f"{len(ours.seconds)} files, {len(ours.entries)} of a known number of entries, {wanted_links} known links")
    print(f"{'':<18}{'entries right':>14}{'links right':>13}{'raises':>8}{'late':>6}{'refused':>9}{'slowest s':>11}")
    for reader in readers:
        late = sum(seconds > LIMIT for seconds in reader.seconds.values())
        print(f"{reader.name:<18}{sum(reader.entries.values()):>14}{sum(reader.links.values()):>13}"
              f"{len(reader.raised):>8}{late:>6}{len(reader.refused):>9}{max(reader.seconds.values()):>11.3f}")
    behind = [name for name in ours.seconds
              if ours.entries.get(name, True) < bare.entries.get(name, False) or ours.links[name] < bare.links[name]]
    print(f"behind feedparser: {', '.join(behind) or 'nowhere'}")
    for name, why in (ours.refused | ours.raised).items():
        print(f"    {name}: {why}")
    return not (behind or ours.raised or max(ours.seconds.values()) > LIMIT)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "facts.json").is_file():
        sys.exit("say where the feeds are: make bench-feeds CORPUS=folder, with facts.json in it")
    folder = Path(sys.argv[1])
    sys.exit(0 if compare(folder, json.loads((folder / "facts.json").read_text(encoding="utf-8"))) else 1)
