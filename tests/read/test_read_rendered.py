"""A page without text is rendered when there is a browser, and waits and is counted when there is none."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models.addresses import identity_key
from models.blocks import Block, BlockKind
from models.extracted import Extracted
from models.session import Database
from models.states import DocumentState
from models.tables import Document, DocumentVersion, Source
from tasks import reports
from tasks.errors import NeedsBrowser, Permanent, StageError, Transient, Unsafe
from tasks.extract.jail import Jail
from tasks.ports import Fetched, Validators, Wanted
from tasks.read import due, read_documents, wake
from tasks.web import chromium
from tasks.web.browser import Browser
from tasks.web.door import Door
from tasks.web.policy import Policy

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://app.example/story"


def fetched(body: str, url: str = URL, **values: Any) -> Fetched:
    return Fetched(url=url, final_url=url, status=200, body=body.encode(), media_type="text/html",
                   charset="utf-8", fetched_at=NOW, **{"validators": Validators()} | values)


class Shells:
    """A fetcher for which every page is an empty shell, with validators."""

    def __init__(self) -> None:
        self.asked: list[Validators | None] = []

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None,
                    headers: Mapping[str, str] | None = None) -> Fetched:
        self.asked.append(validators)
        return fetched("", url, validators=Validators(etag='"shell"'))


class Words:
    """A parser for which a page is one paragraph, and needs a browser while it has no text."""

    async def parse(self, parser: str, body: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        if not body:
            raise NeedsBrowser("the page has no text until a browser renders it")
        return Extracted((Block(BlockKind.PARAGRAPH, body.decode()),), "Title", "words").to_json()


class Scripts:
    """A renderer that gives what scripts would make of a page, or a failure."""

    def __init__(self, made: str | StageError) -> None:
        self.made = made

    async def render(self, url: str) -> Fetched:
        if isinstance(self.made, StageError):
            raise self.made
        return fetched(self.made, url)


def plant(db: Database, url: str = URL, **values: Any) -> UUID:
    with db.begin() as session:
        source = Source(kind="page", name="App", url=f"{URL}/{uuid4()}")
        session.add(source)
        session.flush()
        document = Document(
            id=uuid4(), source_id=source.id, url=url, discovered_at=NOW,
            **{"due_at": NOW, "key": identity_key(url)} | values)
        session.add(document)
        return document.id


def document(db: Database, document_id: UUID) -> Document:
    with db.begin() as session:
        return session.get_one(Document, document_id)


async def read(
    db: Database, renderer: Scripts | None, web: Shells | None = None, now: datetime = NOW
) -> None:
    await read_documents(db, web or Shells(), Words(), "test", 9, now, renderer=renderer)


async def test_a_page_that_scripts_make_is_read_as_they_make_it(db: Database) -> None:
    page = plant(db)
    await read(db, Scripts("The tide is at three metres."))
    assert document(db, page).state == DocumentState.READ
    with db.begin() as session:
        [version] = session.scalars(select(DocumentVersion)).all()
    assert version.text == "The tide is at three metres."


async def test_the_shell_s_validators_do_not_speak_for_what_was_rendered(db: Database) -> None:
    page, web = plant(db), Shells()
    await read(db, Scripts("The tide is at three metres."), web)
    with db.begin() as session:
        session.get_one(Document, page).due_at = NOW + timedelta(hours=1)
    await read(db, Scripts("The tide is at four metres."), web, NOW + timedelta(hours=1))
    assert web.asked == [Validators(), Validators()]
    assert document(db, page).reason == "changed: version 2"


class Landing(Shells):
    """A fetcher for which every route of an application is its landing page, which has words of its own."""

    async def fetch(self, url: str, wanted: Wanted, validators: Validators | None = None,
                    headers: Mapping[str, str] | None = None) -> Fetched:
        self.asked.append(validators)
        return fetched("Welcome to the harbour.", url, validators=Validators(etag='"landing"'))


async def test_a_route_in_a_fragment_is_what_a_browser_makes_of_it_never_the_page_that_is_sent(
    db: Database
) -> None:
    route, web = f"{URL}#/post/2", Landing()
    page = plant(db, url=route, key=identity_key(route, fragment_routes=True), etag='"landing"')
    await read(db, None, web)
    assert (document(db, page).state, document(db, page).reason) == (
        DocumentState.NEEDS_BROWSER, "what is after its “#” only a browser can look up")
    wake(db, NOW)
    await read(db, Scripts("The second post."), web)
    assert document(db, page).state == DocumentState.READ
    assert web.asked == [Validators(), Validators()]


@pytest.mark.parametrize(("made", "state", "reason"), [
    ("", DocumentState.REJECTED, "there is nothing to read on the page, even after its scripts have run"),
    (Permanent("not found (HTTP 404)"), DocumentState.REJECTED, "not found (HTTP 404)"),
    (Unsafe("its scripts led astray"), DocumentState.REJECTED, "its scripts led astray"),
    (Transient("the browser could not show it"), DocumentState.WAITING, "the browser could not show it"),
])
async def test_what_the_browser_could_not_make_says_so(
    db: Database, made: str | StageError, state: str, reason: str
) -> None:
    page = plant(db)
    await read(db, Scripts(made))
    row = document(db, page)
    assert (row.state, row.reason) == (state, reason)
    assert (row.due_at is not None) == (state == DocumentState.WAITING)


async def test_without_a_browser_a_page_waits_and_is_counted_until_there_is_one(db: Database) -> None:
    page = plant(db)
    await read(db, None)
    assert document(db, page).state == DocumentState.NEEDS_BROWSER
    assert reports.depths(db)["documents"] == {DocumentState.NEEDS_BROWSER: 1}
    assert due(db, NOW + timedelta(days=365)) == 0
    assert wake(db, NOW) == 1
    assert wake(db, NOW) == 0
    assert due(db, NOW) == 1
    await read(db, Scripts("The tide is at three metres."))
    assert document(db, page).state == DocumentState.READ


@pytest.mark.parametrize("state", [
    DocumentState.REJECTED, DocumentState.INDEXED, DocumentState.REMOVED, DocumentState.FAILED,
])
async def test_only_what_waits_for_a_browser_is_woken(db: Database, state: str) -> None:
    plant(db, due_at=None, state=state)
    assert wake(db, NOW) == 0


SHELL = b"""<!doctype html><html><head><title>The lamp</title></head><body><div id="root"></div>
<noscript>You need to enable JavaScript to run this app.</noscript><script>
const line = "<p>The keeper of the lamp wrote down when it was lit.</p>"
root.innerHTML = "<article><h1>The lamp</h1>" + line.repeat(9)
</script></body></html>"""


@pytest.mark.browser
async def test_an_app_is_read_through_the_door_the_browser_and_the_jail(db: Database) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + SHELL)
        writer.close()

    site = await asyncio.start_server(serve, "127.0.0.1", 0)
    pair = f"127.0.0.1:{site.sockets[0].getsockname()[1]}"
    door, jail = Door(Policy(pair), host_delay=0), Jail({"page": "tasks.extract.page:parse"}, workers=1)
    browser = Browser(Policy(pair), chromium.found() or "")
    page = plant(db, url=f"http://{pair}/")
    try:
        async with site:
            [read] = await read_documents(db, door, jail, "test", 9, NOW, renderer=browser)
    finally:
        for part in (door, jail, browser):
            await asyncio.to_thread(part.close)
    assert (read.document_id, read.state) == (page, DocumentState.READ), read.reason
    with db.begin() as session:
        [version] = session.scalars(select(DocumentVersion)).all()
    assert version.text.endswith("The keeper of the lamp wrote down when it was lit.")
    assert version.language == "en"
