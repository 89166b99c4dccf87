"""A lag is the age of the oldest commit at the source that a target does not have, captured or not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Make, Replica, activating, channel_file

WAITED = 0.5


def lag(replica: Replica) -> dict[str, Any]:
    """The lag of the status: JSON, and how its text begins."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle)
    (told,) = found.to_json()["targets"].values()
    (line,) = [one for one in found.text().splitlines() if one.startswith("target ")]
    return {**{key: told[key] for key in told if key.startswith("lag_") and key != "lag_bytes"}, "text": line}


@pytest.fixture
def replica(make: Make) -> Replica:
    made = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE SCHEMA aside", source={"tables": ["public.*"]})
    made.at_source("CREATE TABLE aside.other (id int)")
    made.replicate()
    return made


def test_a_commit_that_nobody_has_captured_counts(replica: Replica) -> None:
    assert lag(replica)["lag_seconds"] == 0
    replica.at_source("INSERT INTO t VALUES (1)")
    time.sleep(WAITED)
    replica.at_source("INSERT INTO t VALUES (2)")
    first = lag(replica)
    assert WAITED <= first["lag_seconds"] < 60 and not first["lag_is_at_most"]
    assert f"{first['lag_seconds']} s behind" in first["text"]
    replica.replicate()
    assert lag(replica)["lag_seconds"] == 0


def test_what_is_not_for_the_channel_does_not_count(replica: Replica) -> None:
    """Rows of other tables, messages that no client takes, and what is captured but not acknowledged yet."""
    replica.at_source("INSERT INTO t VALUES (1)")
    replica.replicate()
    replica.at_source("INSERT INTO aside.other VALUES (1)", "SELECT pg_logical_emit_message(true, 'other', 'text')")
    time.sleep(WAITED)
    assert (lag(replica)["lag_seconds"], lag(replica)["lag_is_at_most"]) == (0, False)


def test_a_captured_commit_counts_until_the_target_has_it(replica: Replica) -> None:
    replica.at_source("INSERT INTO t VALUES (1)")
    time.sleep(WAITED)
    replica.capture()
    assert lag(replica)["lag_seconds"] >= WAITED


def test_where_the_slot_is_read_the_lag_is_the_time_since_the_last_capture_at_most(replica: Replica) -> None:
    replica.at_source("INSERT INTO t VALUES (1)")
    names = "SELECT slot_name, pubname FROM pg_replication_slots, pg_publication WHERE database = current_database()"
    with psycopg.connect(replica.source) as session:
        ((slot, publication),) = session.execute(names).fetchall()
    options = f"""proto_version '1', publication_names '"{publication}"'"""
    with psycopg.connect(replica.source, replication="database", autocommit=True) as reader:
        reader.pgconn.exec_(f'START_REPLICATION SLOT "{slot}" LOGICAL 0/0 ({options})'.encode())
        time.sleep(WAITED)
        told = lag(replica)
        reader.pgconn.finish()
    assert told["lag_is_at_most"] and told["lag_seconds"] >= WAITED
    assert f"at most {told['lag_seconds']} s behind" in told["text"]


def test_of_a_source_that_does_not_answer_the_lag_is_unknown_since_the_last_capture(
    databases: Databases, tmp_path: Path
) -> None:
    made = activating(databases, tmp_path)("CREATE TABLE t (id int PRIMARY KEY)")
    made.at_source("INSERT INTO t VALUES (1)")
    made.replicate()
    channel_file(tmp_path, "postgresql://nobody@127.0.0.1:1/nowhere", databases.target)
    told = lag(made)
    assert told["lag_seconds"] is None and told["lag_unknown_since"] is not None
    assert f"nobody knows how long behind, since {told['lag_unknown_since']}" in told["text"]
