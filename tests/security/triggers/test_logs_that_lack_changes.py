"""A log lacks changes, or has too many, as somebody has changed what the source writes: apply processes know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import BOTH, run

TABLES = (
    "CREATE SCHEMA hr",
    "CREATE SCHEMA oe",
    "CREATE TABLE hr.t (id int PRIMARY KEY)",
    "CREATE TABLE hr.u (id int PRIMARY KEY)",
    "INSERT INTO hr.t VALUES (1)",
)


def begun(databases: Any, folder: Path, **capture: Any) -> StreamsChannel:
    """capture: keys of the section of that name."""
    calls = [{"add_schema_rules": {"schema_name": "hr", **of}} for of in (CAPTURE, APPLY)]
    targets = [{"name": "site", "location": databases.target, "apply": "app"}]
    channel = streams_channel(folder, databases.source, *calls, targets=targets)
    data = yaml.safe_load(channel.file.read_text())
    channel.file.write_text(yaml.safe_dump({**data, "capture": capture}, sort_keys=False))
    channel.at_source(*TABLES)
    channel.activate(load=True)
    channel.stage(flow.replicate)
    return channel


def fails(channel: StreamsChannel) -> str:
    with pytest.raises(DdlReplError, match=r"APL-138: .*hr\.t may lack changes") as error:
        channel.stage(flow.replicate)
    return str(error.value)


def loads_again(channel: StreamsChannel, databases: Any) -> None:
    run(databases.target, "DROP TABLE hr.t")
    channel.activate(load=True)
    channel.at_source("INSERT INTO hr.t VALUES (9)")
    assert channel.stage(flow.replicate).apply.warnings == ()
    for table in ("hr.t", "hr.u"):
        query = f"TABLE {table} ORDER BY 1"
        assert ask(databases.source, query) == ask(databases.target, query)


@BOTH
def test_a_table_that_was_taken_out_of_the_publication_without_a_record(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path)
    with psycopg.connect(databases.source, autocommit=True) as session:
        off = "SET event_triggers = off" if session.info.server_version >= 170000 else "SELECT 1"
        session.execute(off.encode())
        if session.info.server_version < 170000:
            session.execute("ALTER EVENT TRIGGER ddlrepl_ddl_command_end DISABLE")
            session.execute("ALTER EVENT TRIGGER ddlrepl_sql_drop DISABLE")
        session.execute("ALTER PUBLICATION ddlrepl_hr DROP TABLE hr.t")
        session.execute("INSERT INTO hr.t VALUES (2)")
        session.execute("ALTER PUBLICATION ddlrepl_hr ADD TABLE hr.t")
        session.execute("INSERT INTO hr.u VALUES (1)")
    fails(channel)
    channel.at_source("INSERT INTO hr.u VALUES (2)")
    fails(channel)
    assert ask(databases.target, "TABLE hr.u ORDER BY 1") == [(1,), (2,)]
    loads_again(channel, databases)


def test_a_table_whose_trigger_did_not_name_sessions_to_ignore(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ignore_sessions={"names": ["purge*"], "known_by": "triggers"})
    channel.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL")
    with psycopg.connect(databases.source, application_name="purge") as session:
        session.execute("DELETE FROM hr.t")
    channel.at_source("ALTER TABLE hr.t ENABLE TRIGGER ALL")
    fails(channel)
    fails(channel)
    loads_again(channel, databases)
