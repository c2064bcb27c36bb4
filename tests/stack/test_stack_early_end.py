"""Prefect's server that is told to stop at once ends without a traceback; other failures are told."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette

from almanac.stack.early_end import EarlyEnd


def server(said: str) -> uvicorn.Server:
    """One whose application fails as it stops, with these words."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        raise AssertionError(said)

    return uvicorn.Server(uvicorn.Config(EarlyEnd(Starlette(lifespan=lifespan)), port=0, log_config=None))


@pytest.mark.parametrize(("said", "told"), [
    ("Reactive triggers not started", False), ("the database is gone", True),
])
async def test_only_an_end_before_all_had_begun_is_like_any_other(
    caplog: pytest.LogCaptureFixture, said: str, told: bool
) -> None:
    ending = server(said)
    ending.should_exit = True  # as SIGTERM says while it starts
    with caplog.at_level(logging.WARNING):
        await ending.serve()
    assert (said in caplog.text) == ("Traceback" in caplog.text) == told
