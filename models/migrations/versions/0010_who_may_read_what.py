"""Principals, organizations, memberships; and PostgreSQL itself holds callers to their scopes, row by row."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, UUID

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

READS = ("scopes <@ (SELECT caller_scopes('reads'))"
         " OR (cardinality(scopes) = 1 AND scopes <@ (SELECT caller_scopes('public')))")
WRITES = "scopes <@ (SELECT caller_scopes('writes'))"
OWN = "scopes <@ (SELECT caller_scopes('reads'))"
CHANGED = ("source", "document", "document_version", "chunk", "artifact", "upload_ticket")
SHOWN = ("poll", "analysis", "gate_result")
READERS = ("usage_event", "interest", "judgment")  # a reader's own: written by asking

SORTED = """
    CREATE FUNCTION {schema}.sorted_scopes(scopes text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT array_agg(DISTINCT it COLLATE "C" ORDER BY it COLLATE "C") FROM unnest(scopes) AS it)
"""
# What a setting says, where it is sealed with the key that callers cannot read; none otherwise.
SCOPES = """
    CREATE FUNCTION {schema}.caller_scopes(kind text) RETURNS text[]
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    DECLARE
        given text := current_setting('almanac.' || kind, true);
        said text := substr(given, 65);
    BEGIN
        IF left(given, 64) = (
            SELECT encode(sha256(key || sha256(key || convert_to(kind || said, 'UTF8'))), 'hex')
            FROM {schema}.callers_login
        ) THEN
            RETURN said::text[];
        END IF;
        RETURN NULL;
    END $$
"""


def upgrade() -> None:
    op.create_table(
        "principal",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        made(),
        sa.UniqueConstraint("name", name="uq_principal_name"))
    op.create_table(
        "organization",
        sa.Column("id", UUID(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        made(),
        sa.UniqueConstraint("name", name="uq_organization_name"))
    op.create_table(
        "membership",
        referring("organization_id", "organization"),
        referring("principal_id", "principal"),
        sa.Column("writes", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "principal_id", name="pk_membership"))
    op.create_index("ix_membership_principal_id", "membership", ["principal_id"])
    op.execute("INSERT INTO principal (id, name) VALUES (gen_random_uuid(), 'owner')")
    op.execute("INSERT INTO organization (id, name, public) VALUES (gen_random_uuid(), 'library', false)")
    give_tokens_to_the_owner()
    op.create_table(
        "callers_login",
        sa.Column("role", sa.Text(), primary_key=True),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("refused", sa.Text()))
    op.execute("""
        INSERT INTO callers_login (role, password, key)
        SELECT 'almanac_callers_' || left(md5(gen_random_uuid()::text), 8),
               encode(sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex'),
               sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8'))""")
    schema = op.get_bind().scalar(sa.text("SELECT quote_ident(current_schema())"))
    op.execute(SORTED.format(schema=schema))
    op.create_check_constraint(op.f("ck_document_scopes_sorted"), "document", "scopes = sorted_scopes(scopes)")
    op.execute(SCOPES.format(schema=schema))
    build_the_wall()
    op.create_index("ix_document_recheck", "document", ["id"], postgresql_where=sa.text("recheck IS NOT NULL"))


def give_tokens_to_the_owner() -> None:
    """Tokens went on writing into all that they read; of those with the same name, the oldest keeps it."""
    op.add_column("api_token", sa.Column("principal_id", UUID()))
    op.add_column("api_token", sa.Column("writes", ARRAY(sa.Text())))
    op.execute("""
        UPDATE api_token SET writes = scopes, principal_id = (SELECT id FROM principal),
            name = CASE WHEN EXISTS (
                SELECT FROM api_token AS older WHERE older.name = api_token.name AND older.revoked_at IS NULL
                AND (older.created_at, older.id) < (api_token.created_at, api_token.id)
            ) AND revoked_at IS NULL THEN left(name, 190) || ' ' || left(id::text, 8) ELSE name END""")
    for column in ("principal_id", "writes"):
        op.alter_column("api_token", column, nullable=False)
    op.create_foreign_key("fk_api_token_principal_id", "api_token", "principal", ["principal_id"], ["id"])
    op.create_index("uq_api_token_name", "api_token", ["name"], unique=True,
                    postgresql_where=sa.text("revoked_at IS NULL"))


def build_the_wall() -> None:
    for table in CHANGED:
        policy(table, "reads", "SELECT", using=READS)
        policy(table, "inserts", "INSERT", check=WRITES)
        policy(table, "changes", "UPDATE", using=WRITES, check=WRITES)
    for table in SHOWN:
        policy(table, "reads", "SELECT", using=READS)
    for table in READERS:
        policy(table, "own", "ALL", using=OWN, check=OWN)
    policy("crawl_delay", "reads", "SELECT", using="'library' = ANY ((SELECT caller_scopes('reads'))::text[])")
    for table in (*CHANGED, *SHOWN, *READERS, "crawl_delay"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def policy(table: str, name: str, command: str, using: str | None = None, check: str | None = None) -> None:
    clauses = [f"USING ({using})" if using else "", f"WITH CHECK ({check})" if check else ""]
    op.execute(f"CREATE POLICY {name} ON {table} FOR {command} {' '.join(clauses)}")


def downgrade() -> None:
    op.drop_index("ix_document_recheck", "document")
    tables = (*CHANGED, *SHOWN, *READERS, "crawl_delay")
    for table, name in op.get_bind().execute(sa.text(
            "SELECT tablename, policyname FROM pg_policies WHERE schemaname = current_schema()")).all():
        op.execute(f"DROP POLICY {name} ON {table}")
    for table in tables:
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute("DROP FUNCTION caller_scopes(text)")
    op.drop_constraint("ck_document_scopes_sorted", "document")
    op.execute("DROP FUNCTION sorted_scopes(text[])")
    op.drop_table("callers_login")
    op.drop_index("uq_api_token_name", "api_token")
    op.drop_column("api_token", "principal_id")
    op.drop_column("api_token", "writes")
    for table in ("membership", "organization", "principal"):
        op.drop_table(table)


def made() -> sa.Column[Any]:
    return sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("now()"))


def referring(name: str, table: str) -> sa.Column[Any]:
    key = sa.ForeignKey(f"{table}.id", name=f"fk_membership_{name}", ondelete="CASCADE")
    return sa.Column(name, UUID(), key, nullable=False)
