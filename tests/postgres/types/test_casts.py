"""Which casts keep every value, and which give the same values everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.engines.postgres.types.casts import cast, numeric_size, widens
from airflow_ddlrepl.model.types import DataType, TypeKind
from airflow_ddlrepl.ports.types import Cast


def _numeric(precision: int, scale: int) -> DataType:
    return DataType(
        f"numeric({precision},{scale})",
        "pg_catalog",
        "numeric",
        id=1700,
        modifier=(precision << 16 | scale & 0x7FF) + 4,
    )


@given(st.integers(1, 1000), st.integers(-1000, 1000))
def test_numeric_modifiers_are_read(precision: int, scale: int) -> None:
    assert numeric_size(_numeric(precision, scale).modifier) == (precision, scale)


INT4, INT8, TEXT = (
    DataType("integer", "pg_catalog", "int4", id=23),
    DataType("bigint", "pg_catalog", "int8", id=20),
    25,
)
VARCHAR = {n: DataType(f"character varying({n})", "pg_catalog", "varchar", id=1043, modifier=n + 4) for n in (5, 12)}
ENUM = DataType("s.e", "s", "e", TypeKind.ENUM, id=20001)


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        (INT4, INT8, True),
        (INT8, INT4, False),
        (VARCHAR[5], VARCHAR[12], True),
        (VARCHAR[12], VARCHAR[5], False),
        (_numeric(6, 2), _numeric(12, 2), True),
        (_numeric(6, 2), _numeric(6, 4), False),
        (_numeric(6, 2), _numeric(8, 4), True),
        (INT4, _numeric(10, 0), True),
        (INT4, _numeric(9, 0), False),
        (INT4, DataType("text", "pg_catalog", "text", id=TEXT), False),
    ],
)
def test_wider_types_hold_every_old_value(old: DataType, new: DataType, wider: bool) -> None:
    assert widens(old, new) is wider


def test_casts_that_depend_on_the_session_are_told_apart() -> None:
    text = DataType("text", "pg_catalog", "text", id=TEXT)
    stamp, zoned = (DataType(n, "pg_catalog", n, id=o) for n, o in (("timestamp", 1114), ("timestamptz", 1184)))
    assert cast(INT4, text) is cast(ENUM, text) is Cast.SAME_EVERYWHERE
    assert cast(stamp, zoned) is Cast.BY_TIME_ZONE
    assert cast(stamp, text) is cast(text, INT4) is cast(ENUM, INT4) is Cast.UNKNOWN
