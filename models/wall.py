"""The wall between callers and rows: what a caller's session may touch, and how its scopes are sealed.

Callers' statements run under a login role that owns nothing, and row-level security shows it the rows that
the caller's scopes allow. The scopes are settings of one transaction, each sealed with a key that this role
cannot read: a statement that sets them itself sees nothing. The stages work as the tables' owner, whom no
policy holds.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, text, update
from sqlalchemy.exc import ProgrammingError

from models.tables import CallersLogin

SELECT, INSERT, UPDATE, DELETE = "SELECT", "INSERT", "UPDATE", "DELETE"
GRANTS: Mapping[str, Sequence[str]] = {  # nothing else can be reached; each of them has policies
    "source": (SELECT, INSERT, UPDATE),
    "document": (SELECT, INSERT, UPDATE),
    "document_version": (SELECT, INSERT, UPDATE),
    "chunk": (SELECT, UPDATE),
    "artifact": (SELECT, INSERT, UPDATE),
    "upload_ticket": (INSERT,),
    "poll": (SELECT,),
    "analysis": (SELECT,),
    "gate_result": (SELECT,),
    "crawl_delay": (SELECT,),
    "ranking": (SELECT,),
    "usage_event": (SELECT, INSERT),
    "interest": (SELECT, INSERT, UPDATE, DELETE),
    "judgment": (SELECT, INSERT, UPDATE, DELETE),
}
KINDS = ("reads", "writes", "public")
SET = text("SELECT " + ", ".join(f"set_config('almanac.{kind}', :{kind}, true)" for kind in KINDS))
STAGE = "SET almanac.stage = 'on'"  # counts where the owner is held by policies, too: see ``force``
SECONDS_TO_ANSWER = 10


def sealed(key: bytes, **scopes: Sequence[str]) -> dict[str, str]:
    """The parameters of ``SET`` for a caller with these scopes, by KINDS."""
    return {kind: seal(key, kind, literal(scopes[kind])) for kind in KINDS}


def seal(key: bytes, kind: str, said: str) -> str:
    """What ``caller_scopes`` of the migration checks."""
    inner = sha256(key + f"{kind}{said}".encode()).digest()
    return sha256(key + inner).hexdigest() + said


def literal(scopes: Sequence[str]) -> str:
    """As PostgreSQL writes an array."""
    quoted = ('"' + scope.replace("\\", "\\\\").replace('"', '\\"') + '"' for scope in sorted(set(scopes)))
    return "{" + ",".join(quoted) + "}"


def build(engine: Engine) -> None:
    """Let callers in under a role of their own, or note why there is none; at each start, when the tables are
    there.
    """
    with engine.begin() as connection:
        login = connection.execute(CallersLogin.__table__.select()).one()
    theirs = engine.url.set(username=login.role, password=login.password)
    refused = None
    if not may_sign_in(theirs):
        refused = make_role(engine, login.role, login.password)
        if refused is None and not may_sign_in(theirs):
            refused = f"the role {login.role} may not sign in: let it in by the server's pg_hba.conf"
    with engine.begin() as connection:
        connection.execute(update(CallersLogin).values(refused=refused))
        if refused is None:
            grant(connection, login.role)
        force(connection, forced=refused is not None)


def may_sign_in(url: URL) -> bool:
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        psycopg.connect(address, connect_timeout=SECONDS_TO_ANSWER).close()
    except psycopg.OperationalError:
        return False
    return True


def make_role(engine: Engine, role: str, password: str) -> str | None:
    """Make it, or set its password again; why that may not be. The password does not travel in clear."""
    try:
        with engine.begin() as connection:
            driver: Any = connection.connection.driver_connection
            secret = password.encode(), role.encode(), b"scram-sha-256"
            hidden = driver.pgconn.encrypt_password(*secret).decode()
            there = connection.scalar(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role})
            connection.exec_driver_sql(
                f"{'ALTER' if there else 'CREATE'} ROLE {role} LOGIN NOINHERIT PASSWORD '{hidden}'")
    except ProgrammingError as error:
        if not isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
            raise
        return "the user of ALMANAC_DATABASE_URL may not make roles: give it CREATEROLE, and start again"
    return None


def grant(connection: Connection, role: str) -> None:
    schema = connection.scalar(text("SELECT quote_ident(current_schema())"))
    connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {role}"))
    for table, rights in GRANTS.items():
        connection.execute(text(f"GRANT {', '.join(rights)} ON {table} TO {role}"))


def force(connection: Connection, forced: bool) -> None:
    """Whether policies hold the tables' owner, too: callers then use its sessions, and the stages say that
    theirs are their own.
    """
    asked = text("SELECT relname, relforcerowsecurity FROM pg_class "
                 "WHERE relname = ANY (:names) AND relnamespace = current_schema()::regnamespace")
    now = {row.relname: row.relforcerowsecurity
           for row in connection.execute(asked, {"names": list(GRANTS)})}
    for table in (name for name, already in now.items() if already != forced):
        connection.execute(text(f"ALTER TABLE {table} {'' if forced else 'NO '}FORCE ROW LEVEL SECURITY"))
        connection.execute(text(f"DROP POLICY IF EXISTS stages ON {table}"))
        if forced:
            connection.execute(text(
                f"CREATE POLICY stages ON {table} TO CURRENT_USER "
                "USING ((SELECT current_setting('almanac.stage', true)) = 'on')"))
