"""Organizations: scopes that have members. Whoever is dismissed reads nothing of theirs from then on."""

from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert

from models.session import Database
from models.tables import LIBRARY_SCOPE, Membership, Organization, Principal

MAX_NAME = 200  # characters, as of a scope


def listed(db: Database) -> list[dict[str, Any]]:
    """All of them, by name: name, public, created_at, ``members`` (name, writes)."""
    with db.begin() as session:
        found = session.scalars(select(Organization).order_by(Organization.name)).all()
        members: dict[Any, list[dict[str, Any]]] = {each.id: [] for each in found}
        for row in session.execute(
                select(Membership.organization_id, Principal.name, Membership.writes)
                .join(Principal, Principal.id == Membership.principal_id).order_by(Principal.name)):
            members[row.organization_id].append({"name": row.name, "writes": row.writes})
    return [{"name": each.name, "public": each.public, "created_at": each.created_at.isoformat(),
             "members": members[each.id]} for each in found]


def add(db: Database, name: str, public: bool = False) -> None:
    """Make one; its name is that of its scope. Raises ValueError, one clear sentence."""
    name = checked(name, "an organization")
    made = insert(Organization).values(name=name, public=public)
    if not db.execute(made.on_conflict_do_nothing(index_elements=["name"]).returning(Organization.id)):
        raise ValueError(f"there is an organization of the name {name} already")


def set_public(db: Database, name: str, public: bool) -> bool:
    """Whether there is one: what is scoped to it alone is read by every caller from now on, or no more."""
    change = update(Organization).where(Organization.name == name).values(public=public)
    return bool(db.execute(change.returning(Organization.id)))


def remove(db: Database, name: str) -> bool:
    """Whether there was one; what it holds stays. Raises ValueError for the library's own."""
    if name == LIBRARY_SCOPE:
        raise ValueError(f"{LIBRARY_SCOPE} holds what your sources bring: it cannot be removed")
    return bool(db.execute(delete(Organization).where(Organization.name == name).returning(Organization.id)))


def admit(db: Database, name: str, who: str, writes: bool) -> bool:
    """Let a principal, who may be new, read what the organization holds, and write into it or not.

    Whether there is such an organization. Raises ValueError for a name that is none.
    """
    who = checked(who, "a member")
    with db.begin() as session:
        organization = session.scalar(select(Organization.id).where(Organization.name == name))
        if organization is None:
            return False
        session.execute(insert(Principal).values(name=who).on_conflict_do_nothing(index_elements=["name"]))
        principal = session.scalar(select(Principal.id).where(Principal.name == who))
        session.execute(
            insert(Membership).values(organization_id=organization, principal_id=principal, writes=writes)
            .on_conflict_do_update(index_elements=[Membership.organization_id, Membership.principal_id],
                                   set_={"writes": writes}))
        return True


def dismiss(db: Database, name: str, who: str) -> bool:
    """Whether there was such a member."""
    of = select(Organization.id).where(Organization.name == name)
    mine = select(Principal.id).where(Principal.name == who)
    gone = delete(Membership).where(Membership.organization_id.in_(of), Membership.principal_id.in_(mine))
    return bool(db.execute(gone.returning(Membership.principal_id)))


def checked(name: str, what: str) -> str:
    if not (name := name.strip()) or len(name) > MAX_NAME or {"\0", "/"} & {*name}:
        raise ValueError(f"the name of {what} must have 1 to {MAX_NAME} characters, and no /")
    return name
