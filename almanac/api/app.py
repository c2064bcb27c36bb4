"""The HTTP API, put together."""

from collections.abc import Callable, Mapping

from fastapi import Depends, FastAPI

from almanac import __version__
from almanac.api import documents, editing, index, interests, judgments, quality, retrieval, sources, system, tokens
from almanac.api.context import Context
from almanac.api.docs import show_documentation
from almanac.api.gate import Gate
from almanac.api.parameters import known_only
from almanac.api.problems import answer_with_problems
from almanac.api.runs import Runs
from almanac.wiring import Library

ROOMS = (retrieval, interests, judgments, sources, editing, documents, quality, tokens, index, system)


def create_app(
    library: Library, runs: Runs, token: str, parts: Callable[[], Mapping[str, str]]
) -> FastAPI:
    """The API over ``library``, for the host names of ``library.settings``.

    ``token`` is the owner's; ``parts`` tells each part's state, ``ok`` when it is well, and is asked by every
    ``GET /health``: it must be quick.
    """
    app = FastAPI(
        title="Almanac", version=__version__, docs_url=None, redoc_url=None, openapi_url="/openapi.json",
        description="A library of what your sources said, and answers with citations from it.",
        dependencies=[Depends(known_only)],
    )
    app.state.context = Context(library, runs, token, parts)
    for room in ROOMS:
        app.include_router(room.router)
    show_documentation(app)
    answer_with_problems(app)
    app.add_middleware(Gate, hosts=library.settings.names)
    return app
