"""The wall in PostgreSQL itself: what statements under the callers' role reach, by direct SQL."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from almanac.stack.postgres import Postgres
from models import wall
from models.session import Database
from models.tables import Table

pytestmark = pytest.mark.database

SETS = {"a": ["a"], "b": ["b"], "ab": ["a", "b"], "library": ["library"], "press": ["press"],
        "press and a": ["a", "press"]}
READERS = [  # who reads which scopes, which are open to all, and what is seen of SETS
    (["a"], [], {"a"}),
    (["a", "b"], [], {"a", "b", "ab"}),
    (["library"], [], {"library"}),
    ([], [], set()),
    (["A", "{a}", 'a"', "a,b"], [], set()),
    (["a"], ["press"], {"a", "press"}),
    ([], ["press", "a"], {"a", "press"}),
]


def fill(db: Database) -> None:
    """A row of each kind for each of the sets, named after it."""
    with db.begin() as session:
        for name, scopes in SETS.items():
            ids = {"source": uuid4(), "document": uuid4(), "version": uuid4(), "chunk": uuid4()}
            for statement in ROWS:
                session.execute(text(statement), {"name": name, "scopes": scopes, **ids})


ROWS = (
    """INSERT INTO source (id, kind, name, url, scopes, priority, weight, include, exclude, limit_per_poll, mode,
                           paused, failures, health)
       VALUES (:source, 'feed', :name, 'https://e.example/' || :name, :scopes, 50, 0.5, '{}', '{}', 9, 'everything',
               false, 0, '')""",
    """INSERT INTO artifact (id, scopes, name, media_type, size, sha256, packed, preserve, state, attempts)
       VALUES (:document, :scopes, :name, 'text/plain', 1, 'x', false, true, 'ready', 0)""",
    """INSERT INTO document (id, source_id, scopes, url, key, state, reason, attempts, priority, title, artifact_id)
       VALUES (:document, :source, :scopes, :name, :name, 'indexed', '', 0, 50, :name, :document)""",
    """INSERT INTO document_version (id, document_id, scopes, number, blocks, text, content_hash, title, final_url,
                                     extractor, read_at)
       VALUES (:version, :document, :scopes, 1, '[]', :name, 'x', :name, '', 'x', now())""",
    """INSERT INTO chunk (id, version_id, document_id, source_id, scopes, position, text, headings, start, "end",
                          tokens, digest, vector, embedder, state)
       VALUES (:chunk, :version, :document, :source, :scopes, 0, :name, '{}', 0, 1, 1, '', '', 'x', 'live')""",
    """INSERT INTO analysis (version_id, scopes, topics, entities, keywords, summary, category, content_type,
                             confidence, reasons, analyser, analysed_at)
       VALUES (:version, :scopes, '{}', '{}', '{}', :name, '', 'news', 1, '{}', 'x', now())""",
    """INSERT INTO gate_result (id, gate, expectation, severity, reason, observed, source_id, scopes)
       VALUES (:chunk, 'x', 'x', 'warning', :name, '', :source, :scopes)""",
    """INSERT INTO poll (id, source_id, scopes, started_at, finished_at, outcome, reason, items_seen, items_new,
                         items_changed)
       VALUES (:chunk, :source, :scopes, now(), now(), 'new', :name, 0, 0, 0)""",
    """INSERT INTO usage_event (id, retrieval_id, scopes, query, label, used, document_id, version_id, chunk_id, score)
       VALUES (:chunk, :chunk, :scopes, :name, 'K1', true, :document, :version, :chunk, '{}')""",
    """INSERT INTO interest (id, scopes, topic, strength, kept) VALUES (:chunk, :scopes, :name, 1, true)""",
    """INSERT INTO judgment (id, scopes, query, question, document_id, good)
       VALUES (:chunk, :scopes, :name, :name, :document, true)""",
)
SAYING = {  # the column of each table that holds the set's name
    "source": "name", "artifact": "name", "document": "title", "document_version": "text", "chunk": "text",
    "analysis": "summary", "gate_result": "reason", "poll": "reason", "usage_event": "query", "interest": "topic",
    "judgment": "query",
}
READERS_OWN = {"usage_event", "interest", "judgment"}  # what is open to all opens none of these


@pytest.fixture(scope="module")
def filled(postgres: Postgres) -> Iterator[Database]:
    name = f"wall_{uuid4().hex}"
    postgres.ensure_database(name, template="template_almanac")
    db = Database(postgres.url(name))
    fill(db)
    yield db
    db.close()


def test_every_table_is_out_of_reach_or_behind_policies(filled: Database) -> None:
    [login] = filled.execute(text("SELECT role FROM callers_login"))
    reached = {row.relname: row.relrowsecurity for row in filled.execute(text("""
        SELECT relname, relrowsecurity FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'p')
        AND has_any_column_privilege(:role, oid, 'SELECT, INSERT, UPDATE, REFERENCES')"""), {"role": login.role})}
    assert reached == dict.fromkeys(wall.GRANTS, True)
    assert reached.keys() <= Table.metadata.tables.keys()
    assert SAYING.keys() | {"upload_ticket", "crawl_delay"} == reached.keys()


@pytest.mark.parametrize("table", SAYING)
@pytest.mark.parametrize(("reads", "public", "seen"), READERS)
def test_a_reader_sees_rows_whose_every_scope_is_held(
    filled: Database, table: str, reads: list[str], public: list[str], seen: set[str]
) -> None:
    caller = filled.caller(reads, public=public)
    question = text(f"SELECT {SAYING[table]} AS said FROM {table}")
    wanted = {name for name in seen if set(SETS[name]) <= set(reads)} if table in READERS_OWN else seen
    assert {row.said for row in caller.execute(question)} == wanted
    with caller.begin() as session:
        assert {row.said for row in session.execute(question)} == wanted
    with caller.at_once() as session:
        assert {row.said for row in session.execute(question)} == wanted


def test_slow_hosts_are_the_librarys(filled: Database) -> None:
    filled.execute(text("INSERT INTO crawl_delay VALUES ('slow.example', 60, 5, now()) ON CONFLICT DO NOTHING"))
    asked = text("SELECT host FROM crawl_delay")
    assert len(filled.caller(["a", "library"]).execute(asked)) == 1
    assert filled.caller(["a"]).execute(asked) == []


@pytest.mark.parametrize("table", ["source", "document", "document_version", "chunk", "artifact"])
def test_what_is_only_read_is_not_changed(filled: Database, table: str) -> None:
    reader = filled.caller(["a", "b"], writes=["b"])
    with reader.begin() as session:
        touched = session.execute(text(f"UPDATE {table} SET scopes = scopes RETURNING {SAYING[table]}"))
        assert touched.scalars().all() == ["b"]
        session.rollback()
    for scopes in (["a"], ["a", "b"], ["library"]):
        with pytest.raises(ProgrammingError, match="row-level security"):
            reader.execute(text(f"UPDATE {table} SET scopes = :scopes WHERE 'b' = ALL (scopes)"), {"scopes": scopes})
    with pytest.raises(ProgrammingError, match="permission denied"):
        reader.execute(text(f"DELETE FROM {table}"))


@pytest.mark.parametrize("scopes", [["library"], ["a", "b"]])
def test_nothing_is_put_where_its_giver_may_not_write(filled: Database, scopes: list[str]) -> None:
    ids: dict[str, UUID] = {"source": uuid4(), "document": uuid4()}
    for writes in ([], ["a"]):
        with pytest.raises(ProgrammingError, match="row-level security"):
            filled.caller(["a", "b"], writes).execute(text(ROWS[0]), {"name": "new", "scopes": scopes, **ids})


HIDDEN = [
    "SELECT * FROM callers_login", "SELECT * FROM api_token", "SELECT * FROM membership",
    "SELECT * FROM upload_ticket", "SELECT * FROM chunk_vector", "DROP TABLE chunk", "SET ROLE postgres",
    "ALTER TABLE chunk DISABLE ROW LEVEL SECURITY", "CREATE TABLE mine ()", "ALTER ROLE CURRENT_USER BYPASSRLS",
]


@pytest.mark.parametrize("statement", HIDDEN)
def test_what_is_not_theirs_is_refused(filled: Database, statement: str) -> None:
    with pytest.raises(Exception, match="permission denied|must be owner|does not exist|Only roles with"):
        filled.caller(["a", "library"]).execute(text(statement))


WIDER = [
    "SELECT set_config('almanac.reads', '{b}', true)",
    "SELECT set_config('almanac.reads', repeat('0', 64) || '{b}', true)",
    "SELECT set_config('almanac.reads', left(current_setting('almanac.reads'), 64) || '{b}', true)",
    "SELECT set_config('almanac.reads', current_setting('almanac.public'), true)",
    "SELECT set_config('almanac.stage', 'on', true)",
    "SET LOCAL row_security = off",
]


@pytest.mark.parametrize("statement", WIDER)
def test_no_session_widens_itself(filled: Database, statement: str) -> None:
    """Not even one that says itself what it may: it sees no more than before, and mostly nothing."""
    try:
        with filled.caller(["a"], public=["b", "library"]).begin() as session:
            session.execute(text(statement))
            seen = set(session.scalars(text("SELECT topic FROM interest")))
    except ProgrammingError as error:
        assert "row-level security" in str(error)
    else:
        assert seen <= {"a"}


def test_scopes_end_with_their_transaction(filled: Database) -> None:
    caller = filled.caller(["a"])
    for _ in range(9):  # as psycopg prepares what it has seen some times
        assert len(caller.execute(text("SELECT FROM document"))) == 1
    with caller.engine.connect() as connection:  # the same one, lent again
        assert connection.scalar(text("SELECT count(*) FROM document")) == 0
        assert connection.scalar(text("SELECT current_setting('almanac.reads', true)")) in (None, "")
    with pytest.raises(TypeError):
        caller.caller(["b"])


def test_a_caller_s_statement_is_one_trip(filled: Database) -> None:
    caller, sent = filled.caller(["a"]), []
    caller.execute(text("SELECT 1"))
    with caller.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
    sync = driver.pgconn.pipeline_sync
    assert sync  # one Sync, which is what is waited for, ends both statements
    del sent


@pytest.fixture
def plain(postgres: Postgres) -> Iterator[Database]:
    """A database whose owner may not make roles."""
    name = f"plain_{uuid4().hex[:12]}"
    with psycopg.connect(postgres.url("postgres", "postgresql"), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'".encode())
        connection.execute(f"CREATE DATABASE {name} OWNER {name}".encode())
    url = make_url(postgres.url(name)).set(username=name, password="secret")
    db = Database(url.render_as_string(hide_password=False))
    yield db
    db.close()


def test_an_owner_who_may_make_no_roles_is_told_and_callers_are_held_all_the_same(
    plain: Database, postgres: Postgres
) -> None:
    plain.migrate()
    [login] = plain.execute(text("SELECT role, refused FROM callers_login"))
    assert login.refused == (
        "the user of ALMANAC_DATABASE_URL may not make roles: give it CREATEROLE, and start again")
    fill(plain)
    assert len(plain.execute(text("SELECT FROM chunk"))) == len(SETS)  # the stages
    caller = plain.caller(["a"], public=["press"])
    for table, column in SAYING.items():
        seen = {row.said for row in caller.execute(text(f"SELECT {column} AS said FROM {table}"))}
        assert seen == ({"a"} if table in READERS_OWN else {"a", "press"})
    with caller.begin() as session:
        assert session.execute(text("UPDATE chunk SET state = state")).rowcount == 1  # type: ignore[attr-defined]
    admin = create_engine(postgres.url(str(plain.engine.url.database)))
    with admin.begin() as connection:
        connection.exec_driver_sql(f"ALTER ROLE {plain.engine.url.username} CREATEROLE")
    admin.dispose()
    again = Database(plain.url)
    again.migrate()
    assert [row.refused for row in again.execute(text("SELECT refused FROM callers_login"))] == [None]
    assert again.caller(["a"]).engine.url.username == login.role
    assert len(again.caller(["a"]).execute(text("SELECT FROM chunk"))) == 1
    assert len(again.execute(text("SELECT FROM chunk"))) == len(SETS)
    again.close()
