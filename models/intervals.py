"""How often a source is polled, and by which clock, as an owner writes it."""

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
SHORTEST, LONGEST = 60, 366 * 86400


def seconds_of(every: str) -> int:
    """``30m``, ``1h``, ``2d``, ``1w`` or ``1h30m`` in seconds. ValueError: one sentence."""
    parts = re.findall(r"([0-9]{1,1000})([smhdw])", every)
    if not parts or "".join(number + unit for number, unit in parts) != every:
        raise ValueError(f"“{every}” is no interval: write it like 30m, 1h, 2d or 1w")
    seconds = sum(int(number) * UNITS[unit] for number, unit in parts)
    if not SHORTEST <= seconds <= LONGEST:
        raise ValueError(f"“{every}” is out of bounds: an interval is 1m at least and 366d at most")
    return seconds


def interval_of(seconds: int) -> str:
    """``seconds`` as ``seconds_of`` reads it: ``5400`` is ``1h30m``."""
    words = []
    for unit, length in sorted(UNITS.items(), key=lambda pair: -pair[1]):
        number, seconds = divmod(seconds, length)
        if number:
            words.append(f"{number}{unit}")
    return "".join(words)


def check_zone(zone: str) -> None:
    """Raises ValueError where ``zone`` is no time zone of the IANA's."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"“{zone}” is no time zone: write one like Europe/Berlin, or UTC") from error
