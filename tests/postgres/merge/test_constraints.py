"""Foreign keys and triggers of the target, with and without the right to let them rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.merge.constraints import table_order
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.model.names import TableName
from tests.support.merging import Pair

SHOP = (
    "create table country (code text primary key)",
    "create table customer (id int primary key, country text not null references country,"
    " boss int references customer)",
    "create table orders (id int primary key, customer int not null references customer, note text)",
    "insert into country values ('a'), ('b')",
    "insert into customer values (1, 'a', null), (2, 'a', 1), (3, 'b', 2)",
    "insert into orders values (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')",
)
CHANGES = (
    "insert into country values ('c')",
    "insert into customer values (4, 'c', 3)",
    "update customer set country = 'c' where id = 3",
    "delete from country where code = 'b'",
    "insert into orders values (4, 4, 'new')",
    "update orders set customer = 4 where id = 1",
    "update customer set boss = null where id = 2",
    "delete from customer where id = 1",
    "delete from orders where id = 2",
    "delete from orders where id = 3; update customer set boss = null where id = 4;"
    " update customer set id = 33 where id = 3",
    "insert into orders values (3, 33, 'again')",
)


@pytest.fixture(params=["superuser", "granted", "owner"])
def pair(databases: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    one = Pair(databases, tmp_path)
    if request.param != "superuser":
        become(one, databases.server, request.param)
    yield one
    one.close()
    if request.param != "superuser":
        with psycopg.connect(databases.target, autocommit=True) as connection:
            role = one.user.split("//")[1].split(":")[0]
            connection.execute(f"drop owned by {role} cascade".encode())


def become(pair: Pair, server: Any, right: str) -> None:
    """Merge as a role that owns the target's tables, and maybe may set session_replication_role."""
    role = f"role_{pair.target.info.dbname}_{right}"
    server.create_role(role)
    pair.user = server.dsn(pair.target.info.dbname, role)
    pair.target.execute(f"grant all on schema public, ddlrepl to {role}".encode())
    if right == "granted":
        pair.target.execute(f"grant set on parameter session_replication_role to {role}".encode())
    pair.target.close()
    pair.target = psycopg.connect(pair.user, autocommit=True)


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["pair"])


def test_foreign_keys_between_target_tables(pair: Pair) -> None:
    pair.both(*SHOP)
    pair.start()
    pair.replicate(*CHANGES)
    assert pair.same("country", "customer", "orders")
    keys = "select conname, condeferrable, condeferred, convalidated from pg_constraint where contype = 'f' order by 1"
    assert pair.target.execute(keys).fetchall() == pair.source.execute(keys).fetchall()


def test_a_row_without_its_parent(pair: Pair, mode: str) -> None:
    pair.both(*SHOP)
    pair.target.execute("create table only_here (code text primary key); insert into only_here values ('a'), ('b')")
    pair.target.execute("alter table customer add foreign key (country) references only_here")
    pair.start()
    if mode != "owner":
        pair.replicate(*CHANGES)
        assert pair.same("customer")
        return
    with pytest.raises(TargetError, match="only_here") as error:
        pair.replicate(*CHANGES)
    assert error.value.code == "INT-104"
    assert "GRANT SET ON PARAMETER" in error.value.hint
    assert pair.target.execute("select count(*) from customer").fetchone() == (3,)


def test_triggers_of_the_target_s_own_rest(pair: Pair, mode: str) -> None:
    """A role that may not set session_replication_role owns the table, and disables them while it merges."""
    pair.both("create table t (id int primary key, v text)")
    pair.target.execute(
        "create function loud() returns trigger language plpgsql as"
        " $$ begin new.v := new.v || '!'; return new; end $$;"
        "create trigger loud before insert on t for each row execute function loud()"
    )
    pair.start()
    pair.replicate("insert into t values (1, 'x')")
    assert pair.target.execute("select v from t").fetchone() == ("x",)
    enabled = pair.target.execute("select tgenabled from pg_trigger where tgname = 'loud'").fetchone()
    assert enabled in (("O",), (b"O",))


def test_moved_rows_never_cascade(pair: Pair, mode: str) -> None:
    pair.both(
        "create table p (id int primary key)",
        "create table c (id int primary key, p int references p on delete cascade on update cascade)",
        "insert into p values (1), (2)",
        "insert into c values (1, 1), (2, 2)",
    )
    pair.start()
    pair.do("update p set id = 10 where id = 1")
    staged = pair.stage(pair.tasks(pair.capture()))
    if mode == "owner":
        with pytest.raises(TargetError, match="cascade") as error:
            pair.merge(staged)
        assert error.value.code == "INT-106"
        assert pair.target.execute("select * from c order by 1").fetchall() == [(1, 1), (2, 2)]
    else:
        pair.merge(staged)
        assert pair.same("p", "c")


def test_order_of_tables(databases: Any, tmp_path: Path) -> None:
    pair = Pair(databases, tmp_path)
    pair.both(*SHOP)
    pair.both("create table x (id int primary key)", "create table y (id int primary key references x)")
    pair.both("alter table x add foreign key (id) references y")
    names = [TableName("public", name) for name in ("orders", "y", "customer", "x", "country")]
    with pair.merging() as (cursor, _):
        ordered = [name.name for name in table_order(cursor, names)]
    assert sorted(ordered) == sorted(name.name for name in names)
    assert [name for name in ordered if name not in "xy"] == ["country", "customer", "orders"]
    pair.close()
