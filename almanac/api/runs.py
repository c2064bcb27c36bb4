"""Work that goes on after an answer: what the API asks of whatever runs the flows, and how a run is doing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from uuid import UUID

from almanac.api.problems import Problem, sentence
from tasks.errors import Transient


class Runs(Protocol):
    """Starts flows and says how they are doing."""

    async def start(self, flow: str, parameters: dict[str, Any]) -> UUID:
        """Start a run of the deployment of ``flow`` now; the run's id. Raises Transient when it cannot."""
        ...

    async def state(self, run_id: UUID) -> str | None:
        """The run's state in lower case: running, completed, failed, … None for an unknown run."""
        ...

    async def message(self, run_id: UUID) -> str | None:
        """What is said of the state that the run is in."""
        ...

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        """The runs that began last, newest first: id, flow, name, state, message, started_at, seconds."""
        ...


@contextmanager
def needed() -> Iterator[None]:
    """An answer is nothing without the runs: where they are away it is a Problem (503)."""
    try:
        yield
    except Transient as error:
        raise Problem(503, sentence(error.reason), headers={"Retry-After": "5"}) from error


async def start_if_possible(runs: Runs, flow: str, parameters: dict[str, Any]) -> UUID | None:
    """Start what the next minute's ``poll`` run would find to do in any case."""
    try:
        return await runs.start(flow, parameters)
    except Transient:
        return None
