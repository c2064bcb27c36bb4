"""Asking another AI, through the real SDK, of a provider that behaves and misbehaves."""

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from provider import Provider, fails, piece, says, streams, usage
from sqlalchemy import select, true

from models.external import External, Wanting
from models.session import Database
from models.tables import Credential, CredentialDay, Document, DocumentVersion, Errand, Source
from tasks.outside import help as asking
from tasks.outside import record
from tasks.outside.chat import Chat
from tasks.outside.help import INSTRUCTIONS, Help
from tasks.outside.providers import NewCredential
from tasks.outside.shelf import may_be_one
from tasks.outside.usage import Minutes, day_of
from tasks.outside.vault import Vault
from tasks.web.policy import Policy
from tasks.web.transport import GuardedTransport

pytestmark = pytest.mark.database

ADA, BEN = uuid4(), uuid4()
MONGOLIA = "What is the capital of Mongolia?"
ULAANBAATAR = "Ulaanbaatar is the capital of Mongolia."
KEY = "the-key-TESTONLY-of-gemini"


def wanting(
    query: str = MONGOLIA, who: UUID = ADA, scopes: Sequence[str] = ("library",), **more: Any
) -> Wanting:
    given = {"near": (), "recent": False, "clean": str.strip} | more
    return Wanting(query, scopes, uuid4(), who, **given)


@pytest.fixture
def add(vault: Vault, provider: Provider) -> Any:
    def one(key: str = KEY, owner: UUID | None = None, limits: Any = (), **choices: Any) -> UUID:
        given = {"provider": "gemini", "url": provider.url, "limits": dict(limits)} | choices
        return UUID(vault.add(NewCredential(**given), key, owner)["id"])

    return one


def asked(outside: Help, query: str = MONGOLIA, **more: Any) -> External:
    found = outside.ask(wanting(query, **more))
    assert found is not None
    return found


def used(vault: Vault, identity: UUID) -> dict[str, int]:
    return next(it["used"] for it in vault.listed(true()) if it["id"] == str(identity))


def errands(db: Database) -> list[Errand]:
    with db.at_once() as session:
        return list(session.scalars(select(Errand).order_by(Errand.sent_at)))


def test_without_an_enabled_credential_nobody_is_asked(outside: Help, vault: Vault, add: Any) -> None:
    assert outside.ask(wanting()) is None
    vault.change(add(), true(), {"enabled": False})
    add(owner=BEN)
    assert outside.ask(wanting()) is None
    assert errands(vault.db) == []


def test_only_the_question_leaves_and_what_left_is_on_record(
    outside: Help, provider: Provider, add: Any
) -> None:
    identity = add()
    found = asked(outside, "Is ada.krol@mail.example, Ada Krol, at +49 30 1234567, with sk-TESTONLY-5d1f9a?")
    [request] = provider.asked
    leaves = "Is [mail address], [name], at [phone number], with [key]?"
    assert request["messages"] == [{"role": "system", "content": INSTRUCTIONS},
                                   {"role": "user", "content": leaves}]
    assert (request["path"], request["model"], request["key"]) == (
        "/v1/chat/completions", "gemini-2.5-flash-lite", KEY)
    assert request.keys() == {"messages", "model", "stream", "stream_options", "key", "path"}
    assert provider.headers[0].keys() <= {
        "host", "authorization", "content-type", "content-length", "accept", "user-agent"}
    assert provider.headers[0]["user-agent"] == "Almanac"
    assert found.asked == leaves
    [told] = record.asked(outside.db, ADA, ["library"])
    assert (told["question"], told["outcome"], told["tokens"]) == (leaves, "answered", 40)
    [row] = errands(outside.db)
    assert (row.credential_id, row.document_id, row.retrieval_id is not None) == (
        identity, found.document_id, True)
    assert record.asked(outside.db, BEN, ["library"]) == record.asked(outside.db, ADA, ["other"]) == []


def test_an_answer_is_kept_as_a_document_of_little_weight_that_says_whose_it_is(
    outside: Help, add: Any
) -> None:
    add()
    found = asked(outside)
    assert (found.text, found.provider, found.model, found.at_home) == (
        ULAANBAATAR, "Google Gemini", "gemini-2.5-flash-lite", False)
    with outside.db.at_once() as session:
        document = session.get_one(Document, found.document_id)
        source = session.get_one(Source, document.source_id)
        version = session.scalars(select(DocumentVersion).where(
            DocumentVersion.document_id == document.id)).one()
    assert (source.kind, source.name, source.weight) == ("external", "Answers from external AI", 0.1)
    assert (document.title, document.author, document.state, document.due_at) == (
        MONGOLIA, "Google Gemini (gemini-2.5-flash-lite)", "read", None)
    assert (version.text, version.scopes, version.indexed_at) == (ULAANBAATAR, ["library"], None)
    assert found.citation == {
        "title": MONGOLIA, "url": document.url, "source": source.name, "author": document.author,
        "external": True}


def test_the_same_question_and_one_like_it_make_no_second_call(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    first = asked(outside)
    for again in (MONGOLIA, " what is the  capital of mongolia", "so what is the capital of Mongolia?"):
        second = asked(outside, again)
        assert (second.text, second.at_home, second.document_id) == (first.text, True, first.document_id)
    assert len(provider.asked) == 1
    provider.acts = [says("Some three and a half million people live there.")]
    assert not asked(outside, "How many people live in Mongolia?").at_home
    assert len(provider.asked) == 2


@pytest.mark.parametrize(("one", "other", "is_one"), [
    ("Who discovered penicillin?", "Penicillin was discovered by whom?", True),
    ("Who discovered penicillin?", "When was penicillin discovered?", False),
    ("When did the wall fall?", "In which year did the wall fall?", True),
    ("What does status 418 mean?", "What does status 404 mean?", False),
])
def test_questions_for_another_person_time_or_figure_are_two(one: str, other: str, is_one: bool) -> None:
    assert may_be_one(one, other) is is_one


def test_what_is_indexed_is_only_looked_at_where_retrieval_has_found_it(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    first = asked(outside)
    with outside.db.begin() as session:
        document = session.get_one(Document, first.document_id)
        document.version_id, document.state = uuid4(), "indexed"
    alike = "so what is the capital of Mongolia?"
    assert asked(outside, alike, near=[first.document_id]).at_home
    assert asked(outside).at_home
    assert not asked(outside, alike).at_home


@pytest.mark.parametrize("change", [
    {"state": "removed"}, {"expires_at": datetime.now(UTC) - timedelta(hours=1)}])
def test_what_was_removed_or_holds_no_more_is_asked_again(
    outside: Help, provider: Provider, add: Any, change: dict[str, Any]
) -> None:
    add()
    first = asked(outside)
    with outside.db.begin() as session:
        for name, value in change.items():
            setattr(session.get_one(Document, first.document_id), name, value)
    assert not asked(outside).at_home


def test_an_answer_on_the_recent_holds_for_a_day(outside: Help, add: Any) -> None:
    add()
    found = asked(outside, recent=True)
    with outside.db.at_once() as session:
        expires_at = session.get_one(Document, found.document_id).expires_at
    assert timedelta(hours=23) < expires_at - datetime.now(UTC) < timedelta(hours=25)


def test_an_answer_is_for_those_who_may_read_what_its_asker_may(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    asked(outside, scopes=["library", "ada"])
    assert not asked(outside).at_home
    assert asked(outside, scopes=["ada", "library", "more"]).at_home
    assert len(provider.asked) == 2


def test_an_answer_that_a_gate_holds_back_is_not_asked_for_again(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    first = asked(outside)
    with outside.db.begin() as session:
        session.get_one(Document, first.document_id).state = "quarantined"
    found = asked(outside)
    assert (found.text, len(provider.asked)) == (None, 1)
    assert "a quality gate holds it back" in (found.reason or "")


def test_personal_keys_are_asked_before_global_ones_and_those_at_their_limits_are_passed_over(
    outside: Help, vault: Vault, provider: Provider, add: Any
) -> None:
    one = {"requests_per_minute": 1}
    add("global-key-high", priority=90, limits=one)
    add("global-key-low", priority=10)
    add("personal-key-low", owner=ADA, priority=1, limits=one)
    add("personal-key-high", owner=ADA, priority=2, limits=one)
    add("bens-key-of-100", owner=BEN, priority=100)
    for number in range(5):
        asked(outside, f"{number} unlike question{number}?")
    assert provider.keys == ["personal-key-high", "personal-key-low", "global-key-high", "global-key-low",
                             "global-key-low"]


def test_limits_by_the_minute_follow_the_clock_and_what_the_provider_reports(
    outside: Help, vault: Vault, provider: Provider, add: Any, clock: Any
) -> None:
    identity = add(limits={"requests_per_minute": 2, "tokens_per_minute": 10_000})
    provider.acts = [says("A first answer to it.", tokens=9_500)]
    asked(outside, "one?")
    assert used(vault, identity) == {"requests_per_minute": 1, "tokens_per_minute": 9_500,
                                     "requests_per_day": 1, "tokens_per_day": 9_500}
    assert "its limit of this minute is reached" in (asked(outside, "two?").reason or "")
    clock.now += 59.9
    assert "its limit of this minute is reached" in (asked(outside, "two?").reason or "")
    clock.now += 0.2
    provider.acts = [says("Another answer.", tokens=1)]
    assert asked(outside, "two?").text
    assert asked(outside, "three?").text
    assert "minute" in (asked(outside, "four?").reason or "")
    assert used(vault, identity)["requests_per_minute"] == 2
    assert used(vault, identity)["tokens_per_day"] == 9_502


def test_a_minute_is_forgiven_by_a_restart_and_a_day_is_not(
    outside: Help, vault: Vault, provider: Provider, add: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = add(limits={"requests_per_minute": 1, "requests_per_day": 2})
    asked(outside, "one?")
    restarted = replace(outside, vault=Vault(outside.db, vault.keys, minutes=Minutes()))
    assert asked(restarted, "two?").text
    again = replace(outside, vault=Vault(outside.db, vault.keys, minutes=Minutes()))
    assert "its limit of this day is reached" in (asked(again, "three?").reason or "")
    assert used(vault, identity)["requests_per_day"] == 2
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return tomorrow

    monkeypatch.setattr(asking, "datetime", Tomorrow)
    assert asked(again, "three?").text


def test_a_day_is_the_providers_own(vault: Vault, add: Any, provider: Provider) -> None:
    early = datetime(2026, 5, 20, 6, 59, tzinfo=UTC)  # 23:59 of the day before, in California
    gemini, other = (next(iter(vault.rows(Credential.id == add(provider=name, model="m"))))
                     for name in ("gemini", "tide"))
    assert (day_of(gemini, early).day, day_of(gemini, early + timedelta(minutes=1)).day) == (19, 20)
    assert day_of(other, early).day == 20


def test_tokens_of_a_day_that_would_not_do_are_not_begun(outside: Help, provider: Provider, add: Any) -> None:
    identity = add(limits={"tokens_per_day": 500})
    assert "this day" in (asked(outside).reason or "")
    assert provider.asked == []
    with outside.db.at_once() as session:
        assert session.get(CredentialDay, (identity, datetime.now(UTC).date())) is None
    assert used(outside.vault, identity)["requests_per_minute"] == 0


@pytest.mark.parametrize(("headers", "rest"), [
    ({}, 60), ({"retry_after": "1"}, 60), ({"retry_after": "3600"}, 3600), ({"retry_after": "soon"}, 60)])
def test_a_429_is_a_full_minute_used(
    outside: Help, vault: Vault, provider: Provider, add: Any, clock: Any, headers: dict[str, str], rest: int
) -> None:
    identity = add()
    provider.acts = [fails(429, **headers), says(ULAANBAATAR)]
    assert "it says that a limit is reached (HTTP 429)" in (asked(outside).reason or "")
    assert used(vault, identity)["requests_per_minute"] == 15
    assert used(vault, identity)["tokens_per_minute"] == 250_000
    clock.now += rest - 0.1
    assert "its limit of this minute is reached" in (asked(outside).reason or "")
    assert len(provider.asked) == 1
    clock.now += 0.2
    assert asked(outside).text == ULAANBAATAR


BAD = [
    ("500", fails(500, "sk-leaked"), "it is not well (HTTP 500)", "failed"),
    ("503", fails(503, retry_after="2"), "it is not well (HTTP 503)", "failed"),
    ("400", fails(400, '{"error": {"message": "no"}}'), "it does not take the question (HTTP 400)", "failed"),
    ("404", fails(404), "no such model or address", "failed"),
    ("302", fails(302, location="http://127.0.0.1:1/"), "sends elsewhere (HTTP 302)", "failed"),
    ("cut", streams(piece("Ulaan"), declared=99), "it cannot be reached, or broke off", "failed"),
    ("ended early", streams(piece("Ulaanbaatar is the"), "[DONE]"), "its answer broke off", "failed"),
    ("error inside", streams(piece("Ulaan"), {"error": {"message": KEY, "code": 500}}),
     "broke off with an error", "failed"),
    ("limit inside", streams({"error": {"message": "x", "code": 429}}), "a limit is reached", "failed"),
    ("no JSON", streams(b"data: {\"choices\": [\n\n"), "does not speak chat completions", "failed"),
    ("a number", streams("7"), "does not speak chat completions", "failed"),
    ("other JSON", streams({"choices": "none"}), "does not speak chat completions", "failed"),
    ("deep", streams("[" * 100_000), "does not speak chat completions", "failed"),
    ("a page", fails(200, "<html>Sign in</html>"), "does not stream completions", "failed"),
    ("an endless line", streams(b"data: " + b"x" * 2_000_000), "cannot be reached, or broke off", "failed"),
    ("nothing", says(""), "it answered with nothing", "refused"),
    ("blank", says(" \n\u200b\0 "), "it answered with nothing", "refused"),
    ("babble", says("la " * 400), "makes no sense", "refused"),
    ("signs", says("%%% ### ((( ))) *** !!! a"), "makes no sense", "refused"),
    ("a sign-in page", says("<!DOCTYPE html><p>Sign in"), "makes no sense", "refused"),
    ("an object", says('{"answer": 7}'), "makes no sense", "refused"),
    ("a refusal", streams(piece(refusal="I will not"), piece(end="stop"), "[DONE]"), "it has no answer",
     "refused"),
    ("a filter", says("Ulaan", end="content_filter"), "it has no answer", "refused"),
    ("no answer", says("No answer."), "it has no answer", "refused"),
    ("thoughts", says("<think>Hm, Ulaanbaatar?</think>NO ANSWER"), "it has no answer", "refused"),
]


@pytest.mark.parametrize(("act", "why", "outcome"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_goes_wrong_is_told_recorded_and_nothing_of_it_is_kept(
    outside: Help, provider: Provider, add: Any, caplog: pytest.LogCaptureFixture, act: Any, why: str,
    outcome: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    add()
    provider.acts = [act]
    found = asked(outside)
    assert (found.text, found.document_id) == (None, None)
    assert why in (found.reason or "")
    [row] = errands(outside.db)
    assert (row.outcome, row.document_id, row.ended_at is not None) == (outcome, None, True)
    with outside.db.at_once() as session:
        assert session.scalars(select(Document)).all() == []
    for told in (found.reason or "", row.reason or "", caplog.text):
        assert KEY not in told
        assert "sk-leaked" not in told


def test_a_failure_leads_to_the_next_and_the_one_that_failed_is_left_alone_for_a_while(
    outside: Help, provider: Provider, add: Any, clock: Any
) -> None:
    add("first-key-of-all", priority=60)
    add("second-key-of-all")
    provider.by_key = {"first-key-of-all": fails(500), "second-key-of-all": says(ULAANBAATAR)}
    assert asked(outside).text == ULAANBAATAR
    asked(outside, "another?")
    assert provider.keys == ["first-key-of-all", "second-key-of-all", "second-key-of-all"]
    clock.now += 31
    asked(outside, "a third one?")
    assert provider.keys[3:] == ["first-key-of-all", "second-key-of-all"]


def test_a_refusal_is_final(outside: Help, provider: Provider, add: Any) -> None:
    add("first-key-of-all", priority=60)
    add("second-key-of-all")
    provider.acts = [says("NO ANSWER")]
    assert asked(outside).reason == "Google Gemini …-all was asked: it has no answer"
    assert len(provider.asked) == 1


@pytest.mark.parametrize("act", [
    fails(401, json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}})), fails(403),
    fails(400, json.dumps([{"error": {"message": "API key not valid. Please pass a valid API key."}}]))])
def test_a_key_that_its_provider_refuses_is_not_tried_again_until_its_owner_says_so(
    outside: Help, vault: Vault, provider: Provider, add: Any, act: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    identity = add()
    provider.acts = [act, says(ULAANBAATAR)]
    for _ in range(2):
        assert "it refuses the key" in (asked(outside).reason or "")
    assert len(provider.asked) == 1
    assert "it refuses the key" in vault.listed(true())[0]["trouble"]
    assert KEY not in caplog.text
    vault.change(identity, true(), {"enabled": True})
    assert asked(outside).text == ULAANBAATAR


def test_all_that_are_asked_have_one_time_together(outside: Help, provider: Provider, add: Any) -> None:
    add("first-key-of-all", priority=60)
    add("second-key-of-all")
    provider.by_key = {"first-key-of-all": streams(piece("Ulaan"), pause=30.0)}
    found = asked(replace(outside, seconds=1.5))
    assert "it did not answer within" in (found.reason or "")
    assert "there was no time left" in (found.reason or "")
    assert errands(outside.db)[0].outcome == "failed"


def test_an_answer_that_is_too_long_is_cut_behind_a_sentence(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    provider.acts = [says(". ".join(f"A sentence with the number {number}" for number in range(300)))]
    found = asked(outside)
    assert found.was_cut
    assert found.text is not None
    assert 7_000 < len(found.text) <= 8_000
    assert found.text.endswith(".")


def test_an_answer_without_end_is_not_waited_for(outside: Help, provider: Provider, add: Any) -> None:
    add()
    provider.acts = [streams(*(piece(f"Sentence {n} of many. ") for n in range(3000)), declared=10**9)]
    assert asked(outside).was_cut


def test_a_report_of_usage_that_cannot_be_is_not_believed(
    outside: Help, vault: Vault, provider: Provider, add: Any
) -> None:
    identity = add()
    for tokens in (10**15, -5, "many", None):
        provider.acts = [streams(piece("A fine answer."), piece(end="stop"), usage(tokens), "[DONE]")]
        assert asked(outside, f"{tokens} unlike{tokens}?").text
    assert 0 < used(vault, identity)["tokens_per_day"] < 10_000


def test_a_fault_of_ours_is_told_without_the_key_and_the_next_is_asked(
    outside: Help, provider: Provider, add: Any, caplog: pytest.LogCaptureFixture
) -> None:
    add()

    def broken() -> Any:
        raise RuntimeError(f"a fault with {KEY}")

    found = asked(replace(outside, chat=Chat(broken)))
    assert "asking it failed inside Almanac (RuntimeError)" in (found.reason or "")
    assert "a fault with ********" in caplog.text
    assert errands(outside.db)[0].outcome == "failed"


def test_a_server_that_is_not_the_owners_and_not_public_is_never_dialled(
    outside: Help, provider: Provider, add: Any
) -> None:
    add()
    guarded = replace(outside, chat=Chat(lambda: GuardedTransport(Policy())))
    assert "is not public" in (asked(guarded).reason or "")
    assert provider.asked == []


def test_what_says_nothing_or_too_much_does_not_leave(outside: Help, provider: Provider, add: Any) -> None:
    add()
    assert "nothing is left of the question" in (asked(outside, "ada@krol.example?").reason or "")
    assert "ask a shorter one" in (asked(outside, "long " * 500).reason or "")
    assert provider.asked == []


def test_a_key_that_cannot_be_opened_leads_to_the_next(
    outside: Help, vault: Vault, provider: Provider, add: Any
) -> None:
    broken = add("first-key-of-all", priority=60)
    add("second-key-of-all")
    with vault.db.begin() as session:
        session.get_one(Credential, broken).sealed = b"nonsense"
    assert asked(outside).text == ULAANBAATAR
    assert provider.keys == ["second-key-of-all"]
