"""The owner of a table changes what a subset rule's condition names: that table waits by name, all others go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import BOTH, run

CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}
APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q1", "source_database": "dbs1"}
CHANGES = {
    "dropped": ("DROP v", "w = 'x'", "(9, 'x')"),
    "renamed": ("RENAME v TO vv", "vv > 5", "(9, 9, 'x')"),
    "another type": ("ALTER v TYPE text", "v LIKE '9%'", "(9, '9', 'x')"),
    "made again": ("RENAME TO former", "w = 'x'", "(9, 'x')"),
}
"""What becomes of the column v or its table, the condition that the file has then, and a row that is inserted."""


def calls(subsets_at: str, condition: str) -> list[dict[str, Any]]:
    base, client = (APPLY, CAPTURE) if subsets_at == "capture" else (CAPTURE, APPLY)
    return [
        {"add_schema_rules": {"schema_name": "hr", **base}},
        {"add_table_rules": {"table_name": "hr.other", **client}},
        {"add_subset_rules": {"table_name": "hr.t", "dml_condition": condition, **client}},
    ]


def begun(databases: Any, folder: Path, *given: dict[str, Any]) -> StreamsChannel:
    targets = [{"name": "site", "location": databases.target, "apply": "app"}]
    channel = streams_channel(folder, databases.source, *given, targets=targets)
    channel.at_source(
        "CREATE SCHEMA hr",
        "CREATE SCHEMA oe",
        "CREATE TABLE hr.other (id int PRIMARY KEY)",
        "CREATE TABLE hr.t (id int PRIMARY KEY, v int, w text)",
        "ALTER TABLE hr.t REPLICA IDENTITY FULL",
        "INSERT INTO hr.t VALUES (1, 1, 'x'), (8, 8, 'x')",
    )
    channel.activate(load=True)
    return channel


def fails(channel: StreamsChannel, databases: Any, number: int) -> str:
    channel.at_source(f"INSERT INTO hr.other VALUES ({number})")
    with pytest.raises(DdlReplError, match=r"APL-138: .*hr\.t may lack changes") as error:
        channel.stage(flow.replicate)
    assert ask(databases.target, "SELECT max(id) FROM hr.other") == [(number,)]
    assert "hr.t may lack changes" in channel.stage(flow.status).text()
    return str(error.value)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("subsets_at", ["capture", "apply"])
def test_a_table_that_outgrows_its_condition_stops_alone(
    kind: str, subsets_at: str, databases: Any, tmp_path: Path
) -> None:
    change, condition, row = CHANGES[kind]
    channel = begun(databases, tmp_path, *calls(subsets_at, "v > 5"))
    channel.at_source(f"ALTER TABLE hr.t {change}")
    if kind == "made again":
        channel.at_source("CREATE TABLE hr.t (id int PRIMARY KEY, w text)", "ALTER TABLE hr.t REPLICA IDENTITY FULL")
    fails(channel, databases, 1)
    channel.at_source(f"INSERT INTO hr.t VALUES {row}", "DELETE FROM hr.t WHERE id = 8")
    assert "names a column that the table does not have" in fails(channel, databases, 2)
    with pytest.raises(DdlReplError, match=r"RUL-10[34]"):
        channel.activate(load=True)
    channel.change(calls=calls(subsets_at, condition))
    fails(channel, databases, 3)
    run(databases.target, "DROP TABLE hr.t")
    channel.activate(load=True)
    channel.at_source("DELETE FROM hr.t WHERE id = 1", "INSERT INTO hr.other VALUES (4)")
    assert channel.stage(flow.replicate).apply.warnings == ()
    assert ask(databases.target, "SELECT * FROM hr.t ORDER BY 1") == ask(
        databases.source, f"SELECT * FROM hr.t WHERE {condition} ORDER BY 1"
    )


def test_a_condition_that_never_fitted_its_table_is_refused(databases: Any, tmp_path: Path) -> None:
    """A mistake in the file changes nothing: what it would leave out waits until it is corrected."""
    channel = begun(databases, tmp_path, *calls("capture", "v > 5"))
    channel.change(calls=calls("capture", "vw > 5"))
    channel.at_source("INSERT INTO hr.t VALUES (9, 9, 'x')")
    for stage in (flow.replicate, flow.activate):
        with pytest.raises(DdlReplError, match="RUL-104"):
            channel.stage(stage)
    channel.change(calls=calls("capture", "v > 5"))
    channel.stage(flow.replicate)
    assert ask(databases.target, "SELECT id FROM hr.t ORDER BY 1") == [(8,), (9,)]


@BOTH
def test_what_a_table_lacks_is_not_forgotten_when_it_is_renamed(databases: Any, tmp_path: Path) -> None:
    both = [{"add_schema_rules": {"schema_name": "hr", "include_ddl": True, **of}} for of in (CAPTURE, APPLY)]
    channel = begun(databases, tmp_path, *both)
    channel.at_source(
        "ALTER PUBLICATION ddlrepl_hr DROP TABLE hr.t",
        "INSERT INTO hr.t VALUES (2, 2, 'x')",
        "ALTER PUBLICATION ddlrepl_hr ADD TABLE hr.t",
    )
    fails(channel, databases, 1)
    channel.at_source("ALTER TABLE hr.t RENAME TO t2", "INSERT INTO hr.t2 VALUES (3, 3, 'x')")
    for _ in range(2):
        channel.at_source("INSERT INTO hr.other SELECT max(id) + 1 FROM hr.other")
        with pytest.raises(DdlReplError, match=r"APL-138: .*hr\.t2 may lack changes"):
            channel.stage(flow.replicate)
    assert "hr.t2 may lack changes" in channel.stage(flow.status).text()
    run(databases.target, "DROP TABLE hr.t2")
    channel.activate(load=True)
    assert channel.stage(flow.replicate).apply.warnings == ()
    assert ask(databases.target, "TABLE hr.t2 ORDER BY 1") == ask(databases.source, "TABLE hr.t2 ORDER BY 1")
