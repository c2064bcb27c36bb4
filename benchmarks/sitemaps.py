"""``make bench-sitemaps CORPUS=folder``: hold the sitemap parser to the facts about its files.

Reads facts.json of the folder: for each file the addresses of its pages, in order, or null where anything
but a crash is right. Addresses on other sites are the kind's business and count here as they stand.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tasks.discover.sitemap import parse
from tasks.errors import Permanent


def main(folder: Path) -> int:
    facts: list[dict[str, Any]] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    told = [fact for fact in facts if fact["expect_pages"] is not None]
    right = [holds(folder, fact) for fact in facts]
    count = sum(held for held, fact in zip(right, facts, strict=True) if fact in told)
    print(f"sitemaps: {count} of {len(told)}; of the {len(facts) - len(told)} left open none crashed")
    return 0 if all(right) else 1


def holds(folder: Path, fact: dict[str, Any]) -> bool:
    """Whether the pages are those expected; what is left open is printed as it came out."""
    name = Path(fact["file"]).name
    try:
        told = parse((folder / name).read_bytes(), f"https://ex.test/{name}", "", None)
        found: list[str] | None = [item["url"] for item in told["items"]]
        said = str(found)
    except Permanent as error:
        found, said = None, f"refused: {error.reason}"
    expected = fact["expect_pages"]
    if expected is None or found != expected:
        print(f"   {name}: {said}" + (f", expected {expected}" if expected is not None else ""))
    return expected is None or found == expected


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
