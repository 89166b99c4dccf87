"""This module answers questions about rows of the log over Arrow values, in any process: no Java is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.lake.merge.conditions import Rows, Unanswered, true_rows, why_unlike
from airflow_ddlrepl.engines.lake.types.arrow import each_held
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.lake.types.read_texts import why_not
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.presence import Flags


class LakeEvaluator(RowEvaluator):
    """This evaluator has the values as a lake's table would hold them."""

    def is_true(self, condition: Part, rows: LoggedRows) -> Flags:
        columns = {column.name: column for column in rows.table.columns}
        names = rows.values.column_names
        if why := why_unlike(condition, [columns[name] for name in names]):
            raise NoAnswer(why)
        values = {
            name: each_held(
                rows.values[name],
                physical(columns[name].type, rows.table.types),
                self.converter(rows, columns[name]),
                name,
            )
            for name in names
        }
        try:
            found = true_rows(condition, Rows(values, {name: columns[name].type for name in names}))
        except Unanswered as error:
            raise NoAnswer(str(error)) from None
        flags: Flags = found.to_numpy(zero_copy_only=False)
        return flags

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        texts = self.as_text(rows)
        return pa.table({name: why_not(texts[name], column) for name, column in columns.items()})
