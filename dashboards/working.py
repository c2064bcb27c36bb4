"""The work of the flows: the runs that began last, each with its page in the Prefect UI."""

from markupsafe import Markup

from dashboards.connection import library
from dashboards.states import state
from dashboards.tables import table, when
from dashboards.words import lasting, link, markup, notice, shown

RUNS = 50
MINUTE = 60
HEADINGS = ("Run", "State", "Began", "Took", "Prefect UI")


def show() -> None:
    runs = library().runs(RUNS)
    if not runs:
        notice("No run has begun yet", "Polls begin every minute: look again then.")
        return
    shown(table("runs-list", HEADINGS, (
        (markup("{}<small>{}</small>", run["flow"], run["name"]), told(run["state"], run["message"]),
         when(run["started_at"]), took(run["seconds"]), link(run["url"], "open"))
        for run in runs)))


def took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < MINUTE else lasting(seconds)


def told(name: str, message: str | None) -> Markup:
    return markup("{}<small>{}</small>", state(name), message or "")
