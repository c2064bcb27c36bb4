"""How a reader's interests fade: what the ranking and the choice of what to read have in common."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, Text, bindparam, case, extract, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from models.tables import Interest

HALF_LIFE = timedelta(days=30)
NOTICED = 0.02  # below which an interest has faded away
MOST = 200  # interests that are looked at, the strongest first
OWN = bindparam("own_scopes", type_=ARRAY(Text))
NOW = bindparam("now", type_=Interest.touched_at.type)


def faded(now: ColumnElement[datetime] = NOW) -> ColumnElement[float]:
    """An interest's strength now: halved every ``HALF_LIFE``, unless its owner keeps it."""
    age = func.greatest(extract("epoch", now - Interest.touched_at), 0)
    halved = Interest.strength * func.power(0.5, age / HALF_LIFE.total_seconds())
    return case((Interest.kept, Interest.strength), else_=halved)


def strongest() -> Select[str, float]:
    """``topic`` and ``strength`` of those of the parameter ``own_scopes`` at ``now``, strongest first."""
    strength = faded().label("strength")
    return (select(Interest.topic, strength).where(Interest.scopes == OWN, strength > NOTICED)
            .order_by(strength.desc(), Interest.topic).limit(MOST))
