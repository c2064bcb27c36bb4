"""Asking the library, and checking what it cites."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from almanac.api.context import By, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.words import Body
from tasks.answer.cite import cite
from tasks.answer.question import Question
from tasks.answer.retrieve import retrieve

router = APIRouter(prefix="/v1", tags=["asking"])

Label = Annotated[str, Path(pattern=r"^K[1-9][0-9]{0,4}$")]


class Asked(Body):
    """A question; what may be asked is checked by ``tasks.answer.question``."""

    query: str
    previous: str | None = None
    k: int = 6
    budget_tokens: int | None = None
    min_similarity: float | None = None
    explain: bool = False


@router.post("/retrieve")
def ask(asked: Asked, by: By, context: InContext) -> JSONResponse:
    """Ranked excerpts with citations; none, with a sentence, when nothing is relevant."""
    library = context.library
    try:
        question = Question(**asked.model_dump(), scopes=tuple(by.scopes))
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error
    minimum = context.settings.min_similarity
    found = retrieve(library.db, library.embedder, library.index, question, datetime.now(UTC), minimum)
    return JSONResponse(found.to_json())  # a dict would be checked once more, by another thread


@router.get("/citations/{retrieval_id}/{label}")
def show_citation(retrieval_id: UUID, label: Label, by: By, context: InContext) -> dict[str, Any]:
    """The record behind a label: the stored text around the excerpt, its hash, where it came from."""
    citation = cite(context.library.db, retrieval_id, label, by.scopes)
    if citation is None:
        raise not_found("citation")
    return citation.to_json()
