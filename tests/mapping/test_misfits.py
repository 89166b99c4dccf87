"""Which columns may be too short for a text of the source's."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.mapping.misfits import is_cut
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType


def column(name: str, typmod: int = -1, generated: str = "") -> Column:
    return Column(1, "c", DataType(name, "pg_catalog", name, modifier=typmod), generated=generated)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (column("varchar", 16), column("varchar", 9), True),
        (column("text"), column("bpchar", 9), True),
        (column("varchar"), column("varchar", 9), True),
        (column("varchar", 9), column("varchar", 16), False),
        (column("varchar", 9), column("varchar", 9), False),
        (column("varchar", 9), column("text"), False),
        (column("text"), column("varchar"), False),
        (column("int4"), column("varchar", 9), False),
        (column("text"), column("varchar", 9, "stored"), False),
    ],
)
def test_a_text_may_be_too_long(source: Column, target: Column, expected: bool) -> None:
    assert is_cut(source, target) is expected
