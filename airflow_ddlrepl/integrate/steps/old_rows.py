"""This module makes sure that changes came with the old values that a step needs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.presence import absent_columns, has_old_rows
from airflow_ddlrepl.model.names import TableName

THEN = "; then `ddlrepl refresh --table` with this table"
"""The end of a hint that begins with how the log comes to have whole old rows."""


def require_old_rows(changes: pa.Table, table: TableName, why: str, layout: Sequence[str], hint: str) -> None:
    """Raise RowsRefused INT-112 where a change lacks its whole old row, or an update a value.

    why: what the table has, in words. layout: every column in the order of the `absent` bitmap. hint: how the log comes
    to have whole old rows.
    """
    if not has_old_rows(changes) or absent_columns(changes["absent"], layout):
        raise RowsRefused(
            f"a change of a table {why} came without all of its old values",
            code="INT-112",
            table=table,
            hint=hint + THEN,
        )
