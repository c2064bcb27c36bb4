"""What hosts have asked for, kept in PostgreSQL over a restart and for other processes."""

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import CrawlDelay, HostPause


class KeptPauses:
    """Implements ports.PauseStore in PostgreSQL."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def load(self) -> dict[str, datetime]:
        pauses = select(HostPause.host, HostPause.until).where(HostPause.until > func.now())
        return {row.host: row.until for row in self._db.execute(pauses)}

    def save(self, host: str, until: datetime) -> None:
        row = insert(HostPause).values(host=host, until=until)
        later = func.greatest(HostPause.until, row.excluded.until)
        with self._db.begin() as session:
            session.execute(row.on_conflict_do_update(index_elements=[HostPause.host], set_={"until": later}))
            session.execute(delete(HostPause).where(HostPause.until <= func.now()))

    def save_delay(self, host: str, asked: float, kept: float) -> None:
        now = {"asked": asked, "kept": kept, "read_at": func.now()}
        row = insert(CrawlDelay).values(host=host, **now)
        self._db.execute(row.on_conflict_do_update(index_elements=[CrawlDelay.host], set_=now))
