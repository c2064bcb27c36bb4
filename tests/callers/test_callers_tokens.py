"""Tokens: shown once, stored hashed, ended for good."""

from datetime import timedelta
from hashlib import sha256
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from models.session import Database
from models.tables import ApiToken
from tasks.callers.tokens import ensure_token, list_tokens, make_token, owner_of, revoke_token

pytestmark = pytest.mark.database


def test_a_token_is_shown_once_and_only_its_hash_is_stored(db: Database) -> None:
    row, plain = make_token(db, " the assistant ", ["library", "family", "library"])
    assert plain.startswith("alm_")
    assert len(plain) == len("alm_") + 43  # 256 bits in base64
    with db.begin() as session:
        [stored] = session.query(ApiToken)
    assert stored.hash == sha256(plain.encode()).hexdigest()
    assert list_tokens(db) == [row]
    assert row == {
        "id": str(stored.id), "name": "the assistant", "principal": "owner",
        "scopes": ["family", "library"], "writes": ["family", "library"],
        "created_at": stored.created_at.isoformat(), "last_used_at": None, "revoked_at": None,
    }


def test_no_two_tokens_are_the_same(db: Database) -> None:
    made = [make_token(db, f"twin {n}") for n in range(5)]
    assert len({plain for _, plain in made}) == 5
    assert list_tokens(db) == [row for row, _ in made]
    with pytest.raises(ValueError, match="there is a token of the name twin 3 already"):
        make_token(db, "twin 3")
    revoke_token(db, UUID(made[3][0]["id"]))
    make_token(db, "twin 3")


@pytest.mark.parametrize(
    ("name", "scopes", "refusal"),
    [
        (" ", ["library"], "the name must have 1 to 200 characters: say whom the token is for"),
        ("x" * 201, ["library"], "the name must have 1 to 200 characters: say whom the token is for"),
        ("a\0b", ["library"], "the name must have 1 to 200 characters: say whom the token is for"),
        ("x", [], "a token needs 1 to 32 scopes, each with a name"),
        ("x", ["library", " "], "a token needs 1 to 32 scopes, each with a name"),
        ("x", [str(n) for n in range(33)], "a token needs 1 to 32 scopes, each with a name"),
    ],
)
def test_a_token_for_nobody_or_nothing_is_refused(name: str, scopes: list[str], refusal: str) -> None:
    with pytest.raises(ValueError) as error:
        make_token(None, name, scopes)  # type: ignore[arg-type] # refused before the database is asked
    assert str(error.value) == refusal


def test_a_token_tells_whom_it_belongs_to_until_it_is_revoked(db: Database) -> None:
    row, plain = make_token(db, "phone", ["library"])
    owner = owner_of(db, plain)
    assert owner
    assert (str(owner.id), owner.name, owner.scopes) == (row["id"], "phone", ["library"])
    assert revoke_token(db, owner.id)
    assert owner_of(db, plain) is None
    [ended] = list_tokens(db)
    assert ended["revoked_at"]
    assert revoke_token(db, owner.id)
    assert list_tokens(db) == [ended]


def test_what_is_no_token_belongs_to_nobody(db: Database) -> None:
    row, plain = make_token(db, "phone")
    digest = sha256(plain.encode()).hexdigest()
    near = plain[:-1], plain + "x", plain.upper(), digest, row["id"]
    for wrong in (*near, "", "\ud800", "\0", "x" * 100_000):
        assert owner_of(db, wrong) is None
    assert not revoke_token(db, uuid4())


def test_the_last_use_is_written_down_at_most_once_a_minute(db: Database) -> None:
    _, plain = make_token(db, "phone")

    def last_use_after(ago: timedelta) -> timedelta:
        """How long ago the last use is said to be, after one more use, where it was ``ago`` before."""
        with db.begin() as session:
            session.query(ApiToken).update({"last_used_at": func.now() - ago})
        owner_of(db, plain)
        with db.begin() as session:
            return session.execute(select(func.now() - ApiToken.last_used_at)).scalar_one()

    assert list_tokens(db)[0]["last_used_at"] is None
    owner_of(db, plain)
    assert list_tokens(db)[0]["last_used_at"]
    assert last_use_after(timedelta(seconds=30)) > timedelta(seconds=29)
    assert last_use_after(timedelta(seconds=61)) < timedelta(seconds=29)


def test_the_token_of_the_data_folder_is_valid_and_replaces_the_one_before(db: Database) -> None:
    _, other = make_token(db, "phone")
    for _ in range(2):
        ensure_token(db, "first")
    owner = owner_of(db, "first")
    assert owner
    assert (owner.name, owner.scopes) == ("the data folder's token", ["library"])
    ensure_token(db, "second")
    assert owner_of(db, "first") is None
    assert owner_of(db, "second")
    assert owner_of(db, other)
    assert len(list_tokens(db)) == 3


@pytest.mark.parametrize(
    ("asked", "reads", "writes"),
    [
        ({}, ["library"], ["library"]),
        ({"scopes": ["b", "a"]}, ["a", "b"], ["a", "b"]),
        ({"scopes": ["a", "b"], "writes": ["b"]}, ["a", "b"], ["b"]),
        ({"scopes": ["a"], "writes": ["b"]}, ["a", "b"], ["b"]),
        ({"writes": ["b"]}, ["b"], ["b"]),
        ({"scopes": ["a"], "writes": []}, ["a"], []),
        ({"writes": []}, ["library"], []),
    ],
)
def test_what_the_owners_token_may(
    db: Database, asked: dict[str, list[str]], reads: list[str], writes: list[str]
) -> None:
    _, plain = make_token(db, "one", **asked)
    bearer = owner_of(db, plain)
    assert bearer
    assert (bearer.scopes, bearer.writes, bearer.public) == (reads, writes, [])
