"""Somebody changes what the channel has set up at the source: it is told, and what may have happened is found out."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import servers
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make, Replica

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v int)",
    "INSERT INTO t VALUES (1, 7), (2, 8)",
    "CREATE TABLE u (id int PRIMARY KEY, v int)",
)
OTHER_VALUES = "ALTER TABLE t ALTER v TYPE int USING v + 1000"
NO_BODY = "CREATE OR REPLACE FUNCTION ddlrepl.{} LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN {} END'"
CHANGES = {
    "disabled": ["ALTER EVENT TRIGGER ddlrepl_ddl_command_end DISABLE"],
    "not in replicas": ["ALTER EVENT TRIGGER ddlrepl_ddl_command_end ENABLE"],
    "dropped": ["DROP EVENT TRIGGER ddlrepl_table_rewrite", "DROP EVENT TRIGGER ddlrepl_ddl_command_end"],
    "without body": [NO_BODY.format("on_ddl_command_end() RETURNS event_trigger", "")],
    "a function of ours": [
        "CREATE OR REPLACE FUNCTION ddlrepl.affected(object_class oid, object_id oid) RETURNS SETOF oid"
        " LANGUAGE sql AS 'SELECT 1::oid WHERE false'"
    ],
    "the trigger of messages": ["ALTER TABLE ddlrepl.message DISABLE TRIGGER send_message"],
    "the schema": ["DROP SCHEMA ddlrepl CASCADE"],
}


def status(replica: Replica) -> list[str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.status(run).text().splitlines()  # type: ignore[no-any-return]


def told(replica: Replica) -> list[str]:
    """What the status and doctor say against the source."""
    bad = {f"{one.detail}; {one.fix}" for one in servers(load_channel(replica.file)) if not one.ok}
    lines = [line.removeprefix("source: ") for line in status(replica) if line.startswith("source: ")]
    assert set(lines) == bad
    return lines


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_told_and_activation_mends_it(make: Make, change: str, caplog: pytest.LogCaptureFixture) -> None:
    replica = make(*TABLES)
    replica.at_source(*CHANGES[change])
    if change not in ("not in replicas", "the trigger of messages"):
        replica.at_source(OTHER_VALUES)
    replica.at_source("INSERT INTO u VALUES (1, 1)")
    with caplog.at_level(logging.WARNING):
        found = replica.settle()
    assert "records of schema changes may be missing" in found.capture.gap and "between" in found.capture.gap
    assert found.capture.gap in caplog.text
    assert "ddlrepl activate" in caplog.text
    assert any("ddlrepl activate" in line for line in told(replica))
    assert f"source, gap {found.capture.gap}" in status(replica)
    replica.at_source("INSERT INTO u VALUES (2, 2)")
    assert not replica.settle().capture.gap
    replica.activate()
    replica.at_source("ALTER TABLE u ADD w int", "INSERT INTO u VALUES (3, 3, 3)")
    caplog.clear()
    last = replica.settle()
    assert last.capture.ddl == {"ALTER TABLE": 1} and not last.refresh.tables
    replica.settle()
    assert "not as it was installed" not in caplog.text and "disabled" not in caplog.text
    assert not told(replica)


@BOTH
def test_activation_tells_of_a_gap_and_the_next_cycle_loads_what_was_rewritten(databases: Any, make: Make) -> None:
    replica = make(*TABLES)
    replica.settle()
    replica.at_source("DROP SCHEMA ddlrepl CASCADE", OTHER_VALUES)
    assert "the helper schema ddlrepl was dropped" in replica.activate().gap
    found = replica.settle()
    assert "was dropped" in found.capture.gap and found.refresh.tables.keys() == {"public.t"}
    assert not replica.settle().capture.gap


def test_off_and_on_again_between_two_cycles_is_told(make: Make) -> None:
    replica = make(*TABLES)
    name = "EVENT TRIGGER ddlrepl_ddl_command_end"
    replica.at_source(f"ALTER {name} DISABLE", "ALTER TABLE t RENAME v TO w", f"ALTER {name} ENABLE ALWAYS")
    found = replica.settle()
    assert f"{name.lower()[:13]} ddlrepl_ddl_command_end was changed" in found.capture.gap
    assert replica.rows("SELECT w FROM t ORDER BY id") == [(7,), (8,)]


def test_a_channel_that_requires_triggers_stops_until_they_are_there(make: Make) -> None:
    replica = make(*TABLES, source={"ddl": "triggers"})
    replica.at_source("ALTER EVENT TRIGGER ddlrepl_sql_drop DISABLE", OTHER_VALUES)
    with pytest.raises(DdlReplError, match=r"SRC-135.*ddlrepl_sql_drop is disabled"):
        replica.replicate()
    replica.activate()
    found = replica.settle()
    assert "ddlrepl_sql_drop was changed" in found.capture.gap


def test_a_grant_to_a_reader_is_nothing_to_repair(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    replica = make(*TABLES)
    replica.at_source("GRANT SELECT ON ALL TABLES IN SCHEMA ddlrepl TO pg_monitor")
    replica.settle()
    assert "not as it was installed" not in caplog.text
