"""What is sealed opens for its own record, whole and unchanged, and for nothing else."""

import base64

import pytest

from models.sealing import KeyLost, KeyRing, Tampered, keys_of, new_key, open_values, seal_values, written

SECRET = "sk-TESTONLY-8c2e-0f51"
RECORD = ("credential", "1", "gemini")


def test_a_secret_comes_back_for_its_own_record_and_is_not_seen_in_what_is_stored() -> None:
    ring = KeyRing([new_key()])
    sealed = ring.seal(SECRET, RECORD)
    assert ring.open(sealed, RECORD) == SECRET
    assert SECRET.encode() not in sealed
    assert ring.seal(SECRET, RECORD) != sealed  # a fresh nonce
    assert SECRET not in repr(ring)


@pytest.mark.parametrize("other", [
    ("credential", "2", "gemini"), ("credential", "1"), ("credential", "1", "gemini", ""),
    ("credential1", "", "gemini"), ("credential", "1g", "emini"),
])
def test_a_secret_that_was_moved_to_another_record_is_refused(other: tuple[str, ...]) -> None:
    ring = KeyRing([new_key()])
    with pytest.raises(Tampered, match="belongs to another"):
        ring.open(ring.seal(SECRET, RECORD), other)


def test_every_bit_counts_and_so_does_the_length() -> None:
    ring = KeyRing([new_key()])
    sealed = ring.seal(SECRET, RECORD)
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises((Tampered, KeyLost)):
            ring.open(bytes(changed), RECORD)
        with pytest.raises((Tampered, KeyLost)):
            ring.open(sealed[:place], RECORD)
    with pytest.raises(Tampered):
        ring.open(sealed + b"\0", RECORD)


def test_two_keys_of_one_ring_do_not_open_what_the_other_has_sealed_under_a_false_name() -> None:
    one, other = new_key(), new_key()
    sealed = KeyRing([one]).seal(SECRET, RECORD)
    false = sealed[:1] + KeyRing([other]).seal("", RECORD)[1:9] + sealed[9:]
    with pytest.raises(Tampered):
        KeyRing([one, other]).open(false, RECORD)


def test_the_newest_key_seals_and_the_older_ones_still_open() -> None:
    old, new = new_key(), new_key()
    sealed, both = KeyRing([old]).seal(SECRET, RECORD), KeyRing([new, old])
    assert both.open(sealed, RECORD) == SECRET
    assert not both.is_current(sealed)
    assert both.is_current(both.seal(SECRET, RECORD))
    with pytest.raises(KeyLost, match="which is not here"):
        KeyRing([new]).open(sealed, RECORD)
    with pytest.raises(KeyLost, match="no master key"):
        KeyRing([]).seal(SECRET, RECORD)


def test_each_value_of_a_mapping_is_sealed_for_its_name() -> None:
    ring = KeyRing([new_key()])
    stored = seal_values(ring, {"authorization": SECRET, "x-key": "other"}, RECORD)
    assert SECRET not in str(stored)
    assert open_values(ring, stored, RECORD) == {"authorization": SECRET, "x-key": "other"}
    assert open_values(ring, {"authorization": "from before"}, RECORD) == {"authorization": "from before"}
    for wrong in ({"x-key": stored["authorization"]}, {"x-key": {"sealed": "§"}}, {"x-key": {}}):
        with pytest.raises(Tampered):
            open_values(ring, wrong, RECORD)


def test_keys_are_written_as_base64_and_all_else_is_refused_without_being_repeated() -> None:
    one, other = new_key(), new_key()
    assert keys_of(f"{written(one)}, {written(other)}\n") == [one, other]
    assert keys_of(base64.urlsafe_b64encode(bytes([255] * 32)).decode()) == [bytes([255] * 32)]
    for wrong in ("", "hunter2", written(one)[:-4], written(one + b"x"), "ü" * 44):
        with pytest.raises(ValueError, match="base64 of 32 bytes") as refused:
            keys_of(wrong)
        assert not wrong or wrong not in str(refused.value)
