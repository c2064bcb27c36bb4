"""The wall in PostgreSQL itself: what statements under the callers' role reach, by direct SQL."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr
from scoped_rows import MARKED, READERS_OWN, SETS, Cell, marks, plant, put, readable
from sqlalchemy import create_engine, func, make_url, select, text, update
from sqlalchemy.exc import IntegrityError, ProgrammingError

from almanac.settings import Settings
from almanac.stack import doctor
from almanac.stack.postgres import Postgres
from models import wall
from models.session import Database
from models.tables import Chunk, CrawlDelay, Document, Interest, Source, Table

pytestmark = pytest.mark.database

READERS = [  # who reads which scopes, and which are open to all
    (["a"], []), (["a", "b"], []), (["library"], []), ([], []), (["A", "{a}", 'a"', "a,b", "\\"], []),
    (["a"], ["press"]), ([], ["press", "a"]),
]
KINDS = [pytest.param(kind, id=str(kind.__table__.name)) for kind in MARKED]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def filled(postgres: Postgres) -> Iterator[Database]:
    name = f"wall_{uuid4().hex}"
    postgres.ensure_database(name, template="template_almanac")
    db = Database(postgres.url(name))
    plant(db)
    yield db
    db.close()


def test_every_table_is_out_of_reach_or_behind_policies(filled: Database) -> None:
    [login] = filled.execute(text("SELECT role FROM callers_login"))
    reached = {row.relname: row.relrowsecurity for row in filled.execute(text("""
        SELECT relname, relrowsecurity FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'p')
        AND (has_table_privilege(:role, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
             OR has_any_column_privilege(:role, oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
        """), {"role": login.role})}
    assert reached == dict.fromkeys(wall.GRANTS, True)
    unmarked = {"upload_ticket", "crawl_delay", "ranking"}
    assert {kind.__table__.name for kind in MARKED} | unmarked == reached.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("reads", "public"), READERS)
def test_a_reader_sees_rows_whose_every_scope_is_held(
    filled: Database, kind: type[Table], reads: list[str], public: list[str]
) -> None:
    caller = filled.caller(reads, public=public)
    wanted = readable(reads, () if kind in READERS_OWN else public)
    question = select(getattr(kind, MARKED[kind]))
    assert [marks(said) for said, in caller.execute(question)] == [{name} for name in SETS if name in wanted]
    for opened in (caller.begin, caller.at_once):
        with opened() as session:
            assert set().union(*map(marks, session.scalars(question))) == wanted


def test_slow_hosts_are_the_librarys(filled: Database) -> None:
    put(filled, [CrawlDelay(host="slow.example", asked=60, kept=5, read_at=func.now())])
    asked = select(CrawlDelay.host)
    assert len(filled.caller(["a", "library"]).execute(asked)) == 1
    assert filled.caller(["a"]).execute(asked) == []


@pytest.mark.parametrize("kind", KINDS[:5])
def test_what_is_only_read_is_not_changed(filled: Database, kind: type[Table]) -> None:
    reader, column = filled.caller(["a", "b"], writes=["b"]), getattr(kind, MARKED[kind])
    with reader.begin() as session:
        touched = session.scalars(update(kind).values({MARKED[kind]: column}).returning(column)).all()
        assert [marks(said) for said in touched] == [{"b"}]
    for scopes in (["a"], ["a", "b"], ["library"]):
        with pytest.raises(ProgrammingError, match="row-level security"):
            reader.execute(update(kind).values(scopes=scopes))
    with pytest.raises(ProgrammingError, match="permission denied"):
        reader.execute(kind.__table__.delete())  # type: ignore[attr-defined]


@pytest.mark.parametrize("scopes", [["library"], ["a", "b"]])
@pytest.mark.parametrize("writes", [[], ["a"]])
def test_nothing_is_put_where_its_giver_may_not_write(
    filled: Database, scopes: list[str], writes: list[str]
) -> None:
    [source, *_] = Cell("new", scopes).rows()
    with pytest.raises(ProgrammingError, match="row-level security"):
        put(filled.caller(["a", "b", "library"], writes), [source])


HIDDEN = [
    "SELECT * FROM callers_login", "SELECT * FROM api_token", "SELECT * FROM membership",
    "SELECT * FROM upload_ticket", "SELECT * FROM chunk_vector", "DROP TABLE chunk", "SET ROLE almanac",
    "ALTER TABLE chunk DISABLE ROW LEVEL SECURITY", "CREATE TABLE mine ()",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
]


@pytest.mark.parametrize("statement", HIDDEN)
def test_what_is_not_theirs_is_refused(filled: Database, statement: str) -> None:
    with pytest.raises(Exception, match=r"permission denied|must be owner"):
        filled.caller(["a", "library"]).execute(text(statement))


WIDER = [
    "SELECT set_config('almanac.reads', '{b}', true)",
    "SELECT set_config('almanac.reads', repeat('0', 64) || '{b}', true)",
    "SELECT set_config('almanac.reads', left(current_setting('almanac.reads'), 64) || '{b}', true)",
    "SELECT set_config('almanac.reads', current_setting('almanac.public'), true)",
    "SELECT set_config('almanac.stage', 'on', true)",
]


@pytest.mark.parametrize("statement", WIDER)
def test_no_session_widens_itself(filled: Database, statement: str) -> None:
    """Whatever it says of itself: it sees no more than before, and mostly nothing."""
    with filled.caller(["a"], public=["b", "library"]).begin() as session:
        session.execute(text(statement))
        assert set().union(*map(marks, session.scalars(select(Interest.topic)))) <= {"a"}


def test_a_session_that_would_do_without_policies_reads_nothing(filled: Database) -> None:
    with filled.caller(["a"]).begin() as session:
        session.execute(text("SET LOCAL row_security = off"))
        with pytest.raises(ProgrammingError, match="row-level security"):
            session.execute(select(Source.id))
        session.rollback()


def test_scopes_end_with_their_transaction(filled: Database) -> None:
    caller = filled.caller(["a"])
    for _ in range(9):  # as psycopg prepares what it has seen some times
        assert len(caller.execute(select(Source.id))) == 1
    with caller.engine.connect() as connection:  # the same one, lent again
        assert connection.scalar(select(func.count(Source.id))) == 0
        assert not connection.scalar(text("SELECT current_setting('almanac.reads', true)"))
    with pytest.raises(TypeError):
        caller.caller(["b"])


@pytest.mark.parametrize("scopes", [["b", "a"], ["a", "a"], [], ["a", "B"]])
def test_a_scope_set_is_sorted_and_not_empty(filled: Database, scopes: list[str]) -> None:
    with pytest.raises(IntegrityError, match="scopes"):
        filled.execute(update(Document).values(scopes=scopes))


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
    plain: Database, postgres: Postgres, tmp_path: Path
) -> None:
    plain.migrate()
    [login] = plain.execute(text("SELECT role, refused FROM callers_login"))
    assert login.refused == (
        "the user of ALMANAC_DATABASE_URL may not make roles: give it CREATEROLE, and start again")
    [_, finding] = doctor.database(Settings(home=tmp_path, database_url=SecretStr(plain.url)))
    assert (finding.what, finding.fine) == ("callers", None)
    assert "give it CREATEROLE" in finding.words
    plant(plain)
    assert len(plain.execute(select(Chunk.id))) == len(SETS)  # the stages
    caller = plain.caller(["a"], public=["press"])
    for kind, column in MARKED.items():
        seen = {said for said, in caller.execute(select(getattr(kind, column)))}
        assert set().union(*map(marks, seen)) == ({"a"} if kind in READERS_OWN else {"a", "press"})
    assert len(caller.execute(update(Chunk).values(state="live").returning(Chunk.id))) == 1
    admin = create_engine(postgres.url(str(plain.engine.url.database)))
    with admin.begin() as connection:
        connection.exec_driver_sql(f"ALTER ROLE {plain.engine.url.username} CREATEROLE")
    admin.dispose()
    again = Database(plain.url)
    again.migrate()
    assert [row.refused for row in again.execute(text("SELECT refused FROM callers_login"))] == [None]
    assert again.caller(["a"]).engine.url.username == login.role
    assert len(again.caller(["a"]).execute(select(Chunk.id))) == 1
    assert len(again.execute(select(Chunk.id))) == len(SETS)
    again.close()
