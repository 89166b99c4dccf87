"""Types that several tables share, when one of the tables is loaded, or a statement went by unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.load.archive_chunk import archive_chunks
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import replayable
from tests.support.replica import BOTH, Make, Replica

MOODS = (
    "CREATE TYPE mood AS ENUM ('calm', 'glad')",
    "CREATE TABLE t (id int PRIMARY KEY, m mood)",
    "CREATE TABLE u (id int PRIMARY KEY, m mood)",
    "INSERT INTO t VALUES (1, 'calm'), (2, 'glad')",
    "INSERT INTO u VALUES (1, 'calm'), (2, 'glad')",
)
RENAMED = {
    "a label": ("ALTER TYPE mood RENAME VALUE 'glad' TO 'merry'",),
    "the type": ("ALTER TYPE mood RENAME TO feeling", "ALTER TYPE feeling RENAME VALUE 'glad' TO 'merry'"),
    "more": ("ALTER TYPE mood ADD VALUE 'angry' BEFORE 'calm'", "INSERT INTO u VALUES (3, 'angry')"),
}


@BOTH
@pytest.mark.parametrize("statements", RENAMED.values(), ids=RENAMED)
def test_one_table_is_refreshed_before_the_log_tells_of_the_change(make: Make, statements: tuple[str, ...]) -> None:
    replica = make(*MOODS)
    replica.at_source(*statements)
    replica.refresh("public.t")
    replica.settle()
    replica.at_source("UPDATE u SET m = 'calm'", "UPDATE t SET m = 'calm'")
    replica.settle()


def test_types_change_in_log_that_is_lost(make: Make) -> None:
    replica = make(
        *MOODS,
        "CREATE TYPE addr AS (street text, no int)",
        "CREATE DOMAIN pos AS int CHECK (VALUE > 0)",
        "CREATE TABLE x (id int PRIMARY KEY, a addr, p pos, ps pos[])",
        "INSERT INTO x VALUES (1, ('a', 1), 1, '{1}')",
    )
    replica.at_source(
        "SELECT pg_drop_replication_slot('ddlrepl_shop')",
        "ALTER TYPE addr ADD ATTRIBUTE town text CASCADE",
        "ALTER DOMAIN pos DROP CONSTRAINT pos_check",
        "INSERT INTO x VALUES (2, ('b', 2, 'c'), -1, '{-1}')",
        "ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'",
        "ALTER TYPE mood ADD VALUE 'angry' BEFORE 'quiet'",
        "INSERT INTO u VALUES (3, 'angry')",
    )
    replica.activate()
    replica.settle()
    replica.at_source("ALTER TYPE mood RENAME VALUE 'glad' TO 'calm'", "INSERT INTO t VALUES (4, 'calm')")
    assert replica.settle().refresh.tables == {}


def unseen(replica: Replica, *statements: str) -> None:
    trigger = "ALTER EVENT TRIGGER ddlrepl_ddl_command_end"
    replica.at_source(f"{trigger} DISABLE", *statements, f"{trigger} ENABLE ALWAYS")


@BOTH
def test_labels_exchange_their_names_unseen(make: Make) -> None:
    """Every label is still there, and every value is another one."""
    replica = make(*MOODS)
    renames = (("glad", "x"), ("calm", "glad"), ("x", "calm"))
    unseen(replica, *(f"ALTER TYPE mood RENAME VALUE '{old}' TO '{new}'" for old, new in renames))
    replica.settle()
    assert replica.rows("SELECT m::text FROM t ORDER BY id") == [("glad",), ("calm",)]


@BOTH
def test_a_long_name_makes_way(make: Make) -> None:
    """Two bytes a letter: cut by letters it would be the same name again."""
    name = "ы" * 31 + "x"
    replica = make(
        f"CREATE TYPE \"{name}\" AS ENUM ('a', 'b')",
        f'CREATE TABLE t (id int PRIMARY KEY, m "{name}")',
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    )
    unseen(replica, *(f"ALTER TYPE \"{name}\" RENAME VALUE '{old}' TO '{new}'" for old, new in ("bc", "ab")))
    replica.settle()


def test_labels_that_are_renamed_while_rows_are_archived(databases: Any, past: str, tmp_path: Path) -> None:
    """The archived rows would have the new labels in the old shape: nothing of them is kept, and the next run is."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TYPE mood AS ENUM ('sad')", "CREATE TABLE t (id int PRIMARY KEY, m mood)")
    replica.at_source("INSERT INTO t VALUES (1, 'sad')")

    class Renaming(InProcess):
        """Somebody renames the label before the first file is written."""

        def map(self, task: Any, items: Any, label: str, size: int | None = None) -> list[Any]:
            if task is archive_chunks:
                replica.at_source("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
            done: list[Any] = super().map(task, items, label, size)
            return done

    with (
        flow.open_channel(replica.file, Renaming()) as run,
        pytest.raises(SourceError, match=r"SRC-172: .*public\.mood") as caught,
    ):
        flow.activate(run)
    assert caught.value.retryable and caught.value.table == "public.t"
    replica.activate()
    replica.settle()
