"""Retrieval: a question in, ranked excerpts with citations out, what was used and dropped on record."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise, zip_longest
from time import perf_counter
from uuid import uuid4

from models.session import Database
from tasks.answer.about import asked_words, named
from tasks.answer.candidates import begin, find
from tasks.answer.choose import Choice, choose
from tasks.answer.matches import matches
from tasks.answer.prompt import block, prompt, sizes
from tasks.answer.question import Question
from tasks.answer.rank import Ranked, Reader, explain, rank
from tasks.answer.retrieval import Elapsed, Excerpt, Retrieval
from tasks.answer.stories import label
from tasks.answer.tuning import Tuning
from tasks.answer.usage import record
from tasks.ports import Embedder, Index

MIN_SIMILARITY = 0.30  # cosine; keeps 97 % of the best relevant documents, rejects 73 % of foreign questions
MAX_PASSED_OVER = 10  # reported as dropped, beside what was over the budget
MOST_LEARNED = 8  # topics that one question strengthens


def retrieve(db: Database, embedder: Embedder, index: Index, question: Question, now: datetime,
             minimum: float = MIN_SIMILARITY, earlier: Retrieval | None = None) -> Retrieval:
    """The excerpts that answer a question best, or the sentence that says why there are none.

    ``minimum`` is the similarity required where the question names none. What goes on an ``earlier`` one is
    on its record, and its labels follow on. Beside the embedding and the index it costs one statement for the
    rows, and one that records what was used.
    """
    retrieval_id, times = earlier.retrieval_id if earlier else uuid4(), [perf_counter()]
    first = 1 + (len(earlier.excerpts) + len(earlier.dropped) if earlier else 0)
    begun = begin(embedder, index, question)
    times.append(perf_counter())
    minimum = minimum if question.min_similarity is None else question.min_similarity
    found = find(db, embedder, index, question, begun, minimum, now)
    times.append(perf_counter())
    tuning = Tuning.of(found.tuning)
    weights = tuning.weights.for_recent() if question.wants_recent else tuning.weights
    reader = Reader(now, asked_words(question.query, question.previous), found.profile, weights,
                    tuning.half_lives)
    choice = choose(rank(found.candidates, reader), question.k)
    stories = label([entry.candidate for entry in choice.chosen])
    mark = retrieval_id.hex[:8]
    blocks = [block(f"K{n}", entry.candidate, story)
              for n, (entry, story) in enumerate(zip(choice.chosen, stories, strict=True), first)]
    fitting = _fitting(mark, blocks, question.budget_tokens, embedder)
    excerpts = [
        _excerpt(f"K{n}", entry, why, story, reader if question.explain else None)
        for n, ((entry, why), story) in enumerate(
            zip_longest(_verdicts(choice, fitting, question.budget_tokens), stories), first)
    ]
    times.append(perf_counter())
    used = (entry.candidate.about for entry in choice.chosen[:fitting])
    record(db, retrieval_id, question, excerpts, named(reader.asked, used)[:MOST_LEARNED], now)
    nothing = None if fitting else _nothing(choice, minimum, question)
    chosen = [entry.candidate for entry in choice.chosen]
    external = [each.document_id for each in chosen if each.origin.external]
    relevant = any(each.is_sure and not each.origin.external for each in chosen)
    return Retrieval(retrieval_id, question.wants_recent, _elapsed(times), excerpts[:fitting],
                     excerpts[fitting:], prompt(mark, blocks[:fitting]), nothing,
                     asdict(weights) if question.explain else None, relevant, external)


def _fitting(mark: str, blocks: list[str], budget: int | None, embedder: Embedder) -> int:
    """How many of the blocks, from the first, the budget has room for."""
    if budget is None:
        return len(blocks)
    return sum(size <= budget for size in sizes(mark, blocks, embedder.count))


def _verdicts(choice: Choice, fitting: int, budget: int | None) -> Iterator[tuple[Ranked, str | None]]:
    """Who is used, with no reason, then who is dropped, with why."""
    for place, entry in enumerate(choice.chosen):
        yield entry, None if place < fitting else f"over the budget of {budget} tokens"
    yield from choice.passed_over[:MAX_PASSED_OVER]


def _excerpt(label: str, entry: Ranked, why: str | None, story: str | None,
             explained_to: Reader | None) -> Excerpt:
    found = entry.candidate
    return Excerpt(label, why is None, found.text, found.headings, found.document_id, found.version_id,
                   found.chunk_id, found.origin, entry.score, found.also_at, why, story,
                   explain(entry, explained_to) if explained_to else None,
                   matches(explained_to.asked, found.text) if explained_to else None)


def _nothing(choice: Choice, minimum: float, question: Question) -> str:
    if choice.chosen:
        budget = question.budget_tokens
        return f"A budget of {budget} tokens has no room for an excerpt: give more, or leave it out."
    where = "that the filters let through" if question.filtered else "in the library"
    return f"Nothing {where} is close enough to the question: none is {minimum:.2f} similar or more."


def _elapsed(times: list[float]) -> Elapsed:
    embed, search, rank = (1000 * (end - start) for start, end in pairwise(times))
    return Elapsed(embed, search, rank, total=1000 * (perf_counter() - times[0]))
