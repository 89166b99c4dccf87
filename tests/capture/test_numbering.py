"""Which ids tables and columns get whose source gives them names alone."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.capture.numbering import Numbering
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.sql.dialect import Dialect

INT = DataType("int", "pg_catalog", "int")
EMPTY = Numbering(Client(Scope(("shop.*",), exclude=("shop.out*",), joining=(Joining("*"),))), Dialect.MYSQL)


def shape(name: str, *columns: str) -> Table:
    found = tuple(Column(i, c, INT) for i, c in enumerate(columns, 1))
    return Table(0, TableName("shop", name), found, Key((1,), "PRIMARY", is_primary=True))


def ddl(text: str, *tables: Table, dropped: tuple[str, ...] = ()) -> Event:
    gone = tuple((0, TableName("shop", name)) for name in dropped)
    return Event(EventKind.DDL, LogKey(1, 0), 1, 0, statement=text, tables=tables, dropped=gone)


def after(numbering: Numbering, text: str, *tables: Table, dropped: tuple[str, ...] = ()) -> Numbering:
    return numbering.after(ddl(text, *tables, dropped=dropped))[0]


def ids(numbering: Numbering) -> dict[str, tuple[int, dict[str, int]]]:
    return {t.name.name: (i, {c.name: c.id for c in t.columns}) for i, t in numbering.tables.items()}


START = EMPTY.shown([shape("b", "k", "v"), shape("a", "k", "x", "y")])


def test_first_ids_follow_from_the_names() -> None:
    assert ids(START) == {"a": (1, {"k": 1, "x": 2, "y": 3}), "b": (2, {"k": 1, "v": 2})}
    assert START.shown([shape("a", "k", "y", "z")]).tables[1].named("z").id == 4


def test_columns_that_swap_their_names_keep_their_ids() -> None:
    now = after(START, "alter table a rename column x to y, rename column y to x", shape("a", "k", "y", "x"))
    assert ids(now)["a"] == (1, {"k": 1, "x": 3, "y": 2})


def test_a_column_that_is_dropped_and_added_again_is_another_one() -> None:
    now = after(START, "alter table a drop x, add x int", shape("a", "k", "y", "x"))
    assert ids(now)["a"] == (1, {"k": 1, "y": 3, "x": 4})
    now = after(
        after(START, "alter table a drop y", shape("a", "k", "x")), "alter table a add y int", shape("a", "k", "x", "y")
    )
    assert ids(now)["a"] == (1, {"k": 1, "x": 2, "y": 4})
    now = after(START, "alter table a change x z int, add x int", shape("a", "k", "z", "y", "x"))
    assert ids(now)["a"] == (1, {"k": 1, "z": 2, "y": 3, "x": 4})
    now = after(START, "alter table a drop x, change y x int", shape("a", "k", "x"))
    assert ids(now)["a"] == (1, {"k": 1, "x": 3})


def test_a_key_has_the_ids_of_its_columns() -> None:
    now = after(START, "alter table a add column n int first", shape("a", "n", "k", "x", "y"))
    assert (
        now.tables[1].key == Key((now.tables[1].named("n").id,), "PRIMARY", is_primary=True)
        and ids(now)["a"][1]["n"] == 4
    )


def test_names_of_columns_in_mysql_have_no_case() -> None:
    now = after(START, "alter table a rename column X to z, rename column y to Y", shape("a", "K", "z", "Y"))
    assert ids(now)["a"] == (1, {"K": 1, "z": 2, "Y": 3})


def test_a_table_keeps_its_id_under_another_name() -> None:
    now = after(START, "rename table shop.a to shop.c, b to a", shape("c", "k", "x", "y"), shape("a", "k", "v"))
    assert {name: i for name, (i, _) in ids(now).items()} == {"c": 1, "a": 2}
    now = after(now, "alter table c add z int, rename to d", shape("d", "k", "x", "y", "z"))
    assert ids(now)["d"] == (1, {"k": 1, "x": 2, "y": 3, "z": 4})


def test_tables_that_swap_their_names_take_them_one_by_one() -> None:
    text = "rename table a to x, b to a, x to b"
    now, events = START.after(ddl(text, shape("a", "k", "v"), shape("b", "k", "x", "y")))
    assert {name: i for name, (i, _) in ids(now).items()} == {"a": 2, "b": 1}
    assert [(e.key.seq, e.tables[0].id, e.tables[0].name.name) for e in events] == [
        (0, 1, "a_moving_1"),
        (1, 2, "a"),
        (2, 1, "b"),
    ]


def test_tables_that_are_renamed_in_a_row_have_their_part_of_the_statement() -> None:
    text = "rename table b to old, a to b"
    _, events = START.after(ddl(text, shape("b", "k", "x", "y"), shape("old", "k", "v")))
    assert [(e.tables[0].id, e.statement) for e in events] == [(2, "rename table b to old"), (1, "rename table a to b")]


def test_a_table_that_is_made_again_gets_another_id() -> None:
    now, (event,) = after(START, "drop table a", dropped=("a",)).after(ddl("create table a (k int)", shape("a", "k")))
    assert ids(now) == {"a": (3, {"k": 1}), "b": (2, {"k": 1, "v": 2})} and event.filled == ()
    (event,) = START.after(ddl("create or replace table a (k int)", shape("a", "k"), dropped=("a",)))[1]
    assert event.dropped == ((1, TableName("shop", "a")),) and event.tables[0].id == 3


def test_tables_out_of_scope_get_no_id_until_their_name_is_the_channels() -> None:
    now, (event,) = START.after(ddl("create table outside (k int)", shape("outside", "k")))
    assert now == START and event.tables == ()
    now, (event,) = now.after(ddl("rename table outside to c", shape("c", "k")))
    assert ids(now)["c"] == (3, {"k": 1}) and event.filled == (3,)
    now, (event,) = START.after(ddl("rename table a to outside", shape("outside", "k", "x", "y")))
    assert event.tables[0].id == 1, "a table that is known stays known"


def test_a_table_found_at_the_end_of_the_log_waits_for_its_name() -> None:
    found = after(
        after(START, "rename table a to c", shape("c", "k", "x", "y")), "create table a (k int)", shape("a", "k")
    )
    activated = replace(START, tables={**START.tables, 3: found.tables[3]}, last=3)
    now = after(activated, "rename table a to c", shape("c", "k", "x", "y"))
    assert {i: table.name.name for i, table in now.tables.items()} == {1: "c", 2: "b", 3: "a"}
    now = after(activated, "drop table a", dropped=("a",))
    assert now.names[TableName("shop", "a")] == 3 and after(now, "create table a (k int)", shape("a", "k")).last == 3


def test_ids_of_what_was_dropped_are_not_used_again() -> None:
    a, b = START.tables[1], START.tables[2]
    histories = {
        1: [Revision(1, 0, LogKey(5, 0), a, Origin.IN_LOG), Revision(1, 1, LogKey(9, 0), None, Origin.IN_LOG)],
        7: [Revision(7, 0, LogKey(6, 0), b.with_(id=7), Origin.IN_LOG)],
        9: [Revision(9, 0, LogKey(9, 1), b.with_(id=9), Origin.IN_LOG)],
    }
    found = EMPTY.known(histories, Position(10))
    assert (set(found.tables), found.last, found.columns[1]) == ({7, 9}, 9, 3)
    assert after(found, "create table a (k int)", shape("a", "k")).names[TableName("shop", "a")] == 10
