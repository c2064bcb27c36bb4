"""Asking the library, and checking what is cited from it."""

import asyncio
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field

from almanac.api.context import By, Caller, Context, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.runs import start_if_possible
from almanac.api.words import Body, Name
from models.moments import parse_moment
from tasks.answer.ask import Answer, answer
from tasks.answer.check import MAX_CHARACTERS, check_against
from tasks.answer.cite import cite
from tasks.answer.outside import or_outside
from tasks.answer.question import Question
from tasks.answer.retrieval import Retrieval
from tasks.answer.retrieve import retrieve

router = APIRouter(prefix="/v1", tags=["asking"])

Label = Annotated[str, Path(pattern=r"^K[1-9][0-9]{0,4}$")]
Moment = Annotated[date | datetime | None, BeforeValidator(
    lambda given: parse_moment(given) if isinstance(given, str) else given)]


class Asked(Body):
    """A question; what may be asked is checked by ``tasks.answer.question``."""

    query: str
    previous: str | None = None
    k: int = 6
    budget_tokens: int | None = None
    min_similarity: float | None = None
    explain: bool = False
    recent: Annotated[bool | None, Field(description="about the recent; null: as it is worded")] = None
    sources: Annotated[tuple[UUID, ...] | None, Field(description="ids of the sources to look in")] = None
    since: Annotated[Moment, Field(description="published then or later")] = None
    until: Annotated[Moment, Field(description="published before then; a day is included")] = None
    content_types: tuple[str, ...] | None = None
    languages: Annotated[tuple[str, ...] | None, Field(description="like en")] = None
    scopes: Annotated[tuple[Name, ...] | None, Field(description="some of the token's, to look in")] = None
    outside: Annotated[bool, Field(
        description="whether an external AI may be asked; only /v1/ask ever does")] = True


class Claimed(Body):
    """A text that claims to cite a retrieval."""

    retrieval_id: UUID
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)]


@router.post("/retrieve")
def find(asked: Asked, by: By, context: InContext) -> JSONResponse:
    """Ranked excerpts with citations; none, with a sentence, when nothing is relevant."""
    found = found_for(question_of(asked, by), context)
    return JSONResponse(found.to_json())  # a dict would be checked once more, by another thread


@router.post("/ask")
async def ask(asked: Asked, by: By, context: InContext) -> JSONResponse:
    """The configured model's answer from the excerpts, checked against them; else the excerpts, and why.

    Where the library has nothing relevant, an external AI is asked, if the caller has a credential for one;
    ``came_from`` says whose the answer is.
    """
    question = question_of(asked, by)
    found = await run_in_threadpool(found_for, question, context)
    told = await asyncio.get_running_loop().run_in_executor(  # a slow model holds no thread that others need
        context.writers, answer_for, question, found, asked.outside, by, context)
    if told.external and told.external.text and not told.external.at_home:
        await start_if_possible(context.runs, "index", {})
    return JSONResponse(told.to_json())


def answer_for(question: Question, found: Retrieval, outside: bool, by: Caller, context: Context) -> Answer:
    library = context.library
    own = answer(library.db, library.model, question, found)
    return or_outside(own, question, library.help.ask, by.principal_id) if outside else own


@router.post("/citations/check")
def check_text(claimed: Claimed, by: By, context: InContext) -> dict[str, Any]:
    """The text without labels and addresses that were not given, and the quotations that are wrong."""
    checked = check_against(context.library.db, claimed.retrieval_id, claimed.text, by.scopes)
    if checked is None:
        raise not_found("retrieval")
    return checked.to_json()


@router.get("/citations/{retrieval_id}/{label}")
def show_citation(retrieval_id: UUID, label: Label, by: By, context: InContext) -> dict[str, Any]:
    """The record behind a label: the stored text around the excerpt, its hash, where it came from."""
    citation = cite(context.library.db, retrieval_id, label, by.scopes)
    if citation is None:
        raise not_found("citation")
    return citation.to_json()


def question_of(asked: Asked, by: Caller) -> Question:
    """What is asked, with no more scopes than the caller has."""
    if foreign := set(asked.scopes or ()) - set(by.scopes):
        raise Problem(403, f"This token lacks the scope “{min(foreign)}”: ask without it.", "scope_missing")
    said = asked.model_dump(exclude={"outside"})
    try:
        return Question(**said | {"scopes": tuple(asked.scopes or by.scopes)})
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error


def found_for(question: Question, context: Context) -> Retrieval:
    library, minimum = context.library, context.settings.min_similarity
    return retrieve(library.db, library.embedder, library.index, question, datetime.now(UTC), minimum)
