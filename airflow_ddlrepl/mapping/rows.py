"""This module checks that a condition in `restrict` selects the same rows of a table at source and target. Pure.

Only what compares alike on every server may be in it: built-in types whose order and equality depend on no setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeKind
from airflow_ddlrepl.notation.condition.expression import (
    Among,
    Arithmetic,
    Between,
    Cast,
    Compare,
    IsNull,
    Joined,
    Like,
    Minus,
    Named,
    Not,
    Number,
    Part,
    Text,
    Truth,
)
from airflow_ddlrepl.notation.condition.parser import is_constant, spelled

NUMBER, TEXT, TIME, TIME_OF_DAY, ANY = "number", "text", "date", "time", "constant"
_FAMILIES = {
    **dict.fromkeys(("smallint", "integer", "bigint", "numeric", "real", "double precision"), NUMBER),
    **dict.fromkeys(("text", "character varying", "character", "bpchar"), TEXT),
    **dict.fromkeys(("date", "timestamp without time zone", "timestamp with time zone"), TIME),
    **dict.fromkeys(("time without time zone",), TIME_OF_DAY),
    **{name: name for name in ("boolean", "interval", "uuid", "bytea", "inet")},
}
"""Types of one family can be compared with each other; the keys are types as DDL spells them."""
_MOVING = re.compile(r"now|today|tomorrow|yesterday", re.IGNORECASE)
_EXACT = re.compile(rf'"?{SYSTEM_SCHEMA}"?\.')
_WRITE = "write the condition in `restrict` over columns of built-in types"


def condition_columns(condition: Part, table: Table) -> tuple[Column, ...]:
    """Return the columns that the condition names; `table` is the source's shape.

    Raises Unsupported ADP-147 for one that the table lacks, ADP-148 for what may not be the same on two servers.
    """
    by_name = {column.name: column for column in table.columns}
    for name in condition.names():
        if name not in by_name:
            raise Unsupported(
                f"the condition {spelled(condition)} names column {name}, which the table does not have",
                code="ADP-147",
                table=table.name,
                hint="correct the condition in `restrict`: it names the source's columns; where the source renames or"
                " drops one, write the condition so that it holds after that, and run again: the table is loaded again",
            )
    _Judge(by_name, table.name).truth(condition)
    return tuple(by_name[name] for name in condition.names())


class _Judge:
    """A judge checks that the parts of a condition mean the same on two servers, for one table's columns."""

    def __init__(self, columns: dict[str, Column], table: TableName) -> None:
        self.columns = columns
        self.table = table

    def truth(self, part: Part) -> None:
        """Check a part that has to be true, false or unknown."""
        if isinstance(part, Joined | Not):
            for one in part.parts:
                self.truth(one)
        elif type(part) in _CHECKS:
            _CHECKS[type(part)](self, part)
        elif self.family(part) != "boolean":
            self.refuse(part, "is neither true nor false")

    def compare(self, part: Compare) -> None:
        self.alike(part, part.left, part.right, is_ordered=part.is_ordered)

    def among(self, part: Among) -> None:
        for item in part.items:
            self.alike(part, part.of, item)

    def between(self, part: Between) -> None:
        self.alike(part, part.of, part.low, is_ordered=True)
        self.alike(part, part.of, part.high, is_ordered=True)

    def like(self, part: Like) -> None:
        if self.family(part.of) != TEXT:
            self.refuse(part, "LIKE is for texts")

    def is_null(self, part: IsNull) -> None:
        self.family(part.of)

    def alike(self, part: Part, left: Part, right: Part, *, is_ordered: bool = False) -> None:
        one, other = self.family(left), self.family(right)
        family = other if one == ANY else one
        if ANY not in (one, other) and one != other:
            self.refuse(part, f"compares {one} with {other}")
        if family in (TEXT, ANY) and is_ordered:
            self.refuse(part, "texts are ordered otherwise on another server; = <> IN LIKE are not")
        if family in (TIME, TIME_OF_DAY):
            self.fixed(part, left, right)

    def fixed(self, part: Part, *constants: Part) -> None:
        for one in constants:
            if isinstance(one, Text) and _MOVING.search(one.value):
                self.refuse(part, f"'{one.value}' is another moment each time it is read")

    def family(self, part: Part) -> str:
        if isinstance(part, Named):
            return self.of_column(self.columns[part.name])
        if isinstance(part, Number):
            return NUMBER
        if isinstance(part, Truth):
            return "boolean"
        if isinstance(part, Minus | Arithmetic):
            if any(self.family(one) != NUMBER for one in part.parts):
                self.refuse(part, "there is arithmetic on numbers only")
            return NUMBER
        return self.of_cast(part) if isinstance(part, Cast) else ANY

    def of_cast(self, part: Cast) -> str:
        """Return the family of types that a cast's value belongs to; refuse a cast that may differ between servers.

        A constant may become anything, a column another number, date or time (in UTC).
        """
        found, before = _FAMILIES[part.type], self.family(part.of)
        if not is_constant(part.of) and not (found == before and found in (NUMBER, TIME)):
            self.refuse(part, f"a {before} column is not cast to {part.type}")
        if found == TIME:
            self.fixed(part, part.of)
        return found

    def of_column(self, column: Column) -> str:
        spelled_so = re.sub(r"\(.*?\)", "", column.type.text)
        known = column.type.kind is TypeKind.BASE and column.type.is_builtin
        if not known or spelled_so not in _FAMILIES:
            self.refuse(Named(column.name), f"its type is {column.type.text}")
        if column.generated:
            self.refuse(Named(column.name), "the log does not carry what is computed")
        if column.collation is not None and not _EXACT.match(column.collation):
            self.refuse(Named(column.name), f"its collation {column.collation} may find other texts equal")
        return _FAMILIES[spelled_so]

    def refuse(self, part: Part, why: str) -> NoReturn:
        raise Unsupported(
            f"what {spelled(part)} gives in a condition may not be the same at source and target: {why}",
            code="ADP-148",
            table=self.table,
            hint=_WRITE,
        )


_CHECKS: dict[type[Part], Callable[[_Judge, Any], None]] = {
    Compare: _Judge.compare,
    Among: _Judge.among,
    Between: _Judge.between,
    Like: _Judge.like,
    IsNull: _Judge.is_null,
}
