"""Net changes with the values before all of them, by which conflicts at a target are found."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.net_changes import Netting, net
from tests.integrate.test_own_keys import Row, changes

HOW = Netting(resilient=True, old=["k", "v"])


def test_a_row_has_the_values_before_its_first_change_and_the_place_of_its_last() -> None:
    """What came and went has the row that went, and was not there; another key is a delete and an insert."""
    done: list[tuple[Row | None, Row | None]] = [
        ((1, "a"), (1, "b")), (None, (2, "n")), ((1, "b"), (1, "c")), ((2, "n"), (2, "m")), ((2, "m"), None),
        ((3, "x"), None), (None, (3, "y")), ((4, "o"), (4, "p")), ((4, "p"), None), ((5, "s"), (6, "s")),
        (None, (7, "t")),
    ]  # fmt: skip
    rows = changes(*done)
    found = net(rows.append_column("lsn", pa.array(range(len(done)))), ["k", "v"], [KeyColumn("k")], how=HOW)

    def told(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
        return sorted(zip(*(table[name].to_pylist() for name in names), strict=True))

    assert told(found.updates, "a_k", "b_v", "a_v", "was_there", "lsn") == [
        (1, "a", "c", True, 2),
        (3, "x", "y", True, 6),
    ]
    assert told(found.deletes, "b_k", "b_v", "was_there", "lsn") == [
        (2, "m", False, 4),
        (4, "o", True, 8),
        (5, "s", True, 9),
    ]
    assert told(found.inserts, "a_k", "a_v", "lsn") == [(6, "s", 9), (7, "t", 10)]
