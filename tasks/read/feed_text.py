"""The text that a feed brought with its item, for a page that cannot be read or says much less."""

import re
from dataclasses import replace
from datetime import datetime

from sqlalchemy import select

from models.blocks import text_of
from models.extracted import Extracted
from models.session import Database
from models.tables import DocumentVersion
from tasks.errors import Postponed, StageError, Transient, Unsafe
from tasks.ports import Fetched, Parser, Validators
from tasks.read.claims import Claimed
from tasks.read.save import Look

MUCH_MORE = 2.0  # times the page's text
TAG = re.compile(r"<[^>]+>")


async def or_feed(
    db: Database, document: Claimed, outcome: Look | StageError, parser: Parser, now: datetime,
    max_attempts: int,
) -> Look | StageError:
    """What a look came to, or the feed's text, where there is one and it serves better."""
    told = document.full_text
    why = told and reason(told, outcome, last=document.attempts + 1 >= max_attempts)
    if not told or not why or (isinstance(outcome, StageError) and page_stands(db, document)):
        return outcome
    try:
        context = {"url": document.url, "media_type": "text/html", "charset": "utf-8"}
        read = Extracted.from_json(await parser.parse("fragment", told.encode(), context))
    except StageError:
        return outcome
    if isinstance(outcome, Look) and outcome.extracted:
        page = outcome.extracted  # which is still believed of its title, its author and its date
        read = replace(page, blocks=read.blocks, extractor=read.extractor, language=read.language)
        return Look(outcome.fetched, read, why)
    answer = Fetched(document.url, document.url, 200, b"", "text/html", "utf-8", Validators(), now)
    return Look(answer, read, why)


def reason(told: str, outcome: Look | StageError, last: bool) -> str | None:
    """Why the feed's text is to be read; None where the page does, or will, or must not be named."""
    if isinstance(outcome, Look):
        page = len(text_of(outcome.extracted.blocks)) if outcome.extracted else None
        much_less = page is not None and len(TAG.sub("", told)) > MUCH_MORE * page
        return "its page says much less" if much_less else None
    if isinstance(outcome, Unsafe | Postponed) or (isinstance(outcome, Transient) and not last):
        return None
    return outcome.reason


def page_stands(db: Database, document: Claimed) -> bool:
    """Whether the document's newest version is its page's: then a page that fails is waited for."""
    newest = (
        select(DocumentVersion.extractor).where(DocumentVersion.document_id == document.id)
        .order_by(DocumentVersion.number.desc()).limit(1)
    )
    return document.content_hash is not None and db.execute(newest)[0].extractor != "feed"
