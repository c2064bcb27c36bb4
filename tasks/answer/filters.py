"""What a question can be narrowed down by."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select

from models.session import Database
from models.states import ContentType
from models.tables import Source, VersionAnalysis


def filters(db: Database, scopes: Sequence[str]) -> dict[str, Any]:
    """``sources`` by name, all ``content_types``, and the ``languages`` that were found, the usual first."""
    mine = list(scopes)
    sources = db.execute(
        select(Source.id, Source.name).where(Source.removed_at.is_(None), Source.scopes.contained_by(mine))
        .order_by(func.lower(Source.name), Source.id))
    languages = db.execute(
        select(VersionAnalysis.language)
        .where(VersionAnalysis.language.is_not(None), VersionAnalysis.scopes.contained_by(mine))
        .group_by(VersionAnalysis.language).order_by(func.count().desc(), VersionAnalysis.language))
    return {
        "sources": [{"id": str(row.id), "name": row.name} for row in sources],
        "content_types": [kind.value for kind in ContentType],
        "languages": [row.language for row in languages],
    }
