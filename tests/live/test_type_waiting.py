"""Types that change while a table waits for its first rows: at the target there may be no such type yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.work import InProcess
from tests.conftest import Databases
from tests.live.replica import Replica, channel_file

CHANGES = {
    "label": ("ALTER TYPE s.mood ADD VALUE 'wild'", "INSERT INTO s.days VALUES (2, 'wild')"),
    "label renamed": ("ALTER TYPE s.mood RENAME VALUE 'calm' TO 'still'",),
    "renamed": ("ALTER TYPE s.mood RENAME TO temper", "ALTER TYPE s.temper ADD VALUE 'wild'"),
    "moved": ("CREATE SCHEMA o", "ALTER TYPE s.mood SET SCHEMA o", "ALTER TYPE o.mood ADD VALUE 'wild'"),
    "replaced": (
        "CREATE TYPE s.new AS ENUM ('loud')",
        "ALTER TABLE s.days ALTER felt TYPE s.new USING 'loud'",
        "DROP TYPE s.mood",
        "ALTER TYPE s.new RENAME TO mood",
    ),
}
START = (
    "CREATE SCHEMA s",
    "CREATE TYPE s.mood AS ENUM ('calm', 'cross')",
    "CREATE TABLE s.days (id int PRIMARY KEY, felt s.mood)",
    "INSERT INTO s.days VALUES (1, 'calm')",
)


@pytest.mark.parametrize("again", ["activate", "replicate"])
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_type_changes_before_the_first_load(databases: Databases, tmp_path: Path, change: str, again: str) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*START)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.activate(cycle, load=False)
    replica.at_source(*CHANGES[change])
    if again == "activate":
        replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO s.days VALUES (9, 'cross')" if "replaced" not in change else "SELECT 1")
    assert replica.settle().refresh.tables == {}
