"""Waiting for the library: until all is read, until the limit holds the rest back, or until nothing moves."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from almanac.cli import waiting
from almanac.cli.failures import Failed
from almanac.client import Client, NotRunning, Stopping

POLL = {"id": "new", "outcome": "new"}


class Library:
    """Answers each question with the next of what it was given, and then again with the last."""

    def __init__(self, sources: Iterable[Any] = (), run: str = "running", used: int = 0) -> None:
        self.sources, self.run_state, self.used = list(sources), run, used

    def source(self, _: str) -> Any:
        return self.sources.pop(0) if len(self.sources) > 1 else self.sources[0]

    def run(self, _: str) -> Any:
        return {"id": "run-7", "state": self.run_state, "message": "the disk is full"}

    def system(self) -> Any:
        return {"limits": {"articles_per_hour": {"limit": 60, "used": self.used}}}


def source(left: int, **documents: int) -> Any:
    return {"unfinished": left, "documents": documents}


def until_read(library: Library) -> Any:
    return waiting.until_read(cast(Client, library), "id", "reading")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LOOKS", 0.001)

    def be(**seconds: float) -> None:
        for name, value in seconds.items():
            monkeypatch.setattr(waiting, f"{name}_SECONDS", value)

    return be


def test_it_ends_when_nothing_is_on_its_way() -> None:
    looks = [source(2, discovered=2), source(1, indexed=1, read=1), source(0, indexed=2), source(9)]
    assert until_read(Library(looks)) == source(0, indexed=2)


def test_what_the_limit_holds_back_is_not_waited_for(quick: Callable[..., None]) -> None:
    quick(LIMIT_LOOK=0.01)
    assert until_read(Library([source(3, indexed=57, read=3)], used=60))["unfinished"] == 3


@pytest.mark.parametrize(
    ("held", "used"),
    [(source(3, read=3), 59), (source(3, read=2, discovered=1), 60)],
    ids=["there is room under the limit", "one is not read yet"],
)
def test_what_nothing_holds_back_but_does_not_move_is_a_failure(
    quick: Callable[..., None], held: Any, used: int
) -> None:
    quick(LIMIT_LOOK=0.01, STALLED=0.05)
    with pytest.raises(Failed, match="almanac status"):
        until_read(Library([held], used=used))


def test_a_poll_is_known_by_its_id() -> None:
    library = Library([{"last_poll": None}, {"last_poll": None}, {"last_poll": POLL}])
    assert waiting.until_polled(cast(Client, library), "id", None, "run") == POLL


@pytest.mark.parametrize("state", ["completed", "failed", "crashed", "cancelled"])
def test_a_run_that_ended_without_a_poll_is_a_failure_that_names_it(state: str) -> None:
    library = Library([{"last_poll": POLL}], run=state)
    with pytest.raises(Failed, match=rf"{state} \(the disk is full\).*run-7"):
        waiting.until_polled(cast(Client, library), "id", POLL, "run-7")


@pytest.mark.parametrize("end", [Stopping, NotRunning])
def test_what_is_cut_off_by_the_end_of_almanac_is_said_to_go_on_later(end: type[NotRunning]) -> None:
    class Ending(Library):
        def source(self, _: str) -> Any:
            raise end

    with pytest.raises(end) as raised:
        until_read(Ending())
    assert raised.value.detail.startswith(end().detail)
    assert "is kept, and goes on when it runs again" in raised.value.detail


@pytest.mark.parametrize(
    ("state", "due_at", "left"),
    [
        ("discovered", "2020-01-01T00:00:00+00:00", True),
        ("indexed", "2020-01-01T00:00:00+00:00", True),  # asked for again
        ("read", None, True),  # waits for the index
        ("indexed", None, False),
        ("rejected", None, False),
        ("waiting", "2999-01-01T00:00:00+00:00", False),  # a retry at a later time
        ("discovered", None, False),  # never by itself
    ],
)
def test_a_document_is_on_its_way_while_an_attempt_is_due_or_the_index_lacks_it(
    state: str, due_at: str | None, left: bool
) -> None:
    document = {"state": state, "due_at": due_at, "held": None, "file": None}
    assert waiting.of_document(document).left == left


@pytest.mark.parametrize(("state", "reason", "left"), [
    ("pending", None, True), ("queued", None, True), ("processing", None, True), ("ready", None, False),
    ("failed", "locked", False), ("queued", "docling-serve does not answer", False),
])
def test_a_file_is_on_its_way_until_it_is_converted_or_has_to_be_tried_again_later(
    state: str, reason: str | None, left: bool
) -> None:
    file = {"state": state, "reason": reason}
    document = {"state": "discovered", "due_at": None, "held": None, "file": file}
    assert waiting.of_document(document).left == left


def test_a_document_that_the_limits_hold_back_is_not_waited_for() -> None:
    held = {"reason": "60 of 60 articles this hour are indexed", "until": "2999-01-01T00:00:00+00:00"}
    assert not waiting.of_document({"state": "read", "due_at": None, "held": held, "file": None}).left
