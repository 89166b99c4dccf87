"""Two tables differ in aspects that one can choose; how a server spells a type is none of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.ddl.base.same_shape import COLUMNS, Aspect, Difference, differences, same_type
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType


def typed(oid: int, text: str) -> DataType:
    return DataType(text, "pg_catalog", text.strip(), id=oid)


INT = typed(23, "integer")
TABLE = Table(1, TableName("s", "t"), (Column(1, "a", INT, nullable=False), Column(2, "b", INT)), Key((1,), "k", True))


def changed(**fields: object) -> Table:
    return TABLE.with_(columns=(TABLE.columns[0], replace(TABLE.columns[1], **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (TABLE, []),
        (changed(id=7, type=typed(99, " integer ")), []),
        (changed(type=typed(20, "bigint")), [Difference(Aspect.TYPE, "b")]),
        (changed(nullable=False), [Difference(Aspect.NULLABLE, "b")]),
        (changed(generated="stored"), [Difference(Aspect.GENERATED, "b")]),
        (changed(name="c"), [Difference(Aspect.MISSING_COLUMN, "b"), Difference(Aspect.EXTRA_COLUMN, "c")]),
        (TABLE.with_(key=None), [Difference(Aspect.KEY)]),
        (TABLE.with_(second_key=Key((2,), "d", True, "deferred")), [Difference(Aspect.SECOND_KEY)]),
        (TABLE.with_(partition_key="LIST (a)"), [Difference(Aspect.PARTITION_KEY)]),
    ],
)
def test_each_aspect_is_told_apart(found: Table, expected: list[Difference]) -> None:
    assert list(differences(TABLE, found)) == expected
    assert list(differences(TABLE, found, COLUMNS)) == [one for one in expected if one.column]


def test_a_type_is_the_same_however_it_is_spelled() -> None:
    assert same_type(typed(1, "numeric(5, 2)"), typed(2, "numeric(5,2)"))
    assert not same_type(typed(1, "numeric(5,2)"), typed(1, "numeric(5,3)"))
