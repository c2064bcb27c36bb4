"""The HTTP API, put together."""

from collections.abc import Callable, Mapping

from fastapi import Depends, FastAPI
from starlette.routing import Route

from almanac import __version__
from almanac.api import (
    credentials,
    documents,
    editing,
    index,
    interests,
    judgments,
    keep,
    organizations,
    quality,
    ranking,
    retrieval,
    sources,
    system,
    today,
    tokens,
    tools,
)
from almanac.api.assistants import PATH, mcp_app
from almanac.api.context import Context
from almanac.api.docs import show_documentation
from almanac.api.gate import Gate
from almanac.api.parameters import known_only
from almanac.api.problems import answer_with_problems
from almanac.api.runs import Runs
from almanac.settings import Settings
from almanac.wiring import Library

ROOMS = (
    retrieval, keep, interests, judgments, ranking, today, sources, editing, documents, quality, tokens,
    organizations, credentials, index, tools, system,
)


BYTES_A_CHARACTER = 6  # as JSON may write it: \uXXXX
REST_OF_BODY = 100_000


def larger_bodies(chosen: Settings) -> dict[str, int]:
    """What is handed in may be larger than what is asked, by the beginning of its path."""
    text = BYTES_A_CHARACTER * chosen.keep_text_characters + REST_OF_BODY
    return {"/v1/keep": text, "/mcp": text, "/v1/uploads/": min(chosen.keep_bytes, chosen.clamd_file_bytes)}


def create_app(
    library: Library, runs: Runs, token: str, parts: Callable[[], Mapping[str, str]]
) -> FastAPI:
    """The API over ``library``, for the host names of ``library.settings``.

    ``token`` is the owner's; ``parts`` tells each part's state, ``ok`` when it is well, and is asked by every
    ``GET /health``: it must be quick.
    """
    context = Context(library, runs, token, parts)
    assistants = mcp_app(context)
    app = FastAPI(
        title="Almanac", version=__version__, docs_url=None, redoc_url=None, openapi_url="/openapi.json",
        description="A library of what your sources said, and answers with citations from it.",
        dependencies=[Depends(known_only)], lifespan=assistants.lifespan,
    )
    app.state.context = context
    for room in ROOMS:
        app.include_router(room.router)
    app.router.routes.append(Route(PATH, assistants))
    show_documentation(app)
    answer_with_problems(app)
    app.add_middleware(Gate, hosts=library.settings.names, larger=larger_bodies(library.settings))
    return app
