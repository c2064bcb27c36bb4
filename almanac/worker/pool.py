"""The worker of a pool: it takes runs that are due, executes them here, and keeps Prefect's picture true."""

import asyncio
import logging
import platform
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import anyio
from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import DeploymentResponse, WorkerFlowRunResponse
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.clients import get_events_subscriber
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventNameFilter
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.states import Cancelled, Crashed
from prefect.utilities.callables import get_call_parameters
from prefect.workers.base import BaseJobConfiguration, BaseVariables, BaseWorker, BaseWorkerResult

from almanac.deployments import POOL, POOL_TYPE, load_flow
from almanac.worker.execution import Execution, in_thread
from almanac.worker.silence import silent_runs

log = logging.getLogger(__name__)

POLL_SECONDS = 15.0  # between two looks for runs that are due, should an event that tells of one be lost
WATCH_SECONDS = 10.0  # between two looks at what Prefect wants of the runs that are under way, likewise
SYNC_SECONDS = 30.0
RETRY_SECONDS = 1.0
STOP_SECONDS = 8.0  # for runs to end when the process does
LOST = "The library process stopped during the run"
SILENT = "Nothing was heard of the process that executed the run"
TO_START = {f"prefect.flow-run.{state}" for state in
            ("Scheduled", "AwaitingRetry", "AwaitingConcurrencySlot", "Resuming")}
TO_STOP = {f"prefect.flow-run.{state}" for state in ("Paused", "Suspended", "Cancelling")}
UNFINISHED = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING, StateType.PAUSED]


class InProcessWorker(BaseWorker[BaseJobConfiguration, BaseVariables, BaseWorkerResult]):
    """Executes the runs of its pool, and keeps what Prefect believes in step with what happens here."""

    type = POOL_TYPE
    job_configuration = BaseJobConfiguration

    def __init__(self, pool: str = POOL) -> None:
        super().__init__(
            work_pool_name=pool, name=f"{pool} on {platform.node()}",
            prefetch_seconds=0,  # a run that is fetched early takes the room of one that could start now
        )
        self._this_pool = WorkPoolFilter.model_validate({"name": {"any_": [pool]}})
        self._executions: dict[UUID, Execution] = {}
        self._under_way: Counter[UUID] = Counter()  # runs by deployment
        self._in_doubt = True  # Prefect may believe in runs that are not here: a killed process left them
        self._woken = asyncio.Event()  # there may be runs to start
        self._told = asyncio.Event()  # Prefect may want something else of the runs that are under way
        self._stopped = asyncio.Event()

    async def serve(self) -> None:
        """Work until ``stop``. An API that is away is waited for, and what it missed is put right then."""
        async with self, anyio.create_task_group() as loops:
            loops.start_soon(self._repeat, self._sync_and_initialize, SYNC_SECONDS, asyncio.Event())
            loops.start_soon(self._repeat, self._mourn, SYNC_SECONDS, asyncio.Event())
            loops.start_soon(self._repeat, self._listen, RETRY_SECONDS, asyncio.Event())
            loops.start_soon(self._repeat, self._reconcile, WATCH_SECONDS, self._told)
            loops.start_soon(self._repeat, self._look, POLL_SECONDS, self._woken)
            await self._stopped.wait()
            loops.cancel_scope.cancel()

    def wake(self) -> None:
        """Look for runs now."""
        self._woken.set()

    def stop(self) -> None:
        """Let ``serve`` end; the runs that are under way are reported Crashed."""
        self._stopped.set()

    async def start_run(self, deployment: str, parameters: dict[str, Any]) -> UUID:
        """A run of ``flow/deployment``, made by hand; it is under way within a second if there is room."""
        found = await self.client.read_deployment_by_name(deployment)
        run = await self.client.create_flow_run_from_deployment(found.id, parameters=parameters)
        self.wake()
        return run.id

    async def state_of(self, run_id: UUID) -> str | None:
        run = await self._run(run_id)
        return run.state_type.value.lower() if run and run.state_type else None

    async def message_of(self, run_id: UUID) -> str | None:
        run = await self._run(run_id)
        return run.state.message if run and run.state else None

    async def recent_runs(self, limit: int) -> list[dict[str, Any]]:
        """The runs that began last, of whichever pool, newest first, ready for JSON."""
        flows = {flow.id: flow.name for flow in await self.client.read_flows()}
        begun = FlowRunFilter.model_validate({"start_time": {"is_null_": False}})
        runs = await self.client.read_flow_runs(
            flow_run_filter=begun, sort=FlowRunSort.START_TIME_DESC, limit=limit)
        return [{
            "id": str(run.id), "flow": flows.get(run.flow_id, ""), "name": run.name,
            "state": run.state_type.value.lower() if run.state_type else None,
            "message": run.state.message if run.state else None,
            "started_at": run.start_time and run.start_time.isoformat(),
            "seconds": run.total_run_time.total_seconds(),
        } for run in runs]

    async def _run(self, run_id: UUID) -> FlowRun | None:
        try:
            return await self.client.read_flow_run(run_id)
        except ObjectNotFound:
            return None

    async def _repeat(
        self, work: Callable[[], Awaitable[object]], seconds: float, woken: asyncio.Event
    ) -> None:
        failing = False
        while True:
            try:
                await work()
                failing = False
            except Exception as error:  # the worker outlives whatever its server does
                if not failing:
                    log.warning("Prefect does not answer the worker: %s", error or type(error).__name__)
                failing = self._in_doubt = True
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)
            woken.clear()

    async def _listen(self) -> None:
        """Act on what happens to the pool's runs the moment Prefect tells; ends when it tells no more."""
        if not self._work_pool:
            return
        wanted = EventFilter(
            event=EventNameFilter(name=sorted(TO_START | TO_STOP)),
            any_resource=EventAnyResourceFilter(id=[f"prefect.work-pool.{self._work_pool.id}"]))
        async with get_events_subscriber(wanted, reconnection_attempts=0) as events:
            self._woken.set()  # for what happened while nobody listened
            self._told.set()
            async for event in events:
                (self._woken if event.event in TO_START else self._told).set()

    async def _look(self) -> None:
        """Start the runs that are due, and look again when the next one is."""
        await self.get_and_submit_flow_runs()
        now = datetime.now(UTC)
        soon = {"after_": now, "before_": now + timedelta(seconds=POLL_SECONDS)}
        for run in await self.client.read_flow_runs(
            flow_run_filter=FlowRunFilter.model_validate(
                {"state": {"type": {"any_": [StateType.SCHEDULED]}}, "next_scheduled_start_time": soon}),
            work_pool_filter=self._this_pool, sort=FlowRunSort.NEXT_SCHEDULED_START_TIME_ASC, limit=1,
        ):
            rest = cast(datetime, run.next_scheduled_start_time) - now
            asyncio.get_running_loop().call_later(rest.total_seconds(), self.wake)

    async def _submit_scheduled_flow_runs(
        self, flow_run_response: list[WorkerFlowRunResponse]
    ) -> list[FlowRun]:
        found = [entry.flow_run for entry in flow_run_response]
        new = [run for run in found if run.id not in self._submitting_flow_run_ids]
        for run in new:
            self._submitting_flow_run_ids.add(run.id)
            cast(anyio.abc.TaskGroup, self._runs_task_group).start_soon(self._submit_run, run)
        return new

    async def _submit_run(self, flow_run: FlowRun) -> None:
        """Execute a run from claim to end, when its deployment has room for it."""
        try:
            deployment = await self.client.read_deployment(cast(UUID, flow_run.deployment_id))
            if self._under_way[deployment.id] < room(deployment):
                self._under_way[deployment.id] += 1
                try:
                    if await self._propose_pending_state(flow_run):
                        await self._execute(flow_run, deployment)
                finally:
                    self._under_way[deployment.id] -= 1
                self.wake()  # for what waited for the room, and for what the run has started
            elif flow_run.auto_scheduled:  # a run made by hand waits instead
                await self.client.set_flow_run_state(
                    flow_run.id, Cancelled(message="The run before it was still under way"))
        except Exception as error:  # one run that cannot be had must not end the others
            self._doubt()
            log.warning("Flow run %s could not be had: %s", flow_run.name, error or type(error).__name__)
        finally:
            self._submitting_flow_run_ids.discard(flow_run.id)

    async def _execute(self, flow_run: FlowRun, deployment: DeploymentResponse) -> None:
        try:
            flow = load_flow(deployment.entrypoint or "")
            parameters = get_call_parameters(flow.fn, (), flow_run.parameters)
        except Exception as error:
            why = str(error) or type(error).__name__
            await self._propose_crashed_state(flow_run, f"It could not be loaded: {why.splitlines()[0]}")
            return
        execution = Execution(flow=flow, flow_run=flow_run, parameters=parameters)
        execution.ended = anyio.Event()
        self._executions[flow_run.id] = execution
        try:
            if raised := await in_thread(execution.execute, flow_run.name):
                log.info("Flow run %s was interrupted: %r", flow_run.name, raised)
            if raised or not execution.state.is_final():
                self._doubt()
        finally:
            del self._executions[flow_run.id]
            execution.ended.set()

    def _doubt(self) -> None:
        """Let ``_reconcile`` ask Prefect what it believes."""
        self._in_doubt = True
        self._told.set()

    async def _reconcile(self) -> None:
        """Stop what Prefect wants stopped, and end there what has ended here without a word."""
        if not (self._executions or self._in_doubt):
            return
        self._in_doubt = False
        known = set(self._submitting_flow_run_ids)
        for run in await self.client.read_flow_runs(
            flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": UNFINISHED}}}),
            work_pool_filter=self._this_pool,
        ):
            state = cast(State[Any], run.state)
            if execution := self._executions.get(run.id):
                if state.is_cancelling():
                    execution.stop(by_owner=True)
                elif state.is_paused():
                    execution.suspend(state)
            elif not state.is_paused() and run.id not in known | self._submitting_flow_run_ids:
                await self._end(run, Cancelled() if state.is_cancelling() else Crashed(message=LOST))

    async def _end(self, run: FlowRun, state: State[Any]) -> None:
        """Report the end of a run that nobody executes; one that has ended meanwhile stays as it is."""
        try:
            await self.client.set_flow_run_state(run.id, state)
        except PrefectHTTPStatusError:
            if await self._deployment_exists(run):
                raise
            await self.client.delete_flow_run(run.id)  # Prefect ends no run whose deployment was deleted

    async def _mourn(self) -> None:
        """End the runs of other pools whose process has died: nobody else would."""
        for run in await silent_runs(self.client, self._work_pool_name, datetime.now(UTC)):
            cancelling = cast(State[Any], run.state).is_cancelling()
            await self._end(run, Cancelled() if cancelling else Crashed(message=SILENT))

    async def _deployment_exists(self, run: FlowRun) -> bool:
        try:
            return bool(await self.client.read_deployment(cast(UUID, run.deployment_id)))
        except ObjectNotFound:
            return False

    async def teardown(self, *exc_info: Any) -> None:
        executions = list(self._executions.values())
        for execution in executions:
            execution.stop(by_owner=False)
        with anyio.move_on_after(STOP_SECONDS):
            for execution in executions:
                await execution.ended.wait()
        try:
            for execution in self._executions.values():  # blocked: their threads end with the process
                await self._end(cast(FlowRun, execution.flow_run), Crashed(message=LOST))
        except Exception as error:
            log.warning("Runs that were cut off are reported at the next start: %s", error)
        cast(anyio.abc.TaskGroup, self._runs_task_group).cancel_scope.cancel()
        await super().teardown(*exc_info)

    async def _setup_cancellation_observer(self) -> None:
        """None: ``_reconcile`` sees what is to be cancelled, and goes on doing so after an outage."""

    async def run(self, flow_run: FlowRun, configuration: Any, task_status: Any = None) -> BaseWorkerResult:
        raise NotImplementedError("runs are executed by _execute")


def room(deployment: DeploymentResponse) -> float:
    """Runs of the deployment that may be under way at once."""
    limit = deployment.global_concurrency_limit
    return limit.limit if limit else float("inf")
