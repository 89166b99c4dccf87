"""A channel that is activated again after its tables, or their types, have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.admin import activate
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

AGAIN = pytest.mark.parametrize("again", ["activate", "replicate"])
TYPES = {
    "label": ("ALTER TYPE s.mood ADD VALUE 'wild'", "INSERT INTO s.days VALUES (2, 'wild')"),
    "label renamed": ("ALTER TYPE s.mood RENAME VALUE 'calm' TO 'still'",),
    "renamed": ("ALTER TYPE s.mood RENAME TO temper", "ALTER TYPE s.temper ADD VALUE 'wild'"),
    "moved": ("CREATE SCHEMA o", "ALTER TYPE s.mood SET SCHEMA o", "ALTER TYPE o.mood ADD VALUE 'wild'"),
    "replaced": (
        "CREATE TYPE s.new AS ENUM ('cross', 'loud')",
        "ALTER TABLE s.days ALTER felt TYPE s.new USING 'loud'",
        "DROP TYPE s.mood",
        "ALTER TYPE s.new RENAME TO mood",
    ),
}
TABLES = {
    "made again": ("DROP TABLE s.days", "CREATE TABLE s.days (day date PRIMARY KEY)"),
    "with another": (
        "ALTER TABLE s.days RENAME TO gone",
        "CREATE TABLE s.days (day date PRIMARY KEY)",
        "INSERT INTO s.gone VALUES (2, 'cross')",
    ),
    "exchanged": (
        "ALTER TABLE s.days RENAME TO x",
        "ALTER TABLE s.nights RENAME TO days",
        "ALTER TABLE s.x RENAME TO nights",
    ),
}
START = (
    "CREATE SCHEMA s",
    "CREATE TYPE s.mood AS ENUM ('calm', 'cross')",
    "CREATE TABLE s.days (id int PRIMARY KEY, felt s.mood)",
    "INSERT INTO s.days VALUES (1, 'calm')",
    "CREATE TABLE s.nights (n int)",
    "INSERT INTO s.nights VALUES (1), (1)",
)


def replica_of(databases: Databases, folder: Path, *, load: bool) -> Replica:
    file = channel_file(folder, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*START)
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.activate(run, load=load)
    return replica


@AGAIN
@pytest.mark.parametrize("statements", TYPES.values(), ids=TYPES)
def test_a_type_changes_before_the_first_load(
    databases: Databases, tmp_path: Path, statements: tuple[str, ...], again: str
) -> None:
    """At the target there is no such type yet."""
    replica = replica_of(databases, tmp_path, load=False)
    replica.at_source(*statements)
    if again == "activate":
        replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO s.days VALUES (9, 'cross')")
    assert replica.settle().refresh.tables == {}


@AGAIN
@pytest.mark.parametrize("load", [False, True], ids=["waiting", "loaded"])
@pytest.mark.parametrize("statements", TABLES.values(), ids=TABLES)
def test_a_table_takes_the_name_of_another(
    databases: Databases, tmp_path: Path, statements: tuple[str, ...], load: bool, again: str
) -> None:
    """The log, which is not read yet, tells what has become of the other one."""
    replica = replica_of(databases, tmp_path, load=load)
    replica.at_source(*statements)
    if again == "activate":
        replica.activate()
    replica.settle()
    assert replica.settle().refresh.tables == {}


@pytest.mark.parametrize("statements", TABLES.values(), ids=TABLES)
def test_the_first_activation_ended_before_the_tables_were_enrolled(
    databases: Databases, tmp_path: Path, statements: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target knows a table by then that the repository never gets to know."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*START)

    def ends(point: str) -> None:
        if point == "activate.targets":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(activate, "reach", ends)
        replica.activate()
    replica.at_source(*statements)
    replica.activate()
    replica.settle()
    assert replica.settle().refresh.tables == {}
