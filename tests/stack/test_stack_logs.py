"""Logs: their last words, their size, and what must not be in them."""

from pathlib import Path

import pytest

from almanac.stack.logs import last_words, open_log, rotate

AT = "2026-11-30 20:54:38,123"


@pytest.mark.parametrize(
    ("written", "since", "words"),
    [
        ("Traceback…\n  File x\nKeyError: 'a'\n\n", 0, "KeyError: 'a'"),
        ("an older error\nfine\n", 15, "fine"),
        ("an older error\n", 15, ""),
        ("cut meanwhile\n", 5000, "cut meanwhile"),
        ("no connection to postgresql://me:s3cret@/db\n", 0, "no connection to postgresql://me:***@/db"),
        ("\xff\xfe\n", 0, "ÿþ"),
        (f"{AT} CRITICAL almanac.library: no index\n{AT} INFO almanac.library: stopped\n", 0, "no index"),
        (f"{AT} ERROR uvicorn.error: the port is in use\n{AT} INFO it: stopped\n", 0, "the port is in use"),
        (f"{AT} INFO it: stopped\n", 0, "stopped"),
        (f"{AT} ERROR it: failed\nTraceback…\nKeyError: 'a'\n", 0, "KeyError: 'a'"),
        ("2026-11-30 20:54:38 UTC [7] FATAL:  no space\n2026-11-30 20:54:38 UTC [7] LOG:  is shut down\n", 0,
         "2026-11-30 20:54:38 UTC [7] FATAL:  no space"),
        ("", 0, ""),
    ],
)
def test_the_last_words_of_a_log(tmp_path: Path, written: str, since: int, words: str) -> None:
    log = tmp_path / "part.log"
    log.write_text(written, encoding="utf-8")
    assert last_words(log, since) == words


def test_a_log_that_does_not_exist_says_nothing(tmp_path: Path) -> None:
    assert last_words(tmp_path / "none.log") == ""


def test_a_large_log_is_cut_under_its_writer_who_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    with open_log(log) as writer:
        writer.write(b"old\n" * 10)
        writer.flush()
        rotate(log, largest=20)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert (tmp_path / "part.log.1").read_bytes() == b"old\n" * 10


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_bytes(b"line\n")
    rotate(log, largest=20)
    assert log.read_bytes() == b"line\n"


def test_a_log_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    open_log(tmp_path / "part.log").close()
    assert (tmp_path / "part.log").stat().st_mode & 0o777 == 0o600
