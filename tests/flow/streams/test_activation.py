"""Activation and its end for channels with clients of Streams, and what queues retain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.commands import check
from airflow_ddlrepl.errors import ConfigError, RuleError, Unreachable
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel
from tests.support.refusing import ask

ALL = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}}
PROPAGATION = {
    "add_global_propagation_rules": {
        "streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2", "source_database": "dbs1",
    }
}  # fmt: skip
SYNC = {"add_table_rules": {"table_name": "hr.t", "streams_type": "sync_capture", "streams_name": "sync"}}
ROWS = "SELECT id, k FROM hr.t ORDER BY id"


def apply(queue: str = "q2") -> dict[str, Any]:
    about = {"streams_type": "apply", "streams_name": "app", "queue_name": queue, "source_database": "dbs1"}
    return {"add_global_rules": {**about, "include_tagged_lcr": True}}


def begun(databases: Any, tmp_path: Path, *calls: dict[str, Any], **more: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target], **more)
    channel.at_source(*BATTERY_TABLES, "INSERT INTO hr.t VALUES (1, 1)")
    channel.activate(load=True)
    return channel


def test_a_source_whose_log_nobody_reads_has_triggers_alone(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, SYNC, apply("streams_queue"))
    assert ask(databases.source, "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()") == []
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)", "UPDATE hr.t SET k = 3 WHERE id = 1")
    result = channel.stage(flow.replicate)
    assert result.capture is None and "captured 2 rows by sync" in result.text()
    assert ask(databases.target, ROWS) == [(1, 3), (2, 2)]
    assert channel.stage(flow.status).to_json()["targets"] == {}
    channel.stage(flow.deactivate)
    channel.at_source("INSERT INTO hr.t VALUES (3, 3)")
    assert ask(databases.source, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []


def test_what_is_wrong_with_clients_ends_the_activation_before_anything_is_done(databases: Any, tmp_path: Path) -> None:
    with pytest.raises(RuleError) as error:
        begun(databases, tmp_path, ALL, apply())
    assert error.value.code == "RUL-142"
    assert ask(databases.source, "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()") == []


def test_queues_retain_what_a_reader_has_yet_to_read(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, PROPAGATION, apply())
    text = channel.file.read_text()
    channel.file.write_text(f"{text}retention: {{age: 0}}\n")
    for number in (2, 3, 4):
        channel.at_source(f"INSERT INTO hr.t VALUES ({number}, {number})")
        channel.stage(flow.capture)
        channel.stage(flow.propagate)
    with channel.opened() as context:
        clients = StreamsClients(context)
        (first,), (second,) = clients.feeds("q1"), clients.feeds("q2")
    assert (len(first.starts()), len(second.starts())) == (3, 3)
    channel.stage(flow.apply_queues)
    assert (len(first.starts()), len(second.starts())) == (0, 1)
    channel.at_source("INSERT INTO hr.t VALUES (5, 5)")
    channel.stage(flow.replicate)
    assert [row[0] for row in ask(databases.target, ROWS)] == [1, 2, 3, 4, 5]


def test_a_lost_log_is_refused_and_a_new_activation_begins_anew(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, PROPAGATION, apply())
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)", "SELECT pg_drop_replication_slot('ddlrepl_hr')")
    with pytest.raises(ConfigError) as error:
        channel.activate(load=True)
    assert error.value.code == "CFG-192"
    channel.stage(flow.deactivate)
    channel.activate(load=True)
    channel.at_source("INSERT INTO hr.t VALUES (3, 3)")
    channel.stage(flow.replicate)
    assert (3, 3) in ask(databases.target, ROWS)


def test_a_target_that_does_not_answer_keeps_no_other_from_its_work(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, PROPAGATION, apply())
    away = {"name": "away", "location": "postgresql://nobody@127.0.0.1:1/nothing", "apply": "app"}
    site = {"name": "site", "location": databases.target, "apply": "app"}
    channel.change(targets=[site, away])
    channel.file.write_text(f"{channel.file.read_text()}retention: {{age: 0}}\n")
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    assert channel.stage(flow.apply_queues, "site").changes == {"insert": 1}
    with channel.opened() as context:
        (feed,) = StreamsClients(context).feeds("q2")
    assert len(feed.starts()) == 1
    with pytest.raises(Unreachable):
        channel.stage(flow.replicate)


def test_activation_says_that_a_user_of_an_apply_process_has_no_effect(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    user = {"alter_apply": {"apply_name": "app", "apply_user": "hr_app"}}
    channel = begun(databases, tmp_path, ALL, apply("q1"), user)
    (warning,) = [one for one in caplog.messages if "no effect" in one]
    assert warning.startswith("apply_user hr_app of apply process app has no effect")
    assert "apply process app has no effect" in "\n".join(check(channel.file).to_json()["warnings"])
