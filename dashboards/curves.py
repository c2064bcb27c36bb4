"""Freshness over age as a chart: a line for each content type, dots for documents or moments."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from almanac.client import Json
from dashboards.states import TYPES, spoken
from dashboards.words import plain

POINTS = 120  # of each curve
TICKS = [0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 365, 730, 1825, 3650]


def fresh(age: float, half_life: float | None) -> float:
    return float(0.5 ** (age / half_life)) if half_life else 1.0


def curve(kind: str, half_life: float | None, days: float) -> list[Json]:
    """Closer where the chart is wider."""
    ages = [days * (place / POINTS) ** 2 for place in range(POINTS + 1)]
    return [{"type": spoken(kind), "age": age, "freshness": fresh(age, half_life)} for age in ages]


def dot(kind: str, age: float, freshness: float, name: str, source: str) -> Json:
    return {"type": spoken(kind), "age": age, "freshness": freshness, "name": plain(name)[:80],
            "source": plain(source)[:40]}


def draw(lines: Sequence[Json], dots: Sequence[Json], said: str) -> None:
    """``said`` is what it shows, in words."""
    st.vega_lite_chart(spec(lines, dots), height=300, width="stretch", alt=said)


def spec(lines: Sequence[Json], dots: Sequence[Json]) -> dict[str, Any]:
    """Of Vega-Lite. Age is drawn by its root, since most happens in the first days; no field has a name that
    its tooltips would take for a picture.
    """
    days = max((line["age"] for line in lines), default=0)
    across = {"field": "age", "type": "quantitative", "title": "days since publication",
              "scale": {"type": "sqrt", "domain": [0, days]},
              "axis": {"values": [tick for tick in TICKS if tick <= days], "grid": False}}
    up = {"field": "freshness", "type": "quantitative", "title": "freshness",
          "scale": {"domain": [0, 1.02]}, "axis": {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".2f"}}
    colour = {"field": "type", "type": "nominal", "legend": None,
              "scale": {"domain": list(map(spoken, TYPES)), "range": list(TYPES.values())}}
    told = [{"field": "name", "title": "document"}, {"field": "source"}, {"field": "type", "title": "type"},
            {"field": "age", "title": "days old", "format": ".1f"}, {"field": "freshness", "format": ".2f"}]
    shared = {"x": across, "y": up, "color": colour}
    return {"layer": [
        {"data": {"values": list(lines)}, "mark": {"type": "line", "strokeWidth": 2}, "encoding": shared},
        {"data": {"values": list(dots)},
         "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.75},
         "encoding": shared | {"tooltip": told}},
    ]}
