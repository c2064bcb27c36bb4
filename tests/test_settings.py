"""Settings from the environment."""

import pytest

from almanac.settings import Settings


def test_a_setting_that_is_empty_is_as_good_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALMANAC_HOME", raising=False)
    unset = Settings().home
    monkeypatch.setenv("ALMANAC_HOME", "")
    assert Settings().home == unset
