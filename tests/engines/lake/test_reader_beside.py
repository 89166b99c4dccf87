"""The reader beside the tests of lakes finds what comes in two steps."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.lakes.reader import Beside

TABLES = "create table iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)"
STATE = "create table ddlrepl_state (position)"
POINTER = "update iceberg_tables set metadata_location = 'b'"
POSITION = "update ddlrepl_state set position = 2"


def seen(location: str, *transactions: tuple[str, ...], stranger: bool = False) -> Beside:
    """What a reader beside sees of these transactions, one after the other."""
    with closing(sqlite3.connect(location, isolation_level=None)) as connection:
        for statement in (TABLES, STATE, "insert into iceberg_tables values ('lake', 'public', 'orders', 'a')"):
            connection.execute(statement)
        connection.execute("insert into ddlrepl_state values (1)")
        with Beside(f"iceberg://{location}") as beside:
            for transaction in transactions:
                time.sleep(0.1)
                if stranger:
                    with beside.of_nobody():
                        connection.execute(transaction[0])
                    continue
                for statement in ("begin", *transaction, "commit"):
                    connection.execute(statement)
            time.sleep(0.1)
    return beside


def test_what_comes_in_one_transaction_is_whole(tmp_path: Path) -> None:
    beside = seen(f"{tmp_path}/catalog.db", (POINTER, POSITION))
    beside.check()
    assert len(beside.seen) == 2


@pytest.mark.parametrize("steps", [[(POINTER,), (POSITION,)], [(POSITION,), (POINTER,)], [(POINTER,)]])
def test_what_comes_in_two_is_not(tmp_path: Path, steps: list[tuple[str, ...]]) -> None:
    with pytest.raises(AssertionError, match="half a window"):
        seen(f"{tmp_path}/catalog.db", *steps).check()


def test_what_somebody_else_writes_is_no_window(tmp_path: Path) -> None:
    seen(f"{tmp_path}/catalog.db", (POINTER,), stranger=True).check()
