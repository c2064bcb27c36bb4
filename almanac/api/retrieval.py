"""Asking the library, and checking what is cited from it."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field
from pydantic_core import to_json

from almanac.api.context import By, Caller, Context, InContext
from almanac.api.problems import Problem, not_found, sentence
from almanac.api.runs import start_if_possible
from almanac.api.words import Body, Flag, Name, Number, Whole
from models.moments import parse_moment
from tasks.answer.ask import Answer, answer
from tasks.answer.check import MAX_CHARACTERS, check_against
from tasks.answer.cite import cite
from tasks.answer.filters import filters
from tasks.answer.outside import or_outside
from tasks.answer.question import Question
from tasks.answer.research import DESCRIPTION, NAME, SCHEMA, Research
from tasks.answer.retrieval import Retrieval
from tasks.answer.retrieve import retrieve
from tasks.outside.tools.executor import Tool
from tasks.ports import ToolSaid

router = APIRouter(prefix="/v1", tags=["asking"])

Label = Annotated[str, Path(pattern=r"^K[1-9][0-9]{0,4}$")]
Moment = Annotated[date | datetime | None, BeforeValidator(
    lambda given: parse_moment(given) if isinstance(given, str) else given)]


class Asked(Body):
    """A question; what may be asked is checked by ``tasks.answer.question``."""

    query: str
    previous: str | None = None
    k: Whole = 6
    budget_tokens: Whole | None = None
    min_similarity: Number | None = None
    explain: Flag = False
    recent: Annotated[Flag | None, Field(description="about the recent; null: as it is worded")] = None
    sources: Annotated[tuple[UUID, ...] | None, Field(description="ids of the sources to look in")] = None
    since: Annotated[Moment, Field(description="published then or later")] = None
    until: Annotated[Moment, Field(description="published before then; a day is included")] = None
    content_types: tuple[str, ...] | None = None
    languages: Annotated[tuple[str, ...] | None, Field(description="like en")] = None
    scopes: Annotated[tuple[Name, ...] | None, Field(description="some of the token's, to look in")] = None
    outside: Annotated[Flag, Field(
        description="whether an external AI may be asked; only /v1/ask ever does")] = True


class Claimed(Body):
    """A text that claims to cite a retrieval."""

    retrieval_id: UUID
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)]


@router.get("/filters")
def list_filters(by: By, context: InContext) -> dict[str, Any]:
    """What a question can be narrowed down by: sources, content types, languages; and the ``model`` that
    ``/v1/ask`` would ask, if there is one.
    """
    return filters(by.db) | {"model": context.settings.llm_model}


@router.post("/retrieve")
def find(asked: Asked, by: By, context: InContext) -> Response:
    """Ranked excerpts with citations; none, with a sentence, when nothing is relevant."""
    found = found_for(question_of(asked, by), by, context)
    return Response(to_json(found.to_json()), media_type="application/json")  # a dict would be checked again


@router.post("/ask")
async def ask(asked: Asked, by: By, context: InContext) -> JSONResponse:
    """The configured model's answer from the excerpts, checked against them; else the excerpts, and why.

    Where the library has nothing relevant, an external AI is asked, if the caller has a credential for one;
    ``came_from`` says whose the answer is.
    """
    question = question_of(asked, by)
    found = await run_in_threadpool(found_for, question, by, context)
    told = await asyncio.get_running_loop().run_in_executor(  # a slow model holds no thread that others need
        context.writers, answer_for, question, found, asked.outside, by, context)
    if told.external and told.external.text and not told.external.at_home:
        await start_if_possible(context.runs, "index", {})
    return JSONResponse(told.to_json())


def answer_for(question: Question, found: Retrieval, outside: bool, by: Caller, context: Context) -> Answer:
    library = context.library
    own = answer_to(question, found, by, context)
    return or_outside(own, question, library.help.ask, by.identity) if outside else own


@router.post("/citations/check")
def check_text(claimed: Claimed, by: By) -> dict[str, Any]:
    """The text without labels and addresses that were not given, and the quotations that are wrong."""
    checked = check_against(by.db, claimed.retrieval_id, claimed.text)
    if checked is None:
        raise not_found("retrieval")
    return checked.to_json()


@router.get("/citations/{retrieval_id}/{label}")
def show_citation(retrieval_id: UUID, label: Label, by: By) -> dict[str, Any]:
    """The record behind a label: the stored text around the excerpt, its hash, where it came from."""
    citation = cite(by.db, retrieval_id, label)
    if citation is None:
        raise not_found("citation")
    return citation.to_json()


def question_of(asked: Asked, by: Caller) -> Question:
    """What is asked, in no more scopes than the caller has, and those that are open to all."""
    readable = {*by.scopes, *by.public}
    where = set(asked.scopes or readable)
    if foreign := where - readable:
        raise Problem(403, f"This token lacks the scope “{min(foreign)}”: ask without it.", "scope_missing")
    own, said = where & {*by.scopes} or by.scopes, asked.model_dump(exclude={"outside"})
    try:
        return Question(**said | {"scopes": tuple(sorted(where)), "reader": tuple(own)})
    except ValueError as error:
        raise Problem(422, sentence(str(error))) from error


def found_for(
    question: Question, by: Caller, context: Context, earlier: Retrieval | None = None
) -> Retrieval:
    library, minimum = context.library, context.settings.min_similarity
    return retrieve(by.db, library.embedder, library.index, question, datetime.now(UTC), minimum,
                    earlier=earlier)


def answer_to(question: Question, found: Retrieval, by: Caller, context: Context) -> Answer:
    library = context.library
    research = Research(found, lambda words, earlier: found_for(
        replace(question, query=words, previous=None), by, context, earlier))

    async def search(arguments: dict[str, Any], caller: str) -> ToolSaid:
        return await asyncio.to_thread(research.search, arguments["query"])

    ours = Tool(NAME, DESCRIPTION, SCHEMA, search)
    tools = library.executor.for_answer(str(found.retrieval_id), context.settings.tool_calls, [ours])
    return answer(by.db, library.model, question, found, tools, research)
