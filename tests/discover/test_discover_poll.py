"""What a poll does to a source: what it costs, when the next one is, and what a bad one must not do."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from models.states import DocumentState, PollOutcome
from models.tables import Source
from tasks.discover.poll import due_sources
from tasks.errors import Permanent, Transient, Unsafe
from tasks.ports import Validators

pytestmark = pytest.mark.database
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FEED = "https://tide.example/feed"
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
    assert (desk.source(source_id).failures, desk.source(source_id).health) == (0, "1 new, of 2 offered")


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


async def test_a_page_is_due_at_every_poll_and_only_its_read_fetches_it(desk: Any) -> None:
    source_id = desk.add("https://tide.example/now", kind="page")
    first = await desk.poll(source_id)
    desk.read_all()
    second = await desk.poll(source_id)
    assert (first.outcome, first.due) == (PollOutcome.NEW, 1)
    assert (second.outcome, second.due, second.reason) == (PollOutcome.UNCHANGED, 1, "its page is read again")
    assert desk.due() == {"https://tide.example/now"}
    assert desk.web.asked == []


@pytest.mark.parametrize(
    ("state", "due"),
    [(DocumentState.REJECTED, NOW), (DocumentState.NEEDS_BROWSER, NOW), (DocumentState.WAITING, NOW + DAY)],
)
async def test_a_page_source_is_as_well_as_the_last_read_of_its_page(
    desk: Any, state: DocumentState, due: datetime
) -> None:
    source_id = desk.add("https://tide.example/now", kind="page")
    await desk.poll(source_id)
    waits = due if state is DocumentState.WAITING else None
    desk.change(state=state, reason="HTTP 404 Not Found", due_at=waits)
    result = await desk.poll(source_id)
    assert (result.outcome, result.reason) == (PollOutcome.FAILED, "HTTP 404 Not Found")
    assert (desk.source(source_id).failures, desk.documents()["https://tide.example/now"].due_at) == (1, due)
    desk.read_all()
    assert (await desk.poll(source_id)).outcome is PollOutcome.UNCHANGED
    assert desk.source(source_id).failures == 0


async def test_a_page_that_a_feed_has_already_is_read_again_for_both(desk: Any, rss: Rss) -> None:
    desk.web.put(FEED, rss(1))
    await desk.poll(desk.add())
    desk.read_all()
    await desk.poll(desk.add("https://tide.example/1", kind="page"))
    (document,) = desk.documents().values()
    assert (document.due_at, document.item_key) == (NOW, "guid:tide-1")


async def test_single_addresses_have_nothing_to_poll(desk: Any) -> None:
    source_id = desk.add("almanac:single-addresses", kind="url", every_seconds=None, next_poll_at=None)
    result = await desk.poll(source_id)
    assert (result.outcome, result.next_poll_at, desk.web.asked) == (PollOutcome.UNCHANGED, None, [])
