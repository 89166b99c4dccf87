"""A condition of `restrict` for refreshes alone: only the rows for which it is true are deleted and loaded."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.cutover.condition import Code
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica
from tests.support.restricting import active, at_source, now

Begin = Callable[..., Replica]
TABLE = "CREATE TABLE t (id int PRIMARY KEY, region int, amount int, note text)"
ROWS = "INSERT INTO t SELECT i, i % 2, i * 10, 'n' FROM generate_series(1, 6) i"
LIMIT = {"tables": "t", "refresh": "region = 1", "context": "adaptddl"}
DOUBLED = "ALTER TABLE t ALTER amount TYPE bigint USING amount * 2"
AMOUNTS = "SELECT id, amount FROM t ORDER BY id"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    return partial(active, databases, tmp_path, statements=(TABLE, ROWS))


@pytest.mark.req("HVR-P-60", "HVR-P-61")
def test_a_schema_change_replaces_the_rows_of_the_condition_only(begin: Begin) -> None:
    """A refresh by hand, in no context, loads all."""
    replica = begin(restrict=[LIMIT])
    replica.at_source(DOUBLED)
    assert "rows where (region = 1)" in replica.plan().text()
    assert replica.replicate().refresh.tables == {"public.t": 3}
    assert replica.rows(AMOUNTS) == [(1, 20), (2, 20), (3, 60), (4, 40), (5, 100), (6, 60)]
    replica.at_source("UPDATE t SET amount = 7 WHERE id = 2", "DELETE FROM t WHERE id = 4")
    replica.replicate()
    assert replica.rows("SELECT id, amount FROM t WHERE region = 0 ORDER BY id") == [(2, 7), (6, 60)]
    assert replica.refresh("public.t").tables == {"public.t": 5}
    replica.check_equal()


def test_a_condition_in_a_context_of_its_own(begin: Begin) -> None:
    """It holds for the refreshes by hand that name the context; a schema change loads all then."""
    replica = begin(restrict=[{**LIMIT, "context": "nightly"}])
    replica.at_source(DOUBLED)
    replica.settle()
    replica.at_target("UPDATE t SET amount = 0", "DELETE FROM t WHERE id > 4")
    assert replica.refresh("public.t", options="-Cnightly").tables == {"public.t": 3}
    assert replica.rows(AMOUNTS) == [(1, 20), (2, 0), (3, 60), (4, 0), (5, 100)]
    replica.refresh("public.t")
    replica.check_equal()


@pytest.mark.req("HVR-D-62")
def test_a_truncate_deletes_the_rows_of_the_condition_only(begin: Begin) -> None:
    replica = begin(restrict=[LIMIT])
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (1, 1, 0, 'again')")
    replica.replicate()
    assert replica.rows("SELECT id, note FROM t ORDER BY id") == [(1, "again"), (2, "n"), (4, "n"), (6, "n")]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_until_the_rows_are_read_comes_once(begin: Begin, seed: int) -> None:
    """Also where rows come into the condition, leave it, change their keys, come and go; the log follows the load."""
    of = random.Random(seed)
    replica = begin(restrict=[LIMIT])
    replica.at_source("ALTER TABLE t ADD u int UNIQUE", "UPDATE t SET u = id")
    replica.settle()
    replica.at_source(DOUBLED)
    for stage in ("capture", "adapt", "refresh", "integrate"):
        for _ in range(of.randrange(12)):
            replica.at_source(_write(of))
        with flow.open_channel(replica.file, InProcess()) as run:
            getattr(flow, stage)(run)
    for _ in range(2):
        for _ in range(of.randrange(4)):
            replica.at_source(_write(of))
        replica.replicate()
    plain = "SELECT id, region, note, u FROM t ORDER BY id"
    assert replica.rows(plain) == at_source(replica, plain)
    inside = "SELECT id, amount FROM t WHERE region = 1 ORDER BY id"
    assert replica.rows(inside) == at_source(replica, inside)


def _write(of: random.Random) -> str:
    one, other = of.randrange(1, 9), of.randrange(1, 9)
    return of.choice(
        [
            f"INSERT INTO t VALUES ({one}, {of.randrange(2)}, {other}, 'new', {one}) ON CONFLICT DO NOTHING",
            f"UPDATE t SET region = 1 - region, amount = {other} WHERE id = {one}",
            f"UPDATE t SET note = note || '.', amount = {other} WHERE id = {one}",
            f"DELETE FROM t WHERE id = {one}",
            f"UPDATE t SET id = {other}, u = {other}, amount = 1 WHERE id = {one}"
            f" AND NOT EXISTS (SELECT FROM t WHERE id = {other})",
        ]
    )


def test_rows_that_would_collide_with_one_that_stays_wait_for_its_change(begin: Begin) -> None:
    """The log has not brought it yet when the rows are read: a later cycle loads them."""
    replica = begin(restrict=[LIMIT])
    replica.at_source("ALTER TABLE t ADD u int UNIQUE", "UPDATE t SET u = id")
    replica.settle()
    replica.at_target("ALTER TABLE t ADD UNIQUE (u)")
    replica.at_source(DOUBLED)
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.capture(run)
        flow.adapt(run)
        (waits,) = [one for one in flow.check_cut_over(run).conditions if one.code is Code.WAITING]
        assert waits.found == ("public.t (rows where (region = 1))",)
        replica.at_source("UPDATE t SET u = 100 WHERE id = 2", "UPDATE t SET u = 2 WHERE id = 1")
        with pytest.raises(DdlReplError) as told:
            flow.refresh(run)
    assert told.value.code == "ADP-140"
    assert "rows that the condition leaves" in str(told.value)
    with pytest.raises(DdlReplError, match="ADP-140"):
        replica.replicate()
    assert replica.replicate().refresh.tables == {"public.t": 3}
    assert replica.rows("SELECT id, amount, u FROM t WHERE id < 3 ORDER BY id") == [(1, 20, 2), (2, 40, 100)]


def test_changes_of_a_condition_s_columns_are_refused(begin: Begin) -> None:
    """The rows that it chose before would be lost, or come twice: the table is suspended, and nothing is lost."""
    replica = begin(restrict=[LIMIT])
    replica.at_source("ALTER TABLE t ALTER region TYPE int USING 1 - region", "INSERT INTO t VALUES (7, 0, 0, '')")
    with pytest.raises(DdlReplError) as told:
        replica.replicate()
    assert "ADP-177" in str(told.value)
    assert "the change gives region other values" in str(told.value)
    now(replica, restrict=[])
    replica.settle()


def test_a_table_without_a_key_is_refused(databases: Any, tmp_path: Path) -> None:
    with pytest.raises(DdlReplError) as told:
        active(databases, tmp_path, ("CREATE TABLE t (region int)",), restrict=[LIMIT])
    assert told.value.code == "ADP-178"


def test_changes_by_a_condition_of_their_own(begin: Begin) -> None:
    """Rows that were loaded stay while their changes are left out; what comes into the condition comes whole."""
    replica = begin(restrict=[{"tables": "t", "integrate": "region = 1"}])
    replica.at_source(
        "UPDATE t SET amount = 1",
        "UPDATE t SET region = 1 WHERE id = 2",
        "UPDATE t SET region = 0 WHERE id = 1",
        "INSERT INTO t VALUES (7, 1, 7, ''), (8, 0, 8, '')",
        "UPDATE t SET id = 30 WHERE id = 3",
        "DELETE FROM t WHERE id IN (4, 5)",
    )
    told = replica.replicate()
    assert replica.rows(AMOUNTS) == [(2, 1), (4, 40), (6, 60), (7, 7), (30, 1)]
    assert told.integrate.discarded == {"public.t: its row does not meet the condition (restrict)": 5}
    assert replica.compare().differences > 0
    replica.refresh("public.t")
    replica.check_equal()


def test_a_condition_of_capture_holds_at_each_target(begin: Begin) -> None:
    replica = begin(restrict=[{"tables": "t", "capture": "region = 1"}])
    replica.at_source("UPDATE t SET amount = amount + 1")
    replica.replicate()
    assert replica.rows(AMOUNTS) == [(1, 11), (2, 20), (3, 31), (4, 40), (5, 51), (6, 60)]


def test_a_target_without_the_condition_s_columns_is_refused(databases: Any, tmp_path: Path) -> None:
    absent = [{"tables": "t", "columns": "region", "absent": True}]
    with pytest.raises(DdlReplError) as told:
        active(databases, tmp_path, (TABLE, ROWS), restrict=[LIMIT], column_properties=absent)
    assert told.value.code == "ADP-179"


def test_a_table_with_other_rows_than_the_source_s_is_refused(databases: Any, tmp_path: Path) -> None:
    with pytest.raises(DdlReplError, match="ADP-178"):
        deleted = [{"tables": "t", "soft_delete": "gone"}]
        active(databases, tmp_path, (TABLE, ROWS), restrict=[LIMIT], target_tables=deleted)
