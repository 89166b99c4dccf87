"""This module writes what is left of a condition as SQL of DuckDB, where that means exactly the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.functions import FUNCTIONS
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.tree import Image
from airflow_ddlrepl.streams.messages import Command


class NotInSql(Exception):
    """This error says that a condition has no exact counterpart in SQL; it is evaluated row by row."""


class Spelling(NamedTuple):
    """A spelling says how the columns of a batch are read.

    old, new: the expression of each column's value. absent: the expression that says that its new value is absent,
    for the columns of which some is. has_old: the expression that says that there is an old value. attributes: of
    member functions.
    """

    command: Command
    old: Mapping[str, str]
    new: Mapping[str, str]
    absent: Mapping[str, str]
    has_old: Mapping[str, str]
    attributes: Mapping[str, str]


MOST_DIGITS = 38


def written(node: tree.Node, by: Spelling) -> str:
    """Return a condition, or a part of it, as SQL in parentheses. Raises NotInSql where SQL does not say the same."""
    match node:
        case tree.Constant(value):
            return _constant(value)
        case tree.Attribute(name=name):
            if name not in by.attributes:
                raise NotInSql(name)
            return by.attributes[name]
        case tree.ColumnValue(_, image, column, _, use_old):
            return _column(image, column, use_old, by)
        case tree.Call(name, arguments):
            function = FUNCTIONS[name].duck
            if not function:
                raise NotInSql(name)
            return f"{function}({', '.join(written(one, by) for one in arguments)})"
        case tree.Arithmetic():
            raise NotInSql(node.sign)
        case tree.Case(conditions, values, otherwise):
            pairs = zip(conditions, values, strict=True)
            branches = " ".join(f"WHEN {written(one, by)} THEN {written(value, by)}" for one, value in pairs)
            return f"CASE {branches} ELSE {written(otherwise, by)} END"
    return f"({_truth(node, by)})"


def _truth(node: tree.Node, by: Spelling) -> str:
    match node:
        case tree.Known(value):
            return "NULL::BOOLEAN" if value is None else str(value).upper()
        case tree.Comparison(sign, left, right):
            return f"{written(left, by)} {sign} {written(right, by)}"
        case tree.IsNull(of, negated):
            return f"{written(of, by)} IS {_not(negated)}NULL"
        case tree.IsAbsent(_, image, column, use_old, negated):
            return (
                f"NOT {_presence(image, column, use_old, by)}" if not negated else _presence(image, column, use_old, by)
            )
        case tree.Among(of, items, negated):
            return f"{written(of, by)} {_not(negated)}IN ({', '.join(written(one, by) for one in items)})"
        case tree.Between(of, low, high, negated):
            return f"{written(of, by)} {_not(negated)}BETWEEN {written(low, by)} AND {written(high, by)}"
        case tree.Like(of, pattern, escape, negated):
            if escape and any(sign == escape for sign in pattern):
                raise NotInSql("ESCAPE")
            return f"{written(of, by)} {_not(negated)}LIKE {_text(pattern)}"
        case tree.RegexpLike():
            raise NotInSql("REGEXP_LIKE")
        case tree.Not(of):
            return f"NOT {written(of, by)}"
        case tree.Holds(of):
            return f"coalesce({written(of, by)}, FALSE)"
        case tree.All(of) | tree.AnyOf(of):
            word = " AND " if isinstance(node, tree.All) else " OR "
            return word.join(written(one, by) for one in of)
    raise NotInSql(type(node).__name__)


def _column(image: Image, column: str, use_old: bool, by: Spelling) -> str:
    if image is Image.OLD:
        return by.old[column]
    if column not in by.absent:
        return by.new[column]
    instead = by.old[column] if use_old and by.command is Command.UPDATE and column in by.old else "NULL"
    return f"CASE WHEN {by.absent[column]} THEN {instead} ELSE {by.new[column]} END"


def _presence(image: Image, column: str, use_old: bool, by: Spelling) -> str:
    if image is Image.OLD:
        return by.has_old[column]
    is_new = f"(NOT {by.absent[column]})" if column in by.absent else "TRUE"
    if use_old and by.command is Command.UPDATE and column in by.has_old:
        return f"({is_new} OR {by.has_old[column]})"
    return is_new


def _constant(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"from_hex('{value.hex()}')"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case Decimal():
            if (
                len(value.as_tuple().digits) > MOST_DIGITS
                or not -MOST_DIGITS < int(value.as_tuple().exponent) < MOST_DIGITS
            ):
                raise NotInSql("a long number")
            return format(value, "f")
        case str():
            return _text(value)
    raise NotInSql(type(value).__name__)


def _text(value: str) -> str:
    if "\0" in value:
        raise NotInSql("a text with a zero byte")
    return "'" + value.replace("'", "''") + "'"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def readable_kind(duck_type: str) -> Kind | None:
    """Return the kind of a column's type in DuckDB; None for one that conditions can't read there."""
    return _KINDS.get(duck_type.partition("(")[0])


_KINDS = {
    **dict.fromkeys(("VARCHAR",), Kind.TEXT),
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "UINTEGER"), Kind.NUMBER
    ),
    **dict.fromkeys(("TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE"), Kind.MOMENT),
    "BLOB": Kind.RAW,
}
