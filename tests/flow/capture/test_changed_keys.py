"""What single keys of the channel file do when they change after activation, as config/file/key_effects.py says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica, channel_file

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL)",
    "INSERT INTO t VALUES (1, 1)",
    "CREATE TABLE u (id int PRIMARY KEY, v int)",
)
WHOLE_ROWS: dict[str, dict[str, Any]] = {
    "restrict": {"restrict": [{"tables": "t", "condition": "v < 100"}]},
    "target_tables": {"target_tables": [{"tables": "t", "key": "v"}]},
    "conflicts": {"conflicts": [{"tables": "t", "update_row_exists": "overwrite"}]},
}
PLACES: dict[str, dict[str, Any]] = {
    "publication": {"source": {"publication": "another"}},
    "slot": {"source": {"slot": "another"}},
    "channel": {"channel": "another"},
    "repository": {"repository": "sqlite:///another.db"},
}


def change(replica: Replica, keys: dict[str, Any]) -> None:
    data = yaml.safe_load(replica.file.read_text())
    for key, value in keys.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) else value
    replica.file.write_text(yaml.safe_dump(data, sort_keys=False))


def identity(replica: Replica) -> str:
    with psycopg.connect(replica.source) as connection:
        ((found,),) = connection.execute("SELECT relreplident::text FROM pg_class WHERE relname = 't'").fetchall()
    return str(found)


@pytest.mark.parametrize("place", PLACES)
def test_another_place_stops_the_run_with_what_to_do(make: Make, place: str) -> None:
    replica = make(*TABLES)
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    before = replica.file.read_text()
    change(replica, PLACES[place])
    with pytest.raises(DdlReplError) as raised:
        replica.replicate()
    assert raised.value.code[:4] in ("SRC-", "CFG-", "TRL-", "REP-") and raised.value.hint
    replica.file.write_text(before)
    replica.settle()


@pytest.mark.parametrize("key", WHOLE_ROWS)
def test_old_rows_come_whole_from_the_next_cycle_on(databases: Any, tmp_path: Path, key: str) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*TABLES)
    replica.activate()
    replica.replicate()
    assert identity(replica) == "d"
    change(replica, WHOLE_ROWS[key])
    replica.replicate()
    assert identity(replica) == "f"
    replica.at_source("UPDATE t SET v = 2")
    replica.replicate()


@pytest.mark.parametrize("key", WHOLE_ROWS)
def test_a_reader_says_which_key_needs_an_activation(make: Make, key: str) -> None:
    replica = make(*TABLES)
    replica.settle()
    change(replica, WHOLE_ROWS[key])
    if key != "restrict":
        found = replica.replicate()
        assert any(key in one for one in found.capture.outdated)
    else:
        with pytest.raises(DdlReplError, match=r"(?s)ADP-1.*activate"):
            replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        assert any(key in one for one in flow.status(run).setup["problems"])
    replica.activate()
    assert identity(replica) == "f" and not replica.replicate().capture.outdated
