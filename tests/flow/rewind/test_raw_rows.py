"""Rows that a rewind reads from the trail as they were kept there, before a function of `transform` gives values."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow.rewind.restore import require_archived
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table


def test_a_column_that_a_function_reads_must_have_been_kept() -> None:
    table = Table(1, TableName("public", "t"), ())
    require_archived(table, ["a"], ["a", "b"])
    with pytest.raises(CannotAdapt, match=r"REW-103.*reads c.*public\.t") as caught:
        require_archived(table, ["a", "c"], ["a", "b"])
    assert "reads" in caught.value.hint
