"""Rewinds of a channel with conditions: loads hold every row, and each place takes those that it is to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import CannotAdapt, TargetError, Unsupported
from tests.support.replayable import captured, past_at, read, there_and_back
from tests.support.replica import Replica
from tests.support.restricting import COMING_AND_GOING, EU, FULL, IS_EU, NO_REGION, ROWS, TABLE, begun, check, ids, now

ROWS_OF = "SELECT row_to_json(x)::text FROM t x {} ORDER BY 1"


def noted(replica: Replica, condition: str = IS_EU) -> tuple[str, list[Any]]:
    """Where the log stands, and what of the source is wanted there."""
    return captured(replica), read(replica.source, ROWS_OF.format(f"WHERE {condition}"))


@pytest.mark.parametrize("many", [False, True], ids=["one chunk", "several chunks"])
@pytest.mark.parametrize("absent", [False, True], ids=["all columns", "absent columns"])
def test_a_place_is_filled_with_the_rows_that_it_is_to_have(
    databases: Any, tmp_path: Path, past: str, absent: bool, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the column that decides is not there."""
    if many:
        monkeypatch.setattr("airflow_ddlrepl.engines.chunks.MINIMUM_BYTES", 4 * 8192)
    said = list(NO_REGION) if absent else []
    more = f"INSERT INTO t SELECT i, 'EU', i, 'x' FROM generate_series(50, {20000 if many else 150}) i"
    replica = begun(
        databases, tmp_path, EU, column_properties=said, statements=(TABLE, FULL, ROWS, more), **past_at(past)
    )
    there_and_back(replica, past, COMING_AND_GOING, ROWS_OF.format(""))


def test_a_live_target_gets_back_its_own_rows(databases: Any, tmp_path: Path, past: str) -> None:
    """It is built in the replay with the target's condition, not with that of the replay."""
    replica = begun(
        databases,
        tmp_path,
        {**EU, "targets": "warehouse"},
        {**EU, "condition": "id > 2", "targets": "past"},
        **past_at(past),
    )
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2")
    before, _ = noted(replica)
    replica.at_source("UPDATE t SET region = 'EU' WHERE id = 4", "ALTER TABLE t ALTER amount TYPE bigint")
    captured(replica)
    replica.at_target("DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (3, 'US', 1, 'not wanted')")
    assert replica.rewind(before, "warehouse").placed == {"public.t": 3}
    replica.check_equal()
    check(replica)
    replica.at_source("UPDATE t SET amount = 500 - amount")
    replica.settle()
    replica.rewind(before)
    assert read(past, "SELECT id FROM t ORDER BY id") == [(3,), (4,)]


def test_a_rewind_takes_the_rows_by_the_condition_of_today(databases: Any, tmp_path: Path, past: str) -> None:
    """The file has changed on the way. What is loaded on the way is met there, too."""
    replica = begun(databases, tmp_path, EU, **past_at(past))
    first, _ = noted(replica)
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2")
    now(replica, restrict=[{**EU, "condition": "amount < 200"}])
    second, rows = noted(replica, "amount < 200")
    replica.at_source("UPDATE t SET amount = amount - 150")
    third, later = noted(replica, "amount < 200")
    replica.rewind(first)
    assert read(past, "SELECT id FROM t") == [(2,)]
    replica.rewind(second)
    assert read(past, ROWS_OF.format("")) == rows
    replica.rewind(third, onward=True)
    assert read(past, ROWS_OF.format("")) == later
    replica.rewind(first, "warehouse")
    check(replica, "amount < 200")


def test_what_was_not_there_yet_can_not_be_looked_at(databases: Any, tmp_path: Path, past: str) -> None:
    """The plan says so; from the column's load on a rewind works."""
    replica = begun(databases, tmp_path, **past_at(past))
    before = captured(replica)
    replica.at_source("ALTER TABLE t ADD kind int NOT NULL DEFAULT 1", "UPDATE t SET kind = 2 WHERE id > 2")
    now(replica, restrict=[{**EU, "condition": "kind = 2"}])
    after, rows = noted(replica, "kind = 2")
    for ask in (replica.plan_rewind, replica.rewind):
        with pytest.raises((Unsupported, CannotAdapt), match="names column kind, which the table does not have"):
            ask(before)
    replica.rewind(after)
    assert read(past, ROWS_OF.format("")) == rows


def test_log_without_whole_old_rows_can_not_be_gone_through(databases: Any, tmp_path: Path, past: str) -> None:
    replica = begun(databases, tmp_path, statements=(TABLE, ROWS), **past_at(past))
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2")
    before = captured(replica)
    now(replica, restrict=[EU])
    replica.at_source(FULL, "UPDATE t SET amount = 500 - amount WHERE id < 3")
    after, rows = noted(replica)
    with pytest.raises(TargetError, match="INT-112"):
        replica.rewind(before)
    replica.rewind(after)
    assert read(past, ROWS_OF.format("")) == rows
    assert ids(replica) == [1, 2]
