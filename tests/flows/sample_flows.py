"""Flows with no work of ours in them, for what the worker does with any flow."""

import asyncio
import os
import time

from prefect import flow, task

from flows.parameters import Count


@flow
async def quick(number: int = 1) -> int:
    return number + 1


@flow
async def counted(limit: Count = 1) -> int:
    return limit


@flow
async def where() -> None:
    os.environ["SAMPLE_FLOW_RAN_IN"] = str(os.getpid())


@flow
async def slow(seconds: float = 60) -> None:
    await asyncio.sleep(seconds)


@flow
async def ticking() -> None:
    await asyncio.sleep(60)


@flow
async def blocking(seconds: float = 3) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - the point of it


@flow
async def broken() -> None:
    raise ValueError("it is broken")


@task(persist_result=False)
async def step(seconds: float) -> None:
    await asyncio.sleep(seconds)


@flow
async def stepwise(steps: int = 6, seconds: float = 0.5) -> int:
    for _ in range(steps):
        await step(seconds)
    return steps
