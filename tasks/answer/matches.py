"""Where a text says the words of a question, for whoever reads it."""

from tasks.answer.about import WORD, bare


def matches(asked: frozenset[str], text: str) -> list[tuple[int, int]]:
    """Start and end of each word of ``text`` that is one of ``asked``, as ``asked_words`` gives them."""
    return [found.span() for found in WORD.finditer(text) if bare(found.group()) in asked]
