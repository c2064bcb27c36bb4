"""What a poll does to a source: what it costs, when the next one is, and what a bad one must not do."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from models.states import DocumentState, PollOutcome
from models.tables import Source
from tasks.discover.poll import due_sources, poll_source
from tasks.errors import NeedsBrowser, Permanent, Postponed, Transient, Unsafe
from tasks.ports import Validators
from tasks.read import read_document

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FEED = "https://tide.example/feed"
PAGE = "https://tide.example/now"
Rss = Callable[..., str]


# What it leaves and what it costs


async def test_a_poll_is_recorded_and_the_source_remembers_what_spares_the_next(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1), etag='"a"', last_modified="Sun, 01 Mar 2026 09:00:00 GMT")
    await desk.poll(source_id := desk.add())
    (poll,) = desk.polls()
    assert (poll.outcome, poll.http_status, poll.items_seen, poll.items_new) == ("new", 200, 1, 1)
    assert poll.started_at == NOW <= poll.finished_at
    source = desk.source(source_id)
    assert (source.etag, source.last_modified) == ('"a"', "Sun, 01 Mar 2026 09:00:00 GMT")
    assert (source.last_polled_at, source.next_poll_at, source.failures) == (NOW, NOW + HOUR, 0)
    assert source.health == poll.reason == "1 new, of 1 offered"


@pytest.mark.parametrize("etag", ['"a"', None], ids=["by 304", "by the same bytes"])
async def test_an_unchanged_feed_costs_one_request_no_parse_and_three_statements(
    desk: Any, rss: Rss, etag: str | None
) -> None:
    desk.web.put(FEED, rss(1, 2), etag=etag)
    source_id = desk.add()
    await desk.poll(source_id)
    desk.read_all()
    desk.web.asked.clear()
    desk.parsers.calls.clear()
    with desk.statements() as statements:
        result = await desk.poll(source_id, NOW + HOUR)
    assert result.outcome is PollOutcome.UNCHANGED
    assert desk.web.asked == [(FEED, Validators(etag))]
    assert desk.parsers.calls == []
    assert len(statements) <= 3
    assert not desk.due()
    assert desk.source(source_id).next_poll_at == NOW + 2 * HOUR


# Failures


async def test_a_failing_source_is_looked_at_less_and_less_and_says_why(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1), etag='"a"')
    source_id = desk.add()
    await desk.poll(source_id)
    before = desk.documents()["https://tide.example/1"]
    desk.web.fail(FEED, Transient("HTTP 503 Service Unavailable"))
    results = [await desk.poll(source_id, NOW + n * HOUR) for n in (1, 2, 3)]
    assert {result.outcome for result in results} == {PollOutcome.FAILED}
    source = desk.source(source_id)
    assert source.failures == 3
    assert NOW + 3 * HOUR + 4 * HOUR * 0.8 <= source.next_poll_at <= NOW + 7 * HOUR
    since = "failed since 2026-03-02 10:00 UTC: HTTP 503 Service Unavailable, next try 2026-03-02"
    assert source.health.startswith(since)
    assert (source.etag, source.body_hash is not None) == ('"a"', True)
    assert desk.documents()["https://tide.example/1"].due_at == before.due_at
    desk.web.put(FEED, rss(1, 2))
    await desk.poll(source_id, NOW + DAY)
    assert (desk.source(source_id).failures, desk.source(source_id).health) == (
        0, "1 new, 1 as before, of 2 offered")


@pytest.mark.parametrize(
    "error", [Permanent("HTTP 410 Gone"), Unsafe("a refused address"), KeyError("a fault of ours")]
)
async def test_no_failure_escapes_a_poll(desk: Any, error: Exception) -> None:
    desk.web.fail(FEED, error)
    result = await desk.poll(source_id := desk.add())
    assert result.outcome is PollOutcome.FAILED
    assert desk.source(source_id).next_poll_at > NOW
    assert [poll.outcome for poll in desk.polls()] == ["failed"]


async def test_retry_after_is_kept_in_the_row(desk: Any) -> None:
    desk.web.fail(FEED, Transient("HTTP 429 Too Many Requests", retry_after=timedelta(hours=5)))
    result = await desk.poll(source_id := desk.add())
    assert result.next_poll_at == desk.source(source_id).next_poll_at == NOW + 5 * HOUR


@pytest.mark.parametrize(("wait", "minutes"), [(timedelta(minutes=20), 20), (None, 1)])
async def test_a_look_that_was_postponed_costs_the_source_nothing_but_the_wait(
    desk: Any, wait: timedelta | None, minutes: int
) -> None:
    """Nobody was asked, so nothing speaks against the source: forty feeds of one host may wait in a queue."""
    desk.web.fail(FEED, Postponed("others are in front of it", wait))
    source_id = desk.add()
    for _ in range(3):
        result = await desk.poll(source_id)
        assert (result.outcome, result.reason) == (PollOutcome.FAILED, "others are in front of it")
    source = desk.source(source_id)
    assert (source.failures, source.next_poll_at) == (0, NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "the answer is empty"),
        ("<html><head><title>Sign in</title></head><body>Please</body></html>", "not a feed: an HTML page"),
        ("Service unavailable", "not a feed"),
        ("<rss version='2.0'><channel><title>Tide Times</title></channel></rss>", "offers nothing to read"),
    ],
)
async def test_a_suspicious_answer_changes_nothing_and_is_told(
    desk: Any, rss: Rss, body: str, why: str
) -> None:
    desk.web.put(FEED, rss(1, 2), etag='"good"')
    source_id = desk.add()
    await desk.poll(source_id)
    before = desk.documents()
    desk.web.put(FEED, body, etag='"bad"')
    result = await desk.poll(source_id, NOW + HOUR)
    assert result.outcome is PollOutcome.SUSPECT
    assert why in result.reason
    source = desk.source(source_id)
    assert (source.etag, source.failures) == ('"good"', 1)
    assert source.health.startswith(f"suspect since 2026-03-02 10:00 UTC: {result.reason}")
    after = desk.documents()
    assert {url: (d.due_at, d.state) for url, d in after.items()} == {
        url: (d.due_at, d.state) for url, d in before.items()}


async def test_a_new_feed_may_be_empty(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss())
    assert (await desk.poll(desk.add())).outcome is PollOutcome.UNCHANGED


# Validators that lie


async def test_a_date_from_the_future_is_not_sent_back(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1), last_modified="Sat, 01 Mar 2042 09:00:00 GMT")
    source_id = desk.add()
    await desk.poll(source_id)
    desk.web.put(FEED, rss(1, 2), last_modified="Sat, 01 Mar 2042 09:00:00 GMT")
    assert (await desk.poll(source_id)).items_new == 1


async def test_after_a_week_of_304_the_feed_is_asked_for_without_conditions(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1), etag='"stuck"')
    source_id = desk.add()
    await desk.poll(source_id)
    desk.web.put(FEED, rss(1, 2), etag='"stuck"')
    assert (await desk.poll(source_id, NOW + 6 * DAY)).reason == "not modified since 2026-03-02 09:00 UTC"
    assert (await desk.poll(source_id, NOW + 7 * DAY)).items_new == 1
    assert (await desk.poll(source_id, NOW + 8 * DAY)).outcome is PollOutcome.UNCHANGED
    assert [asked for _, asked in desk.web.asked] == [
        Validators(), Validators('"stuck"'), Validators(), Validators('"stuck"')]


async def test_304_to_a_request_without_conditions_is_a_failure(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, "", always_304=True)
    result = await desk.poll(desk.add())
    assert (result.outcome, "304" in result.reason) == (PollOutcome.FAILED, True)


# Which sources, and when


def test_due_sources_come_by_priority_and_then_by_how_long_they_are_due(desk: Any) -> None:
    late, later = desk.add("https://a.example/"), desk.add("https://b.example/", next_poll_at=NOW - HOUR)
    urgent = desk.add("https://c.example/", priority=90)
    desk.add("https://d.example/", next_poll_at=NOW + timedelta(seconds=1))
    desk.add("https://e.example/", next_poll_at=None)
    desk.add("https://f.example/", paused=True)
    desk.add("https://g.example/", removed_at=NOW)
    assert due_sources(desk.db, NOW) == [urgent, later, late]
    assert due_sources(desk.db, NOW, limit=1) == [urgent]


async def test_a_paused_source_may_be_polled_by_hand_and_a_removed_one_may_not(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    assert (await desk.poll(desk.add(paused=True))).items_new == 1
    removed = desk.add("https://gone.example/", removed_at=NOW)
    with pytest.raises(LookupError, match=str(removed)):
        await desk.poll(removed)


async def test_a_source_that_is_removed_during_its_poll_gets_no_documents(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    source_id = desk.add()

    def remove() -> None:
        with desk.db.begin() as session:
            session.execute(update(Source).values(removed_at=NOW))

    desk.web.meanwhile = remove
    assert (await desk.poll(source_id)).reason == "the source was removed meanwhile"
    assert desk.documents() == {}


async def test_no_transaction_is_open_while_the_network_is(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    checked_out: list[int] = []
    desk.web.meanwhile = lambda: checked_out.append(desk.db.engine.pool.checkedout())
    await desk.poll(desk.add())
    assert checked_out == [0]


# The other kinds


async def test_a_poll_of_a_page_tells_what_this_look_found_and_costs_one_conditional_request(
    desk: Any
) -> None:
    desk.web.put(PAGE, "<p>High water at nine", etag='"a"')
    source_id = desk.add(PAGE, kind="page")
    first = await desk.poll(source_id)
    same = await desk.poll(source_id, NOW + HOUR)
    desk.web.put(PAGE, "<p>High water at ten", etag='"b"')
    changed = await desk.poll(source_id, NOW + 2 * HOUR)
    assert [(it.outcome, it.reason, it.items_new, it.items_changed) for it in (first, same, changed)] == [
        ("new", "read", 1, 0), ("unchanged", "unchanged, waits for the index", 0, 0),
        ("new", "changed: version 2", 0, 1)]
    assert desk.web.asked == [(PAGE, Validators()), (PAGE, Validators('"a"')), (PAGE, Validators('"a"'))]
    assert not [it for it in desk.documents().values() if it.due_at]
    assert [poll.reason for poll in desk.polls()] == [it.reason for it in (first, same, changed)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Permanent("gone (HTTP 410)"), "gone (HTTP 410)"), (NeedsBrowser("no text"), "no text"),
     (Transient("HTTP 503"), "HTTP 503")],
)
async def test_a_page_that_fails_is_told_by_the_poll_that_met_it_and_so_is_its_return(
    desk: Any, error: Exception, reason: str
) -> None:
    desk.web.put(PAGE, "<p>High water at nine", etag='"a"')
    source_id = desk.add(PAGE, kind="page")
    await desk.poll(source_id)
    desk.web.fail(PAGE, error)
    failed = await desk.poll(source_id, NOW + HOUR)
    assert (failed.outcome, failed.reason) == (PollOutcome.FAILED, reason)
    assert desk.source(source_id).failures == 1
    assert desk.source(source_id).health.startswith(f"failed since 2026-03-02 10:00 UTC: {reason}")
    desk.web.put(PAGE, "<p>High water at nine", etag='"a"')
    back = await desk.poll(source_id, NOW + 2 * HOUR)
    assert (back.outcome, desk.source(source_id).failures) == (PollOutcome.UNCHANGED, 0)
    assert desk.documents()[PAGE].failing_since is None


async def test_a_page_that_fails_for_now_is_polled_when_its_document_is_tried_again(desk: Any) -> None:
    desk.web.fail(PAGE, Transient("HTTP 429", retry_after=timedelta(minutes=7)))
    source_id = desk.add(PAGE, kind="page", every_seconds=86400)
    result = await desk.poll(source_id)
    assert result.next_poll_at == desk.documents()[PAGE].due_at == NOW + timedelta(minutes=7)


@pytest.mark.parametrize("scheduled", [NOW, None])
async def test_a_poll_killed_before_the_read_of_its_page_leaves_the_page_due(
    desk: Any, scheduled: datetime | None
) -> None:
    desk.web.put(PAGE, "<p>High water at nine")
    source_id = desk.add(PAGE, kind="page", next_poll_at=scheduled)

    async def killed(document_id: Any, now: datetime) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        await poll_source(desk.db, desk.web, desk.parsers, source_id, NOW, killed)
    assert (desk.due(), desk.source(source_id).next_poll_at, desk.polls()) == ({PAGE}, scheduled, [])


async def test_a_poll_killed_after_the_read_of_its_page_is_done_again(desk: Any) -> None:
    desk.web.put(PAGE, "<p>High water at nine", etag='"a"')
    source_id = desk.add(PAGE, kind="page")

    async def killed(document_id: Any, now: datetime) -> None:
        await read_document(desk.db, desk.web, desk.parsers, "desk", document_id, now)
        raise SystemExit

    with pytest.raises(SystemExit):
        await poll_source(desk.db, desk.web, desk.parsers, source_id, NOW, killed)
    assert due_sources(desk.db, NOW) == [source_id]
    assert (await desk.poll(source_id)).outcome is PollOutcome.UNCHANGED
    assert desk.documents()[PAGE].content_hash is not None


async def test_a_page_source_whose_page_repeats_another_is_well(desk: Any) -> None:
    desk.web.put("https://tide.example/first", "<p>High water at nine")
    desk.web.put(PAGE, "<p>High water at nine")
    await desk.poll(desk.add("https://tide.example/first", kind="page"))
    result = await desk.poll(source_id := desk.add(PAGE, kind="page"))
    assert (result.outcome, result.reason) == (
        PollOutcome.UNCHANGED, "https://tide.example/first says exactly the same")
    assert desk.source(source_id).failures == 0


async def test_a_page_that_another_worker_is_reading_is_looked_at_after_it(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.web.put(PAGE, "<p>High water at nine")
    source_id = desk.add(PAGE, kind="page")
    await desk.poll(source_id)
    desk.change(leased_by="another/1", leased_until=NOW + timedelta(minutes=5))
    monkeypatch.setattr("tasks.read.batch.SECONDS_BETWEEN_TRIES", 0.01)
    asking = asyncio.create_task(desk.poll(source_id))
    await asyncio.sleep(0.1)
    assert len(desk.web.asked) == 1
    desk.change(leased_by=None, leased_until=None)
    assert (await asking).outcome is PollOutcome.UNCHANGED
    assert len(desk.web.asked) == 2


async def test_a_page_that_its_owner_removed_is_not_looked_at(desk: Any) -> None:
    source_id = desk.add(PAGE, kind="page")
    desk.web.put(PAGE, "<p>High water at nine")
    await desk.poll(source_id)
    desk.change(state=DocumentState.REMOVED)
    result = await desk.poll(source_id)
    assert (result.outcome, result.reason) == (PollOutcome.UNCHANGED, "nothing new, of 1 offered")
    assert len(desk.web.asked) == 1


async def test_a_page_that_a_feed_has_already_is_read_for_both(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    desk.web.put("https://tide.example/1", "<p>Words")
    await desk.poll(desk.add())
    result = await desk.poll(desk.add("https://tide.example/1", kind="page"))
    (document,) = desk.documents().values()
    assert (document.state, document.due_at, document.item_key) == ("read", None, "guid:tide-1")
    assert result.reason == "read"


async def test_single_addresses_have_nothing_to_poll(desk: Any) -> None:
    source_id = desk.add("almanac:single-addresses", kind="url", every_seconds=None, next_poll_at=None)
    result = await desk.poll(source_id)
    assert (result.outcome, result.next_poll_at, desk.web.asked) == (PollOutcome.UNCHANGED, None, [])
