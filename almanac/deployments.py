"""The deployments of ``prefect.yaml``, registered at start-up so that one command is enough."""

import importlib
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from prefect import Flow
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.utilities.callables import parameter_schema

POOL = "library"
LIBRARY, ASKED = "library", "asked"  # deployments: of what is due, and of what somebody names
POOL_TYPE = "in-process"
HERE = Path(__file__).parent
SPEC_FILES = (HERE / "prefect.yaml", HERE.parent / "prefect.yaml")  # in a wheel, in a checkout

Spec = dict[str, Any]


def load_flow(entrypoint: str) -> Flow[..., Any]:
    """The flow that ``flows.poll:poll`` names, from the module as this process has it."""
    module, _, name = entrypoint.partition(":")
    flow: Flow[..., Any] = getattr(importlib.import_module(module), name)
    return flow


def read_specs(path: Path | None = None) -> list[Spec]:
    """The deployments that Almanac ships."""
    path = path or next(path for path in SPEC_FILES if path.exists())
    specs: list[Spec] = yaml.safe_load(path.read_text())["deployments"]
    return specs


async def register(client: PrefectClient, specs: Sequence[Spec]) -> int:
    """Make the pool, and each deployment that is missing or whose spec has changed; how many those were.

    A deployment whose spec is what it was is left alone, with whatever its owner made of it in the UI.
    """
    await ensure_pool(client)
    return sum([await register_one(client, spec) for spec in specs])


async def ensure_pool(client: PrefectClient) -> None:
    try:
        await client.read_work_pool(POOL)
    except ObjectNotFound:
        try:
            await client.create_work_pool(WorkPoolCreate(name=POOL, type=POOL_TYPE))
        except ObjectAlreadyExists:
            return  # somebody else was faster


async def register_one(client: PrefectClient, spec: Spec) -> bool:
    """Whether the deployment had to be written. What its owner paused stays paused."""
    flow = load_flow(spec["entrypoint"])
    schema = parameter_schema(flow).model_dump_for_openapi()
    version = sha256(json.dumps([spec, schema], sort_keys=True).encode()).hexdigest()[:12]
    known = await find(client, f"{flow.name}/{spec['name']}")
    if known and known.version == version:
        return False
    limit = dict(spec.get("concurrency_limit", {}))
    await client.create_deployment(
        flow_id=await client.create_flow_from_name(flow.name),
        name=spec["name"],
        version=version,
        description=spec.get("description"),
        entrypoint=spec["entrypoint"],
        parameters=spec.get("parameters"),
        parameter_openapi_schema=schema,
        enforce_parameter_schema=True,
        tags=spec.get("tags"),
        schedules=schedules(spec, known),
        paused=known.paused if known else False,
        work_pool_name=spec["work_pool"]["name"],
        concurrency_limit=limit.pop("limit", None),
        concurrency_options=ConcurrencyOptions(**limit) if limit else None,
        pull_steps=[],
    )
    return True


async def find(client: PrefectClient, name: str) -> DeploymentResponse | None:
    try:
        return await client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def schedules(spec: Spec, known: DeploymentResponse | None) -> list[DeploymentScheduleCreate]:
    """The spec's schedules; one that its owner has switched off stays off."""
    off = {schedule.slug for schedule in known.schedules if not schedule.active} if known else set()
    return [
        DeploymentScheduleCreate.model_validate({
            "schedule": {key: value for key, value in entry.items() if key != "slug"},
            "slug": entry["slug"], "active": entry["slug"] not in off,
        })
        for entry in spec.get("schedules", [])
    ]
