"""The pauses that hosts have asked for, kept in PostgreSQL over a restart."""

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import HostPause


class KeptPauses:
    """Implements ports.PauseStore in PostgreSQL."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def load(self) -> dict[str, datetime]:
        with self._db.begin() as session:
            session.execute(delete(HostPause).where(HostPause.until <= func.now()))
            return {row.host: row.until for row in session.scalars(select(HostPause))}

    def save(self, host: str, until: datetime) -> None:
        row = insert(HostPause).values(host=host, until=until)
        later = func.greatest(HostPause.until, row.excluded.until)
        with self._db.begin() as session:
            session.execute(row.on_conflict_do_update(index_elements=[HostPause.host], set_={"until": later}))
