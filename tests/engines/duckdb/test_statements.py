"""The statements that DuckDB gets for a schema change do what the change says, and keep the transaction open."""

from __future__ import annotations

import duckdb
import pytest

from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.ddl.types.type_edits import RenameLabel
from airflow_ddlrepl.engines.duckdb.ddl.render import DuckDdl
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind

ORDERS = TableName("public", "orders")
STATUS = DataType("public.status", "public", "status", TypeKind.ENUM)


def of(text: str) -> DataType:
    return DataType(text, "pg_catalog", text.partition("(")[0])


SHAPE = Table(1, ORDERS, (Column(1, "id", of("integer")), Column(2, "note", of("text")), Column(3, "status", STATUS)))


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    for statement in DuckDdl().sql(CreateTable(SHAPE), None):
        opened.execute(statement)
    opened.execute("INSERT INTO public.orders VALUES (1, 'one', 'new'), (2, NULL, 'old')")
    return opened


@pytest.mark.parametrize(
    ("type_", "missing", "shown"),
    [
        ("bigint", "7", "7"),
        ("boolean", "f", "false"),
        ("bytea", "\\\\x01", "\\\\x01"),
        ("date", "0044-03-15 BC", "0044-03-15 (BC)"),
    ],
)
def test_a_new_column_shows_its_value_in_old_rows_and_the_transaction_goes_on(
    connection: duckdb.DuckDBPyConnection, type_: str, missing: str, shown: str
) -> None:
    connection.execute("BEGIN")
    for statement in DuckDdl().sql(AddColumn(Column(4, "c", of(type_), missing=missing.replace("\\\\", "\\"))), SHAPE):
        connection.execute(statement)
    assert set(connection.execute("SELECT CAST(c AS VARCHAR) FROM public.orders").fetchall()) == {
        (shown.replace("\\\\", "\\"),)
    }
    connection.execute("INSERT INTO public.orders (id) VALUES (3)")
    assert connection.execute("SELECT c FROM public.orders WHERE id = 3").fetchall() == [(None,)], "no default stays"
    connection.execute("ROLLBACK")
    columns = connection.execute("SELECT count(*) FROM duckdb_columns() WHERE table_name = 'orders'").fetchall()
    assert columns == [(3,)]


def test_a_label_that_is_renamed_is_renamed_in_rows(connection: duckdb.DuckDBPyConnection) -> None:
    change = renaming()
    for statement in DuckDdl().new_texts(change, SHAPE):
        connection.execute(statement)
    assert DuckDdl().sql(change, None) == ()
    assert connection.execute("SELECT status FROM public.orders ORDER BY id").fetchall() == [("fresh",), ("old",)]


@pytest.mark.parametrize(
    "column",
    [
        Column(4, "c", DataType("public.status[]", "public", "status", TypeKind.ARRAY)),
        Column(4, "c", DataType("public.both", "public", "both", TypeKind.COMPOSITE)),
        Column(4, "c", DataType("public.label[]", "public", "label", TypeKind.ARRAY)),
    ],
)
def test_a_label_inside_another_text_is_refused(column: Column) -> None:
    types = (
        TypeDefinition(7, "public", "both", TypeKind.COMPOSITE, attributes=(Attribute(1, "a", "public.label[]"),)),
        TypeDefinition(8, "public", "label", TypeKind.DOMAIN, base="public.status"),
        TypeDefinition(9, "public", "status", TypeKind.ENUM, labels=("new", "old")),
    )
    shape = SHAPE.with_(columns=(*SHAPE.columns, column), types=types)
    with pytest.raises(Unsupported, match="ADP-111"):
        DuckDdl().new_texts(renaming(), shape)


def renaming() -> ChangeTypeDefinition:
    old = TypeDefinition(9, "public", "status", TypeKind.ENUM, labels=("new", "old"))
    new = TypeDefinition(9, "public", "status", TypeKind.ENUM, labels=("fresh", "old"))
    return ChangeTypeDefinition(old, new, (RenameLabel("new", "fresh"),))


def test_a_table_moves_to_another_schema_with_its_rows(connection: duckdb.DuckDBPyConnection) -> None:
    for statement in DuckDdl().sql(RenameTable(ORDERS, TableName("shop", "sales")), SHAPE):
        connection.execute(statement)
    assert connection.execute("SELECT id FROM shop.sales ORDER BY id").fetchall() == [(1,), (2,)]


def test_a_type_that_is_held_alike_changes_nothing() -> None:
    before, after = Column(2, "note", of("text")), Column(2, "note", of("character varying(9)"))
    assert DuckDdl().sql(ChangeType.between(before, after, DUCK_TYPES), SHAPE) == ()
    assert DuckDdl().sql(Truncate(restart_identity=True), SHAPE) == ('DELETE FROM "public"."orders"',)


def test_a_generated_column_is_refused_by_name() -> None:
    column = Column(4, "twice", of("integer"), default="id * 2", generated="stored")
    for change in (AddColumn(column), CreateTable(SHAPE.with_(columns=(*SHAPE.columns, column)))):
        with pytest.raises(Unsupported, match="twice") as raised:
            DuckDdl().sql(change, SHAPE)
        assert raised.value.code == "ADP-110" and "column_properties" in (raised.value.hint or "")


def test_the_last_column_is_not_dropped() -> None:
    only = Table(1, ORDERS, SHAPE.columns[:1])
    with pytest.raises(Unsupported, match="has at least one column") as caught:
        DuckDdl().sql(DropColumn(only.columns[0]), only)
    assert (caught.value.code, caught.value.table) == ("ADP-110", "public.orders")
    (statement,) = DuckDdl().sql(DropColumn(SHAPE.columns[0]), SHAPE)
    assert statement == 'ALTER TABLE "public"."orders" DROP COLUMN "id"'
