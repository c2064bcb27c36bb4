"""The stage functions called one after the other, without Prefect: ``python plain.py FEED N [PART…]``.

It prints seconds, CPU seconds (its children's too) and chunks. The PARTs are ``analysis`` and ``gates``: without any,
an article is neither understood nor judged. It works on the data folder and database of its environment. The time runs
from the first request for the feed to the last article that answers; importing, and loading the model, are not in it.
"""

import asyncio
import resource
import sys
import time
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import func, select

from almanac.settings import settings
from almanac.wiring import library
from models.tables import Chunk
from tasks import read
from tasks.analyse.follow import analyse_versions
from tasks.chunk import cut
from tasks.discover.add import NewSource, add_source
from tasks.index import follow


def now() -> datetime:
    return datetime.now(UTC)


def ingest(feed: str, articles: int, parts: list[str]) -> None:
    """The poll, then batches of reading, then batches of indexing, of the flows' sizes."""
    one, chosen = library(), settings()
    asyncio.run(add_source(one.db, one.fetcher, one.parser, NewSource(url=feed, limit=articles), now()))
    while asyncio.run(read.read_documents(one.db, one.fetcher, one.parser, one.worker, 50, now(), None,
                                          chosen.max_attempts)):
        pass
    analyse = partial(analyse_versions, one.db, one.analyser, now=now()) if "analysis" in parts else len
    gate = one.gate if "gates" in parts else None
    while follow.index_versions(one.db, one.embedder, one.index, cut, 16, chosen.articles_per_hour,
                                chosen.articles_per_day, now(), analyse=analyse, gate=gate):
        pass


def cpu() -> float:
    """CPU seconds of this process and of the children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    one = library()
    one.db.migrate()
    feed, articles, *parts = sys.argv[1:]
    ingest(f"{feed.rsplit('/', 2)[0]}/1000/feed.xml", 5, parts)  # the model, the jail, Great Expectations
    started, used = time.perf_counter(), cpu()
    ingest(feed, int(articles), parts)
    seconds = time.perf_counter() - started
    with one.db.begin() as session:
        chunks = session.scalar(select(func.count()).select_from(Chunk))
    one.close()
    print(seconds, cpu() - used, chunks)


if __name__ == "__main__":
    main()
