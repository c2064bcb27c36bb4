"""What the API says of the stocked library, as the tests of the screens hear it again (tests/dashboards/recorded.json).

``test_dashboard_drive`` holds the recording to what the API says now, and with RECORD_SCREENS=1 records it anew.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stocked import MAP, Stocked

Json = dict[str, Any]

FILE = Path(__file__).parents[1] / "dashboards" / "recorded.json"
LONG, MOST = {"sources", "documents", "refusals", "runs"}, 8
SETTINGS = ("ALMANAC_API_PORT", "ALMANAC_ALLOWED_NETWORKS", "ALMANAC_DATABASE_URL", "ALMANAC_HOSTS", "ALMANAC_LLM_URL")
FREE = re.compile(  # objects whose keys are data, by the path that leads to them
    r"(documents|chunks|settings|parts|limits|map|counts|headers|tools)$")


def record(stocked: Stocked) -> dict[str, Json]:
    """Each answer under its method and path; of a longer list the beginning."""
    return {f"GET {path}": shortened(stocked.get(path)) for path in paths(stocked)} | {
        f"POST {path}": shortened(stocked.post(path, body)) for path, body in looks(stocked)}


def paths(stocked: Stocked) -> Iterator[str]:
    yield from ("/v1/sources/page", "/v1/sources/names", "/v1/documents", "/v1/quality/rates", "/v1/quality/refusals",
                "/v1/system", "/v1/runs", "/v1/tokens", "/v1/interests")
    for name in ("Harbour Gazette", "Council minutes", "Rail and Tram"):
        yield f"/v1/sources/{stocked.source(name)}"
    changed, refused = stocked.document("/harbour/0"), stocked.document("/odd/orders")
    for identity in (changed, refused):
        yield from (f"/v1/documents/{identity}{part}" for part in ("", "/versions", "/chunks", "/gates"))
    yield f"/v1/documents/{changed}/diff"


def looks(stocked: Stocked) -> list[tuple[str, Json]]:
    url = stocked.stand.url
    return [("/v1/sources/preview", {"url": f"{url}/harbour.xml"}),
            ("/v1/sources/sample", {"url": f"{url}/api/minutes"}),
            (f"/v1/sources/{stocked.source('Council minutes')}/preview", {"map": MAP})]


def shortened(answer: Json) -> Json:
    """The beginning of a long list; of the settings those that a screen speaks of."""
    told = {name: value[:MOST] if name in LONG and isinstance(value, list) else value
            for name, value in answer.items()}
    if "settings" in told:
        told["settings"] = {name: told["settings"][name] for name in SETTINGS}
    return told


def read() -> dict[str, Json]:
    told: dict[str, Json] = json.loads(FILE.read_text("utf-8"))
    return told


def write(stocked: Stocked) -> None:
    FILE.write_text(json.dumps(record(stocked), indent=1, ensure_ascii=True) + "\n", "utf-8")


def shape(value: Any, path: str = "") -> set[str]:
    """The paths of everything that is in there, without what is data."""
    match value:
        case dict() if not FREE.search(path):
            return {path}.union(*(shape(inner, f"{path}.{name}") for name, inner in value.items()))
        case list():
            return {path}.union(*(shape(inner, path) for inner in value))
    return {path}


def named(recorded: dict[str, Json]) -> dict[str, set[str]]:
    """The shapes by path, where ids are only ids: of a second one there is nothing else to say."""
    shapes: dict[str, set[str]] = {}
    for path, answer in recorded.items():
        name = re.sub(r"[0-9a-f-]{36}", "…", path)
        shapes[name] = shapes.get(name, set()) | shape(answer)
    return shapes
