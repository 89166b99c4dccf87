"""The repository knows the digest of each manifest: what was changed, added or put back in the trail is found out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import servers
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.loads import readable_loads
from tests.support.replica import BOTH, Make, Replica, channel_file

pytestmark = BOTH

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
ROWS = "insert into t select i, 'x' from generate_series(2, 302) i"


def manifests(replica: Replica, kind: str = "segments") -> list[Path]:
    return sorted((replica.file.parent / "trail" / "shop").glob(f"e*/{kind}/*.json"))


def emptied(file: Path) -> None:
    """The manifest as before, without the files of rows."""
    found = json.loads(file.read_text())
    for part in found["parts"]:
        part["files"] = []
    file.write_text(json.dumps(found))


def test_a_manifest_without_its_files_stops_the_run_and_names_the_segment(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.capture()
    (file,) = manifests(replica)
    whole = file.read_bytes()
    emptied(file)
    for _ in range(2):
        with pytest.raises(TrailError) as caught:
            replica.replicate()
        assert (caught.value.code, caught.value.at is not None) == ("TRL-113", True)
        assert file.name in caught.value.message and "--new-trail" in caught.value.hint
    assert replica.rows("select count(*) from t") == [(1,)]
    file.write_bytes(whole)
    replica.settle()
    assert replica.rows("select count(*) from t") == [(302,)]


def test_a_manifest_of_an_older_copy_of_the_trail_is_not_read(make: Make) -> None:
    """Its window is the same, its rows are of an earlier try."""
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.capture()
    (file,) = manifests(replica)
    found = json.loads(file.read_text())
    file.write_text(json.dumps({**found, "created": "2020-01-01T00:00:00+00:00"}))
    with pytest.raises(TrailError, match="TRL-113"):
        replica.replicate()


def test_what_a_manifest_lost_is_read_again_where_the_source_holds_its_log(databases: Any, tmp_path: Path) -> None:
    held = {"age": "7d", "hold_log": {"age": "1d"}}
    file = channel_file(tmp_path, databases.source, databases.target, rewind_horizon=held)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*TABLE)
    replica.activate()
    replica.at_source(ROWS)
    replica.capture()
    emptied(manifests(replica)[-1])
    replica.settle()
    assert replica.rows("select count(*) from t") == [(302,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        (load, *_) = readable_loads(run.trail, run.epoch)
    of_load = manifests(replica, "loads")[0]
    changed = json.loads(of_load.read_text())
    changed["tables"] = []
    of_load.write_text(json.dumps(changed))
    with flow.open_channel(replica.file, InProcess()) as run:
        assert load.name not in [one.name for one in readable_loads(run.trail, run.epoch)]


def test_files_of_a_segment_whose_manifest_was_changed_are_not_taken_for_leftovers(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.replicate()
    (file,) = manifests(replica)
    emptied(file)
    with flow.open_channel(replica.file, InProcess()) as run:
        assert run.trail.sweep(-10) == []


def test_a_repository_of_an_earlier_version_has_no_digests_and_goes_on(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.capture()
    with flow.open_channel(replica.file, InProcess()) as run, run.locked():
        (row,) = run.live_segments()
        run.repository.set_segment_digest("shop", run.token, row.epoch, row.low, "")
        with run.repository._database.write() as connection:
            connection.exec_driver_sql("update segments set digest = null")
    replica.settle()
    told = [one for one in servers(load_channel(replica.file)) if "no digest" in one.detail]
    assert [(one.ok, one.is_warning) for one in told] == [(True, True)], "it works, and should be known"


def test_an_added_load_is_not_read(databases: Any, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, databases.target, rewind_horizon={"age": "7d"})
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*TABLE)
    replica.activate()
    (load,) = manifests(replica, "loads")
    shutil.copy(load, load.with_name(load.name.replace("-", "-9", 1)))
    with flow.open_channel(replica.file, InProcess()) as run:
        assert len(readable_loads(run.trail, run.epoch)) == 1
