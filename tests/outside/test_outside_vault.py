"""The vault: keys go in and are shown by their last four characters, and what cannot be opened is said."""

from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import sleep
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text, true, update

from almanac.master_key import MasterKeys
from models.headers import header_record, open_headers
from models.sealing import new_key, seal_values, written
from models.session import Database
from models.tables import Credential, Source
from tasks.errors import Away, Permanent, Transient
from tasks.outside.providers import NewCredential
from tasks.outside.vault import ROTATION, Vault, of_caller

pytestmark = pytest.mark.database

KEY = "AIza-TESTONLY-planted-7Q4z"
ADA, BEN = uuid4(), uuid4()


def added(vault: Vault, key: str = KEY, owner: UUID | None = None, **choices: Any) -> UUID:
    return UUID(vault.add(NewCredential(**{"provider": "gemini"} | choices), key, owner)["id"])


def row(vault: Vault, identity: UUID) -> Credential:
    [found] = vault.rows(Credential.id == identity)
    return found


def test_gemini_is_prefilled_and_of_its_key_four_characters_are_shown(vault: Vault) -> None:
    told = vault.add(NewCredential("gemini"), f"  {KEY}\n", None)
    assert told == {
        "id": told["id"], "provider": "gemini", "title": "Google Gemini",
        "url": "https://generativelanguage.googleapis.com/v1beta/openai/", "model": "gemini-2.5-flash-lite",
        "owner": "global", "last_four": "7Q4z", "priority": 50, "enabled": True, "trouble": None,
        "limits": {"requests_per_minute": 15, "tokens_per_minute": 250_000, "requests_per_day": 1_000,
                   "tokens_per_day": None},
        "used": {"requests_per_minute": 0, "tokens_per_minute": 0, "requests_per_day": 0,
                 "tokens_per_day": 0}}
    assert vault.key_of(row(vault, UUID(told["id"]))) == KEY


def test_of_a_short_key_nothing_is_shown(vault: Vault) -> None:
    assert vault.add(NewCredential("gemini"), "ollama", None)["last_four"] == ""


@pytest.mark.parametrize(("wanted", "why"), [
    ({"provider": "Gemini!"}, "small letters"),
    ({"provider": "tide"}, "give the address of its OpenAI-compatible API"),
    ({"provider": "tide", "url": "ftp://tide.example"}, "https://"),
    ({"provider": "tide", "url": "https://tide.example/v1"}, "needs the name of a model"),
    ({"provider": "tide", "url": "http://tide.example/v1", "model": "m"}, "https addresses only"),
    ({"provider": "openai"}, "needs the name of a model"),
    ({"provider": "gemini", "priority": 101}, "0 to 100"),
    ({"provider": "gemini", "limits": {"tokens_per_day": 0}}, "give 1 or more"),
    ({"provider": "gemini", "limits": {"tokens": 1}}, "there is no limit"),
])
def test_what_cannot_be_is_said_in_one_sentence(vault: Vault, wanted: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        vault.add(NewCredential(**wanted), KEY, None)
    assert vault.listed(true()) == []


@pytest.mark.parametrize("key", ["", " \n", "two words", "schlüssel", "a\nb", "k" * 5000])
def test_what_is_no_key_is_refused_without_being_repeated(vault: Vault, key: str) -> None:
    with pytest.raises(ValueError, match="key") as refused:
        vault.add(NewCredential("gemini"), key, None)
    assert not key.strip() or key not in str(refused.value)


def test_a_key_in_the_clear_goes_to_the_owners_own_servers_only(vault: Vault) -> None:
    added(vault, provider="mine", url="http://127.0.0.1:8000/v1", model="m")


def test_each_sees_their_own_and_the_owner_those_for_everybody(vault: Vault) -> None:
    common, adas = added(vault), added(vault, owner=ADA)
    assert [it["id"] for it in vault.listed(of_caller(ADA, False))] == [str(adas)]
    assert [it["id"] for it in vault.listed(of_caller(BEN, True))] == [str(common)]
    assert vault.listed(of_caller(BEN, False)) == []
    assert not vault.remove(adas, of_caller(BEN, True))
    assert vault.change(common, of_caller(ADA, False), {"enabled": False}) is None
    assert vault.remove(adas, of_caller(ADA, False))
    assert not vault.remove(adas, of_caller(ADA, False))


def test_personal_ones_come_first_then_priority_then_gemini(vault: Vault) -> None:
    other = {"provider": "tide", "url": "https://tide.example/v1", "model": "m"}
    low, tide, gemini = added(vault, priority=1), added(vault, **other), added(vault)
    mine, high = added(vault, owner=ADA, priority=2, **other), added(vault, priority=51, **other)
    assert [each.id for each in vault.rows(true())] == [mine, high, gemini, tide, low]


def test_a_credential_can_be_changed_and_its_key_replaced(vault: Vault) -> None:
    identity = added(vault)
    vault.db.execute(update(Credential).values(refused="it refuses the key (HTTP 401)"))
    changes = {"priority": 7, "enabled": False, "tokens_per_day": 5, "requests_per_day": None}
    told = vault.change(identity, true(), changes)
    assert told is not None
    assert (told["priority"], told["enabled"], told["trouble"]) == (7, False, "it refuses the key (HTTP 401)")
    assert (told["limits"]["tokens_per_day"], told["limits"]["requests_per_day"]) == (5, None)
    told = vault.change(identity, true(), {"enabled": True}, "another-key-of-hers-9999")
    assert told is not None
    assert (told["last_four"], told["trouble"]) == ("9999", None)
    assert vault.key_of(row(vault, identity)) == "another-key-of-hers-9999"
    for wrong in ({"url": "https://evil.example"}, {"priority": -1}, {"tokens_per_day": 0}):
        with pytest.raises(ValueError, match=r"cannot be changed|give"):
            vault.change(identity, true(), wrong)


@pytest.mark.parametrize("tampering", [
    "UPDATE credential SET url = 'https://evil.example/v1/' WHERE id = :victim",
    "UPDATE credential SET provider = 'evil' WHERE id = :victim",
    "UPDATE credential SET principal_id = NULL WHERE id = :victim",
    "UPDATE credential SET sealed = substr(sealed, 1, 40) WHERE id = :victim",
    "UPDATE credential SET sealed = '' WHERE id = :victim",
    "UPDATE credential SET sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) WHERE id = :victim",
    "UPDATE credential SET sealed = (SELECT sealed FROM credential WHERE id = :other) WHERE id = :victim",
])
def test_a_record_that_was_tampered_with_in_the_database_is_refused(vault: Vault, tampering: str) -> None:
    victim, other = added(vault, owner=ADA), added(vault, "another-key-of-hers-9999", owner=ADA)
    with vault.db.begin() as session:
        session.execute(text(f"{tampering} AND :other <> id"), {"victim": victim, "other": other})
    with pytest.raises(Permanent, match="its key cannot be opened"):
        vault.key_of(row(vault, victim))
    [told] = [it for it in vault.listed(true()) if it["id"] == str(victim)]
    assert told["trouble"].startswith("its key cannot be opened")
    assert vault.key_of(row(vault, other)) == "another-key-of-hers-9999"


def source(vault: Vault, **headers: Any) -> Source:
    address = "https://tide.example/feed"
    made = Source(id=uuid4(), kind="feed", name="Tide tables", url=address, headers=headers)
    with vault.db.begin() as session:
        session.add(made)
    return made


def headers_of(vault: Vault, made: Source) -> dict[str, str]:
    with vault.db.begin() as session:
        stored = session.get_one(Source, made.id).headers
    return open_headers(vault.db.keys, made.id, made.url, stored)


def test_headers_from_before_there_was_a_vault_are_sealed_at_the_next_start(vault: Vault) -> None:
    made = source(vault, authorization="tok_TESTONLY_9f3a")
    assert vault.prepare() is None
    with vault.db.begin() as session:
        assert "tok_TESTONLY_9f3a" not in str(session.get_one(Source, made.id).headers)
    assert headers_of(vault, made) == {"authorization": "tok_TESTONLY_9f3a"}


def test_headers_that_cannot_have_been_sealed_are_a_loss_and_no_more(vault: Vault) -> None:
    source(vault, authorization={"sealed": "§"})
    assert "the headers of Tide tables" in (vault.prepare() or "")
    assert added(vault)


def test_a_rotation_seals_everything_under_a_new_key_and_lets_go_of_the_old_one(
    vault: Vault, keys: MasterKeys, tmp_path: Path
) -> None:
    identity, made = added(vault), source(vault, authorization="tok_TESTONLY_9f3a")
    before = (tmp_path / "keys" / "master.key").read_text()
    assert vault.rotate() == {"sealed": 2, "left": 0}
    after = (tmp_path / "keys" / "master.key").read_text()
    assert (len(keys()), before.strip() in after) == (1, False)
    assert vault.key_of(row(vault, identity)) == KEY
    assert headers_of(vault, made) == {"authorization": "tok_TESTONLY_9f3a"}


def test_two_do_not_rotate_at_once(vault: Vault) -> None:
    with vault.db.lock(ROTATION), pytest.raises(Transient, match="already"):
        vault.rotate()


def test_who_is_sealing_keeps_the_old_key_from_going(vault: Vault, keys: MasterKeys) -> None:
    """A key that was taken in hand before the rotation seals a record after it has looked at all others."""
    with vault.db.begin() as session:
        ring = vault.db.sealing(session)
        keys.add()
        late = Credential(id=uuid4(), provider="gemini", url="https://a.example/", model="m", last_four="")
        late.sealed = ring.seal(KEY, ("credential", str(late.id), "gemini", "https://a.example/", ""))
        session.add(late)
    vault._let_old_keys_go()
    assert len(keys()) == 2
    vault.seal_anew()
    assert len(keys()) == 1
    assert vault.key_of(row(vault, late.id)) == KEY


def rotate_for_ever(url: str, folder: str) -> None:
    keys = MasterKeys(Path(folder) / "keys" / "master.key")
    vault = Vault(Database(url, pool_size=2, keys=keys), keys)
    while True:
        with suppress(Transient):  # PostgreSQL has not noticed yet that the one before was killed
            vault.rotate()


def test_a_rotation_that_is_killed_at_any_moment_loses_nothing(
    vault: Vault, keys: MasterKeys, tmp_path: Path
) -> None:
    secrets = {added(vault, f"a-long-key-{n:04}"): f"a-long-key-{n:04}" for n in range(20)}
    made, chance = source(vault, authorization="tok_TESTONLY_9f3a"), Random(9)
    vault.prepare()
    file = tmp_path / "keys" / "master.key"
    for _ in range(8):
        before = file.read_text()
        process = get_context("fork").Process(target=rotate_for_ever, args=(vault.db.url, str(tmp_path)))
        process.start()
        while file.read_text() == before:
            sleep(0.001)
        sleep(chance.uniform(0, 0.1))
        process.kill()
        process.join()
        assert {it.id: vault.key_of(it) for it in vault.rows(true())} == secrets
        assert headers_of(vault, made) == {"authorization": "tok_TESTONLY_9f3a"}
    while len(keys()) > 1:
        vault.seal_anew()
    assert {it.id: vault.key_of(it) for it in vault.rows(true())} == secrets
    assert all(keys().is_current(it.sealed) for it in vault.rows(true()))


def test_a_lost_master_key_is_said_with_all_that_is_lost_and_none_is_made_in_its_place(
    vault: Vault, keys: MasterKeys, tmp_path: Path
) -> None:
    identity, file = added(vault), tmp_path / "keys" / "master.key"
    source(vault, authorization="tok_TESTONLY_9f3a")
    vault.prepare()
    kept = file.read_text()
    file.unlink()
    lost = vault.prepare()
    assert lost == vault.lost()
    assert lost is not None
    assert lost.startswith("the master key is lost, and with it the headers of Tide tables, the key of "
                           "Google Gemini …7Q4z: put the master key back")
    for refused in (lambda: added(vault), vault.rotate):
        with pytest.raises(Away, match="the master key is lost"):
            refused()
    assert not file.exists()
    assert "cannot be opened" in vault.listed(true())[0]["trouble"]
    file.write_text(kept)
    assert vault.prepare() is None
    assert vault.key_of(row(vault, identity)) == KEY


def test_once_what_is_lost_was_removed_there_is_a_new_master_key(vault: Vault, tmp_path: Path) -> None:
    identity, file = added(vault), tmp_path / "keys" / "master.key"
    file.unlink()
    vault.remove(identity, true())
    added(vault)
    assert file.exists()


def test_another_master_key_in_the_place_of_the_old_one_is_a_loss_too(vault: Vault, tmp_path: Path) -> None:
    added(vault)
    (tmp_path / "keys" / "master.key").write_text(written(new_key()))
    assert "Google Gemini …7Q4z" in (vault.prepare() or "")
    (tmp_path / "keys" / "master.key").write_text("hunter2")
    assert "holds no master key" in (vault.prepare() or "")
    [told] = vault.listed(true())
    for refused in (lambda: added(vault), vault.rotate,
                    lambda: vault.change(UUID(told["id"]), true(), {}, "another-key-of-hers")):
        with pytest.raises(Away, match="holds no master key"):
            refused()


def test_a_given_key_takes_the_place_of_the_one_in_the_file(vault: Vault, tmp_path: Path) -> None:
    identity = added(vault)
    given = MasterKeys(tmp_path / "keys" / "master.key", written(new_key()))
    vault.db.keys = given
    after = Vault(vault.db, given)
    assert after.prepare() is None
    (tmp_path / "keys" / "master.key").unlink()
    assert after.key_of(row(after, identity)) == KEY
    with pytest.raises(ValueError, match="in front of it"):
        after.rotate()


def test_headers_are_sealed_for_their_source_and_its_host(vault: Vault) -> None:
    one, ring = source(vault), vault.keys()
    sealed = seal_values(ring, {"x-key": "secret"}, header_record(one.id, one.url))
    assert open_headers(vault.keys, one.id, "https://tide.example/moved", sealed) == {"x-key": "secret"}
    for identity, url in ((uuid4(), one.url), (one.id, "https://evil.example/feed")):
        with pytest.raises(Exception, match="belongs to another"):
            open_headers(vault.keys, identity, url, sealed)
