"""The master key: made once, its owner's alone, rotated through a time with both, and never made over."""

from pathlib import Path

import pytest

from almanac.master_key import MasterKeys
from models.sealing import KeyLost, new_key, written

RECORD = ("a", "record")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "master.key"


def test_the_first_key_is_made_once_and_is_its_owners_alone(file: Path) -> None:
    keys = MasterKeys(file)
    assert len(keys()) == 0
    keys.make()
    made = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
    keys.make()
    assert file.read_text() == made


def test_a_rotation_has_both_keys_until_it_is_ended_and_goes_on_where_it_was(file: Path) -> None:
    keys = MasterKeys(file)
    keys.make()
    sealed = keys().seal("secret", RECORD)
    keys.add()
    begun = file.read_text()
    keys.add()  # begun anew after a kill
    assert file.read_text() == begun
    assert keys().open(sealed, RECORD) == "secret"
    assert not keys().is_current(sealed)
    keys.drop_old()
    assert len(keys()) == 1
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"hunter2\n", b"\xff\xfe", b"c2hvcnQ="])
def test_a_file_that_is_no_key_is_said_and_left_alone(file: Path, damage: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(damage)
    for act in (MasterKeys(file), MasterKeys(file).make, MasterKeys(file).add):
        with pytest.raises(KeyLost, match="holds no master key"):
            act()
    assert file.read_bytes() == damage


def test_a_given_key_comes_before_the_one_in_the_file(file: Path) -> None:
    MasterKeys(file).make()
    sealed = MasterKeys(file)().seal("secret", RECORD)
    given = MasterKeys(file, written(new_key()))
    assert given.are_given
    assert given().open(sealed, RECORD) == "secret"
    assert not given().is_current(sealed)
    before = file.read_text()
    given.make()
    assert file.read_text() == before
