"""What clients can't get is listed, what a subset costs the source is told, and transactions are applied whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.commands import check
from airflow_ddlrepl.cli.rule_lists import list_unsupported
from tests.flow.streams.streams_channel import APPLY, BATTERY_TABLES, CAPTURE, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

EVERYTHING = {"add_global_rules": {**CAPTURE, "include_ddl": True}}
OF_HR = {"add_schema_rules": {"schema_name": "hr", **CAPTURE}}
NOT_SCRATCH = {"add_table_rules": {"table_name": "hr.scratch", "inclusion_rule": False, **CAPTURE}}
OF_T = {"add_table_rules": {"table_name": "hr.t", **APPLY}}
TRIGGERS = {
    "add_table_rules": {
        "table_name": "hr.scratch", "streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q2",
    }
}  # fmt: skip


@pytest.mark.req("ST-R-45")
def test_tables_that_a_client_can_t_support_are_listed_with_the_reason(databases: Any, tmp_path: Path) -> None:
    """A synchronous capture, which has triggers, gets rows of every table."""
    target = {"name": "site", "location": databases.target, "apply": "app"}
    calls = (OF_HR, NOT_SCRATCH, OF_T, {"add_schema_rules": {"schema_name": "hr", **APPLY}}, TRIGGERS)
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target])
    channel.at_source(*BATTERY_TABLES)
    assert list_unsupported(channel.file).to_json() == []
    assert "every client can get the rows of every table" in list_unsupported(channel.file).text()
    channel.at_source("CREATE UNLOGGED TABLE hr.scratch (id int PRIMARY KEY)")
    assert list_unsupported(channel.file).to_json() == [
        {"client": client, "kind": kind, "table": "hr.scratch", "reason": "it was unlogged", "asked_for": asked}
        for client, kind, asked in (("cap", "capture", "no"), ("app", "apply", "yes"))
    ]


@pytest.mark.req("ST-U-43")
@pytest.mark.parametrize("at", ["capture", "apply"])
def test_what_the_source_logs_more_for_a_subset_is_told(at: str, databases: Any, tmp_path: Path) -> None:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    of = {"table_name": "hr.t", "dml_condition": "k = 1"}
    calls: dict[str, tuple[dict[str, Any], ...]] = {
        "capture": ({"add_subset_rules": {**of, **CAPTURE}}, OF_T),
        "apply": (EVERYTHING, {"add_subset_rules": {**of, **APPLY}}),
    }
    channel = streams_channel(tmp_path, databases.source, *calls[at], targets=[target])
    channel.at_source(*BATTERY_TABLES)
    who = {"capture": "capture process cap", "apply": "apply process app"}[at]
    told = [one for one in check(channel.file).to_json()["warnings"] if "REPLICA IDENTITY FULL" in one]
    assert [f"{who} takes a subset of hr.t" in one for one in told] == [True]
    identity = "SELECT relreplident::text FROM pg_class WHERE oid = 'hr.t'::regclass"
    assert ask(databases.source, identity) == [("d",)]
    channel.activate()
    assert ask(databases.source, identity) == [("f",)]


@pytest.mark.req("ST-R-46")
def test_transactions_that_overlap_are_applied_whole_in_the_order_of_their_commits(
    databases: Any, tmp_path: Path
) -> None:
    """The first one to begin commits last, one is rolled back between; of one that fails, nothing is applied."""
    target = {"name": "site", "location": databases.target, "apply": "app"}
    goes_on = {"set_parameter": {"apply_name": "app", "parameter": "disable_on_error", "value": "N"}}
    channel = streams_channel(tmp_path, databases.source, EVERYTHING, OF_T, goes_on, targets=[target])
    channel.at_source(*BATTERY_TABLES)
    run(databases.target, *BATTERY_TABLES, "CREATE TABLE seen (id int, nth serial)", NOTE, *TRIGGER)
    channel.activate()
    run(databases.target, "INSERT INTO hr.t VALUES (7)", "TRUNCATE seen")
    one, two, lost, failing = (psycopg.connect(databases.source) for _ in range(4))
    with one, two, lost, failing:
        one.execute("INSERT INTO hr.t VALUES (1)")
        two.execute("INSERT INTO hr.t VALUES (2)")
        lost.execute("INSERT INTO hr.t VALUES (9)")
        failing.execute("INSERT INTO hr.t VALUES (6), (7), (8)")
        one.execute("INSERT INTO hr.t VALUES (3)")
        lost.rollback()
        two.execute("INSERT INTO hr.t VALUES (4)")
        two.commit()
        failing.commit()
        one.execute("INSERT INTO hr.t VALUES (5)")
        one.commit()
    channel.stage(flow.replicate)
    assert ask(databases.target, "SELECT id FROM seen ORDER BY nth") == [(2,), (4,), (1,), (3,), (5,)]
    assert ask(databases.target, "SELECT id FROM hr.t ORDER BY id") == [(1,), (2,), (3,), (4,), (5,), (7,)]
    run(databases.target, "DELETE FROM hr.t WHERE id = 7", "TRUNCATE seen")
    channel.stage(flow.retry_errors)
    assert ask(databases.target, "SELECT id FROM seen ORDER BY nth") == [(6,), (7,), (8,)]


NOTE = (
    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN INSERT INTO public.seen (id) VALUES (NEW.id); RETURN NEW; END'"
)
TRIGGER = (
    "CREATE TRIGGER note AFTER INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION note()",
    "ALTER TABLE hr.t ENABLE ALWAYS TRIGGER note",
)
"""At the target: each inserted row is noted, in the order of the inserts that last."""
