"""The reader's interests: a profile of topics that asking strengthens, time fades, and its owner may change.

A profile belongs to the readers of exactly one set of scopes.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CTE,
    Double,
    ScalarSelect,
    Text,
    bindparam,
    cast,
    delete,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert

from models.interests import NOTICED, NOW, OWN, faded, strongest
from models.session import Database
from models.tables import Interest
from tasks.answer.about import normal

LEARNED = 0.2  # of what is missing to full strength, that one question about a topic adds
LONGEST = 200  # characters of a topic


def profile() -> ScalarSelect[Any]:
    """The strongest interests of the parameter ``own_scopes`` at ``now``, as JSON: topic to strength."""
    found = strongest().subquery()
    return select(func.jsonb_object_agg(found.c.topic, found.c.strength)).scalar_subquery()


def learning() -> CTE:
    """Strengthen each topic of the parameter ``learned``, as a part of a statement that does something else.

    Topics come sorted, so that two questions at once cannot wait for each other.
    """
    topics = func.unnest(bindparam("learned", type_=ARRAY(Text))).column_valued("topic")
    fresh = select(func.gen_random_uuid(), OWN, topics, literal(LEARNED, Double), NOW, literal(False))
    added = insert(Interest).from_select(["id", "scopes", "topic", "strength", "touched_at", "kept"], fresh)
    strength = faded(added.excluded.touched_at)
    return added.on_conflict_do_update(
        index_elements=[Interest.scopes, Interest.topic], where=~Interest.kept,
        set_={"strength": func.least(strength + (1 - strength) * LEARNED, 1.0),
              "touched_at": added.excluded.touched_at},
    ).cte("learning")


def listed(db: Database, scopes: Sequence[str], now: datetime) -> list[dict[str, Any]]:
    """The profile, strongest first; what has faded away is not in it."""
    strength = cast(faded(), Double).label("strength")
    rows = db.execute(
        select(Interest.topic, strength, Interest.kept, Interest.touched_at)
        .where(Interest.scopes == OWN, or_(Interest.kept, strength > NOTICED))
        .order_by(strength.desc(), Interest.topic), _of(scopes, now))
    return [{"topic": row.topic, "strength": round(row.strength, 4), "kept": row.kept,
             "touched_at": row.touched_at.isoformat()} for row in rows]


def keep(db: Database, scopes: Sequence[str], topic: str, strength: float, now: datetime) -> dict[str, Any]:
    """Set an interest for good: it neither fades nor learns; 0 is no interest, whatever is asked.

    Raises ValueError, one clear sentence.
    """
    if not (topic := normal(topic)) or len(topic) > LONGEST or "\0" in topic:
        raise ValueError(f"the topic must have 1 to {LONGEST} characters")
    if not 0 <= strength <= 1:
        raise ValueError(f"strength is {strength}: give a number from 0 to 1")
    values = {"strength": strength, "touched_at": now, "kept": True}
    db.execute(insert(Interest).values(scopes=sorted(set(scopes)), topic=topic, **values)
               .on_conflict_do_update(index_elements=[Interest.scopes, Interest.topic], set_=values))
    return {"topic": topic, "strength": strength, "kept": True, "touched_at": now.isoformat()}


def forget(db: Database, scopes: Sequence[str], topic: str | None = None) -> int:
    """Erase one interest, or all of the profile; how many there were."""
    which = [Interest.scopes == sorted(set(scopes))]
    which += [Interest.topic == normal(topic)] if topic is not None else []
    return len(db.execute(delete(Interest).where(*which).returning(Interest.id)))


def erase_faded(db: Database, now: datetime) -> int:
    """Erase what has faded away, whoever's it was; how many."""
    gone = delete(Interest).where(~Interest.kept, faded() <= NOTICED).returning(Interest.id)
    return len(db.execute(gone, {"now": now}))


def _of(scopes: Sequence[str], now: datetime) -> dict[str, Any]:
    return {"own_scopes": sorted(set(scopes)), "now": now}
