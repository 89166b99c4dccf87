"""A source whose tables and columns have no ids, such as files or MariaDB, keeps them apart by its statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.flow.cutover.condition import Code
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.file_engine.source import FileDatabase, Row, rows, statement, truncate
from tests.conformance.file_engine.target import FileTarget
from tests.conformance.runs import run_and_die
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

NUMBER, TEXT = DataType("bigint", "pg_catalog", "int8"), DataType("text", "pg_catalog", "text")


def named(table: str) -> TableName:
    return TableName("public", table)


def shape(name: str, *columns: str) -> Table:
    """The first column is the key; `id` and `n` are numbers."""
    found = [Column(i, c, NUMBER if c in ("id", "n") else TEXT, c != columns[0]) for i, c in enumerate(columns, 1)]
    return Table(0, named(name), tuple(found), Key((1,), f"{name}_pkey", is_primary=True))


class Shop:
    """A channel from files into a target of any engine."""

    def __init__(self, folder: Path, target: str, **more: Any) -> None:
        self.source, self.location = FileDatabase(folder / "source"), target
        self.replica = Replica("", "", channel_file(folder, f"files://{folder}/source", target, **more))

    def insert(self, table: str, **row: str | None) -> dict[str, object]:
        return rows("insert", named(table), new=row)

    def start(self) -> None:
        self.source.commit(
            statement("create table orders (id bigint primary key, note text)", shape("orders", "id", "note")),
            *(self.insert("orders", id=str(i), note=f"order {i}") for i in range(1, 6)),
        )
        self.replica.activate()

    def rows_there(self, name: TableName, columns: list[str]) -> list[list[str | None]]:
        if self.location.startswith("files"):
            table = FileTarget(self.location, "shop").files.read(name)
            assert table is not None
            ids = {c.name: str(c.id) for c in table.shape.columns}
            return [[row[ids[c]] for c in columns] for row in table.rows]
        query = f'select {", ".join(f"cast({c} as varchar)" for c in columns)} from "{name.schema}"."{name.name}"'
        if self.location.startswith("duckdb"):
            with session(self.location) as connection:
                return [list(row) for row in connection.execute(query).fetchall()]
        with psycopg.connect(self.location) as server:
            return [list(row) for row in server.execute(query.encode()).fetchall()]

    def check(self) -> None:
        for name, (table, wanted) in self.source.tables().items():
            columns = [c.name for c in table.columns]
            found = self.rows_there(name, columns)
            assert sorted(found, key=str) == sorted(([row[c] for c in columns] for row in wanted), key=str), name

    def settle(self) -> None:
        self.replica.replicate()
        self.check()

    def known(self) -> dict[str, Table]:
        with flow.open_channel(self.replica.file, InProcess()) as run:
            latest = run.repository.latest_revisions("shop").values()
            return {one.table.name.name: one.table for one in latest if one.table}


@pytest.fixture(params=["files", "duckdb", "postgres"])
def shop(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> Shop:
    target = {"files": f"files://{tmp_path}/target", "duckdb": f"duckdb://{tmp_path}/target.duckdb"}
    return Shop(tmp_path, target.get(request.param, databases.target))


def order(i: int, note: str | None, column: str = "note") -> Row:
    return {"id": str(i), column: note}


def test_names_that_statements_give_are_followed(shop: Shop) -> None:
    shop.start()
    shop.check()
    before = shop.known()["orders"]
    shop.source.commit(
        rows("update", named("orders"), order(1, "order 1"), order(1, "before")),
        statement(
            "alter table orders change note remark text",
            shape("orders", "id", "remark"),
            columns={"remark": "note"},
        ),
        rows("delete", named("orders"), order(2, "order 2", "remark")),
        shop.insert("orders", id="6", remark="after"),
    )
    shop.settle()
    assert shop.known()["orders"].named("remark").id == before.named("note").id
    shop.source.commit(
        statement(
            "alter table orders drop column remark, add column remark text",
            shape("orders", "id", "remark"),
            columns={"remark": ""},
        ),
        shop.insert("orders", id="7", remark="in the new column"),
    )
    shop.settle()
    assert shop.known()["orders"].named("remark").id not in {c.id for c in before.columns}
    shop.source.commit(
        statement("rename table orders to sales", shape("sales", "id", "remark"), tables={"sales": "orders"}),
        shop.insert("sales", id="8", remark="in the renamed one"),
        statement("create table orders (id bigint primary key, n bigint)", shape("orders", "id", "n")),
        shop.insert("orders", id="1", n="10"),
    )
    shop.settle()
    known = shop.known()
    assert known["sales"].id == before.id and known["orders"].id != before.id


def test_names_that_one_statement_swaps_are_followed(shop: Shop) -> None:
    shop.start()
    shop.source.commit(
        statement("create table copied (id bigint primary key, note text)", shape("copied", "id", "note")),
        shop.insert("copied", id="1", note="a copy"),
    )
    shop.settle()
    before = {name: table.id for name, table in shop.known().items()}
    shop.source.commit(
        statement(
            "rename table orders to was, copied to orders, was to copied",
            shape("orders", "id", "note"),
            shape("copied", "id", "note"),
            tables={"orders": "copied", "copied": "orders"},
        ),
        shop.insert("orders", id="2", note="in the copy"),
        shop.insert("copied", id="9", note="in the first one"),
    )
    shop.settle()
    assert {name: table.id for name, table in shop.known().items()} == {
        "orders": before["copied"],
        "copied": before["orders"],
    }
    shop.source.commit(
        statement(
            "alter table orders add column other text",
            shape("orders", "id", "note", "other"),
        ),
        shop.insert("orders", id="3", note="note", other="other"),
        statement(
            "alter table orders rename column note to other, rename column other to note",
            shape("orders", "id", "other", "note"),
            columns={"note": "other", "other": "note"},
        ),
        shop.insert("orders", id="4", other="was note", note="was other"),
        truncate(named("copied")),
        shop.insert("copied", id="1", note="first again"),
    )
    shop.settle()


def test_a_table_that_is_made_again_is_another_one(shop: Shop) -> None:
    shop.start()
    before = shop.known()["orders"]
    shop.source.commit(
        statement("drop table orders", dropped=[named("orders")]),
        statement("create table orders (id bigint primary key, n bigint)", shape("orders", "id", "n")),
        shop.insert("orders", id="1", n="10"),
    )
    shop.settle()
    assert shop.known()["orders"].id != before.id


def test_a_load_knows_the_names_of_a_log_that_is_not_captured_yet(shop: Shop) -> None:
    shop.start()
    shop.source.commit(
        statement("rename table orders to sales", shape("sales", "id", "note"), tables={"sales": "orders"}),
        statement("create table orders (id bigint primary key, n bigint)", shape("orders", "id", "n")),
        shop.insert("orders", id="1", n="10"),
        shop.insert("sales", id="8", note="later"),
    )
    shop.replica.refresh("public.orders")
    shop.settle()


def test_a_table_whose_new_name_is_the_channels_is_loaded(tmp_path: Path) -> None:
    joins = {"adapt_ddl": [{"add_table_pattern": "o*"}], "source": {"tables": ["public.o*"]}}
    shop = Shop(tmp_path, f"files://{tmp_path}/target", **joins)
    shop.start()
    shop.source.commit(
        statement("create table apart (id bigint primary key, n bigint)", shape("apart", "id", "n")),
        shop.insert("apart", id="1", n="10"),
    )
    shop.replica.replicate()
    assert set(shop.known()) == {"orders"}
    shop.source.commit(
        statement("rename table apart to other", shape("other", "id", "n"), tables={"other": "apart"}),
        shop.insert("other", id="2", n="20"),
    )
    shop.settle()


def test_what_is_asked_of_a_channel_is_answered(shop: Shop) -> None:
    shop.start()
    shop.source.commit(shop.insert("orders", id="6", note="later"))
    shop.replica.plan()
    shop.settle()
    shop.replica.check_equal()
    with flow.open_channel(shop.replica.file, InProcess()) as run:
        assert "shop" in flow.status(run).text()
        assert [f"{one.code}" for one in flow.check_cut_over(run).conditions if one.code is Code.WRITERS and one.found]


@pytest.mark.parametrize(
    "fail_at", ["capture.range", "capture.files", "capture.manifest", "capture.repository", "capture.advanced"]
)
def test_a_capture_that_is_killed_gives_the_same_ids_again(tmp_path: Path, fail_at: str) -> None:
    shop = Shop(tmp_path, f"files://{tmp_path}/target")
    shop.start()
    before = shop.known()["orders"].id
    shop.source.commit(
        statement("rename table orders to sales", shape("sales", "id", "note"), tables={"sales": "orders"}),
        statement("create table orders (id bigint primary key, n bigint)", shape("orders", "id", "n")),
        shop.insert("orders", id="1", n="10"),
    )
    assert run_and_die("capture", shop.replica.file, fail_at)
    shop.source.commit(shop.insert("sales", id="7", note="later"))
    shop.settle()
    assert {name: table.id for name, table in shop.known().items()} == {"sales": before, "orders": before + 1}


def test_an_activation_whose_log_is_lost_tells_tables_apart_by_their_names(tmp_path: Path) -> None:
    shop = Shop(tmp_path, f"files://{tmp_path}/target")
    shop.start()
    before = shop.known()["orders"].id
    shop.source.commit(shop.insert("orders", id="7", note="in no log"))
    shop.source.lose()
    with pytest.raises(SourceError, match="SRC-141"):
        shop.replica.replicate()
    shop.source.commit(shop.insert("orders", id="8", note="later"))
    shop.replica.activate()
    shop.settle()
    assert shop.known()["orders"].id == before


def test_a_shape_that_no_statement_explains_is_found_by_the_names(tmp_path: Path) -> None:
    shop = Shop(tmp_path, f"files://{tmp_path}/target")
    shop.start()
    silent = statement("", shape("orders", "id", "note", "more"))
    shop.source.commit_silently(silent, statement("", shape("unseen", "id")))
    shop.source.commit(shop.insert("orders", id="9", note="x", more="silent"))
    shop.replica.replicate()
    assert [c.name for c in shop.known()["orders"].columns] == ["id", "note", "more"] and "unseen" not in shop.known()
    shop.source.commit(shop.insert("orders", id="10", note="x", more="known"))
    assert shop.replica.replicate().refresh.tables == {}
    shop.source.commit_silently(statement("", dropped=[named("orders")]))
    shop.source.commit()
    shop.replica.replicate()
    assert shop.known() == {}


def test_windows_end_at_any_statement(tmp_path: Path) -> None:
    shop = Shop(tmp_path, f"files://{tmp_path}/target", capture={"window_bytes": 1 << 20})
    shop.start()
    before = shop.known()["orders"].id
    shop.source.commit(
        statement("rename table orders to sales", shape("sales", "id", "note"), tables={"sales": "orders"}),
        shop.insert("sales", id="7", note="later"),
    )
    shop.source.commit(statement("create table orders (id bigint)", shape("orders", "id", "n")))
    shop.source.commit(shop.insert("orders", id="1", n="10"), shop.insert("sales", id="8", note="later"))
    assert shop.replica.replicate().capture.drift == 0
    shop.check()
    assert {name: table.id for name, table in shop.known().items()} == {"sales": before, "orders": before + 1}
