"""What runs may be given: what cannot be is refused with one sentence, before there is a run or any work."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.exceptions import ParameterTypeError, PrefectHTTPStatusError
from workbench import Worker, spec

from almanac.deployments import load_flow, read_specs, register

WRONG: list[tuple[str, dict[str, Any], str]] = [
    # flow, parameters, which of them is named
    ("poll", {"limit": -5}, "limit"),
    ("poll", {"limit": 0}, "limit"),
    ("poll", {"limit": 10**30}, "limit"),
    ("poll", {"source_ids": ["all"]}, "source_ids"),
    ("read", {"limit": -1}, "limit"),
    ("read", {"document_ids": "all"}, "document_ids"),
    ("index", {"limit": 0, "batches": 1}, "limit"),
    ("index", {"batches": -1}, "batches"),
    ("maintain", {"run_days": -5}, "run_days"),
    ("maintain", {"runs": 0}, "runs"),
    ("maintain", {"poll_days": 10**12}, "poll_days"),
    ("maintain", {"analyses": 0}, "analyses"),
]


@pytest.mark.parametrize(("name", "parameters", "told"), WRONG)
def test_a_parameter_that_cannot_be_is_named(name: str, parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterTypeError, match=rf"- {told}\b"):
        load_flow(f"flows.{name}:{name}").validate_parameters(parameters)


@pytest.mark.stack
@pytest.mark.database
class TestOnPrefect:
    """The same, where runs are made and executed."""

    @pytest.mark.parametrize(
        ("parameters", "told"),
        [({"limit": -5}, "limit"), ({"limt": 5}, "limt"), ({"limit": "many"}, "limit")])
    async def test_a_run_with_wrong_parameters_is_not_even_made(
        self, prefect_server: object, parameters: dict[str, Any], told: str
    ) -> None:
        async with get_client() as client:
            await register(client, [it for it in read_specs() if it["entrypoint"] == "flows.index:index"])
            found = await client.read_deployment_by_name("index/library")
            with pytest.raises(PrefectHTTPStatusError) as refused:
                await client.create_flow_run_from_deployment(found.id, parameters=parameters)
            await client.delete_deployment(found.id)
        assert refused.value.response.status_code in {409, 422}
        assert told in refused.value.response.text

    @pytest.mark.parametrize(
        ("parameters", "end", "told"),
        [({"limit": -5}, "failed", "limit: Input should be greater than or equal to 1"),
         ({"limt": 5}, "crashed", "unexpected keyword argument 'limt'")])
    async def test_a_run_that_was_made_all_the_same_does_no_work_and_says_why(
        self, worker_on: Callable[..., Worker], parameters: dict[str, Any], end: str, told: str
    ) -> None:
        worker = worker_on(spec("counted"))
        assert await worker.end_of(await worker.start("counted")) == "completed"
        run = await unchecked_run("counted/library", parameters)
        assert await worker.end_of(run) == end
        async with get_client() as client:
            state = (await client.read_flow_run(run)).state
        assert state is not None
        assert told in str(state.message)

    async def test_what_an_owner_chose_that_the_flow_takes_no_more_does_not_stop_the_start(
        self, prefect_server: object
    ) -> None:
        lax = spec("counted", parameters={"limit": 2})
        async with get_client() as client:
            await register(client, [lax])
            found = await client.read_deployment_by_name("counted/library")
            await client.update_deployment(
                found.id, DeploymentUpdate(parameters={"limit": -5}, enforce_parameter_schema=False))
            await register(client, [lax | {"description": "of a new release"}])
            found = await client.read_deployment_by_name("counted/library")
            await client.delete_deployment(found.id)
        assert (found.description, found.parameters) == ("of a new release", {})


async def unchecked_run(deployment: str, parameters: dict[str, Any]) -> UUID:
    """A run that somebody has told Prefect not to check."""
    async with get_client() as client:
        found = await client.read_deployment_by_name(deployment)
        await client.update_deployment(found.id, DeploymentUpdate(enforce_parameter_schema=False))
        return (await client.create_flow_run_from_deployment(found.id, parameters=parameters)).id
