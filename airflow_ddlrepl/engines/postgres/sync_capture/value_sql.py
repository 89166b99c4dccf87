"""This module writes the values of a rule's condition as SQL for a trigger function.

A value has the type of its kind: text, numeric, timestamp or bytea. Texts have the collation "C", by which they compare
character by character, as they do when a condition is evaluated outside a database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.kinds import ACCESS, Kind
from airflow_ddlrepl.streams.condition.printing import text_of
from airflow_ddlrepl.streams.condition.tree import Image

LETTERS = ("pg_unicode_fast", "und-x-icu")
"""These collations know the upper and lower case of all letters, whatever the database's own does."""
IMAGES = {Image.OLD: "old_row", Image.NEW: "new_row"}
"""The variables of the trigger function with a row's values as texts, by the name of the column."""
_BLANK, _EMPTY = "' '", "''"
_TYPES = {Kind.TEXT: "text", Kind.NUMBER: "numeric", Kind.MOMENT: "timestamp", Kind.RAW: "bytea"}


class NotInSql(ValueError):
    """This error says which part of a condition a trigger function can't evaluate, and why."""


def collated(sql: str) -> str:
    """Return a text whose characters are compared by their numbers."""
    return f'(({sql}) COLLATE "C")'


def null(kind: Kind | None) -> str:
    """Return NULL as a value of this kind."""
    return f"NULL::{_TYPES[kind or Kind.TEXT]}"


class ValueWriter:
    """A value writer writes values.

    source_database: as the LCRs have it. letters: one of LETTERS; empty: the server has none. truth: writes a truth.
    """

    def __init__(self, source_database: str, letters: str, truth: Callable[[tree.Truth], str]) -> None:
        self._truth = truth
        self.letters = letters
        self._attributes = {
            "get_command_type": collated("command"),
            "get_object_owner": collated("object_owner"),
            "get_object_name": collated("object_name"),
            "get_source_database_name": collated(literal(source_database) + "::text"),
            "get_tag": "convert_to(tag, 'UTF8')",
            "is_null_tag": collated("CASE WHEN tag IS NULL THEN 'Y' ELSE 'N' END"),
            "get_transaction_id": collated("pg_current_xact_id()::text"),
            "get_source_time": "(captured_at AT TIME ZONE 'UTC')",
        }

    def value(self, node: tree.Value) -> str:
        """Return a value as SQL. Raises NotInSql."""
        match node:
            case tree.Constant(value, kind):
                return _constant(value, kind)
            case tree.Attribute():
                return self._attribute(node)
            case tree.ColumnValue():
                return _column(node)
            case tree.Call(name, arguments):
                return self._call(node, name, [self.value(one) for one in arguments])
            case tree.Case(conditions, values, otherwise):
                pairs = zip(conditions, values, strict=True)
                whens = " ".join(f"WHEN {self._truth(one)} THEN {self.value(value)}" for one, value in pairs)
                return f"(CASE {whens} ELSE {self.value(otherwise)} END)"
            case tree.Arithmetic(sign, left, right) if sign != "/":
                return f"({self.value(left)} {sign} {self.value(right)})"
            case tree.Arithmetic():
                raise NotInSql(f"{text_of(node)}: a quotient has another number of digits in PostgreSQL")
        raise NotInSql(f"{text_of(node)} is no value of a row")

    def _attribute(self, node: tree.Attribute) -> str:
        if node.variable != "dml":
            return null(node.kind)
        if node.name not in self._attributes:
            raise NotInSql(f"{text_of(node)} is not known while the row is changed")
        return self._attributes[node.name]

    def with_letters(self, sql: str, node: tree.Node) -> str:
        """Return a text whose letters have upper and lower case. Raises NotInSql where the server lacks a collation."""
        if not self.letters:
            names = " or ".join(f'"{name}"' for name in LETTERS)
            raise NotInSql(f"{text_of(node)}: upper and lower case need the collation {names}, and the server has none")
        return f'({sql} COLLATE "{self.letters}")'

    def _call(self, node: tree.Call, name: str, values: list[str]) -> str:
        if name in ("UPPER", "LOWER"):
            return collated(f"{name.lower()}{self.with_letters(values[0], node)}")
        if name not in _FUNCTIONS:
            raise NotInSql(f"{text_of(node)}: {name} has no counterpart in PostgreSQL")
        return _FUNCTIONS[name](values)


def _column(node: tree.ColumnValue) -> str:
    """Return a column's value where it has the kind that the function reads; else NULL."""
    kind = ACCESS[node.access]
    if node.variable != "dml":
        return null(kind)
    name = literal(node.column)
    text, of = f"{IMAGES[node.image]} ->> {name}", f"kinds ->> {name}"
    match kind:
        case Kind.TEXT:
            return f"(CASE WHEN {of} = 'text' THEN {collated(text)} END)"
        case Kind.NUMBER:
            return f"(CASE WHEN {of} = 'number' THEN ({text})::numeric END)"
        case Kind.RAW:
            return f"(CASE WHEN {of} = 'raw' THEN ({text})::bytea END)"
    zoned = f"({text})::timestamptz AT TIME ZONE 'UTC'"
    return f"(CASE {of} WHEN 'date' THEN ({text})::timestamp WHEN 'zoned date' THEN {zoned} END)"


def _constant(value: object, kind: Kind | None) -> str:
    if value is None:
        return null(kind)
    if kind is Kind.TEXT:
        return collated(f"{literal(str(value))}::text")
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'::bytea"
    if isinstance(value, Decimal):
        return f"({value:f})::numeric"
    return f"'{value}'::timestamp"


def _first(*values: str) -> str:
    return f"coalesce({', '.join(values)})"


def _if_all(function: str) -> Callable[[list[str]], str]:
    """Return a writer of a function that gives NULL where one of its arguments is NULL."""

    def write(values: list[str]) -> str:
        return f"(CASE WHEN num_nulls({', '.join(values)}) = 0 THEN {function}({', '.join(values)}) END)"

    return write


def _plain(form: str) -> Callable[[list[str]], str]:
    """Return a writer that puts the arguments into a form, as `{0}`, `{1}` …"""
    return lambda values: form.format(*values)


def _trimmed(function: str) -> Callable[[list[str]], str]:
    return lambda values: f"nullif({function}({', '.join([*values, _BLANK][:2])}), '')"


def _substring(values: list[str]) -> str:
    """Return a part of a text as Oracle's SUBSTR does: 0 is 1, a negative start counts from the end."""
    text, start = values[0], f"trunc({values[1]})::int"
    begin = f"(CASE WHEN {start} < 0 THEN length({text}) + {start} + 1 ELSE greatest({start}, 1) END)"
    many = f", greatest(trunc({values[2]})::int, 0)" if len(values) > 2 else ""
    return f"(CASE WHEN {begin} > 0 THEN nullif(substr({text}, {begin}{many}), '') END)"


def _rounded(function: str) -> Callable[[list[str]], str]:
    return lambda values: f"{function}({values[0]}, {f'trunc({values[1]})::int' if len(values) > 1 else '0'})"


_FUNCTIONS: Mapping[str, Callable[[list[str]], str]] = {
    "SUBSTR": _substring,
    "INSTR": _plain("strpos({0}, {1})::numeric"),
    "LENGTH": _plain("length({0})::numeric"),
    "TRIM": _trimmed("btrim"),
    "LTRIM": _trimmed("ltrim"),
    "RTRIM": _trimmed("rtrim"),
    "REPLACE": lambda values: f"nullif(replace({', '.join([*values, _EMPTY][:3])}), '')",
    "CONCAT": _plain("nullif(concat({0}, {1}), '')"),
    "||": _plain("nullif(concat({0}, {1}), '')"),
    "ABS": _plain("abs({0})"),
    "SIGN": _plain("sign({0})"),
    "FLOOR": _plain("floor({0})"),
    "CEIL": _plain("ceil({0})"),
    "ROUND": _rounded("round"),
    "TRUNC": _rounded("trunc"),
    "MOD": _plain("(CASE WHEN {1} = 0 THEN {0} ELSE mod({0}, {1}) END)"),
    "BITAND": _plain("(trunc({0})::bigint & trunc({1})::bigint)::numeric"),
    "NVL": lambda values: _first(*values),
    "COALESCE": lambda values: _first(*values),
    "NULLIF": _plain("nullif({0}, {1})"),
    "GREATEST": _if_all("greatest"),
    "LEAST": _if_all("least"),
    "RAWTOHEX": lambda values: collated(f"upper(encode({values[0]}, 'hex'))"),
}
