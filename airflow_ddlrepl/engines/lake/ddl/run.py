"""This module runs the statements of schema changes on the staged tables of a window.

Their text is what a person has read and approved. Iceberg's Java changes the schemas: Spark's SQL can't give the rows
that are there a default. Each change keeps the ids of the other fields, so that values follow their columns. Changes of
one table between which nothing reads or writes it are one commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.java import iceberg, iceberg_type
from airflow_ddlrepl.engines.lake.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.lake.ddl.partitions import BY_PARTITION
from airflow_ddlrepl.engines.lake.ddl.plain_value import is_told_to_readers, plain_value
from airflow_ddlrepl.engines.lake.ddl.render import PARTITIONED, RETYPED
from airflow_ddlrepl.engines.lake.ddl.sorting import forget_columns, sorts
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sqlglot import exp

_AS_LITERAL = {
    "DATE": "unix_date({})",
    "TIMESTAMP": "date_format({}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'+00:00'\")",
    "TIMESTAMP_NTZ": "date_format({}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
}
"""What Iceberg reads a literal from, for types whose values Python would change."""

_UPDATES = "write.update.mode"
_STORES_DEFAULTS = 3
"""From this version of Iceberg's format on, a table has what its older rows show in a new column."""


def run(window: Window, statement: str) -> None:
    """Run one statement. Raises what Spark and Java raise, TargetError TGT-113 where there is no such table."""
    from sqlglot import exp, parse_one

    if (sorted_table := sorts(statement)) is not None:
        window.spark.sql(statement.replace(qualified(sorted_table), window.table(sorted_table), 1))
        return
    parsed = parse_one(statement, dialect="spark")
    table = parsed.find(exp.Table)
    assert table is not None, statement
    name = _name(table)
    if isinstance(parsed, exp.Create):
        columns, _, fields = statement.removeprefix(f"CREATE TABLE {qualified(name)} (").rpartition(f"){PARTITIONED}")
        if columns:
            window.create(name, columns, fields.removesuffix(")"), BY_PARTITION)
        else:
            window.create(name, fields.removesuffix(")"))
    elif isinstance(parsed, exp.Drop):
        if window.has(name):
            window.drop(name)
    elif isinstance(parsed, exp.Alter):
        for action in parsed.args["actions"]:
            if isinstance(action, exp.AlterRename):
                window.rename(name, _name(action.this))
            else:
                _alter(window, name, action)
    elif isinstance(parsed, exp.Delete) and parsed.args.get("where") is None:
        every = iceberg(window.spark).expressions.Expressions.alwaysTrue()
        window.transaction(name).newDelete().deleteFromRowFilter(every).commit()
    else:
        staged = {one: window.table(one) for one in dict.fromkeys(map(_name, parsed.find_all(exp.Table)))}
        for one, there in staged.items():
            statement = statement.replace(qualified(one), there, 1)
        whole = isinstance(parsed, exp.Update) and parsed.args.get("where") is None
        with _rewriting(window, name) if whole else nullcontext():
            window.spark.sql(statement)


@contextmanager
def _rewriting(window: Window, name: TableName) -> Iterator[None]:
    """Have updates inside the `with` write files again: when all rows change, deletion vectors would only be read."""
    before = window.transaction(name).table().properties().get(_UPDATES)
    _set_updates(window, name, "copy-on-write")
    yield
    _set_updates(window, name, before)


def _set_updates(window: Window, name: TableName, how: str | None) -> None:
    properties = window.transaction(name).updateProperties()
    (properties.set(_UPDATES, how) if how else properties.remove(_UPDATES)).commit()
    window.table(name)


def _name(table: exp.Table) -> TableName:
    return TableName(table.db, table.name)


def _alter(window: Window, name: TableName, action: exp.Expression) -> None:
    """Change the columns of a table, in its open transaction; a default that metadata can't have goes into all rows."""
    from sqlglot import exp

    spark, transaction, filled = window.spark, window.transaction(name), ""
    if isinstance(action, exp.Drop):
        forget_columns(iceberg(spark), transaction, [_dropped(action)])
    update = transaction.updateSchema().caseSensitive(True)
    if isinstance(action, exp.ColumnDef):
        column, held = action.name, action.args["kind"].sql("spark")
        of = iceberg_type(spark, held)
        default = action.find(exp.DefaultColumnConstraint)
        if default is None:
            update.addColumn(None, column, of)
        elif iceberg(spark).TableUtil.formatVersion(transaction.table()) < _STORES_DEFAULTS or not is_told_to_readers(
            default.this, held
        ):
            update.addColumn(None, column, of)
            filled = f"SET {quote(column)} = {default.this.sql('spark')}"
        else:
            update.addColumn(None, column, of, None, _literal(spark, default.this, held, of))
        if (at := action.args.get("position")) is not None:
            update.moveAfter(column, at.this.name)
    elif isinstance(action, exp.Drop):
        update.deleteColumn(_dropped(action))
    elif isinstance(action, exp.RenameColumn):
        update.renameColumn(action.this.name, action.args["to"].name)
    else:
        assert isinstance(action, exp.AlterColumn), action
        update.updateColumn(action.name, iceberg_type(spark, action.args["dtype"].sql("spark")).asPrimitiveType())
    update.commit()
    if isinstance(action, exp.RenameColumn) and action.this.name == RETYPED:
        transaction.newAppend().commit()  # a snapshot of the columns as they are now: the last one has both
    if filled:
        spark.sql(f"UPDATE {window.table(name)} {filled}")


def _dropped(action: exp.Drop) -> str:
    """Return the column that a statement drops."""
    return str(action.args["tables"][0].name)


def _literal(spark: SparkSession, default: exp.Expression, spark_type: str, of: Any) -> Any:
    """Return the value of a constant as a literal of a type of Iceberg; Spark computes what is not plainly the same."""
    literal = iceberg(spark).expressions.Expressions.lit
    if (plain := plain_value(default, spark_type)) is not None:
        return literal(plain).to(of)
    text = _AS_LITERAL.get(spark_type, "{}").format(f"CAST({default.sql('spark')} AS {spark_type})")
    (row,) = spark.sql(f"SELECT {text}").collect()
    value = row[0]
    if spark_type == "BINARY":
        return literal(spark._jvm.java.nio.ByteBuffer.wrap(value))  # type: ignore[union-attr]
    return literal(str(value) if spark_type.startswith("DECIMAL") else value).to(of)
