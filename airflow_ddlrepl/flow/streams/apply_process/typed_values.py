"""Handlers get row LCRs with Python values: numbers, dates, booleans and bytes in place of the server's texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown
from airflow_ddlrepl.streams.messages import RowLcr


@dataclass(frozen=True, slots=True)
class TypedValues:
    """These make typed values of texts, by the types of a source's columns. values: of the source's engine."""

    values: ChangeValues

    def __call__(self, lcr: RowLcr, shape: Table | None) -> RowLcr:
        """Return a row LCR with typed values; those of columns that the shape does not have stay texts.

        Raises RuleError RUL-131 for a text that its type does not have.
        """
        if shape is None:
            return lcr
        columns = {column.name: column for column in shape.columns}
        return replace(lcr, old=self._row(lcr, lcr.old, columns, shape), new=self._row(lcr, lcr.new, columns, shape))

    def _row(
        self, lcr: RowLcr, row: Mapping[str, Any], columns: Mapping[str, Column], shape: Table
    ) -> Mapping[str, Any]:
        found = {}
        for name, text in row.items():
            column = columns.get(name)
            try:
                found[name] = text if text is None or column is None else self._value(text, column, shape)
            except NotShown as error:
                raise RuleError(
                    f"column {name} {error}: no handler can get it",
                    code="RUL-131",
                    table=f"{lcr.owner}.{lcr.name}",
                    hint="take the handler away from the table, or the column out of its LCRs (delete_column)",
                ) from None
        return found

    def _value(self, text: str, column: Column, shape: Table) -> Any:
        shown = self.values.shown_type(column, shape.types)
        value = self.values.shown(pa.array([text]), "text", column, shown, shape.types)[0].as_py()
        is_number = pa.types.is_string(shown) and self.values.is_number(column, shape.types)
        return Decimal(value) if is_number else value
