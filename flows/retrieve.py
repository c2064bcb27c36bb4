"""Answer a question from the library."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from prefect import flow

from models.tables import LIBRARY_SCOPE
from tasks import steps
from tasks.answer.question import Question


@flow(persist_result=True, result_serializer="json")
async def retrieve(
    query: str, previous: str | None = None, k: int = 6, budget_tokens: int | None = None,
    min_similarity: float | None = None, explain: bool = False, scopes: tuple[str, ...] = (LIBRARY_SCOPE,),
    recent: bool | None = None, sources: tuple[UUID, ...] | None = None, since: date | datetime | None = None,
    until: date | datetime | None = None, content_types: tuple[str, ...] | None = None,
    languages: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Ranked excerpts with their citations, as ``POST /v1/retrieve`` gives them; kept as the run's result.

    Args:
        query: the question
        previous: the message before it
        k: excerpts at most
        budget_tokens: tokens of the prompt block at most
        min_similarity: cosine below which nothing is relevant; none: the library's own
        explain: with the reasons of the ranking
        scopes: what the reader may read
        recent: whether it is about recent developments; none: as it is worded
        sources: ids of the sources to look in; none: all
        since: published then or later
        until: published before then; a day is included
        content_types: news, time_sensitive, opinion, reference, evergreen; none: all
        languages: like en; none: all
    """
    return await steps.answer(Question(
        query, previous, k, budget_tokens, min_similarity, explain, scopes, recent, sources, since, until,
        content_types, languages))
