"""When a task is tried again: when what it needs is away for seconds, never for what an address answered."""

from typing import Any

from prefect.client.schemas.objects import State
from prefect.tasks import exponential_backoff

from models.session import is_away
from tasks.errors import Postponed, Transient


def passes(error: object) -> bool:
    """Whether what went wrong may be gone in seconds: the database away, or what says so of itself.

    What was not even tried, to leave the other side alone, waits for a later run.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(map(passes, error.exceptions))
    if isinstance(error, Postponed):
        return False
    return isinstance(error, Transient) or (isinstance(error, BaseException) and is_away(error))


async def worth_another_try(task: object, task_run: object, state: State[Any]) -> bool:
    return passes(await state.aresult(raise_on_failure=False))  # a synchronous result would end all retries


RETRIED: dict[str, Any] = {  # after about 1, 2, 4, 8 and 16 seconds
    "retries": 5, "retry_delay_seconds": exponential_backoff(1), "retry_jitter_factor": 0.5,
    "retry_condition_fn": worth_another_try,
}
