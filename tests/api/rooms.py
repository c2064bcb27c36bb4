"""A household with rows of every scope set, and callers of every kind."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
from household import TOKEN, Household
from scoped_rows import SETS, Cell, put

from models.session import Database
from tasks.callers import organizations, tokens
from tasks.keep.store import put_in
from tasks.ports import Entry

PUBLIC = ["press"]


class Who(NamedTuple):
    reads: list[str]
    writes: list[str]
    principal: str = "owner"


CALLERS = {
    "owner": Who(["library"], ["library"]),
    "who reads the library": Who(["library"], []),
    "who reads a": Who(["a"], []),
    "who writes a": Who(["a"], ["a"]),
    "who reads a and b and writes b": Who(["a", "b"], ["b"]),
    "a member of a and press": Who(["a", "press"], ["press"], "ada"),
    "a stranger": Who(["elsewhere"], ["elsewhere"]),
}
class Rooms(NamedTuple):
    """The household with its cells, and how each caller comes in."""

    household: Household
    cells: dict[str, Cell]
    bearers: dict[str, str]

    def api(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.household.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def furnish(household: Household, scratch: Path) -> Rooms:
    library = household.library
    cells = {name: Cell(name, scopes) for name, scopes in SETS.items()}
    for cell in cells.values():
        file = scratch / cell.name
        file.write_text(cell.text)
        key, packed = asyncio.run(put_in(library.doors.store, file, library.doors.folder))
        [vector] = library.embedder.embed([cell.text])
        rows = cell.rows(key, packed, vector.astype("<f2").tobytes())
        put(library.db, rows)
        library.index.upsert([Entry(
            id=cell.chunk, vector=np.asarray(vector), text=cell.text, document_id=cell.document,
            version_id=cell.version, source_id=cell.source, scopes=cell.scopes)])
    return Rooms(household, cells, let_in(library.db))


def let_in(db: Database) -> dict[str, str]:
    """The token of each of CALLERS."""
    organizations.add(db, "press", public=True)
    organizations.add(db, "a")
    organizations.admit(db, "press", "ada", writes=True)
    organizations.admit(db, "a", "ada", writes=False)
    made = {name: tokens.make_token(db, name, who.reads, who.writes, who.principal)[1]
            for name, who in CALLERS.items() if name != "owner"}
    return {"owner": TOKEN} | made
