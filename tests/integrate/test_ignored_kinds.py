"""Kinds of changes that a target ignores leave them before they are netted."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.integrate.steps.ignored_kinds import without_ignored
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.settings.row_kind import RowKind


def test_changes_of_ignored_kinds_are_left_out_and_counted() -> None:
    changes = pa.table({"op": pa.array([Op.INSERT, Op.DELETE, Op.UPDATE, Op.DELETE], pa.int8()), "a_id": [1, 2, 3, 4]})
    left, counts = without_ignored(changes, {RowKind.DELETE, RowKind.INSERT, RowKind.TRUNCATE})
    assert left["a_id"].to_pylist() == [3]
    assert counts == {RowKind.DELETE: 2, RowKind.INSERT: 1}
    assert without_ignored(changes, frozenset()) == (changes, {})
