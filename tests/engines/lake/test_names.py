"""Tables and columns of a lake may have any name that a source has, but those that Iceberg gives itself."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Extent
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.ddl.render import LakeDdl, create_table
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from tests.engines.duckdb.test_types import of

NAMES = ("a.b", "id.x", ".", "a.", "a`b", "`", " ", "Id", "${env:HOME}", "\U0001f600", "a'b", 'a"b', "a\\b",
         "a,b;c", "a\nb", "a--b/*", "s", "element", "select", "%d ? :x {y}", "\u00df", "x" * 63)  # fmt: skip


def changed(window: Window, table: Table, *changes: SchemaChange) -> Table:
    """The shape of a table after changes that were run."""
    for change in changes:
        for statement in LakeDdl().sql(change, table):
            run(window, statement)
        after = change.apply(table)
        assert after is not None
        table = after
    return table


@pytest.mark.xdist_group("spark")
def test_names_with_every_sign(window: Window) -> None:
    others = [Column(i, name, of("integer")) for i, name in enumerate(NAMES, 2)]
    table = Table(1, TableName("my.shop `1`", "a.b `c` ${env:HOME}"), (Column(1, "id", of("integer")), *others[::2]))
    for statement in create_table(table):
        run(window, statement)
    window.spark.sql(f"INSERT INTO {window.table(table.name)} VALUES ({', '.join('7' for _ in table.columns)})")
    table = changed(window, table, *(AddColumn(one) for one in others[1::2]))
    table = changed(window, table, *(FillColumn(one, "8") for one in others[1::2]))
    wide = [ChangeType(one.id, one.name, one, of("bigint"), None, Extent.WIDEN) for one in others]
    table = changed(window, table, *wide)
    plain = [RenameColumn(one.id, one.name, f"plain_{one.id}") for one in others]
    back = [RenameColumn(one.id, f"plain_{one.id}", one.name) for one in others]
    table = changed(window, table, *plain, *back, RenameTable(table.name, TableName("other.one", "x'\\y")))
    (row,) = window.spark.sql(f"SELECT * FROM {window.table(table.name)}").collect()
    assert {name: row[name] for name in row.asDict()} == {
        "id": 7, **dict.fromkeys(NAMES[::2], 7), **dict.fromkeys(NAMES[1::2], 8)
    }  # fmt: skip
    table = changed(window, table, *(DropColumn(one) for one in table.columns[1:]))
    assert window.spark.sql(f"SELECT * FROM {window.table(table.name)}").columns == ["id"]


@pytest.mark.parametrize("name", ["_file", "_row_id"])
def test_names_of_icebergs_own_are_refused(name: str) -> None:
    table = Table(1, TableName("shop", "orders"), (Column(1, "id", of("integer")),))
    odd = Column(2, name, of("integer"))
    for refused in (
        lambda: create_table(table.with_(columns=(*table.columns, odd))),
        lambda: LakeDdl().sql(AddColumn(odd), table),
        lambda: LakeDdl().sql(RenameColumn(1, "id", name), table),
    ):
        with pytest.raises(Unsupported, match=name) as raised:
            refused()
        assert raised.value.code == "ADP-110" and "column_properties" in raised.value.hint
