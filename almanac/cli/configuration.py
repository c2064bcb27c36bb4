"""``almanac settings``: every setting with its value, its default and its meaning."""

from almanac.cli.screen import screen, table
from almanac.settings import settings
from almanac.settings_shown import explained, unknown


def show_settings() -> None:
    """Print every setting with its value, its default and its meaning; secrets are masked."""
    rows = explained(settings())
    warn_of_unknown()
    cells = [(row["name"], said(row["value"]), said(row["default"]), row["meaning"]) for row in rows]
    screen.show({"settings": rows}, table(("NAME", "VALUE", "DEFAULT", "MEANING"), cells, "No settings."))


def warn_of_unknown() -> None:
    """Say which names look like settings and are none: they would be ignored without a word."""
    if words := unknown():
        screen.warn(words)


def said(value: object) -> object:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "-" if value in (None, "") else value
