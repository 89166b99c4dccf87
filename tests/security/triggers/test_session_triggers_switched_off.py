"""A table's owner switches off the trigger that names ignored sessions: what they purge stays at the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.source_status import unknown_to_source
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Replica, channel_file

TRIGGER = "ddlrepl_session_shop"
PURGE = "DELETE FROM t WHERE id = 1"
TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY)",
    "INSERT INTO t VALUES (1), (2), (3)",
    "CREATE TABLE u (id int PRIMARY KEY)",
    "INSERT INTO u VALUES (1), (2), (3)",
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
)
AGAIN = f"ALTER TABLE t ENABLE ALWAYS TRIGGER {TRIGGER}"
REPLACED = (
    "DO $$ BEGIN EXECUTE (SELECT replace(replace(pg_get_triggerdef(oid), 'CREATE ', 'CREATE OR REPLACE '), {0})"
    f" FROM pg_trigger WHERE tgname = '{TRIGGER}' AND tgrelid = 't'::regclass); END $$"
)
AWAY = {
    "disabled": ([f"ALTER TABLE t DISABLE TRIGGER {TRIGGER}"], [AGAIN]),
    "all disabled": (["ALTER TABLE t DISABLE TRIGGER ALL"], [AGAIN]),
    "not for replicas": ([f"ALTER TABLE t ENABLE REPLICA TRIGGER {TRIGGER}"], [AGAIN]),
    "dropped": ([f"DROP TRIGGER {TRIGGER} ON t"], []),
    "renamed": ([f"ALTER TRIGGER {TRIGGER} ON t RENAME TO other", "ALTER TABLE t DISABLE TRIGGER other"], []),
    "another function": ([REPLACED.format("'ddlrepl.name_session', 'public.nothing'"), AGAIN], []),
    "another condition": ([REPLACED.format("'WHEN (', 'WHEN (false AND '"), AGAIN], []),
}


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    sessions = {"names": ["purge*"], "known_by": "triggers"}
    file = channel_file(tmp_path, databases.source, databases.target, capture={"ignore_sessions": sessions})
    made = Replica(databases.source, databases.target, file)
    made.at_source(*TABLES)
    made.activate()
    made.settle()
    return made


def purge(replica: Replica, *statements: str) -> None:
    with psycopg.connect(replica.source, application_name="purge") as session:
        for statement in statements:
            session.execute(statement.encode())


def ids(replica: Replica, table: str = "t") -> list[int]:
    return [i for (i,) in replica.rows(f"SELECT id FROM {table} ORDER BY id")]


def fails(replica: Replica) -> str:
    with pytest.raises(DdlReplError, match=r"INT-123.*public\.t.*ADP-181") as error:
        replica.replicate()
    return str(error.value)


@pytest.mark.parametrize(
    ("way", "is_back"), [(way, is_back) for way in AWAY for is_back in (False, True) if not is_back or AWAY[way][1]]
)
def test_what_an_ignored_session_purged_stays_at_the_target_until_a_person_decides(
    replica: Replica, way: str, is_back: bool
) -> None:
    wrong, right = AWAY[way]
    replica.at_source(*wrong)
    purge(replica, PURGE, "DELETE FROM u WHERE id = 1")
    replica.at_source(*(right if is_back else ()), "INSERT INTO u VALUES (4)")
    with flow.open_channel(replica.file, InProcess()) as run:
        assert any("trigger of public.t" in one.what for one in unknown_to_source(run))
        assert not any("public.u" in one.what for one in unknown_to_source(run))
    for _ in range(2):
        assert "public.u" not in fails(replica)
        assert ids(replica) == [1, 2, 3] and ids(replica, "u")[:3] == [1, 2, 3]
        replica.at_source("INSERT INTO u SELECT max(id) + 1 FROM u", "INSERT INTO t SELECT max(id) + 1 FROM t")
    purge(replica, "DELETE FROM t WHERE id = 2")
    with flow.open_channel(replica.file, InProcess()) as run:
        assert "ADP-181" in flow.status(run).text()
    replica.refresh("public.t")
    replica.replicate()
    assert ids(replica) == [3, 4, 5] and ids(replica, "u") == [1, 2, 3, 4, 5, 6]
    purge(replica, "DELETE FROM t WHERE id = 3")
    replica.replicate()
    assert ids(replica) == [3, 4, 5]


@BOTH
def test_what_names_all_sessions_suspends_nothing(replica: Replica) -> None:
    replica.at_source(
        "CREATE TRIGGER mine BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION nothing()",
        "ALTER TABLE t DISABLE TRIGGER mine",
        "ALTER TABLE t ADD v int DEFAULT 3",
        "ALTER TABLE t RENAME TO s",
        "ANALYZE",
    )
    purge(replica, "DELETE FROM s WHERE id = 1")
    replica.replicate()
    replica.file.write_text(replica.file.read_text().replace("purge*", "clean*"))
    replica.activate()
    purge(replica, "DELETE FROM s WHERE id = 2")
    replica.replicate()
    assert ids(replica, "s") == [1, 3]


def test_a_trigger_that_was_renamed_does_not_keep_the_channel_from_deactivation(replica: Replica) -> None:
    replica.at_source(f"ALTER TRIGGER {TRIGGER} ON t RENAME TO other")
    fails(replica)
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.deactivate(run)
