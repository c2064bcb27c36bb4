"""What the tools of a server are held to: as they were first seen, or last accepted, in PostgreSQL."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import ToolPin


def pinned(db: Database, server: str, seen: Mapping[str, str]) -> dict[str, str]:
    """The definition that each tool of the server is held to; what is seen for the first time is that."""
    rows = [{"server": server, "tool": tool, "definition": text} for tool, text in seen.items()]
    with db.begin() as session:
        if rows:
            session.execute(insert(ToolPin).values(rows).on_conflict_do_nothing())
        held = session.execute(select(ToolPin.tool, ToolPin.definition).where(ToolPin.server == server))
        return {row.tool: row.definition for row in held}


def pin(db: Database, server: str, tool: str, definition: str) -> None:
    """Hold it to this one from now on."""
    row = insert(ToolPin).values(server=server, tool=tool, definition=definition)
    db.execute(row.on_conflict_do_update(
        index_elements=[ToolPin.server, ToolPin.tool],
        set_={"definition": definition, "pinned_at": func.now()}))
