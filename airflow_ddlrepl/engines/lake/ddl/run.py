"""This module runs the statements of schema changes on the staged tables of a window.

Their text is what a person has read and approved. Iceberg's Java changes the schemas: Spark's SQL can't give the rows
that are there a default. Each change keeps the ids of the other fields, so that values follow their columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.java import iceberg, iceberg_type, java_table
from airflow_ddlrepl.engines.lake.connection.quoting import qualified, quote
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


_STORES_DEFAULTS = 3
"""From this version of Iceberg's format on, a table has what its older rows show in a new column."""


def run(window: Window, statement: str) -> None:
    """Run one statement. Raises what Spark and Java raise, TargetError TGT-113 where there is no such table."""
    from sqlglot import exp, parse_one

    parsed = parse_one(statement, dialect="spark")
    table = parsed.find(exp.Table)
    assert table is not None, statement
    name = _name(table)
    if isinstance(parsed, exp.Create):
        window.create(name, statement.removeprefix(f"CREATE TABLE {qualified(name)} (").removesuffix(")"))
    elif isinstance(parsed, exp.Drop):
        if window.has(name):
            window.drop(name)
    elif isinstance(parsed, exp.Alter):
        for action in parsed.args["actions"]:
            if isinstance(action, exp.AlterRename):
                window.rename(name, _name(action.this))
            else:
                _alter(window.spark, window.table(name), action)
    elif isinstance(parsed, exp.Delete):
        java_table(window.spark, window.table(name)).newDelete().deleteFromRowFilter(
            iceberg(window.spark).expressions.Expressions.alwaysTrue()
        ).commit()
    else:
        staged = {one: window.table(one) for one in dict.fromkeys(map(_name, parsed.find_all(exp.Table)))}
        for one, there in staged.items():
            statement = statement.replace(qualified(one), there, 1)
        window.spark.sql(statement)


def _name(table: exp.Table) -> TableName:
    return TableName(table.db, table.name)


def _alter(spark: SparkSession, table: str, action: exp.Expression) -> None:
    """Change the columns of a table, in one commit; one of format 2 gets the default of a column in a second one."""
    from sqlglot import exp

    found, filled = java_table(spark, table), ""
    update = found.updateSchema().caseSensitive(True)
    if isinstance(action, exp.ColumnDef):
        name, held = action.name, action.args["kind"].sql("spark")
        of = iceberg_type(spark, held)
        default = action.find(exp.DefaultColumnConstraint)
        if default is None:
            update.addColumn(name, of)
        elif iceberg(spark).TableUtil.formatVersion(found) < _STORES_DEFAULTS:
            update.addColumn(name, of)
            filled = f"UPDATE {table} SET {quote(name)} = {default.this.sql('spark')}"
        else:
            update.addColumn(name, of, None, _literal(spark, default.this.sql("spark"), held, of))
    elif isinstance(action, exp.Drop):
        update.deleteColumn(action.find(exp.Column).name)  # type: ignore[union-attr]
    elif isinstance(action, exp.RenameColumn):
        update.renameColumn(action.this.name, action.args["to"].name)
    else:
        assert isinstance(action, exp.AlterColumn), action
        update.updateColumn(action.name, iceberg_type(spark, action.args["dtype"].sql("spark")).asPrimitiveType())
    update.commit()
    if filled:
        spark.sql(filled)


def _literal(spark: SparkSession, expression: str, spark_type: str, of: Any) -> Any:
    """Return the value of an expression of Spark's as a literal of a type of Iceberg."""
    text = _AS_LITERAL.get(spark_type, "{}").format(f"CAST({expression} AS {spark_type})")
    (row,) = spark.sql(f"SELECT {text}").collect()
    literal, value = iceberg(spark).expressions.Expressions.lit, row[0]
    if spark_type == "BINARY":
        return literal(spark._jvm.java.nio.ByteBuffer.wrap(value))  # type: ignore[union-attr]
    if spark_type.startswith("DECIMAL"):
        return literal(str(value)).to(of)
    return literal(value).to(of)
