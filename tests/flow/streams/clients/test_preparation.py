"""What a capture's activation prepares, and what a capture never takes, whatever its rules say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.change import EventKind
from tests.flow.streams.streams_channel import BATTERY_TABLES, streams_channel
from tests.support.refusing import ask

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
CAPTURE = {
    "add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}
}
APPLY = {
    "add_global_rules": {"streams_type": "apply", "streams_name": "app", "queue_name": "q1", "source_database": "dbs1"}
}


@pytest.mark.req("ST-S-65")
def test_tables_of_a_capture_are_ready_to_be_instantiated(databases: Any, tmp_path: Path) -> None:
    """Each has a position from which on its changes are captured, and a shape; nothing else is prepared by hand."""
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, CAPTURE, APPLY, targets=[target])
    channel.at_source(*BATTERY_TABLES, "INSERT INTO hr.t VALUES (1, 1, 'before')")
    position = channel.activate().position
    with channel.opened() as context:
        prepared = context.repository.latest_revisions("hr").values()
        assert {str(one.table.name) for one in prepared if one.table} == {"hr.t", "hr.u", "oe.o"}
        assert all(one.key.lsn <= position for one in prepared)
    published = ask(databases.source, "SELECT schemaname || '.' || tablename FROM pg_publication_tables ORDER BY 1")
    assert [name for (name,) in published if not name.startswith("ddlrepl")] == ["hr.t", "hr.u", "oe.o"]
    channel.at_source("UPDATE hr.t SET note = 'between'")
    assert channel.stage(flow.instantiate, "site").rows["hr.t"] == 1
    channel.at_source("UPDATE hr.t SET note = 'after'", "INSERT INTO hr.u VALUES (1, 1)")
    channel.stage(flow.replicate)
    assert ask(databases.target, "SELECT note FROM hr.t") == [("after",)]


@pytest.mark.req("ST-S-65")
def test_nothing_is_prepared_without_a_connection_to_the_source(tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, NOWHERE, CAPTURE)
    with pytest.raises(DdlReplError):
        channel.activate()
    with channel.opened() as context:
        assert context.repository.latest_revisions("hr") == {}
        assert context.repository.captured("hr") is None


@pytest.mark.req("ST-S-66")
def test_changes_of_the_systems_own_schemas_are_never_captured(databases: Any, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, databases.source, CAPTURE, place={"tables": ["*.*"]})
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(
        "CREATE TABLE ddlrepl.notes (id int PRIMARY KEY)",
        "INSERT INTO ddlrepl.notes VALUES (1)",
        "INSERT INTO information_schema.sql_features (feature_id) VALUES ('X')",
        "ALTER TABLE information_schema.sql_features ADD more int",
        "COMMENT ON TABLE pg_catalog.pg_class IS 'the catalog'",
        "INSERT INTO pg_catalog.pg_description VALUES (1, 1, 1, 'more')",
        "CREATE FUNCTION pg_catalog.ours() RETURNS int LANGUAGE sql RETURN 1",
        "DROP FUNCTION pg_catalog.ours()",
        "DROP TABLE ddlrepl.notes",
        "INSERT INTO hr.t VALUES (1)",
    )
    channel.stage(flow.capture)
    assert channel.content("q1") == ["INSERT hr.t {'id': 1, 'k': None, 'note': None}"]
    with channel.opened() as context:
        (segment,) = context.trail.segments(context.epoch)
        reasons = [event.discarded for event in context.trail.events(segment) if event.kind is EventKind.DDL]
    assert len(reasons) >= 3 and all("own schemas" in reason for reason in reasons if reason), reasons
