"""With HVR's defaults a partitioned table is loaded again when a partition is emptied or exchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import Exit
from tests.support.refusing import in_shell, refused
from tests.support.replica import Replica, channel_file, may_differ

Begin = Callable[..., Replica]
PARTITIONED = (
    "CREATE TABLE p (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
    "CREATE TABLE spare (LIKE p INCLUDING ALL)",
    "INSERT INTO p VALUES (1, '2026-01-05'), (2, '2026-02-05')",
    "INSERT INTO spare VALUES (3, '2026-01-07')",
)
DETACH = "ALTER TABLE p DETACH PARTITION p1"
ATTACH = "ALTER TABLE p ATTACH PARTITION spare FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')"
ALL = "SELECT id FROM p ORDER BY 1"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """An active channel with a partitioned table."""

    def make(defaults: str = "hvr", **action: str) -> Replica:
        actions = [{"add_table_pattern": "*", **action}]
        file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=actions, defaults=defaults)
        replica = Replica(databases.source, databases.target, file)
        replica.at_source(*PARTITIONED)
        replica.activate()
        return replica

    return make


@pytest.mark.req("HVR-D-78")
def test_a_partition_that_is_emptied_has_the_table_refreshed_once(begin: Begin) -> None:
    replica = begin()
    replica.at_source("TRUNCATE p1", "INSERT INTO p VALUES (4, '2026-01-08'), (5, '2026-02-08')", "TRUNCATE p1")
    told = replica.settle()
    assert told.refresh.tables == {"public.p1": 0, "public.p2": 2}
    assert "truncate" not in told.adapt.changes
    replica.at_source("INSERT INTO p VALUES (6, '2026-01-09')")
    assert replica.settle().refresh.tables == {}
    replica.at_source("TRUNCATE p", "INSERT INTO p VALUES (7, '2026-01-09')")
    assert replica.settle().refresh.tables == {}
    assert replica.rows(ALL) == [(7,)]


@pytest.mark.req("HVR-D-85")
@pytest.mark.parametrize("statements", [(DETACH, ATTACH), (f"BEGIN; {DETACH}; {ATTACH}; COMMIT",)])
def test_an_exchange_of_partitions_has_the_table_refreshed_once(begin: Begin, statements: tuple[str, ...]) -> None:
    replica = begin()
    replica.at_source(*statements, "INSERT INTO p VALUES (4, '2026-01-08'), (5, '2026-02-08')")
    assert replica.settle().refresh.tables == {"public.p2": 2, "public.spare": 2}
    assert replica.rows(ALL) == [(2,), (3,), (4,), (5,)] and replica.rows("SELECT id FROM p1") == [(1,)]
    replica.at_source("INSERT INTO p VALUES (6, '2026-01-09')", "ALTER TABLE p ADD v int")
    assert replica.settle().refresh.tables == {}


def test_our_own_defaults_apply_what_the_log_has(begin: Begin) -> None:
    replica = begin("own")
    replica.at_source("TRUNCATE p1", DETACH, ATTACH, "INSERT INTO p VALUES (4, '2026-01-08')")
    assert replica.settle().refresh.tables == {}
    assert replica.rows(ALL) == [(2,), (3,), (4,)]


@pytest.mark.parametrize("policy", ["WARNING", "FAIL_INTEG_JOB"])
def test_other_policies_leave_the_rows_or_wait(begin: Begin, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    replica = begin(on_enroll_break=policy)
    replica.at_source("INSERT INTO p VALUES (4, '2026-01-08')", "TRUNCATE p1", "INSERT INTO p VALUES (5, '2026-02-08')")
    if policy == "FAIL_INTEG_JOB":
        refused(replica, "replicate", "CTL-101", Exit.CONTROL)
        assert replica.rows(ALL) == [(1,), (2,), (4,)]
        assert in_shell(capsys, "controls", "remove", str(replica.file), "1")[0] == Exit.DONE
    told = replica.replicate()
    assert told.refresh.tables == {}
    assert len([w for w in told.adapt.warnings if "HVR refreshes after TRUNCATE PARTITION" in w]) == 2
    assert replica.rows(ALL) == [(1,), (2,), (4,), (5,)] and len(may_differ(replica)) == 2
