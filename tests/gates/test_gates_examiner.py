"""The process that judges comes when asked, goes when idle, and lets nothing pass when it goes wrong."""

import subprocess
import sys
import time

import pytest

from models.states import Severity
from tasks.errors import Transient
from tasks.gates.examiner import Examiner
from tasks.gates.suite import Expectation, Suite

ONE = Suite(
    "one",
    (
        Expectation(
            "e", "expect_column_values_to_be_between", "n", Severity.CRITICAL, "r", False, {"min_value": 1}
        ),
    ),
)
READY = "import sys, json, time; print('{\"ready\": true}', flush=True); sys.stdin.readline(); "
ANSWER = "print('{\"refused\": [[0]]}', flush=True); "


def examiner(script: str, **limits: float) -> Examiner:
    return Examiner(command=[sys.executable, "-c", script], **limits)


def test_an_answer_names_rows_and_the_process_stays() -> None:
    one = examiner(READY + ANSWER + "sys.stdin.readline(); " + ANSWER + "time.sleep(60)")
    assert one.pid is None
    assert one.examine(ONE, {"n": [0]}) == [[0]]
    first = one.pid
    assert (one.examine(ONE, {"n": [0]}), one.pid) == ([[0]], first)
    one.close()
    assert one.pid is None


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("raise SystemExit(1)", "ended without an answer"),
        ('print(\'{"failed": "ImportError: no such thing"}\', flush=True)', "cannot start: ImportError"),
        ("import time; time.sleep(60)", "did not answer in time"),
        (READY + "raise SystemExit(1)", "ended without an answer"),
        (READY + "time.sleep(60)", "did not answer in time"),
        (READY + "print('no JSON', flush=True); time.sleep(60)", "ended without an answer"),
        (READY + 'print(\'{"failed": "ValueError: no column"}\', flush=True)', "cannot judge: ValueError"),
    ],
)
def test_one_that_dies_hangs_or_cannot_begin_is_transient_and_gone(script: str, says: str) -> None:
    one = examiner(script, start_seconds=1.0, answer_seconds=1.0)
    with pytest.raises(Transient, match=says):
        one.examine(ONE, {"n": [0]})
    assert one.pid is None


def test_after_a_failure_it_is_started_anew() -> None:
    one = examiner(READY + "raise SystemExit(1)")
    for _ in range(2):
        with pytest.raises(Transient):
            one.examine(ONE, {"n": [0]})


def test_it_ends_after_some_idle_time_and_comes_back() -> None:
    one = examiner(READY + ANSWER + "time.sleep(60)", idle_seconds=0.2)
    one.examine(ONE, {"n": [0]})
    deadline = time.monotonic() + 10
    while one.pid and time.monotonic() < deadline:
        time.sleep(0.05)
    assert one.pid is None
    assert one.examine(ONE, {"n": [0]}) == [[0]]
    one.close()


def test_a_closed_one_starts_nothing() -> None:
    one = examiner(READY)
    one.close()
    with pytest.raises(Transient, match="being stopped"):
        one.examine(ONE, {"n": [0]})


def test_whoever_asks_does_not_import_what_judges() -> None:
    heavy = (
        "import sys, almanac.wiring, tasks.gates.gate; "
        "print({'great_expectations', 'pandas'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
