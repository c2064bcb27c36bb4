"""How a look at a source is told in one line."""

import pytest

from almanac.cli.source import poll_sentence


@pytest.mark.parametrize(("outcome", "reason", "said"), [
    ("unchanged", "unchanged", "unchanged"),
    ("unchanged", "not modified since the last look", "unchanged: not modified since the last look"),
    ("new", "2 new, of 3 offered", "new: 2 new, of 3 offered"),
])
def test_a_reason_that_only_repeats_the_outcome_is_left_out(outcome: str, reason: str, said: str) -> None:
    assert poll_sentence({"outcome": outcome, "reason": reason}) == said
