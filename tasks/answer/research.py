"""More of the library for a model that answers: it may look again, in other words, on the same record."""

from collections.abc import Callable, Mapping
from typing import Any

from tasks.answer.question import MAX_CHARACTERS
from tasks.answer.retrieval import Retrieval
from tasks.ports import ToolSaid

NAME = "search_library"
DESCRIPTION = "Look in the library again, in other words: gives more excerpts, each under a label to cite."
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS}},
    "required": ["query"],
    "additionalProperties": False,
}


class Research:
    """``found`` is what was found for the question so far; ``look`` retrieves for other words."""

    def __init__(self, found: Retrieval, look: Callable[[str, Retrieval], Retrieval]) -> None:
        self.found = found
        self._look = look

    def search(self, query: str) -> ToolSaid:
        try:
            more = self._look(query, self.found)
        except ValueError as error:
            return ToolSaid(str(error), failed=True)
        self.found = self.found.with_more(more)
        return ToolSaid(more.nothing or more.prompt)
