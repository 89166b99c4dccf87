"""Once a channel is active, no UPDATE or DELETE of a user fails that worked before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from airflow_ddlrepl.config.sections.policies import DdlCapture, ReplicaIdentity
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
EVERYTHING = Scope(("*.*",), (), (Joining("*"),))

# name: how it is made; every table has a column v.
TABLES = {
    "keyed": "CREATE TABLE keyed (id int PRIMARY KEY, v text)",
    "keyless": "CREATE TABLE keyless (id int, v text)",
    "deferrable": 'CREATE TABLE "deferrable" (id int PRIMARY KEY DEFERRABLE, v text)',
    "nothing": "CREATE TABLE nothing (id int PRIMARY KEY, v text); ALTER TABLE nothing REPLICA IDENTITY NOTHING",
    "stored": "CREATE TABLE stored (id int, v text, g int GENERATED ALWAYS AS (id + 1) STORED)",
    "stored_key": "CREATE TABLE stored_key (id int, v text, g int GENERATED ALWAYS AS (id + 1) STORED PRIMARY KEY)",
    "stored_unique": "CREATE TABLE stored_unique (id int NOT NULL UNIQUE, v text,"
    " g int GENERATED ALWAYS AS (id + 1) STORED)",
    "stored_full": "CREATE TABLE stored_full (id int PRIMARY KEY, v text, g int GENERATED ALWAYS AS (id + 1) STORED);"
    " ALTER TABLE stored_full REPLICA IDENTITY FULL",
    "partial": "CREATE TABLE partial (id int NOT NULL, v text); CREATE UNIQUE INDEX ON partial (id) WHERE id > 5",
    "parent": "CREATE TABLE parent (id int, v text) PARTITION BY LIST (id);"
    " CREATE TABLE part PARTITION OF parent DEFAULT; ALTER TABLE parent REPLICA IDENTITY FULL",
    "heir": "CREATE TABLE ancestor (id int PRIMARY KEY, v text); CREATE TABLE heir () INHERITS (ancestor)",
    "spaced": "CREATE TABLE spaced (id int, v text) WITH (fillfactor = 50)",
    "unlogged": "CREATE UNLOGGED TABLE unlogged (id int, v text)",
}
VIRTUAL = "CREATE TABLE virtual (id int, v text, g int GENERATED ALWAYS AS (id + 1) VIRTUAL)"


class Shop:
    def __init__(self, databases: Databases) -> None:
        self.dsn = databases.source
        self.tables = dict(TABLES) if databases.server.version < 18 else {**TABLES, "virtual": VIRTUAL}
        self.user: Connection[Any] = connect(self.dsn)
        self.source = self.activated(EVERYTHING, is_active=False)

    def activated(self, scope: Scope, *, is_active: bool = True, **more: Any) -> PostgresSource:
        source = PostgresSource(self.dsn, channel="c", publication="p", slot=f"s_{self.dsn[-8:]}", scope=scope, **more)
        if is_active:
            source.activate()
        return source

    def create(self) -> None:
        for statement in self.tables.values():
            self.user.execute(statement.encode())

    def change(self, *names: str) -> None:
        for name in names or self.tables:
            self.user.execute(f"INSERT INTO \"{name}\" (id, v) VALUES (1, 'a')".encode())
            self.user.execute(f"UPDATE \"{name}\" SET v = 'b'".encode())
            self.user.execute(f'DELETE FROM "{name}"'.encode())

    def left_out(self) -> set[str]:
        return {name.name for name, _ in self.source.membership.unpublished_reasons().values()}

    def identity(self, name: str) -> str:
        row = self.user.execute("SELECT relreplident::text FROM pg_class WHERE relname = %s", [name]).fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture
def shop(databases: Databases) -> Iterator[Shop]:
    made = Shop(databases)
    yield made
    made.source.close()
    made.user.close()


@both
@pytest.mark.parametrize("when", ["before activation", "after it", "without event triggers"])
def test_every_table_can_be_changed(shop: Shop, when: str) -> None:
    if when == "before activation":
        shop.create()
    shop.source = shop.activated(EVERYTHING, ddl=DdlCapture.RELATIONS if "without" in when else DdlCapture.AUTO)
    if when != "before activation":
        shop.create()
    if "without" in when:
        outcomes = shop.source.membership.maintain()
        assert len(outcomes) == len(shop.tables) + 2 and shop.source.membership.maintain().keys() < outcomes.keys()
    shop.change()
    no_way = {"virtual"} if "virtual" in shop.tables else set()
    assert shop.left_out() == {"unlogged"} | no_way
    published = len(shop.source.membership.published())
    assert published == len(shop.tables) + 1 - 1 - len(no_way)  # ancestor and part, without parent, unlogged


@both
@pytest.mark.req("HVR-D-02", "HVR-P-01")
def test_a_new_table_gets_its_identity_at_once(shop: Shop) -> None:
    shop.source = shop.activated(EVERYTHING)
    with connect(shop.dsn) as other:
        other.execute("BEGIN; CREATE TABLE fresh (v text); INSERT INTO fresh VALUES ('a')")
        other.execute("UPDATE fresh SET v = 'b'; COMMIT")
    assert shop.identity("fresh") == "f" and len(shop.source.membership.published()) == 1


@pytest.mark.req("HVR-P-02", "HVR-D-06")
def test_without_a_pattern_no_table_joins(shop: Shop) -> None:
    shop.source = shop.activated(Scope(("*.*",)))
    shop.user.execute("CREATE TABLE fresh (v text)")
    assert shop.source.membership.published() == set() and shop.identity("fresh") == "d"


@both
@pytest.mark.req("HVR-D-74")
def test_older_tables_join_only_under_another_name(shop: Shop) -> None:
    shop.user.execute("CREATE TABLE mine (v text); CREATE TABLE older (v text); CREATE TABLE off_it (v text)")
    shop.source = shop.activated(Scope(("public.mine",), ("*.off*",), (Joining("*"),)))
    shop.user.execute("ALTER TABLE older ADD w int; ALTER TABLE off_it ADD w int")
    assert (
        len(shop.source.membership.published()) == 1
        and len(shop.source.membership.bystanders()) == 1
        and shop.source.membership.maintain() == {}
    )
    shop.user.execute("ALTER TABLE older RENAME TO newer; ALTER TABLE off_it RENAME TO off_too")
    assert len(shop.source.membership.published()) == 2 and shop.source.membership.bystanders() == set()


@both
def test_leave_reports_and_touches_nothing(shop: Shop) -> None:
    shop.create()
    shop.source = shop.activated(EVERYTHING, replica_identity=ReplicaIdentity.LEAVE)
    assert {"keyless", "nothing", "deferrable"} < shop.left_out()
    assert (shop.identity("keyless"), shop.identity("nothing")) == ("d", "n")
    shop.change()
    shop.user.execute("ALTER TABLE keyless ADD PRIMARY KEY (id)")
    assert "keyless" not in shop.left_out()
    shop.user.execute("ALTER TABLE keyless DROP CONSTRAINT keyless_pkey")
    assert "keyless" in shop.left_out()
    shop.change()


@both
@pytest.mark.parametrize("ddl", [DdlCapture.TRIGGERS, DdlCapture.RELATIONS])
def test_a_lost_identity_is_mended(shop: Shop, ddl: DdlCapture) -> None:
    shop.user.execute(
        "CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);"
        "CREATE TABLE c (id int NOT NULL, v text); CREATE UNIQUE INDEX c_id ON c (id);"
        "ALTER TABLE c REPLICA IDENTITY USING INDEX c_id;"
        "CREATE TABLE d (id int PRIMARY KEY, v text); CREATE TABLE e (id int NOT NULL UNIQUE, v text)"
    )
    shop.source = shop.activated(EVERYTHING, ddl=ddl)
    before = shop.source.membership.published()
    for statement in (
        "ALTER TABLE a DROP CONSTRAINT a_pkey",
        "ALTER TABLE b REPLICA IDENTITY NOTHING",
        "DROP INDEX c_id",
        "ALTER TABLE d DROP COLUMN id CASCADE; ALTER TABLE d ADD id int",
        "ALTER TABLE e ADD g int GENERATED ALWAYS AS (1) STORED",
    ):
        shop.user.execute(statement.encode())
    if ddl is DdlCapture.RELATIONS:
        shop.source.membership.maintain()
    shop.change("a", "b", "c", "d", "e")
    assert shop.source.membership.published() == before and shop.left_out() == set()
    shop.source.deactivate()
    assert [shop.identity(name) for name in "abde"] == ["d", "n", "d", "d"]


@both
def test_a_primary_key_that_comes_later_is_enough(shop: Shop) -> None:
    shop.source = shop.activated(EVERYTHING)
    shop.user.execute(
        "CREATE TABLE a (id int, v text); CREATE TABLE b (id int, v text); ALTER TABLE b REPLICA IDENTITY FULL"
    )
    assert shop.identity("a") == "f"
    shop.user.execute("ALTER TABLE a ADD PRIMARY KEY (id); ALTER TABLE b ADD PRIMARY KEY (id)")
    assert (shop.identity("a"), shop.identity("b")) == ("d", "d")
    shop.change("a", "b")


@both
def test_unlogged_tables_join_when_they_are_logged(shop: Shop) -> None:
    shop.user.execute("CREATE UNLOGGED TABLE u (id int PRIMARY KEY, v text); INSERT INTO u VALUES (1, 'a')")
    shop.source = shop.activated(EVERYTHING)
    assert shop.left_out() == {"u"}
    shop.user.execute("ALTER TABLE u SET LOGGED")
    assert shop.left_out() == set() and len(shop.source.membership.published()) == 1


@both
def test_concurrent_creators_do_not_wait_for_each_other(shop: Shop) -> None:
    shop.source = shop.activated(EVERYTHING)
    with connect(shop.dsn, autocommit=False) as first, connect(shop.dsn) as second:
        first.execute("CREATE TABLE one (v text)")
        second.execute("CREATE TABLE two (v text); UPDATE two SET v = 'a'")
        first.commit()
    assert shop.left_out() == {"two"}
    assert list(shop.source.membership.maintain().values()) == ["filled"]
    assert shop.left_out() == set() and len(shop.source.membership.published()) == 2
