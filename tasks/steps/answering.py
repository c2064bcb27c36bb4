"""An answer, as every transport gives it."""

from almanac import wiring
from tasks.answer.question import Question
from tasks.answer.retrieve import retrieve
from tasks.steps.running import Row, now


async def answer(question: Question) -> Row:
    """The retrieval that HTTP gives too."""
    one = wiring.library()
    reader, minimum = one.db.caller(question.scopes, writes=()), one.settings.min_similarity
    return retrieve(reader, one.embedder, one.index, question, now(), minimum).to_json()
