"""A Prefect worker that executes flow runs in this process, where models are loaded and the index is owned.

Every run has a thread and an event loop of its own, so that a flow that blocks stops neither HTTP nor the
polling, cancellation and heartbeats of the worker. A pool has one such worker. It leans on private parts of
Prefect 3.9: the life-cycle tests say whether another release still fits.
"""

import asyncio
import logging
import platform
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread
from typing import Any, TypeVar, cast
from uuid import UUID

import anyio
from prefect._flow_run_suspension import FlowRunSuspensionRequest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import DeploymentResponse, WorkerFlowRunResponse
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.clients import get_events_subscriber
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventNameFilter
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.flow_engine import AsyncFlowRunEngine
from prefect.states import Cancelled, Crashed
from prefect.utilities.callables import get_call_parameters
from prefect.workers.base import BaseJobConfiguration, BaseVariables, BaseWorker, BaseWorkerResult

from almanac.deployments import ASKED, LIBRARY, POOL, POOL_TYPE, load_flow
from tasks.errors import Transient

log = logging.getLogger(__name__)
T = TypeVar("T")

POLL_SECONDS = 15.0  # between two looks for runs that are due, should an event that tells of one be lost
WATCH_SECONDS = 10.0  # between two looks at what Prefect wants of the runs that are under way, likewise
SYNC_SECONDS = 30.0
RETRY_SECONDS = 1.0
ANSWER_SECONDS = 15.0  # for Prefect to answer somebody who waits
STOP_SECONDS = 8.0  # for runs to end when the process does
NAMING = {"source_ids", "document_ids"}
LOST = "The library process stopped during the run"
TO_START = {f"prefect.flow-run.{state}" for state in
            ("Scheduled", "AwaitingRetry", "AwaitingConcurrencySlot", "Resuming")}
TO_STOP = {f"prefect.flow-run.{state}" for state in ("Paused", "Suspended", "Cancelling")}
UNFINISHED = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING, StateType.PAUSED]


class Execution(AsyncFlowRunEngine[Any, Any]):
    """One flow run, executed in the thread that calls ``execute``; ``stop`` may be called from any other."""

    stopping = False
    by_owner = False
    ended: anyio.Event  # of the worker's loop
    _interrupt: Callable[[], object] | None = None  # set while there is something to interrupt

    def execute(self) -> None:
        asyncio.run(self._execute())

    async def _execute(self) -> None:
        loop, task = asyncio.get_running_loop(), cast("asyncio.Task[None]", asyncio.current_task())
        self._interrupt = partial(loop.call_soon_threadsafe, task.cancel)
        if self.stopping:
            task.cancel()
        try:
            async with self.start():
                while self.is_running():
                    async with self.run_context():
                        await cast(Awaitable[object], self.call_flow_fn())
        finally:
            self._interrupt = None

    def stop(self, by_owner: bool) -> None:
        """Interrupt the run at its next await: Cancelled when its owner asked for it, else Crashed."""
        if not self.stopping:
            self.stopping, self.by_owner = True, by_owner
            if interrupt := self._interrupt:
                with suppress(RuntimeError):  # its loop has just closed
                    interrupt()

    def suspend(self, state: State[Any]) -> None:
        """Let the run rest at its next task, until its owner resumes it."""
        self._flow_run_suspension_request.mark_requested(state)

    @contextmanager
    def setup_flow_run_suspension_request(self) -> Iterator[FlowRunSuspensionRequest]:
        """Without Prefect's own observer, which costs a thread and a socket a run: the worker tells."""
        yield self._flow_run_suspension_request

    async def handle_crash(self, exc: BaseException) -> None:
        await (self.handle_cancellation(exc) if self.by_owner else super().handle_crash(exc))


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
        try:
            run = await self.client.read_flow_run(run_id)
        except ObjectNotFound:
            return None
        return run.state_type.value.lower() if run.state_type else None

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
            await self._propose_crashed_state(flow_run, f"It could not be loaded: {error}")
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


class WorkerThread:
    """The worker in a thread of its own: it and HTTP never wait for each other."""

    def __init__(
        self, register: Callable[[PrefectClient], Awaitable[object]],
        may_begin: Callable[[], object] = lambda: None,  # blocks until runs may
    ) -> None:
        self.runs = Runs(self)
        self._register, self._may_begin = register, may_begin
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), name="worker", daemon=True)
        self._worker: InProcessWorker | None = None
        self._stopping = False

    @property
    def ready(self) -> bool:
        return self._worker is not None and self._worker.is_setup

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker and what it executes; returns when both have ended, or time is up."""
        self._stopping = True
        if self._worker:
            self._loop.call_soon_threadsafe(self._worker.stop)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS + 3)

    async def call(self, ask: Callable[[InProcessWorker], Coroutine[Any, Any, T]]) -> T:
        """What the worker answers, from any event loop. Raises Transient while Prefect is away."""
        if not self.ready:
            raise Transient("Prefect is not ready yet: try again in a minute")
        asked = asyncio.run_coroutine_threadsafe(ask(cast(InProcessWorker, self._worker)), self._loop)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.wrap_future(asked)
        except Exception as error:
            raise Transient(f"Prefect does not answer: {error or type(error).__name__}") from error

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._stopping:
            try:
                async with get_client() as client:
                    if await client.api_healthcheck() is None:
                        await self._register(client)
                        await asyncio.to_thread(self._may_begin)
                        if not self._stopping:
                            self._worker = InProcessWorker()
                            await self._worker.serve()
            except Exception:
                log.exception("The worker failed, and starts again")
            if not self._stopping:
                await asyncio.sleep(RETRY_SECONDS)


class Runs:
    """Starts flows on the worker and says how they are doing, as the API asks of it."""

    def __init__(self, thread: WorkerThread) -> None:
        self._thread = thread

    async def start(self, flow: str, parameters: dict[str, Any]) -> UUID:
        """Start a run of ``flow`` now; its id. Raises Transient when that cannot be.

        One that names its sources or documents waits for nobody; another, for the run before it.
        """
        deployment = f"{flow}/{ASKED if NAMING & parameters.keys() else LIBRARY}"
        return await self._thread.call(lambda worker: worker.start_run(deployment, parameters))

    async def state(self, run_id: UUID) -> str | None:
        """The run's state in lower case; None for an unknown run."""
        return await self._thread.call(lambda worker: worker.state_of(run_id))


def room(deployment: DeploymentResponse) -> float:
    """Runs of the deployment that may be under way at once."""
    limit = deployment.global_concurrency_limit
    return limit.limit if limit else float("inf")


async def in_thread(function: Callable[[], object], name: str) -> BaseException | None:
    """Call in a thread of its own, which does not keep the process alive; what it raised."""
    done: Future[BaseException | None] = Future()
    done.set_running_or_notify_cancel()  # a caller that is cancelled leaves the thread to itself

    def work() -> None:
        try:
            function()
        except BaseException as error:
            done.set_result(error)
        else:
            done.set_result(None)

    Thread(target=work, name=name, daemon=True).start()
    return await asyncio.wrap_future(done)
