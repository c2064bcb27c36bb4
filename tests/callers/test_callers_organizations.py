"""Organizations: whoever is a member reads, some write, and all of it ends with the membership."""

import pytest

from models.session import Database
from tasks.callers import organizations
from tasks.callers.tokens import DATA_FOLDER, ensure_token, make_token, owner_of

pytestmark = pytest.mark.database


def may(db: Database, plain: str) -> tuple[list[str], list[str]] | None:
    bearer = owner_of(db, plain)
    return (bearer.scopes, bearer.writes) if bearer else None


def test_a_members_token_does_no_more_than_its_memberships_let_it(db: Database) -> None:
    organizations.add(db, "choir")
    organizations.add(db, "club")
    assert organizations.admit(db, "choir", "ada", writes=False)
    assert organizations.admit(db, "club", "ada", writes=True)
    _, plain = make_token(db, "ada's phone", principal="ada")
    _, club = make_token(db, "ada's laptop", ["club"], principal="ada")
    assert may(db, plain) == (["choir", "club"], ["club"])
    assert may(db, club) == (["club"], ["club"])
    assert organizations.admit(db, "club", "ada", writes=False)
    assert may(db, club) == (["club"], [])
    assert organizations.dismiss(db, "club", "ada")
    assert may(db, plain) == (["choir"], [])
    assert may(db, club) is None  # it opens nothing any more
    assert organizations.remove(db, "choir")
    assert may(db, plain) is None


@pytest.mark.parametrize(
    ("wanted", "refusal"),
    [
        ({"principal": "nobody"}, "nobody is a member of nothing: `almanac organization admit` first"),
        ({"principal": "ada", "scopes": ["library"]},
         "ada is no member of library: `almanac organization admit` first"),
        ({"principal": "ada", "writes": ["choir"]},
         "ada may not write into choir: `almanac organization admit` with --write first"),
    ],
)
def test_a_token_for_more_than_its_principal_may_is_refused(
    db: Database, wanted: dict[str, object], refusal: str
) -> None:
    organizations.add(db, "choir")
    organizations.admit(db, "choir", "ada", writes=False)
    with pytest.raises(ValueError) as error:
        make_token(db, "x", **wanted)  # type: ignore[arg-type] # a table of them
    assert str(error.value) == refusal


def test_the_owner_is_let_in_like_everybody_and_the_library_needs_nothing(db: Database) -> None:
    ensure_token(db, "the file's")
    assert may(db, "the file's") == (["library"], ["library"])
    organizations.add(db, "family")
    organizations.add(db, "press", public=True)
    assert may(db, "the file's") == (["library"], ["library"])
    organizations.admit(db, "family", "owner", writes=True)
    assert may(db, "the file's") == (["family", "library"], ["family", "library"])
    bearer = owner_of(db, "the file's")
    assert bearer
    assert (bearer.name, bearer.principal, bearer.public) == (DATA_FOLDER, "owner", ["press"])


def test_what_organizations_there_are(db: Database) -> None:
    organizations.add(db, "press", public=True)
    organizations.admit(db, "press", "ada", writes=True)
    organizations.admit(db, "press", "bob", writes=False)
    assert organizations.set_public(db, "press", public=False)
    library, press = organizations.listed(db)
    assert (library["name"], library["members"]) == ("library", [])
    assert (press["name"], press["public"]) == ("press", False)
    assert press["members"] == [{"name": "ada", "writes": True}, {"name": "bob", "writes": False}]
    for name in ("press", " ", "a/b", "x" * 201, "a\0"):
        with pytest.raises(ValueError):
            organizations.add(db, name)
    with pytest.raises(ValueError, match="it cannot be removed"):
        organizations.remove(db, "library")
    assert not organizations.remove(db, "nothing")
    assert not organizations.admit(db, "nothing", "ada", writes=False)
    assert not organizations.dismiss(db, "press", "eve")
    assert not organizations.set_public(db, "nothing", public=True)
