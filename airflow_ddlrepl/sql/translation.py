"""This module writes a DDL statement in another dialect, where it means exactly the same there.

sqlglot reads and writes. It also writes what it does not know, or knows to be a little different: a USING clause is
lost, bytea becomes a type without a length. So a statement is translated only where each of its parts is listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from airflow_ddlrepl.sql.dialect import Dialect


class Untranslatable(Exception):
    """This exception says which part of a statement has no equal in the other dialect."""


_Type = exp.DataType.Type
_PARTS = (
    *(exp.Create, exp.Schema, exp.ColumnDef, exp.ColumnConstraint, exp.Constraint, exp.PrimaryKey, exp.IndexParameters),
    *(exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint),
    *(exp.DefaultColumnConstraint, exp.Table, exp.Column, exp.Identifier, exp.DataType, exp.DataTypeParam),
    *(exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Alter, exp.AlterRename, exp.RenameColumn, exp.Drop),
)
_OPTIONS: Mapping[type[exp.Expression], frozenset[str]] = {
    exp.Create: frozenset({"this", "kind", "exists"}),
    exp.Drop: frozenset({"this", "tables", "kind", "exists"}),
    exp.Alter: frozenset({"this", "kind", "actions"}),
    exp.IndexParameters: frozenset(),
    exp.PrimaryKey: frozenset({"expressions"}),
    exp.UniqueColumnConstraint: frozenset({"this"}),
    exp.PrimaryKeyColumnConstraint: frozenset(),
}
"""What such a part may say; an option that is not here might be lost or mean something else."""

_TO_MYSQL: Mapping[exp.DataType.Type, Callable[[int], str]] = {
    _Type.SMALLINT: lambda _: "SMALLINT",
    _Type.INT: lambda _: "INT",
    _Type.BIGINT: lambda _: "BIGINT",
    _Type.BOOLEAN: lambda _: "BOOLEAN",
    _Type.FLOAT: lambda _: "FLOAT",
    _Type.DOUBLE: lambda _: "DOUBLE",
    _Type.DATE: lambda _: "DATE",
    _Type.TEXT: lambda _: "LONGTEXT",
    _Type.VARBINARY: lambda _: "LONGBLOB",
}
_SIZED = {_Type.VARCHAR: "VARCHAR", _Type.CHAR: "CHAR"}
_TIMES = {_Type.TIMESTAMP: "DATETIME", _Type.TIME: "TIME"}


def translated(text: str, source: Dialect, target: Dialect) -> str:
    """Return a statement in the dialect of the target; the text itself where both have one.

    Raises Untranslatable, also where sqlglot can't read the statement.
    """
    if source is target:
        return text
    if (source, target) != (Dialect.POSTGRES, Dialect.MYSQL):
        raise Untranslatable(f"no statement is translated from {source} to {target}")
    try:
        statements = [one for one in parse(text, read=source.value) if one is not None]
    except SqlglotError as error:
        raise Untranslatable(f"it can't be read: {' '.join(str(error).split())}") from None
    if len(statements) != 1:
        raise Untranslatable(f"it is {len(statements)} statements")
    statement = normalize_identifiers(statements[0], dialect=source.value)
    for why in _unequal(statement):
        raise Untranslatable(why)
    _qualify_new_name(statement)
    for found in list(statement.find_all(exp.DataType)):
        found.replace(exp.DataType.build(_mysql_type(found), dialect=target.value, udt=True))
    written: str = statement.sql(dialect=target.value, identify=True)
    return written


def _unequal(statement: exp.Expression) -> Iterator[str]:
    """Yield why parts of a statement have no equal."""
    if not isinstance(statement, exp.Create | exp.Alter | exp.Drop) or statement.args.get("kind") != "TABLE":
        yield f"{statement.key.upper()} {statement.args.get('kind') or ''}".strip() + " is not translated"
    if isinstance(statement, exp.Create) and not isinstance(statement.this, exp.Schema):
        yield "CREATE TABLE without columns of its own is not translated"
    for part in statement.walk():
        if not isinstance(part, _PARTS):
            yield f"{part.key} is not translated: {part.sql(dialect='postgres')}"
        allowed = _OPTIONS.get(type(part))
        is_column = isinstance(part, exp.Drop) and part is not statement
        for name, value in part.args.items():
            is_bare = isinstance(value, exp.IndexParameters) and not any(value.args.values())
            if allowed is not None and value and name not in allowed and not is_bare:
                yield f"{name} of {part.key} is not translated"
        if is_column and (part.args.get("kind") != "COLUMN" or part.args.get("exists")):
            yield f"{part.sql(dialect='postgres')} is not translated"
        if isinstance(part, exp.ColumnDef) and part.args.get("exists"):
            yield "ADD COLUMN IF NOT EXISTS is not translated"
        if isinstance(part, exp.Literal) and part.is_string and "\\" in part.this:
            yield f"a backslash in {part.sql(dialect='postgres')}"


def _qualify_new_name(statement: exp.Expression) -> None:
    """Give the new name of a table its schema: without one it would be the session's."""
    for rename in statement.find_all(exp.AlterRename):
        schema = statement.this.args.get("db")
        if schema is not None and rename.this.args.get("db") is None:
            rename.this.set("db", schema.copy())


def _mysql_type(found: exp.DataType) -> str:
    sizes = [int(one.this.this) for one in found.expressions if isinstance(one.this, exp.Literal)]
    kind = found.this
    if kind in _TO_MYSQL and not sizes:
        return _TO_MYSQL[kind](0)
    if kind in _SIZED and len(sizes) == 1:
        return f"{_SIZED[kind]}({sizes[0]})"
    if kind is _Type.DECIMAL and sizes and sizes[0] <= 65 and 0 <= sum(sizes[1:]) <= min(30, sizes[0]):
        return f"DECIMAL({', '.join(map(str, sizes))})"
    if kind in _TIMES and sizes in ([], *([n] for n in range(7))):
        return f"{_TIMES[kind]}({sizes[0] if sizes else 6})"
    raise Untranslatable(f"MySQL has no type with the values of {found.sql(dialect='postgres')}")
