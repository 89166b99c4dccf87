"""AssetEvents: told is what a target has, when it has it, and only once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.flow.reporting.asset_events import AssetEvents
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import new_replica
from tests.support.replica import Make, Replica


class Listener:
    """Hears the news again and again, as JSON: what it was told last is what it knows."""

    def __init__(self, replica: Replica) -> None:
        self.channel = load_channel(replica.file)
        self.data: Any = None
        self.schema: Any = None

    def hear(self) -> AssetEvents:
        found = flow.new_events(self.channel, self.data, self.schema)
        self.data = json.loads(json.dumps(found.data)) or self.data
        self.schema = json.loads(json.dumps(found.schema)) or self.schema
        return found


def do(replica: Replica, *stages: str) -> None:
    with flow.open_channel(replica.file, InProcess()) as run:
        for stage in stages:
            getattr(flow, stage)(run)


def test_a_table_that_waits_for_a_refresh_is_told_of_when_it_is_loaded(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1')")
    replica.settle()
    listener = Listener(replica)
    first = listener.hear()
    assert first.data and first.schema
    assert (listener.hear().data, listener.hear().schema) == (None, None)

    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v::int + 1")
    do(replica, "capture")
    assert (listener.hear().data, listener.hear().schema) == (None, None)  # the target has nothing of it yet
    do(replica, "adapt")
    waiting = listener.hear()
    assert waiting.data and waiting.schema is None
    do(replica, "refresh", "integrate")
    loaded = listener.hear()
    assert loaded.data and loaded.schema
    assert loaded.data["targets"]["warehouse"]["loaded"] > first.data["targets"]["warehouse"]["loaded"]
    (changed,) = loaded.schema["changed"]
    assert (changed["table"], changed["from_revision"], changed["to_revision"]) == ("public.t", 0, 1)
    assert changed["changes"] == ["change_type v text -> integer (convert)"]
    assert (listener.hear().data, listener.hear().schema) == (None, None)


def test_a_default_shows_no_password_and_what_a_policy_keeps_away_is_no_news(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int, u text)",
        adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}],
    )
    replica.settle()
    listener = Listener(replica)
    listener.hear()
    replica.at_source("ALTER TABLE t ALTER u SET DEFAULT 'http://me:geheim@host'")
    replica.settle()
    (changed,) = (listener.hear().schema or {})["changed"]
    assert "http://me:***@host" in changed["changes"][0] and "geheim" not in str(changed)
    replica.at_source("ALTER TABLE t DROP COLUMN b", "INSERT INTO t VALUES (1, 1)")
    replica.settle()
    found = listener.hear()
    assert found.data and found.schema is None


def test_log_that_concerns_no_table_is_no_news(make: Make) -> None:
    """The target is moved up, and has nothing more than before."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.settle()
    listener = Listener(replica)
    before = listener.hear()
    replica.at_source("CREATE TEMPORARY TABLE mine AS SELECT generate_series(1, 1000) i")
    replica.settle()
    found = listener.hear()
    assert before.data and position(found.status) > position(before.data)
    assert (found.data, found.schema) == (None, None)


def test_a_channel_that_begins_anew_goes_on_telling(databases: Any, tmp_path: Path) -> None:
    """Its revisions are numbered anew."""
    replica = new_replica(databases, tmp_path)
    replica.activate()
    listener = Listener(replica)
    listener.hear()
    do(replica, "deactivate")
    replica.at_source("ALTER TABLE t ADD a int")
    replica.at_target("DROP TABLE t")
    replica.activate()
    found = listener.hear()
    assert found.data and found.schema
    (changed,) = found.schema["changed"]
    assert (changed["from_revision"], changed["to_revision"]) == (None, 0)
    assert (listener.hear().data, listener.hear().schema) == (None, None)


def position(told: Any) -> Position:
    return Position.parse(told["targets"]["warehouse"]["position"])
