"""This module defines the port of row evaluators, which answer what only a target can say of rows of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_ddlrepl.errors import RowsRefused, Unsupported

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from airflow_ddlrepl.model.table import Column, Table
    from airflow_ddlrepl.notation.condition.expression import Part


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Logged rows are values of some of a table's columns, as the trail has them."""

    values: pa.Table
    """One column for each of the source's columns that a question is about, by its name; at least one row."""
    table: Table
    """The source's table, in the shape that the rows have."""
    encodings: Mapping[str, str]
    """How the trail writes the values of each column (`ColumnLayout.encoding`)."""


class NoAnswer(Exception):
    """This exception says why a row has no answer to a condition, in the target's words."""


class RowEvaluator(Protocol):
    """A row evaluator answers questions about rows of the log before any of them is applied.

    The answers are in the order of the rows. Every method raises what the target's server makes of a session, and
    RowsRefused INT-120 or UnreadableRows INT-105 for values that it does not take.
    """

    def is_true(self, condition: Part, rows: LoggedRows) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for which rows a condition is true; NULL is not true.

        Only for what `Target.check_condition` lets pass. Raises NoAnswer where it can't be decided for a row.
        """
        raise Unsupported(
            "this kind of target evaluates no conditions",
            code="ADP-148",
            hint="leave `restrict` out for this target",
        )

    def as_text(self, rows: LoggedRows) -> pa.Table:
        """Return the text of each value as the source writes it, by the same names; NULL for NULL.

        Raises RowsRefused INT-120 for values that the log does not have as texts.
        """
        import pyarrow as pa

        return pa.table({name: _text(rows.values[name], name, rows.table) for name in rows.values.column_names})

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        """Return for each value why the target's column can't hold it, as a text; NULL: it can.

        columns: the target's column for each of the source's, by the source's name. Only for `coerce_error_policy` in
        `target_tables`.
        """
        raise Unsupported(
            "this kind of target does not look for values that do not fit",
            code="ADP-164",
            hint="take the target out of `target_tables`",
        )

    def key_numbers(self, rows: LoggedRows, columns: Mapping[str, Column]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return a number for each row, equal for rows whose values in these columns are equal at the target.

        columns: as for `misfits`. Only for keys whose equality the target's types call `Equality.TARGET`.
        """
        raise Unsupported("this kind of target compares keys as the source does", code="ADP-110", hint="report it")


def _text(values: pa.ChunkedArray, name: str, table: Table) -> pa.ChunkedArray:
    """Return the text of each value of a column that the log has as texts, or with one text for each value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "t", "f")
    if pa.types.is_string(values.type) or pa.types.is_integer(values.type):
        return values.cast(pa.string())
    raise RowsRefused(
        f"the text of values of column {name} is not known here: the log has them as {values.type}",
        code="INT-120",
        table=table.name,
        hint="write `capture: {format: text}`, or leave the column out of `reads` in `transform`",
    )


class _NoServer(RowEvaluator):
    """This evaluator knows what the log says by itself."""


NO_SERVER = _NoServer()
