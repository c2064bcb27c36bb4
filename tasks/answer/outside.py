"""The last resort: an external AI is asked where the library has no answer, and marked as what it is."""

from dataclasses import replace
from time import perf_counter
from uuid import UUID

from models.external import External, Wanting
from tasks.answer.ask import NOT_FOUND, Answer, storable
from tasks.answer.check import check
from tasks.answer.question import Question
from tasks.ports import AskOutside

UNCHECKED = ("It comes from an external AI ({model}), not from your sources, and nothing of it was checked; "
             "it is kept as a document under “Answers from external AI”")


def or_outside(own: Answer, question: Question, ask: AskOutside, principal_id: UUID) -> Answer:
    """The library's own answer where it has one; else what an external AI says, or why none has answered.

    A question that leaves out some of the library is asked of that library, and not of anybody else.
    """
    found = own.retrieval
    if own.checked or question.filtered or (found.relevant and own.note != NOT_FOUND):
        return own
    began = perf_counter()
    external = ask(Wanting(
        question.query, question.own, found.retrieval_id, principal_id, found.external,
        question.wants_recent, fit_to_show))
    if external is None:
        return own
    note = of_its_answer(external) if external.text else f"{(own.note or '').rstrip('.')}; {external.reason}"
    return replace(own, external=external, note=f"{note}.", model=external.model or own.model,
                   milliseconds=own.milliseconds + 1000 * (perf_counter() - began))


def of_its_answer(external: External) -> str:
    """What is to be said of it."""
    again = "; it was asked before, and nothing has left this time" if external.at_home else ""
    cut = "; it was too long, and is cut" if external.was_cut else ""
    return UNCHECKED.format(model=f"{external.provider}, {external.model}") + again + cut


def fit_to_show(text: str) -> str:
    """A foreign text without addresses, and without labels, which are ours to give."""
    return check(storable(text), {}).text
