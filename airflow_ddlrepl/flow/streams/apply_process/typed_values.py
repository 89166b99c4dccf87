"""Handlers get row LCRs with Python values: numbers, dates, booleans and bytes in place of the server's texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown, python_values
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.queue.row_messages import odd_value


@dataclass(frozen=True, slots=True)
class TypedValues:
    """These make typed values of texts, by the types of a source's columns. values: of the source's engine."""

    values: ChangeValues

    def __call__(self, lcr: RowLcr, shape: Table | None) -> RowLcr:
        """Return a row LCR with typed values.

        Those of columns that the shape does not have stay texts, and so do those that Python does not have.
        """
        if shape is None:
            return lcr
        columns = {column.name: column for column in shape.columns}
        return replace(lcr, old=self._row(lcr.old, columns, shape), new=self._row(lcr.new, columns, shape))

    def _row(self, row: Mapping[str, Any], columns: Mapping[str, Column], shape: Table) -> Mapping[str, Any]:
        found = {}
        for name, text in row.items():
            column = columns.get(name)
            found[name] = text if text is None or column is None else self._value(text, column, shape)
        return found

    def _value(self, text: str, column: Column, shape: Table) -> Any:
        shown = self.values.shown_type(column, shape.types)
        is_number = self.values.is_number(column, shape.types)
        try:
            found = python_values(self.values.shown(pa.array([text]), "text", column, shown, shape.types))
        except NotShown:
            return odd_value(text, shown, is_number=is_number)
        value = found[0].as_py()
        return Decimal(value) if is_number and pa.types.is_string(shown) else value
