"""Whatever a parser does, its document ends with the right failure and the other documents are read."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tasks.errors import NeedsBrowser, NeedsCredential, Permanent, StageError, Transient, Unsafe
from tasks.extract.jail import Jail

PARSERS = {
    name: f"hostile_parsers:{name}"
    for name in (
        "shout", "eat_memory", "loop", "sleep", "leave", "fault", "be_killed", "make_noise", "answer_hugely",
        "answer_a_list", "answer_no_json", "forge", "refuse", "fail", "look_around", "write_a_file",
        "open_many_files", "work",
    )
}
LIMITS: dict[str, Any] = {"memory_bytes": 500_000_000, "wall_seconds": 3.0}
GARBLED = "could not be parsed: the parser gave no JSON"


@pytest.fixture(scope="module", autouse=True)
def _hostile_parsers_can_be_imported() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    jail = Jail(PARSERS, workers=2, **LIMITS)
    yield jail
    jail.close()


MakeJail = Callable[..., Jail]


@pytest.fixture
def make_jail() -> Iterator[MakeJail]:
    made: list[Jail] = []

    def make(**options: Any) -> Jail:
        options.setdefault("parsers", PARSERS)
        options.setdefault("workers", 1)
        made.append(Jail(**options))
        return made[-1]

    yield make
    for jail in made:
        jail.close()


async def shout(jail: Jail, text: str) -> dict[str, Any]:
    return await jail.parse("shout", text.encode(), {})


async def test_a_parser_gets_the_bytes_and_the_context_and_answers_with_json(jail: Jail) -> None:
    answer = await jail.parse("shout", "tide é".encode(), {"url": "https://a.example/", "charset": None})
    assert answer["text"] == "TIDE É"
    assert answer["context"] == {"url": "https://a.example/", "charset": None}


HOSTILE = [
    ("eat_memory", b"", Permanent, "parsing needed more than 0.5 GB of memory"),
    ("sleep", b"", Permanent, "parsing took more than 3 s"),
    ("leave", b"", Permanent, "the leave could not be parsed: the parser crashed (status 3)"),
    ("fault", b"", Permanent, "the fault could not be parsed: the parser crashed (SIGSEGV)"),
    ("be_killed", b"", Transient, "the parser was killed from outside, perhaps for want of memory"),
    ("answer_hugely", b"", Permanent, "the parsed document is larger than 16 MB"),
    ("answer_a_list", b"", Permanent, f"the answer_a_list {GARBLED} object"),
    ("answer_no_json", b"", Permanent,
     "the answer_no_json could not be parsed: TypeError: Object of type object is not JSON serializable"),
    ("forge", b"\xff\xff\xff\xff", Permanent, "the parsed document is larger than 16 MB"),
    ("forge", b"\0\0\0\2}{", Permanent, f"the forge {GARBLED}"),
    ("forge", b"\0\1\0\0" + b"[" * 65536, Permanent, f"the forge {GARBLED}"),
    ("forge", b"\0\0\0\x09{\"half\":", Permanent, "parsing took more than 3 s"),
    ("fail", b"", Permanent, "the fail could not be parsed: LookupError: no such thing"),
]


async def test_each_hostile_document_ends_with_its_reason_and_its_neighbours_are_read(jail: Jail) -> None:
    async def outcome(parser: str, body: bytes) -> StageError | dict[str, Any]:
        try:
            return await jail.parse(parser, body, {})
        except StageError as error:
            return error

    async def with_a_neighbour(number: int, parser: str, body: bytes) -> tuple[Any, dict[str, Any]]:
        failure, neighbour = await asyncio.gather(outcome(parser, body), shout(jail, f"neighbour {number}"))
        return failure, neighbour

    pairs = [with_a_neighbour(number, parser, body) for number, (parser, body, *_) in enumerate(HOSTILE)]
    for number, (failure, neighbour) in enumerate(await asyncio.gather(*pairs)):
        assert (type(failure), failure.reason) == HOSTILE[number][2:]
        assert neighbour["text"] == f"NEIGHBOUR {number}"


async def test_a_page_of_many_attributes_ends_at_the_limit_while_another_is_read(make_jail: MakeJail) -> None:
    jail = make_jail(parsers={"page": "tasks.extract.page:parse"}, workers=2, cpu_seconds=1, wall_seconds=60)
    attributes = " ".join(f"a{number}=1" for number in range(50_000))
    context = {"url": "https://a.example/", "media_type": "text/html", "charset": None}
    bomb = jail.parse("page", f"<html><body><p {attributes}>text</p>".encode(), context)
    page = jail.parse("page", b"<html><body><p>Another page, of one sentence.</p>", context)
    reading = asyncio.create_task(page)
    with pytest.raises(Permanent, match="parsing took more than 1 s of CPU"):
        await bomb
    assert (await reading)["blocks"] == [{"kind": "paragraph", "text": "Another page, of one sentence."}]


async def test_the_budget_of_cpu_is_each_documents_own(make_jail: MakeJail) -> None:
    jail = make_jail(cpu_seconds=1, wall_seconds=60)
    for _ in range(2):
        await jail.parse("work", b"", {"seconds": 0.6})
    with pytest.raises(Permanent, match="parsing took more than 1 s of CPU"):
        await jail.parse("loop", b"", {})


@pytest.mark.parametrize("error", [Transient, Permanent, NeedsBrowser, NeedsCredential, Unsafe])
async def test_a_stage_error_is_raised_again_with_its_reason_on_one_line(
    jail: Jail, error: type[StageError]
) -> None:
    with pytest.raises(error) as raised:
        await jail.parse("refuse", b"", {"error": error.__name__})
    assert type(raised.value) is error
    assert raised.value.reason == "because of the page"


async def test_a_refused_document_does_not_cost_its_child(make_jail: MakeJail) -> None:
    one_by_one = make_jail(**LIMITS)
    before = (await shout(one_by_one, "a"))["pid"]
    with pytest.raises(Permanent):
        await one_by_one.parse("fail", b"", {})
    assert (await shout(one_by_one, "b"))["pid"] == before


async def test_what_a_parser_prints_or_reads_never_meets_the_protocol(jail: Jail) -> None:
    assert await jail.parse("make_noise", b"", {}) == {"stdin": ""}
    assert (await shout(jail, "after"))["text"] == "AFTER"


async def test_a_child_sees_no_secrets_and_writes_and_opens_no_more_than_it_may(
    make_jail: MakeJail, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALMANAC_LLM_KEY", "secret")
    jail = make_jail()
    seen = await jail.parse("look_around", b"", {})
    assert set(seen["environment"]) <= {"PYTHONHASHSEED", "LC_CTYPE"}
    assert seen["folder"] == "/"
    with pytest.raises(Permanent, match="File too large"):
        await jail.parse("write_a_file", b"x", {"path": str(tmp_path / "file")})
    with pytest.raises(Permanent, match="Too many open files"):
        await jail.parse("open_many_files", b"", {})


async def test_a_name_that_is_no_parser_is_a_mistake_of_the_caller(jail: Jail) -> None:
    with pytest.raises(ValueError, match="no parser named 'shuot'"):
        await jail.parse("shuot", b"", {})


async def test_parsers_that_cannot_be_loaded_leave_the_document_for_later(make_jail: MakeJail) -> None:
    jail = make_jail(parsers={"page": "no_such_module:parse"})
    with pytest.raises(Transient, match="did not start: ModuleNotFoundError: No module named"):
        await jail.parse("page", b"", {})


async def test_a_child_is_replaced_after_its_share_of_documents(make_jail: MakeJail) -> None:
    jail = make_jail(documents_per_child=3)
    children = [(await shout(jail, "x"))["pid"] for _ in range(7)]
    assert [len(set(children[i:i + 3])) for i in (0, 3)] == [1, 1]
    assert len(set(children)) == 3
    assert not psutil.pid_exists(children[0])


async def test_a_cancelled_document_is_dropped_and_the_next_gets_its_own_answer(make_jail: MakeJail) -> None:
    jail = make_jail(wall_seconds=1.5)
    await shout(jail, "warm")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(jail.parse("sleep", b"", {}), 0.2)
    assert (await shout(jail, "next"))["text"] == "NEXT"


def test_one_jail_serves_many_event_loops_in_many_threads(jail: Jail) -> None:
    async def ten(name: str) -> list[str]:
        return [a["text"] for a in await asyncio.gather(*(shout(jail, f"{name}{i}") for i in range(10)))]

    async def from_threads() -> list[list[str]]:
        return await asyncio.gather(*(asyncio.to_thread(asyncio.run, ten(name)) for name in "abcd"))

    assert asyncio.run(from_threads()) == [[f"{name}{i}" for i in range(10)] for name in "ABCD"]


async def test_the_jail_costs_a_document_little(make_jail: MakeJail) -> None:
    jail = make_jail()
    jail.warm()
    started = time.perf_counter()
    for _ in range(100):
        await jail.parse("shout", b"x" * 40_000, {})
    assert time.perf_counter() - started < 1.0  # measured: 0.03


def test_closing_leaves_no_process_even_in_the_middle_of_a_document() -> None:
    others = set(psutil.Process().children())
    jail = Jail(PARSERS, workers=2)
    jail.warm()
    assert len(set(psutil.Process().children()) - others) == 2

    async def close_while_reading() -> None:
        reading = asyncio.create_task(jail.parse("sleep", b"", {}))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(jail.close)
        with pytest.raises(Transient, match="being stopped"):
            await reading

    asyncio.run(close_while_reading())
    assert set(psutil.Process().children()) <= others


PARENT = """
import asyncio, sys
from tasks.extract.jail import Jail
jail = Jail({"loop": "hostile_parsers:loop", "sleep": "hostile_parsers:sleep"}, workers=3)
jail.warm()
print("warm", flush=True)
async def main():
    await asyncio.gather(jail.parse("loop", b"", {}), jail.parse("sleep", b"", {}))
asyncio.run(main())
"""


def test_killing_the_parent_leaves_no_child() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env={"PYTHONPATH": str(Path(__file__).parent)}
    )
    assert parent.stdout
    assert parent.stdout.readline() == b"warm\n"
    time.sleep(0.2)  # one loops, one sleeps, one is idle
    children = psutil.Process(parent.pid).children()
    parent.kill()
    parent.communicate()
    assert len(children) == 3
    ends = time.monotonic() + 5
    while any(map(is_alive, children)) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not any(map(is_alive, children))


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # which is dead, and not buried by init yet
    except psutil.NoSuchProcess:
        return False


def test_a_jailed_child_loads_nothing_of_the_rest_of_almanac() -> None:
    code = (
        "import sys, tasks.extract.jailed, tasks.extract.page, tasks.extract.markdown, tasks.extract.jail;"
        "print([m for m in ('torch', 'prefect', 'sqlalchemy', 'playwright', 'httpx') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"


# Feeds and pages whose parsing takes the square of their size; each is small enough to be let in.
QUADRATIC = {
    "feed of attributes": ("feed", b"<rss version='2.0'><channel><item " + b" ".join(
        b"a%d='1'" % number for number in range(60_000)) + b"><title>x</title></item></channel></rss>"),
    "feed of nested tags": ("feed", b"<rss version='2.0'><channel>" + b"<a>" * 300_000 + b"</channel></rss>"),
    "page of attributes": ("page", b"<html><body><p " + b" ".join(
        b"a%d=1" % number for number in range(60_000)) + b">text</p>"),
}


@pytest.mark.parametrize("what", QUADRATIC)
async def test_what_takes_the_square_of_its_size_ends_at_the_limit_with_the_reason(
    what: str, make_jail: MakeJail
) -> None:
    parser, body = QUADRATIC[what]
    jail = make_jail(parsers={"feed": "tasks.discover.feed:parse", "page": "tasks.extract.page:parse"},
                     cpu_seconds=1, wall_seconds=60)
    context = {"url": "https://a.example/", "media_type": "text/xml", "charset": None}
    with pytest.raises(Permanent, match="parsing took more than 1 s of CPU"):
        await jail.parse(parser, body, context)
    neighbour = b"<rss version='2.0'><channel><item><title>Tides</title></item></channel></rss>"
    assert (await jail.parse("feed", neighbour, context))["items"][0]["title"] == "Tides"


async def test_json_that_is_nested_without_end_is_refused_and_not_followed(make_jail: MakeJail) -> None:
    jail = make_jail(parsers={"feed": "tasks.discover.feed:parse"})
    context = {"url": "https://a.example/", "media_type": "application/feed+json", "charset": None}
    for deep in (b"[" * 200_000, b'{"a":' * 200_000):
        body = b'{"version": "https://jsonfeed.org/version/1.1", "items": ' + deep
        with pytest.raises(Permanent, match="its JSON is nested too deeply"):
            await jail.parse("feed", body, context)
