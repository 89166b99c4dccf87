"""Handlers get row LCRs with Python values: numbers, dates, booleans and bytes in place of the server's texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    _known: dict[tuple[int, str], _Known] = field(default_factory=dict)

    def __call__(self, lcr: RowLcr, shape: Table | None) -> RowLcr:
        """Return a row LCR with typed values.

        Those of columns that the shape does not have stay texts, and so do those that Python does not have.
        """
        if shape is None:
            return lcr
        return replace(lcr, old=self._row(lcr.old, shape), new=self._row(lcr.new, shape))

    def read_ahead(self, rows: Iterable[tuple[RowLcr, Table]]) -> None:
        """Make typed values of many row LCRs together, which is much quicker, and keep them."""
        self._known.clear()
        texts: dict[tuple[int, str], dict[str, None]] = {}
        shapes: dict[int, Table] = {}
        for lcr, shape in rows:
            shapes[id(shape)] = shape
            for image in (lcr.old, lcr.new):
                for name, text in image.items():
                    if text is not None:
                        texts.setdefault((id(shape), name), {})[text] = None
        for key, found in texts.items():
            self._column(shapes[key[0]], key[1]).add(found)

    def _row(self, row: Mapping[str, Any], shape: Table) -> Mapping[str, Any]:
        return {name: text if text is None else self._column(shape, name).value(text) for name, text in row.items()}

    def _column(self, shape: Table, name: str) -> _Known:
        key = (id(shape), name)
        if key not in self._known:
            column = next((one for one in shape.columns if one.name == name), None)
            self._known[key] = _Known(self.values, shape, column)
        return self._known[key]


@dataclass
class _Known:
    """This value has typed values of a column, by their texts. shape: of its table, which stays as long as they do."""

    values: ChangeValues
    shape: Table
    column: Column | None
    found: dict[str, Any] = field(default_factory=dict)

    def value(self, text: str) -> Any:
        """Return the value of a text."""
        if self.column is None:
            return text
        return self.found[text] if text in self.found else self._typed([text], self.column)[0]

    def add(self, texts: Iterable[str]) -> None:
        """Keep the values of many texts; where one of them has none in Python, none is kept."""
        listed = list(texts)
        if self.column is not None:
            with suppress(NotShown):
                self.found.update(zip(listed, self._shown(listed, self.column), strict=True))

    def _typed(self, texts: Sequence[str], column: Column) -> list[Any]:
        try:
            return self._shown(texts, column)
        except NotShown:
            shown = self.values.shown_type(column, self.shape.types)
            is_number = self.values.is_number(column, self.shape.types)
            return [odd_value(text, shown, is_number=is_number) for text in texts]

    def _shown(self, texts: Sequence[str], column: Column) -> list[Any]:
        shown = self.values.shown_type(column, self.shape.types)
        found = python_values(self.values.shown(pa.array(texts), "text", column, shown, self.shape.types)).to_pylist()
        if self.values.is_number(column, self.shape.types) and pa.types.is_string(shown):
            return [Decimal(one) for one in found]
        return list(found)
