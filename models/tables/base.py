"""What all tables have in common."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, DateTime, LargeBinary, MetaData, Text
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase

LIBRARY_SCOPE = "library"
NOW = sql("now()")


class Table(DeclarativeBase):
    """Base of every table; constraint names are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it as a class attribute
        datetime: DateTime(timezone=True),
        str: Text,
        bytes: LargeBinary,
        list[str]: ARRAY(Text),
        list[int]: ARRAY(BigInteger),
        list[dict[str, Any]]: JSONB,
        dict[str, Any]: JSONB,
    }


def one_of(column: str, states: type[StrEnum]) -> CheckConstraint:
    """A text column limited to the names of an enumeration (a native enum cannot be migrated back)."""
    names = ", ".join(f"'{state.value}'" for state in states)
    return CheckConstraint(f"{column} IN ({names})", name=column)


def scoped() -> CheckConstraint:
    """Who may read a row: never nobody by accident."""
    return CheckConstraint("cardinality(scopes) > 0", name="scopes_not_empty")
