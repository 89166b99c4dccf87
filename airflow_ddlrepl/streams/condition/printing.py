"""This module writes a condition as Oracle's text."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.streams.condition import tree


def text_of(node: tree.Node) -> str:
    """Return a condition, or a part of one, as a text that the parser reads again."""
    match node:
        case tree.Constant(value):
            return constant(value)
        case tree.Attribute(variable, name, kind):
            if name.startswith("extra."):
                access = {"text": "AccessVarchar2", "number": "AccessNumber"}[kind]
                return f":{variable}.get_extra_attribute({quoted(name.removeprefix('extra.'))}).{access}()"
            return f":{variable}.{name}()"
        case tree.ColumnValue(variable, image, column, access, use_old):
            return f"{_get_value(variable, image, column, use_old)}.{access}()"
        case tree.Column(name):
            return f'"{name}"'
        case tree.Field(variable, name):
            shown = variable if variable.isalpha() else f'"{variable}"'
            return f":{shown}.{name.lower() if name.isupper() else name}"
        case tree.Call("||", (left, right)):
            return f"({text_of(left)} || {text_of(right)})"
        case tree.Call(name, arguments):
            return f"{name}({', '.join(map(text_of, arguments))})"
        case tree.Case(conditions, values, otherwise):
            whens = zip(conditions, values, strict=True)
            branches = " ".join(f"WHEN {text_of(one)} THEN {text_of(value)}" for one, value in whens)
            return f"CASE {branches} ELSE {text_of(otherwise)} END"
        case tree.Arithmetic(sign, left, right):
            return f"({text_of(left)} {sign} {text_of(right)})"
    return _truth(node)


def _truth(node: tree.Node) -> str:
    match node:
        case tree.Known(value):
            return "unknown" if value is None else str(value).upper()
        case tree.Comparison(sign, left, right):
            return f"{text_of(left)} {sign} {text_of(right)}"
        case tree.IsNull(of, negated):
            return f"{text_of(of)} IS {_not(negated)}NULL"
        case tree.IsAbsent(variable, image, column, use_old, negated):
            return f"{_get_value(variable, image, column, use_old)} IS {_not(negated)}NULL"
        case tree.Among(of, items, negated):
            return f"{text_of(of)} {_not(negated)}IN ({', '.join(map(text_of, items))})"
        case tree.Between(of, low, high, negated):
            return f"{text_of(of)} {_not(negated)}BETWEEN {text_of(low)} AND {text_of(high)}"
        case tree.Like(of, pattern, escape, negated):
            behind = f" ESCAPE {quoted(escape)}" if escape else ""
            return f"{text_of(of)} {_not(negated)}LIKE {quoted(pattern)}{behind}"
        case tree.RegexpLike(of, pattern, flags):
            behind = f", {quoted(flags)}" if flags else ""
            return f"REGEXP_LIKE({text_of(of)}, {quoted(pattern)}{behind})"
        case tree.Not(tree.Holds(of)):
            return f"NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({text_of(of)}))"
        case tree.Not(of):
            return f"NOT ({text_of(of)})"
        case tree.Holds(of):
            return f"EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({text_of(of)}))"
        case tree.All(of) | tree.AnyOf(of):
            word = " AND " if isinstance(node, tree.All) else " OR "
            return word.join(
                f"({text_of(one)})" if isinstance(one, tree.All | tree.AnyOf) else text_of(one) for one in of
            )
    raise TypeError(type(node).__name__)


def quoted(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def as_name(name: str) -> str:
    """Return a name in double quotes."""
    return f'"{name}"'


def constant(value: Any) -> str:
    """Return a constant as Oracle's text."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"HEXTORAW('{value.hex().upper()}')"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case Decimal():
            return format(value, "f")
    return quoted(value)


def _get_value(variable: str, image: str, column: str, use_old: bool) -> str:
    behind = "" if use_old else ",'N'"
    return f":{variable}.get_value('{image}',{quoted(as_name(column))}{behind})"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""
