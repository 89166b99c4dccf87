"""This module defines the port of row evaluators, which answer what only a target can say of rows of the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.ports.change_values import wanted

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from airflow_ddlrepl.model.table import Column, Table
    from airflow_ddlrepl.notation.condition.expression import Part
    from airflow_ddlrepl.ports.change_values import ChangeValues, Converted


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


class RowEvaluator:
    """A row evaluator answers questions about rows of the log before any of them is applied.

    The answers are in the order of the rows. Every method raises what the target's server makes of a session, and
    RowsRefused INT-120 or UnreadableRows INT-105 for values that it does not take. values: converts those of the trail.
    """

    def __init__(self, values: ChangeValues) -> None:
        self._values = values

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
        """Return the text of each value as the source writes it, by the same names; NULL for NULL."""
        import pyarrow as pa

        columns = {column.name: column for column in rows.table.columns}
        names = rows.values.column_names
        return pa.table({name: self._source_text(rows, columns[name]) for name in names})

    def converter(self, rows: LoggedRows, column: Column) -> Callable[[pa.Array, pa.Field], Converted]:
        """Return the function that converts values of a column of these rows as `ChangeValues.converted` does."""
        encoding, types = rows.encodings[column.name], rows.table.types
        return lambda chunk, field: self._values.converted(chunk, encoding, column, field, types)

    def _source_text(self, rows: LoggedRows, column: Column) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        convert, field = self.converter(rows, column), wanted(column.name, pa.string())
        found = [convert(chunk, field) for chunk in rows.values[column.name].chunks]
        texts = [one.values if one.unfit is None else pc.coalesce(one.values, one.unfit) for one in found]
        return pa.chunked_array(texts, pa.string())

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
