"""Activation again: what becomes of the shapes that are known, where the log does not tell of those of today."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Origin
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, read, replayable
from tests.support.replica import Replica, channel_file

TRIGGERS = "SELECT format('ALTER EVENT TRIGGER %%I %s', evtname) FROM pg_event_trigger"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    """Active; then a column was added while nobody looked."""
    found = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    found.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int)", "INSERT INTO t VALUES (1)")
    found.activate()
    unseen(found, "ALTER TABLE t ADD more int DEFAULT 5")
    found.at_source("ALTER TABLE u ADD told int")
    return found


def unseen(replica: Replica, statement: str) -> None:
    """The event triggers are off meanwhile."""
    body = "DO $$ DECLARE s text; BEGIN FOR s IN {} LOOP EXECUTE s; END LOOP; END $$"
    replica.at_source(body.format(TRIGGERS % "DISABLE"), statement, body.format(TRIGGERS % "ENABLE"))


def numbers(replica: Replica) -> dict[str, int]:
    with flow.open_channel(replica.file, InProcess()) as run:
        known = run.repository.latest_revisions("shop").values()
        return {r.table.name.name: r.number for r in known if r.table}


@pytest.mark.req("HVR-W-03")
def test_kept(replica: Replica) -> None:
    """What is known stays as it is; the next capture finds what the log does not tell."""
    assert replica.activate().contradicted == {}
    assert numbers(replica) == {"t": 0, "u": 0}
    replica.settle()
    assert numbers(replica) == {"t": 1, "u": 1}


@pytest.mark.parametrize("how", ["regenerate", "only"])
def test_what_the_log_contradicts_is_said(replica: Replica, how: str) -> None:
    told = replica.activate(how)
    assert list(told.contradicted) == ["public.t"]
    assert "more" in " ".join(told.contradicted["public.t"])
    assert numbers(replica) == {"t": 1, "u": 1}
    assert replica.activate(how).contradicted == {}
    replica.settle()
    assert replica.rows("SELECT * FROM t") == [(1, 5)]


@pytest.mark.req("HVR-W-04")
def test_only_the_shapes_are_enrolled_anew(replica: Replica) -> None:
    """Neither a position nor a row nor a column of the target moves, and nothing waits for a refresh that did not."""
    before = table_state(replica), replica.rows("SELECT to_jsonb(t) FROM t")
    told = replica.activate("only")
    assert (told.tables, told.refreshed, told.reread) == ((), {}, 0)
    assert numbers(replica)["t"] == 1
    assert (table_state(replica), replica.rows("SELECT to_jsonb(t) FROM t")) == before


def table_state(replica: Replica) -> list[Any]:
    """Position and tables of the target, as it keeps them itself."""
    return replica.rows("SELECT to_jsonb(p) - 'token' FROM ddlrepl.position p") + sorted(
        replica.rows("SELECT table_id, to_jsonb(t) FROM ddlrepl.tables t")
    )


@pytest.mark.req("HVR-W-07", "HVR-W-08", "HVR-W-09", "HVR-W-10")
def test_log_that_is_older_than_the_shapes(
    databases: Any, past: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A slot that was there before activation: its first rows have a column that no revision knows.

    They are told with table and position, and are no longer met after the schema change. The load has them; a rewind
    to before it is refused.
    """
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, b int, c int)",
        "CREATE PUBLICATION ddlrepl_shop FOR TABLE t",
        "SELECT pg_create_logical_replication_slot('ddlrepl_shop', 'pgoutput')",
    )
    begin = read(replica.source, "SELECT pg_current_wal_lsn()::text")[0][0]
    replica.at_source("INSERT INTO t VALUES (1, 1, 1)")
    old = read(replica.source, "SELECT pg_current_wal_lsn()::text")[0][0]
    replica.at_source("ALTER TABLE t DROP COLUMN c", "INSERT INTO t VALUES (2, 2)")
    replica.activate("regenerate")
    with flow.open_channel(replica.file, InProcess()) as run:
        first, *later = run.repository.revisions("shop")
    assert first.table is not None and [column.name for column in first.table.columns] == ["id", "b"]
    replica.at_source("INSERT INTO t VALUES (3, 3)")
    replica.settle()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    (told,) = (text for text in warnings if "is a superuser" not in text)
    found = re.match(r"public\.t at ([0-9A-F/]+): rows of a layout that no revision explains", told)
    assert found and Position.parse(begin) <= Position.parse(found[1]) < Position.parse(old), (
        "its first row, and no later one; the enrolled columns are newer, of after the change"
    )
    assert not later
    with pytest.raises(DdlReplError, match=rf"REW-101.*{old}.*public\.t"):
        replica.rewind(old)
    replica.rewind(captured(replica))
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.req("HVR-W-12")
def test_a_change_between_the_old_end_of_capture_and_the_new_beginning(replica: Replica) -> None:
    """The shape that is known is older than the log that comes next, and the catalog shows another one: enrolled."""
    replica.settle()
    known = numbers(replica)
    replica.at_source(
        "ALTER TABLE t DROP COLUMN more",
        "INSERT INTO t VALUES (2)",
        "SELECT pg_replication_slot_advance('ddlrepl_shop', pg_current_wal_lsn())",
        "INSERT INTO t VALUES (3)",
    )
    activated = replica.activate("keep")
    assert numbers(replica) == {"t": known["t"] + 1, "u": known["u"]}
    with flow.open_channel(replica.file, InProcess()) as run:
        newest = run.repository.latest_revisions("shop").values()
        (found,) = [r for r in newest if r.table and r.table.name.name == "t"]
    assert (found.origin, found.key.lsn) == (Origin.INSPECTED, activated.position - 1)
    replica.settle()


def test_only_this_needs_an_active_channel(databases: Any, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, databases.target)
    with pytest.raises(ConfigError, match="CFG-130"):
        Replica(databases.source, databases.target, file).activate("only")


CHANGE = "ALTER TABLE t ADD n int"
KEEP, ANY = "safe (keep)", "safe (keep or regenerate)"


@pytest.mark.req("HVR-W-13")
@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        (("moment", CHANGE, "stop", "activate"), KEEP),
        (("moment", "stop", CHANGE, "activate"), KEEP),
        (("stop", CHANGE, "load", "moment", "activate"), ANY),
        (("moment", "stop", CHANGE, "slot lost", "activate"), "REW-101"),
        (("stop", "slot lost", CHANGE, "activate", "moment"), ANY),
    ],
)
def test_what_the_plan_makes_of_their_order(
    databases: Any, past: str, tmp_path: Path, order: tuple[str, ...], verdict: str
) -> None:
    """Capture stops, the table is changed, the channel is activated again; and somebody wants back to a moment."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    captured(replica)
    moment = ""
    for what in order:
        if what == "moment":
            replica.at_source("INSERT INTO t (id) SELECT max(id) + 1 FROM t")
            moment = read(replica.source, "SELECT clock_timestamp()")[0][0].isoformat()
        elif what == "stop":
            captured(replica)
        elif what == "load":
            replica.refresh("public.t")
        elif what == "slot lost":
            replica.at_source("SELECT pg_drop_replication_slot('ddlrepl_shop')")
        elif what == "activate":
            replica.activate()
        else:
            replica.at_source(what, "INSERT INTO t (id) SELECT max(id) + 1 FROM t")
    captured(replica)
    if verdict == "REW-101":
        with pytest.raises(DdlReplError, match="REW-101"):
            replica.plan_rewind(moment, "warehouse")
        return
    assert [table["verdict"] for table in replica.plan_rewind(moment, "warehouse").tables] == [verdict]
    replica.at_target("DELETE FROM t")
    replica.rewind(moment, "warehouse")
    replica.check_equal()
