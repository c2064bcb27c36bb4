"""The deployments of ``prefect.yaml``, registered at start-up so that one command is enough.

What the owner changed in the UI stays, also when our file says something new; what they did not change
follows our file. To tell the two apart, a Prefect variable for each deployment records what we last wrote.
"""

import importlib
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect import Flow
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import (
    DeploymentScheduleCreate,
    DeploymentUpdate,
    VariableCreate,
    VariableUpdate,
    WorkPoolCreate,
)
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import validate

POOL = "library"
LIBRARY, ASKED = "library", "asked"  # deployments: of what is due, and of what somebody names
POOL_TYPE = "in-process"
HERE = Path(__file__).parent
SPEC_FILES = (HERE / "prefect.yaml", HERE.parent / "prefect.yaml")  # in a wheel, in a checkout
ABSENT: Any = object()
WHOLE = {"when", "work_pool"}  # parts of two of these make no sense together

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
    """Make the pool, and each deployment that is missing or whose spec has changed; how many those were."""
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
    """Whether the deployment had to be written. What was interrupted is done again from where it began."""
    flow = load_flow(spec["entrypoint"])
    name = f"{flow.name}/{spec['name']}"
    schema = parameter_schema(flow).model_dump_for_openapi() | {"additionalProperties": False}
    version = sha256(json.dumps([spec, schema], sort_keys=True).encode()).hexdigest()[:12]
    known = await find(client, name)
    if known and known.version == version and known.work_pool_name:
        return False
    there, written = (choices(known), await recorded(client, name)) if known else ({}, {"written": {}})
    there = written.get("there", there)  # before an attempt that was interrupted
    before, ours = written.get("written", switched_on(there)), wanted(spec)
    await record(client, name, {"written": before, "there": there})
    chosen = ours | merged(before, there, ours)
    chosen["parameters"] = fitting(chosen["parameters"], schema)
    deployment = await write(client, flow, spec, schema, chosen)
    now = choices(await client.read_deployment_by_name(name))
    after = merged(there, before, now)  # of what the owner changed: still what we wrote
    await record(client, name, {"written": after})
    await client.update_deployment(deployment, DeploymentUpdate(version=version))
    return True


async def find(client: PrefectClient, name: str) -> DeploymentResponse | None:
    try:
        return await client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def wanted(spec: Spec) -> Spec:
    """What our file says of all that an owner can change."""
    limit = dict(spec.get("concurrency_limit", {}))
    return {
        "description": spec.get("description"),
        "tags": spec.get("tags", []),
        "paused": False,
        "parameters": spec.get("parameters", {}),
        "work_pool": spec["work_pool"],
        "job_variables": {},
        "limit": limit.pop("limit", None),
        "options": limit or None,
        "schedules": {
            entry["slug"]: {"active": True, "parameters": {},
                            "when": {key: value for key, value in entry.items() if key != "slug"}}
            for entry in spec.get("schedules", [])
        },
    }


def choices(known: DeploymentResponse) -> Spec:
    """The same of a deployment as it is; without a pool, nothing was chosen."""
    limit, options = known.global_concurrency_limit, known.concurrency_options
    pool = {"work_pool": {"name": known.work_pool_name, "work_queue_name": known.work_queue_name}}
    return {
        "description": known.description,
        "tags": known.tags,
        "paused": known.paused,
        "parameters": known.parameters,
        "job_variables": known.job_variables,
        "limit": limit.limit if limit else None,
        "options": options.model_dump(mode="json") if options else None,
        "schedules": {
            schedule.slug or str(schedule.id): {
                "active": schedule.active, "parameters": schedule.parameters,
                "when": schedule.schedule.model_dump(mode="json")}
            for schedule in known.schedules
        },
    } | (pool if known.work_pool_name else {})


def merged(was: Spec, theirs: Spec, ours: Spec) -> Spec:
    """``ours``, but ``theirs`` wherever that is not what it was; what somebody removed stays removed."""
    result = {}
    for key in {**ours, **theirs}:
        before, there, here = (side.get(key, ABSENT) for side in (was, theirs, ours))
        if key not in WHOLE and all(isinstance(it, dict) for it in (before, there, here)):
            result[key] = merged(before, there, here)
        elif (chosen := here if there == before else there) is not ABSENT:
            result[key] = chosen
    return result


def fitting(parameters: Spec, schema: Spec) -> Spec:
    """Those that the flow takes: it may have become stricter since its owner chose them."""
    return {name: value for name, value in parameters.items()
            if not validate({name: value}, schema, ignore_required=True)}


def switched_on(there: Spec) -> Spec:
    """What we may have written, where no record says: what is there, but what is off was switched off."""
    schedules = {slug: it | {"active": True} for slug, it in there.get("schedules", {}).items()}
    return there | {"paused": False, "schedules": schedules}


async def write(
    client: PrefectClient, flow: Flow[..., Any], spec: Spec, schema: Spec, chosen: Spec
) -> UUID:
    """Without a version yet: that says that nothing is left to be done."""
    pool = chosen["work_pool"]
    return await client.create_deployment(
        flow_id=await client.create_flow_from_name(flow.name),
        name=spec["name"],
        description=chosen["description"],
        entrypoint=spec["entrypoint"],
        parameters=chosen["parameters"],
        parameter_openapi_schema=schema,
        enforce_parameter_schema=True,
        tags=chosen["tags"],
        schedules=[
            DeploymentScheduleCreate(
                schedule=it["when"], active=it["active"], parameters=it["parameters"], slug=slug)
            for slug, it in chosen["schedules"].items()
        ],
        paused=chosen["paused"],
        work_pool_name=pool["name"],
        work_queue_name=pool.get("work_queue_name"),
        job_variables=chosen["job_variables"],
        concurrency_limit=chosen["limit"],
        concurrency_options=ConcurrencyOptions(**chosen["options"]) if chosen["options"] else None,
        pull_steps=[],
    )


async def recorded(client: PrefectClient, name: str) -> Spec:
    """What the last registration has ``written``, and of one that did not end, what was ``there``."""
    variable = await client.read_variable_by_name(record_of(name))
    return variable.value if variable and isinstance(variable.value, dict) else {}


async def record(client: PrefectClient, name: str, value: Spec) -> None:
    try:
        await client.create_variable(VariableCreate(name=record_of(name), value=value, tags=["almanac"]))
    except ObjectAlreadyExists:
        await client.update_variable(VariableUpdate(name=record_of(name), value=value))


def record_of(name: str) -> str:
    """The variable's name."""
    return "almanac_" + re.sub(r"[^a-z0-9]", "_", name.lower())
