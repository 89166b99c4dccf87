"""A key that the source does not see to: two rows under it at a time are noticed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.images import SameKey
from airflow_ddlrepl.integrate.netting.net_changes import Netting, net
from airflow_ddlrepl.model.change import Op

Row = tuple[int, str]


def changes(*done: tuple[Row | None, Row | None]) -> pa.Table:
    """A change for each pair of a row before and after it, (key, value)."""
    op = [Op.INSERT if old is None else Op.DELETE if new is None else Op.UPDATE for old, new in done]
    sides = {f"{side}_{name}": [row[at] if row else None for row in rows]
             for side, rows in (("b", [old for old, _ in done]), ("a", [new for _, new in done]))
             for at, name in enumerate(("k", "v"))}  # fmt: skip
    types = {"k": pa.int64(), "v": pa.string()}
    return pa.table(
        {
            "op": pa.array(op, pa.int8()),
            "before": pa.array([0 if old is None else 2 for old, _ in done], pa.int8()),
            "absent": pa.nulls(len(done), pa.binary()),
            **{name: pa.array(values, types[name[-1]]) for name, values in sides.items()},
        }
    )


@pytest.mark.parametrize(
    "done",
    [
        [(None, (1, "a")), (None, (1, "b"))],
        [(None, (1, "a")), ((1, "b"), None)],
        [((1, "a"), (2, "a")), ((2, "b"), (3, "b"))],
        [((1, "a"), (1, "b")), ((2, "c"), (1, "c"))],
    ],
    ids=["two come", "another goes", "another moves on", "one comes to another"],
)
def test_two_rows_under_one_key(done: list[tuple[Row | None, Row | None]]) -> None:
    with pytest.raises(SameKey):
        net(changes(*done), ["k", "v"], [KeyColumn("k")], how=Netting(distinct=True))


def test_rows_one_after_the_other() -> None:
    done: list[tuple[Row | None, Row | None]] = [
        ((1, "a"), (2, "a")), (None, (1, "n")), ((2, "a"), (2, "b")), ((2, "b"), None), (None, (2, "m")),
        ((3, "x"), (4, "x")), ((4, "x"), (3, "x")),
    ]  # fmt: skip
    found = net(changes(*done), ["k", "v"], [KeyColumn("k")], how=Netting(distinct=True))
    assert [len(rows) for rows in (found.deletes, found.moves)] == [0, 0]
    assert sorted(found.updates["a_k"].to_pylist()) == [1, 3] and found.inserts["a_k"].to_pylist() == [2]
